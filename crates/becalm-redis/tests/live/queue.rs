//! 600 messages at 100 a second, 20 of them poison, 3 consumers, one more that is killed with five of them, 6 s without the dependency:
//! what is lost, and how often is it tried? Beside what others do. By hand: `scripts/prove queue`.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use becalm_redis::streams::Message;
use redis::streams::{StreamAutoClaimReply, StreamPendingCountReply, StreamReadReply};
use redis::{Commands, cmd};

use crate::deaths::victim_of;
use crate::server::Server;
use crate::streams::{builder, consume, down, millis, number, run_until};

const MESSAGES: usize = 600;

/// The dependency, and what is counted of it.
#[derive(Clone, Default)]
struct Board {
    is_down: Arc<AtomicBool>,
    deliveries: Arc<Mutex<Vec<(usize, Instant, bool)>>>,
    handled: Arc<Mutex<HashMap<usize, usize>>>,
}

fn is_poison(number: usize) -> bool {
    number % 30 == 17
}

impl Board {
    /// Whether the handler has succeeded with this message.
    fn handles(&self, number: usize) -> bool {
        let is_down = self.is_down.load(Ordering::SeqCst);
        let delivery = (number, Instant::now(), is_down);
        self.deliveries.lock().expect("unpoisoned").push(delivery);
        let succeeds = !is_down && !is_poison(number);
        if succeeds {
            *self
                .handled
                .lock()
                .expect("unpoisoned")
                .entry(number)
                .or_default() += 1;
        }
        succeeds
    }

    fn handled(&self) -> usize {
        self.handled.lock().expect("unpoisoned").len()
    }

    /// Publishes, and takes the dependency away from the second 1 to the second 7.
    fn publish(&self, server: &Server) -> std::thread::JoinHandle<()> {
        let (mut redis, is_down) = (server.plain(), Arc::clone(&self.is_down));
        std::thread::spawn(move || {
            let began = Instant::now();
            for number in 0..MESSAGES.max(750) {
                is_down.store((100..700).contains(&number), Ordering::SeqCst);
                if number < MESSAGES {
                    let fields = [("number", number.to_string())];
                    let _: String = redis.xadd("orders", "*", &fields).expect("published");
                }
                let next = began + millis(10) * (u32::try_from(number).expect("few") + 1);
                std::thread::sleep(next.saturating_duration_since(Instant::now()));
            }
        })
    }

    fn report(&self, name: &str, dead: &[usize]) -> [usize; 3] {
        let deliveries = self.deliveries.lock().expect("unpoisoned");
        let good = deliveries.iter().filter(|it| !is_poison(it.0)).count();
        let in_outage = deliveries.iter().filter(|it| it.2);
        let in_outage: Vec<Instant> = in_outage.map(|it| it.1).collect();
        let within = |from: &Instant| {
            let window = *from..*from + Duration::from_secs(1);
            in_outage.iter().filter(|it| window.contains(*it)).count()
        };
        let most = in_outage.iter().map(within).max().unwrap_or(0);
        let dead_poison = dead.iter().filter(|it| is_poison(**it)).count();
        let twice = self
            .handled
            .lock()
            .expect("unpoisoned")
            .values()
            .filter(|it| **it > 1)
            .count();
        println!(
            "{name:8} good handled {} of 580, dead: {} good, {dead_poison} poison; deliveries of 100 good ones {}, \
             in the outage at most {most}/s; handled twice {twice}",
            self.handled(),
            dead.len() - dead_poison,
            good * 100 / 580,
        );
        [self.handled(), dead_poison, most]
    }
}

/// How a witness tries a message again.
#[derive(Clone, Copy, PartialEq)]
enum Witness {
    /// `XAUTOCLAIM` after 500 ms, and dead after 5 deliveries.
    Naive,
    /// A delay that doubles from 200 ms, and dead after 5 attempts.
    Ladder,
}

