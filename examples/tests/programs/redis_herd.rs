//! Do 500 tasks on one shared connection dial a Redis that is down as one?

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use becalm::Failure;
use becalm::reconnect::{Reconnect, SharedConnection};
use redis::aio::MultiplexedConnection;
use redis::{AsyncCommands, Client, RedisError};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::servers::redis::Redis;
use crate::within;

const TASKS: usize = 500;

/// Tasks that read one key again and again, and what is counted of their dials.
struct Herd {
    dials: Arc<Mutex<Vec<Instant>>>,
    opened: Arc<AtomicUsize>,
    /// When each has read last.
    read: Arc<Mutex<Vec<Instant>>>,
    tasks: JoinSet<()>,
}

impl Herd {
    fn on(server: &Redis) -> Self {
        let client = Client::open(server.url()).expect("an address");
        let dials = Arc::<Mutex<Vec<_>>>::default();
        let running = Arc::<AtomicUsize>::default();
        let opened = Arc::<AtomicUsize>::default();
        let (began, open) = (Arc::clone(&dials), Arc::clone(&opened));
        let dial = move || {
            let (client, open) = (client.clone(), Arc::clone(&open));
            let running = Arc::clone(&running);
            began.lock().expect("unpoisoned").push(Instant::now());
            async move {
                let before = running.fetch_add(1, Ordering::SeqCst);
                assert_eq!(before, 0, "two dials at once");
                let dialled = client.get_multiplexed_async_connection().await;
                running.fetch_sub(1, Ordering::SeqCst);
                open.fetch_add(usize::from(dialled.is_ok()), Ordering::SeqCst);
                dialled.map_err(|error| (Failure::transient().unsent(), error))
            }
        };
        let shared = SharedConnection::builder(Reconnect::for_commands(), dial).build();
        let shared = shared.expect("valid");
        let read = Arc::new(Mutex::new(vec![Instant::now(); TASKS]));
        let mut tasks = JoinSet::new();
        for task in 0..TASKS {
            let (shared, read) = (shared.clone(), Arc::clone(&read));
            tasks.spawn(async move {
                loop {
                    reads(&shared).await;
                    read.lock().expect("unpoisoned")[task] = Instant::now();
                    sleep(Duration::from_millis(20)).await;
                }
            });
        }
        Self {
            dials,
            opened,
            read,
            tasks,
        }
    }

    fn dials(&self) -> usize {
        self.dials.lock().expect("unpoisoned").len()
    }

    /// Comes back when all of them have read since then, with the moment at which the last one did first.
    async fn all_have_read(&mut self, since: Instant) -> Instant {
        let mut first = vec![None; TASKS];
        while first.iter().any(Option::is_none) {
            if let Some(ended) = self.tasks.try_join_next() {
                ended.expect("none panics");
            }
            for (first, read) in first
                .iter_mut()
                .zip(&*self.read.lock().expect("unpoisoned"))
            {
                if *read > since {
                    first.get_or_insert(*read);
                }
            }
            sleep(Duration::from_millis(1)).await;
        }
        first.into_iter().flatten().max().expect("there are some")
    }
}

/// Reads until it has read; a connection that is no good is given up by the first who sees it.
async fn reads(shared: &SharedConnection<MultiplexedConnection, RedisError>) {
    loop {
        let Ok(mut held) = shared.get(None).await else {
            continue;
        };
        match held.get::<_, Option<u64>>("visits").await {
            Ok(_) => return,
            Err(_) => _ = held.lost(),
        }
    }
}

#[tokio::test]
async fn b2_five_hundred_tasks_dial_a_redis_that_is_down_one_at_a_time() {
    within(async {
        let mut server = Redis::new();
        server.start();
        let mut herd = Herd::on(&server);
        herd.all_have_read(Instant::now()).await;
        assert_eq!(herd.opened.load(Ordering::SeqCst), 1);
        let before = herd.dials();
        server.kill();
        while herd.dials() < before + 5 {
            sleep(Duration::from_millis(1)).await;
        }
        server.start();
        herd.all_have_read(Instant::now()).await;
        assert_eq!(herd.opened.load(Ordering::SeqCst), 2);
    })
    .await;
}

/// In the time of this machine: `scripts/prove redis`.
#[tokio::test]
#[ignore = "measures"]
async fn redis_is_down_for_four_seconds() {
    let mut server = Redis::new();
    server.start();
    let mut herd = Herd::on(&server);
    herd.all_have_read(Instant::now()).await;
    let down_at = Instant::now();
    server.kill();
    sleep(Duration::from_secs(4)).await;
    server.start();
    while TcpStream::connect(server.address()).await.is_err() {
        sleep(Duration::from_millis(1)).await;
    }
    let up_at = Instant::now();
    let back = herd.all_have_read(up_at).await - up_at;
    let dials = herd.dials.lock().expect("unpoisoned").clone();
    let dials: Vec<_> = dials.into_iter().filter(|dial| *dial > down_at).collect();
    let within_a_second = |first: &Instant| {
        let until = *first + Duration::from_secs(1);
        let within = |dial: &&Instant| (first..&until).contains(dial);
        dials.iter().filter(within).count()
    };
    let most = dials.iter().map(within_a_second).max().unwrap_or_default();
    println!(
        "{TASKS} tasks, Redis down for {:.1} s: {} dials, at most {most} in any second; all back {} ms after it",
        (up_at - down_at).as_secs_f64(),
        dials.len(),
        back.as_millis(),
    );
    assert!(most <= 10 && back <= Duration::from_secs(1));
}
