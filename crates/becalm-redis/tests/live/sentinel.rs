//! Does a connection follow the primary that Redis's Sentinels name, and does what was promised stand?

use std::fs;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use becalm_redis::subscription::Event;
use becalm_redis::{Builder, Connection, Policy, Reconnect};
use redis::{AsyncCommands, Client, Commands, RedisResult, cmd};
use tempfile::TempDir;
use tokio::time::{sleep, timeout};

use crate::failover::follow;
use crate::server::{Server, free_port};

/// Three of them; two decide. They end with their test.
struct Sentinels {
    ports: [u16; 3],
    processes: Vec<Child>,
    _directory: TempDir,
}

impl Sentinels {
    fn started(primary: &Server) -> Self {
        let (directory, port) = (TempDir::new().expect("a directory"), primary.port());
        let ports = [(); 3].map(|()| free_port());
        let start = |own: &u16| {
            let path = directory.path().join(format!("{own}.conf"));
            let settings = format!(
                "bind 127.0.0.1\nport {own}\nsentinel monitor orders 127.0.0.1 {port} 2\n\
                 sentinel down-after-milliseconds orders 2000\nsentinel failover-timeout orders 5000\n"
            );
            fs::write(&path, settings).expect("it is written");
            let mut sentinel = Command::new("redis-server");
            let sentinel = sentinel.arg(path).arg("--sentinel").stdout(Stdio::null());
            sentinel.spawn().expect("redis-server runs")
        };
        let processes = ports.iter().map(start).collect();
        Self {
            ports,
            processes,
            _directory: directory,
        }
    }

    /// Until each knows all others, and both replicas.
    async fn meet(&self) {
        for port in self.ports {
            let knows_all = async {
                loop {
                    let told = Client::open(format!("redis://127.0.0.1:{port}"))
                        .and_then(|client| client.get_connection())
                        .and_then(|mut sentinel| {
                            let mut asked = cmd("INFO");
                            asked.arg("sentinel").query::<String>(&mut sentinel)
                        });
                    if told.is_ok_and(|told| told.contains("slaves=2,sentinels=3")) {
                        return;
                    }
                    sleep(Duration::from_millis(20)).await;
                }
            };
            within(knows_all).await;
        }
    }

    fn connection(&self) -> Connection {
        let ports = self.ports;
        let redis = Builder::new("redis://orders/").expect("an address");
        let redis = redis.primary(move || primary(ports, "orders"));
        redis.build().expect("valid settings")
    }
}

