//! Does a consumer of a stream lose nothing, keep order and share with others?

use std::collections::HashMap;
use std::future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use becalm::{Breaker, Cancel, Failure, Jitter, Policy};
use becalm_fleet::consumer::{Consume, Settle};
use becalm_redis::Connection;
use becalm_redis::streams::{Builder, Consumer, InvalidConsumer, Message};
use redis::Commands;
use redis::streams::{StreamInfoConsumersReply, StreamPendingReply, StreamRangeReply};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::server::Server;

pub type Outcome = Result<(), Fault>;

/// What the handlers of these tests fail with.
#[derive(Debug)]
pub struct Fault(pub Failure);

impl becalm::Classify for Fault {
    fn classify(&self) -> Failure {
        self.0
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the {} fault", self.0.class.as_str())
    }
}

pub fn down() -> Outcome {
    Err(Fault(Failure::transient()))
}

pub fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Quick, with a pause up to this.
pub fn consume(age: Duration, open_max: Duration) -> Consume {
    let policy = Policy::exponential(millis(50)).cap(millis(1_000));
    let policy = policy.jitter(Jitter::Equal).attempts(5).deadline(age);
    let pause = Breaker::consecutive(3).open(millis(200)).open_max(open_max);
    Consume::new(policy).pause(pause.successes(1))
}

fn open(server: &Server) -> Connection {
    Connection::open(&server.url()).expect("an address")
}

pub fn builder(server: &Server, group: &str) -> Builder {
    let redis = open(server);
    let quick = consume(Duration::from_secs(20), millis(400));
    let builder = Consumer::builder(redis, "orders", group);
    builder.consume(quick).claim_after(millis(300))
}

/// Publishes this many, numbered from 0, with their number as text.
pub fn publish(server: &Server, count: usize, key: impl Fn(usize) -> String) {
    let mut redis = server.plain();
    for number in 0..count {
        let fields = [("number", number.to_string()), ("key", key(number))];
        let _: String = redis.xadd("orders", "*", &fields).expect("it is published");
    }
}

pub fn number(message: &Message) -> usize {
    let number = message.text("number").expect("it has a number");
    number.parse().expect("a number")
}

/// Runs these consumers until it is so, and stops them.
pub async fn run_until<F, R>(builders: Vec<Builder>, handler: F, mut is_over: impl FnMut() -> bool)
where
    F: Fn(Message) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = Outcome> + Send + 'static,
{
    let stop = Cancel::new();
    let mut running = JoinSet::new();
    for builder in builders {
        let consumer = builder.build().expect("valid settings");
        running.spawn(consumer.run(stop.cancelled(), handler.clone()));
    }
    let began = Instant::now();
    while !is_over() {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "it takes too long"
        );
        sleep(millis(5)).await;
    }
    stop.cancel();
    for ended in running.join_all().await {
        ended.expect("Redis refuses nothing");
    }
}

/// The dead letters of a group.
pub fn dead(server: &Server, group: &str) -> StreamRangeReply {
    let key = format!("orders:{group}:dead");
    server.plain().xrange_all(key).expect("a stream")
}

pub fn pending(server: &Server, group: &str) -> usize {
    let pending: StreamPendingReply = server.plain().xpending("orders", group).expect("a group");
    pending.count()
}

#[derive(Clone, Default)]
pub struct Seen(Arc<Mutex<Vec<(usize, u32, u32)>>>);

impl Seen {
    /// Number, attempt, charges.
    pub fn add(&self, message: &Message) {
        let delivery = message.delivery();
        let seen = (number(message), delivery.attempt(), delivery.charged);
        self.0.lock().expect("unpoisoned").push(seen);
    }

    pub fn all(&self) -> Vec<(usize, u32, u32)> {
        self.0.lock().expect("unpoisoned").clone()
    }

    pub fn len(&self) -> usize {
        self.0.lock().expect("unpoisoned").len()
    }
}