fn witness(server: &Server, board: &Board, how: Witness, name: &str, is_over: &AtomicBool) {
    let mut redis = server.plain();
    let idle = if how == Witness::Naive { 500 } else { 2_000 };
    while !is_over.load(Ordering::SeqCst) {
        if how == Witness::Ladder {
            let now = server_millis(&mut redis);
            let due: Vec<String> = redis
                .zrangebyscore_limit("later", 0, now, 0, 1)
                .expect("a set");
            for member in due {
                // The one who takes it away brings it back.
                if redis.zrem::<_, _, u64>("later", &member).expect("a set") == 1 {
                    let (number, attempt) = member.split_once(' ').expect("both");
                    let fields = [("number", number), ("attempt", attempt)];
                    let _: String = redis.xadd("orders", "*", &fields).expect("published");
                }
            }
        }
        let options = redis::streams::StreamAutoClaimOptions::default().count(1);
        let claimed: StreamAutoClaimReply = redis
            .xautoclaim_options("orders", "group", name, idle, "0-0", options)
            .expect("a group");
        let mut taken = claimed.claimed;
        if taken.is_empty() {
            let options = redis::streams::StreamReadOptions::default();
            let options = options.group("group", name).count(1).block(5);
            let read: Option<StreamReadReply> = redis
                .xread_options(&["orders"], &[">"], &options)
                .expect("a group");
            taken = read
                .into_iter()
                .flat_map(|it| it.keys)
                .flat_map(|it| it.ids)
                .collect();
        }
        for entry in taken {
            let number: usize = entry.get("number").expect("a number");
            let ended = board.handles(number);
            std::thread::sleep(millis(3));
            let attempt = entry.get::<usize>("attempt").unwrap_or(0) + 1;
            let tried = match how {
                Witness::Ladder => attempt,
                Witness::Naive => {
                    let pending: StreamPendingCountReply = redis
                        .xpending_count("orders", "group", &entry.id, &entry.id, 1)
                        .expect("a group");
                    pending.ids.first().map_or(0, |it| it.times_delivered)
                }
            };
            if !ended && tried >= 5 {
                let _: u64 = redis.rpush("dead", number).expect("a list");
            } else if !ended && how == Witness::Ladder {
                let ceiling = 200 << (attempt - 1);
                let jitter = u64::from(entry.id.bytes().map(u32::from).sum::<u32>()) * 7919 % 100;
                let at = server_millis(&mut redis) + ceiling / 2 + ceiling / 2 * jitter / 100;
                let _: u64 = redis
                    .zadd("later", format!("{number} {attempt}"), at)
                    .expect("a set");
            } else if !ended {
                continue;
            }
            let _: u64 = redis
                .xack("orders", "group", &[&entry.id])
                .expect("a group");
        }
    }
}

fn server_millis(redis: &mut redis::Connection) -> u64 {
    let (seconds, micros): (u64, u64) = cmd("TIME").query(redis).expect("a time");
    seconds * 1_000 + micros / 1_000
}

fn of_witness(name: &str, how: Witness) -> [usize; 3] {
    let (server, board) = (Server::started(&[]), Board::default());
    let mut redis = server.plain();
    let _: () = redis
        .xgroup_create_mkstream("orders", "group", "0")
        .expect("a group");
    let publishing = board.publish(&server);
    std::thread::sleep(millis(200));
    let options = redis::streams::StreamReadOptions::default()
        .group("group", "killed")
        .count(5);
    let _: StreamReadReply = redis
        .xread_options(&["orders"], &[">"], &options)
        .expect("five");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for consumer in ["one", "two", "three"] {
            scope.spawn(|| witness(&server, &board, how, consumer, &is_over));
        }
        publishing.join().expect("no panic");
        let (mut last, mut since) = (0, Instant::now());
        while since.elapsed() < Duration::from_secs(6) {
            let now = board.deliveries.lock().expect("unpoisoned").len();
            if now != last {
                (last, since) = (now, Instant::now());
            }
            std::thread::sleep(millis(50));
        }
        is_over.store(true, Ordering::SeqCst);
    });
    let dead: Vec<usize> = redis.lrange("dead", 0, -1).expect("a list");
    board.report(name, &dead)
}

async fn of_becalm() -> [usize; 3] {
    let (server, board) = (Server::started(&[]), Board::default());
    let publishing = board.publish(&server);
    let mut victim = victim_of(&server).await;
    victim.kill().expect("it runs"); // SIGKILL
    victim.wait().expect("it ends");
    let works = board.clone();
    let handler = move |message: Message| {
        let succeeds = works.handles(number(&message));
        async move {
            tokio::time::sleep(millis(3)).await;
            if succeeds { Ok(()) } else { down() }
        }
    };
    let mut consume = consume(Duration::from_secs(30), Duration::from_secs(2));
    consume.policy = consume
        .policy
        .base(millis(200))
        .cap(Duration::from_secs(20));
    consume.pause = consume.pause.open(Duration::from_secs(1));
    let one = || {
        builder(&server, "shipping")
            .concurrency(1)
            .consume(consume.clone())
    };
    let dead = || crate::streams::dead(&server, "shipping").ids;
    let is_over = || board.handled() + dead().len() >= MESSAGES;
    run_until(vec![one(), one(), one()], handler, is_over).await;
    publishing.join().expect("no panic");
    let dead = dead();
    for reason in ["attempts_exhausted", "deadline_exceeded"] {
        let of =
            |it: &&redis::streams::StreamId| it.get("becalm-reason") == Some(reason.to_owned());
        println!(
            "         dead by {reason}: {}",
            dead.iter().filter(of).count()
        );
    }
    let dead = dead.iter().filter_map(|it| it.get("number"));
    board.report("becalm", &dead.collect::<Vec<_>>())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes two minutes: scripts/prove queue"]
async fn in_full() {
    let naive = of_witness("naive", Witness::Naive);
    let ladder = of_witness("ladder", Witness::Ladder);
    let [handled, poison, most] = of_becalm().await;
    assert!(naive[0] < 580 && ladder[0] < 580, "the outage harms nobody");
    assert_eq!((handled, poison), (580, 20));
    assert!(most <= 15, "{most} a second");
}