impl Drop for Sentinels {
    fn drop(&mut self) {
        for process in &mut self.processes {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// What does not happen within a minute does not happen.
async fn within<F: Future>(future: F) -> F::Output {
    let bounded = timeout(Duration::from_secs(60), future);
    bounded.await.expect("it happens within a minute")
}

/// As docs/redis.md shows it.
async fn primary(sentinels: [u16; 3], name: &str) -> RedisResult<(String, u16)> {
    let mut refused = None;
    for port in sentinels {
        let told = async {
            let sentinel = Client::open(format!("redis://127.0.0.1:{port}"))?;
            let mut sentinel = sentinel.get_multiplexed_async_connection().await?;
            let mut asked = cmd("SENTINEL");
            asked.arg("GET-MASTER-ADDR-BY-NAME").arg(name);
            asked.query_async(&mut sentinel).await
        };
        match told.await {
            Ok(place) => return Ok(place),
            Err(error) => refused = Some(error),
        }
    }
    Err(refused.expect("there are some"))
}

/// Writes over a connection of its own and asks whether both replicas have it: into the list, if they say so.
async fn promise(redis: Connection, is_over: Arc<AtomicBool>, promised: Arc<Mutex<Vec<u64>>>) {
    let mut number = 0;
    while !is_over.load(Ordering::SeqCst) {
        let Ok(mut own) = redis.dedicated().await else {
            continue;
        };
        loop {
            number += 1;
            let written: RedisResult<()> = own.set(format!("promised:{number}"), number).await;
            let replicas: RedisResult<u64> = match written {
                Ok(()) => cmd("WAIT").arg(2).arg(200).query_async(&mut own).await,
                Err(error) => Err(error),
            };
            match replicas {
                Ok(2) => promised.lock().expect("no panic").push(number),
                Ok(_) if !is_over.load(Ordering::SeqCst) => {}
                _ => break,
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn through_a_failover_by_sentinels_commands_wait_and_what_both_replicas_had_stands() {
    let at_once = ["--repl-diskless-sync-delay", "0"];
    let mut servers = [(); 3].map(|()| Server::started(&at_once));
    for replica in &servers[1..] {
        follow(replica, &servers[0]).await;
    }
    let sentinels = Sentinels::started(&servers[0]);
    sentinels.meet().await;
    let redis = sentinels.connection();
    let is_over = Arc::new(AtomicBool::new(false));
    let promised = Arc::<Mutex<Vec<u64>>>::default();
    let writer = promise(redis.clone(), Arc::clone(&is_over), Arc::clone(&promised));
    let writer = tokio::spawn(writer);

    let (mut sent, mut since) = (0_u64, Vec::new());
    let mut count = async |until: usize| {
        let mut counted = Vec::new();
        while counted.len() < until {
            sent += 1;
            let one: RedisResult<u64> = redis.clone().incr("count", 1).await;
            counted.extend(one);
            let last: RedisResult<()> = redis.clone().set("last", sent).await;
            last.expect("what may be repeated waits for the next primary");
        }
        counted
    };
    within(async {
        while promised.lock().expect("no panic").len() < 100 {
            count(1).await;
        }
    })
    .await;
    let named = async || within(primary(sentinels.ports, "orders")).await;
    let (_, port) = named().await.expect("they know");
    assert_eq!(port, servers[0].port(), "it leads until it is killed");
    servers[0].kill();
    since.extend(within(count(200)).await);
    is_over.store(true, Ordering::SeqCst);
    within(writer).await.expect("no panic");

    // It may have changed while nothing ran: the Sentinels know.
    let (_, port) = named().await.expect("they know");
    let new = servers.iter().find(|server| server.port() == port);
    let mut new = new.expect("one of them").plain();
    assert_ne!(port, servers[0].port());
    for number in &*promised.lock().expect("no panic") {
        let stands: Option<u64> = new.get(format!("promised:{number}")).expect("read");
        assert_eq!(stands, Some(*number));
    }
    assert_eq!(new.get("last"), Ok(sent), "the last acknowledged write");
    // What the new primary counted stands, each once.
    let is_once = since.windows(2).all(|two| two[0] < two[1]);
    assert!(is_once, "{since:?}");
    let counted: u64 = new.get("count").expect("read");
    assert!(
        counted <= sent && Some(&counted) >= since.last(),
        "{counted} {sent}"
    );
}

#[tokio::test]
async fn a_replica_that_is_named_as_the_primary_is_not_asked() {
    let (first, second) = (Server::started(&[]), Server::started(&[]));
    follow(&second, &first).await;
    let asked = Arc::<AtomicU32>::default();
    let counted = Arc::clone(&asked);
    let ports = [second.port(), first.port()];
    let redis = Builder::new("redis://orders/?protocol=resp3").expect("an address");
    let redis = redis.primary(move || {
        let place = match counted.fetch_add(1, Ordering::SeqCst) % 3 {
            0 => Err("no Sentinel answers"),
            1 => Ok(("127.0.0.1".to_owned(), ports[0])),
            _ => Ok(("127.0.0.1".to_owned(), ports[1])),
        };
        async move { place }
    });
    let mut redis = redis.build().expect("valid settings");
    let mut told = cmd("INFO");
    told.arg("replication");
    let told: RedisResult<String> = within(told.query_async(&mut redis)).await;
    assert!(told.expect("it is told").contains("role:master"));
    assert_eq!(asked.load(Ordering::SeqCst), 3);
    let mut prices = redis.subscribe(["prices"]);
    let event = within(prices.next()).await.expect("it goes on");
    assert!(matches!(event, Ok(Event::Subscribed(_))), "{event:?}");
    assert_eq!(asked.load(Ordering::SeqCst), 6);
}

#[tokio::test]
async fn who_knows_the_primary_and_is_silent_is_a_dial_that_failed() {
    let redis = Builder::new("redis://orders/").expect("an address");
    let silent = std::future::pending::<Result<_, std::io::Error>>;
    let three = Policy::fixed(Duration::from_millis(1)).attempts(3);
    let redis = redis.primary(silent).reconnect(Reconnect::new(three));
    let redis = redis.dial_timeout(Duration::from_millis(20)).build();
    let mut redis = redis.expect("valid settings");
    let ended: RedisResult<()> = within(redis.set("k", 1)).await;
    let told = ended.expect_err("there is none").to_string();
    assert!(told.contains("not known where the primary is"), "{told}");
}