#[tokio::test]
async fn what_fails_comes_back_with_its_history_and_ends_among_the_dead() {
    let server = Server::started(&[]);
    publish(&server, 4, |_| String::new());
    let seen = Seen::default();
    let record = seen.clone();
    let settled = Arc::<Mutex<Vec<Settle>>>::default();
    let told = Arc::clone(&settled);
    let consumer = builder(&server, "shipping").concurrency(1);
    let consumer =
        consumer.observe(move |_, settle| told.lock().expect("unpoisoned").push(*settle));
    let handler = move |message: Message| {
        record.add(&message);
        async move {
            match (number(&message), message.delivery().attempt()) {
                (1, _) => Err(Fault(Failure::permanent())),
                (2, 1) => panic!("in a handler"),
                (3, 1..=2) => down(),
                _ => Ok(()),
            }
        }
    };
    let over = || seen.len() >= 7 && pending(&server, "shipping") == 0;
    run_until(vec![consumer], handler, over).await;
    let seen = seen.all();
    assert_eq!(seen[..4], [(0, 1, 0), (1, 1, 0), (2, 1, 0), (3, 1, 0)]);
    assert_eq!(seen.iter().filter(|it| it.0 == 3).count(), 3);
    assert_eq!(seen.len(), 7);
    let dead = dead(&server, "shipping");
    let [letter] = &dead.ids[..] else {
        panic!("{dead:?}");
    };
    for (field, value) in [
        ("becalm-reason", "permanent"),
        ("becalm-error", "the permanent fault"),
        ("becalm-failed", "1"),
        ("becalm-charged", "0"),
        ("number", "1"),
    ] {
        assert_eq!(letter.get(field), Some(value.to_owned()), "{field}");
    }
    let first: StreamRangeReply = server.plain().xrange_all("orders").expect("a stream");
    assert_eq!(letter.get("becalm-id"), Some(first.ids[1].id.clone()));
    let acks = settled
        .lock()
        .expect("unpoisoned")
        .iter()
        .filter(|it| **it == Settle::Ack)
        .count();
    assert_eq!(acks, 3);
    let left: u64 = server
        .plain()
        .xlen("orders:shipping:again")
        .expect("a stream");
    assert_eq!(left, 0, "what came back is deleted");
}

#[tokio::test]
async fn groups_do_not_see_what_comes_back_to_others() {
    let server = Server::started(&[]);
    publish(&server, 5, |_| String::new());
    let (first, second) = (Seen::default(), Seen::default());
    let record = first.clone();
    let fails = move |message: Message| {
        record.add(&message);
        async move {
            if message.delivery().attempt() == 1 {
                down()
            } else {
                Ok(())
            }
        }
    };
    run_until(vec![builder(&server, "shipping")], fails, || {
        first.len() >= 10
    })
    .await;
    let record = second.clone();
    let counts = move |message: Message| {
        record.add(&message);
        async { Ok(()) }
    };
    let deletes = builder(&server, "billing").delete(true);
    let is_empty = || server.plain().xlen::<_, u64>("orders").expect("a stream") == 0;
    run_until(vec![deletes], counts, is_empty).await;
    assert_eq!(
        second.all(),
        (0..5).map(|number| (number, 1, 0)).collect::<Vec<_>>()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_of_one_key_stay_in_order_though_they_fail() {
    const COUNT: usize = 90;
    let server = Server::started(&[]);
    publish(&server, COUNT, |number| format!("key {}", number % 5));
    let handled = Arc::<Mutex<Vec<usize>>>::default();
    let running = Arc::<Mutex<HashMap<usize, usize>>>::default();
    let done = Arc::clone(&handled);
    let work = move |message: Message| {
        let (done, running) = (Arc::clone(&done), Arc::clone(&running));
        async move {
            let number = number(&message);
            let before = running
                .lock()
                .expect("unpoisoned")
                .insert(number % 5, number);
            assert_eq!(before, None, "{number} runs beside it");
            sleep(millis(2)).await;
            running.lock().expect("unpoisoned").remove(&(number % 5));
            // A third fails at first, one of them for good.
            match (number, number % 3, message.delivery().attempt()) {
                (33, _, _) => return Err(Fault(Failure::permanent())),
                (_, 0, 1) => return down(),
                _ => done.lock().expect("unpoisoned").push(number),
            }
            Ok(())
        }
    };
    let consumers = (0..3).map(|_| builder(&server, "shipping").order_by("key"));
    let consumers = consumers.map(|it| it.concurrency(4).delete(true)).collect();
    let over = || handled.lock().expect("unpoisoned").len() >= COUNT - 1;
    run_until(consumers, work, over).await;
    let handled = handled.lock().expect("unpoisoned");
    for key in 0..5 {
        let of_key = handled.iter().filter(|it| **it % 5 == key);
        assert!(
            of_key.clone().is_sorted(),
            "{:?}",
            of_key.collect::<Vec<_>>()
        );
    }
    assert_eq!(dead(&server, "shipping").ids.len(), 1);
    let entries: u64 = server.plain().xlen("orders").expect("a stream");
    assert_eq!(entries, 0, "what is done is deleted");
    let left: Vec<String> = server.plain().keys("orders:shipping:h*").expect("keys");
    assert_eq!(
        left,
        Vec::<String>::new(),
        "nobody is held, and nobody holds"
    );
}

/// Runs two messages by two consumers, for four times as long as a claim takes. How many were begun, and the longest time for
/// which nothing ran: a consumer on a machine that stands still loses its messages to others.
async fn take_long() -> (usize, Duration) {
    let server = Server::started(&[]);
    publish(&server, 2, |_| String::new());
    let seen = Seen::default();
    let record = seen.clone();
    let ended = Arc::<AtomicUsize>::default();
    let ends = Arc::clone(&ended);
    let slow = move |message: Message| {
        record.add(&message);
        let ends = Arc::clone(&ends);
        async move {
            sleep(millis(1_200)).await;
            ends.fetch_add(1, Ordering::SeqCst);
            Ok(())
        }
    };
    let longest = Arc::new(Mutex::new(Duration::ZERO));
    let (stands, mut redis) = (Arc::clone(&longest), open(&server));
    let watch = tokio::spawn(async move {
        loop {
            let began = Instant::now();
            sleep(millis(5)).await;
            let _: redis::RedisResult<()> = redis::cmd("PING").query_async(&mut redis).await;
            let mut longest = stands.lock().expect("unpoisoned");
            *longest = began.elapsed().max(*longest);
        }
    });
    let consumers = || vec![builder(&server, "shipping"), builder(&server, "shipping")];
    let over = || ended.load(Ordering::SeqCst) >= 2 && pending(&server, "shipping") == 0;
    run_until(consumers(), slow, over).await;
    watch.abort();
    let longest = *longest.lock().expect("unpoisoned");
    (seen.len(), longest)
}

#[tokio::test]
async fn a_handler_that_takes_long_keeps_its_message() {
    for _ in 0..20 {
        let (begun, stood_still) = take_long().await;
        if begun == 2 {
            return;
        }
        assert!(stood_still > millis(50), "{begun}: each begins once");
    }
    panic!("the machine stands still for 50 ms in each second");
}

#[tokio::test]
async fn a_bound_ends_a_handler() {
    let server = Server::started(&[]);
    publish(&server, 1, |_| String::new());
    // Its age alone ends it: what fails everywhere pauses, and charges no message.
    let mut bounded = consume(millis(4_000), millis(200));
    bounded.policy = bounded
        .policy
        .attempt_timeout(millis(20))
        .attempts(Policy::UNLIMITED);
    let hangs = |_| async {
        std::future::pending::<()>().await;
        Ok(())
    };
    let over = || dead(&server, "shipping").ids.len() == 1;
    let consumer = builder(&server, "shipping").consume(bounded);
    run_until(vec![consumer], hangs, over).await;
    let dead = dead(&server, "shipping");
    let told = |field| dead.ids[0].get::<String>(field);
    let late = "the handler took too long";
    assert_eq!(told("becalm-error").as_deref(), Some(late));
    let reason = told("becalm-reason");
    assert_eq!(reason.as_deref(), Some("deadline_exceeded"));
}

#[tokio::test]
async fn what_runs_is_finished_when_it_is_stopped_and_the_rest_is_left_to_others() {
    let server = Server::started(&[]);
    publish(&server, 6, |_| String::new());
    let (gate, begun) = (Arc::new(Semaphore::new(0)), Arc::<AtomicUsize>::default());
    let (opens, begins) = (Arc::clone(&gate), Arc::clone(&begun));
    let waits = move |_| {
        let (gate, begun) = (Arc::clone(&opens), Arc::clone(&begins));
        async move {
            begun.fetch_add(1, Ordering::SeqCst);
            gate.acquire().await.expect("open").forget();
            Ok::<_, Fault>(())
        }
    };
    let (stop, stopped) = oneshot::channel::<()>();
    let consumer = builder(&server, "shipping")
        .concurrency(2)
        .build()
        .expect("valid");
    let running = tokio::spawn(consumer.run(stopped, waits));
    while begun.load(Ordering::SeqCst) < 2 {
        sleep(millis(5)).await;
    }
    stop.send(()).expect("it runs");
    gate.add_permits(2);
    running.await.expect("no panic").expect("it ends well");
    assert_eq!(
        (begun.load(Ordering::SeqCst), pending(&server, "shipping")),
        (2, 0)
    );
    let info: StreamInfoConsumersReply = server
        .plain()
        .xinfo_consumers("orders", "shipping")
        .expect("a group");
    assert_eq!(info.consumers.len(), 0, "it has left");
    let seen = Seen::default();
    let record = seen.clone();
    let counts = move |message: Message| {
        record.add(&message);
        async { Ok(()) }
    };
    run_until(vec![builder(&server, "shipping")], counts, || {
        seen.len() == 4
    })
    .await;
}

#[test]
fn settings_that_are_refused_say_what_to_write() {
    let redis = || Connection::open("redis://127.0.0.1/").expect("an address");
    let builder = || Consumer::builder(redis(), "orders", "shipping");
    let refused = builder().concurrency(0).build().unwrap_err();
    assert_eq!(refused, InvalidConsumer::Concurrency);
    let refused = builder().claim_after(millis(99)).build().unwrap_err();
    assert!(refused.to_string().contains("use 30s"));
    let refused = builder().order_by("becalm-id").build().unwrap_err();
    assert_eq!(refused, InvalidConsumer::OrderBy);
    let invalid = Consume::default().pause(Breaker::consecutive(0));
    assert!(builder().consume(invalid).build().is_err());
}

#[tokio::test]
async fn a_move_that_redis_refuses_ends_it_and_loses_nothing() {
    let server = Server::started(&[]);
    publish(&server, 1, |_| String::new());
    let () = server
        .plain()
        .set("orders:shipping:dead", "no stream")
        .expect("it is set");
    let seen = Seen::default();
    let record = seen.clone();
    let fails = move |message: Message| {
        record.add(&message);
        async { Err(Fault(Failure::permanent())) }
    };
    let consumer = builder(&server, "shipping").build().expect("valid");
    let ended = consumer.run(future::pending::<()>(), fails.clone());
    let ended = tokio::time::timeout(Duration::from_secs(10), ended).await;
    let refused = ended.expect("it ends").expect_err("refused");
    assert_eq!(refused.code(), Some("WRONGTYPE"));
    assert_eq!((seen.len(), pending(&server, "shipping")), (1, 1));
    let _: u64 = server
        .plain()
        .del("orders:shipping:dead")
        .expect("it is deleted");
    // It is claimed, and decided about again.
    let is_dead = || dead(&server, "shipping").ids.len() == 1;
    run_until(vec![builder(&server, "shipping")], fails, is_dead).await;
    assert_eq!(pending(&server, "shipping"), 0);
}
