//! What does a server say in place of executing, and did nothing happen? Each word is provoked, and its effect read back.

use std::time::Duration;

use becalm::observe::{About, Event, Observer};
use becalm::{Budget, Effect, Policy, StopReason};
use becalm_redis::{Builder, Connection};
use redis::{AsyncCommands, Commands, RedisResult, ToRedisArgs, Value, cmd, pipe};
use tempfile::TempDir;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;

use crate::proxy::Proxy;
use crate::server::Server;

/// What becalm made of a failure.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    Again(Effect, String),
    Stopped(StopReason),
}

struct Ears(UnboundedSender<Heard>);

impl Observer for Ears {
    fn on_event(&self, _: &About<'_>, event: &Event<'_>) {
        let heard = match event {
            Event::Retry { effect, error, .. } => {
                let error = error.map(|error| error.to_string());
                Heard::Again(*effect, error.unwrap_or_default())
            }
            Event::Stopped { reason, .. } => Heard::Stopped(*reason),
            _ => return,
        };
        let _ = self.0.send(heard);
    }
}

/// A connection that tries for as long as it takes, and what is heard of it.
pub fn connection(url: &str) -> (Connection, UnboundedReceiver<Heard>) {
    let (ears, heard) = unbounded_channel();
    let policy = Policy::exponential(Duration::from_millis(5))
        .attempts(Policy::UNLIMITED)
        .deadline(Duration::from_secs(20))
        .budget(Budget::None);
    let commands = policy.builder().observer(Ears(ears)).build();
    let builder = Builder::new(url).expect("an address");
    let builder = builder.commands(commands.expect("a valid policy"));
    (builder.build().expect("valid settings"), heard)
}

pub fn set(server: &mut redis::Connection, setting: &str, value: impl ToRedisArgs) {
    let set = cmd("CONFIG")
        .arg("SET")
        .arg(setting)
        .arg(value)
        .exec(server);
    set.expect("it is set");
}

/// How often the server has refused a command with this word (`INFO errorstats`, Redis 6.2). One that is busy does not say.
pub fn refusals(server: &mut redis::Connection, word: &str) -> Option<usize> {
    let told: RedisResult<String> = cmd("INFO").arg("errorstats").query(server);
    let told = told.ok()?;
    let mut counts = told.lines().filter_map(|line| {
        let count = line.strip_prefix(&format!("errorstat_{word}:count="))?;
        count.trim().parse().ok()
    });
    Some(counts.next().unwrap_or_default())
}

/// Has a counter counted while the server is in this trouble, which it is helped out of when it has refused it with this
/// word. Of what passes becalm has heard nothing then: it waits, and burns no attempt.
async fn waits_out(
    word: &str,
    mut server: redis::Connection,
    url: &str,
    trouble: impl FnOnce(&mut redis::Connection),
    help: impl FnOnce(&mut redis::Connection),
) {
    let (mut redis, mut heard) = connection(url);
    let () = redis.set("visits", 16).await.expect("it is set");
    trouble(&mut server);
    let before = refusals(&mut server, word);
    let counting = tokio::spawn(async move { redis.incr("visits", 1).await });
    let is_refused = async {
        while refusals(&mut server, word).is_some_and(|now| now < before.unwrap_or_default() + 3) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        if before.is_none() {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    let is_refused = timeout(Duration::from_secs(20), is_refused).await;
    is_refused.unwrap_or_else(|_| panic!("{word}: not refused"));
    match heard.try_recv() {
        Ok(Heard::Again(effect, _)) => assert_eq!(effect, Effect::Unsent, "{word}"),
        Ok(stopped) => panic!("{word}: {stopped:?}"),
        Err(_) => assert!(
            !["OOM", "MISCONF"].contains(&word),
            "{word} is no state that passes"
        ),
    }
    let refused: RedisResult<u64> = cmd("INCR").arg("visits").query(&mut server);
    assert_eq!(refused.expect_err("it is in trouble").code(), Some(word));
    let before: u64 = cmd("GET").arg("visits").query(&mut server).unwrap_or(16);
    assert_eq!(before, 16, "{word}: it had an effect");
    help(&mut server);
    let counted: RedisResult<u64> = counting.await.expect("no panic");
    assert_eq!(counted.expect("it counts"), 17, "{word}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_said_in_place_of_executing_is_waited_out() {
    for (word, setting, bad, good) in [
        ("OOM", "maxmemory", "1", "0"),
        ("NOREPLICAS", "min-replicas-to-write", "1", "0"),
    ] {
        let server = Server::started(&[]);
        let (plain, url) = (server.plain(), server.url());
        let to =
            |value: &'static str| move |server: &mut redis::Connection| set(server, setting, value);
        waits_out(word, plain, &url, to(bad), to(good)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_master_that_has_become_a_replica_is_waited_out() {
    let server = Server::started(&[]);
    let replicate = |host: &'static str, port: &'static str| {
        move |server: &mut redis::Connection| {
            let sent = cmd("REPLICAOF").arg(host).arg(port).exec(server);
            sent.expect("it is set");
        }
    };
    let (trouble, help) = (replicate("127.0.0.1", "1"), replicate("NO", "ONE"));
    waits_out("READONLY", server.plain(), &server.url(), trouble, help).await;
}

/// A failover behind one address: the connection is to the server that was the master.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_to_a_master_that_has_become_a_replica_is_given_up() {
    let server = Server::started(&[]);
    let proxy = Proxy::to(server.port()).await;
    let mut plain = server.plain();
    for is_transaction in [false, true] {
        let (mut redis, _heard) = connection(&proxy.url());
        let () = redis.set("visits", 16).await.expect("it is set");
        let dialled = proxy.connects();
        let mut replicate = |host: &str, port: &str| {
            cmd("REPLICAOF")
                .arg(host)
                .arg(port)
                .exec(&mut plain)
                .expect("it is set");
        };
        replicate("127.0.0.1", "1");
        let counting = tokio::spawn(async move {
            if is_transaction {
                let mut one = pipe();
                one.atomic().incr("visits", 1);
                return one
                    .query_async::<(u64,)>(&mut redis)
                    .await
                    .map(|(visits,)| visits);
            }
            redis.incr("visits", 1).await
        });
        let dialled_again = async {
            while proxy.connects() == dialled {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let dialled_again = timeout(Duration::from_secs(20), dialled_again).await;
        dialled_again.expect("it is dialled again");
        replicate("NO", "ONE");
        assert_eq!(
            counting.await.expect("no panic"),
            Ok(17),
            "{is_transaction}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_without_one_of_its_slots_is_waited_out() {
    let server = Server::with_all_slots("500");
    let slots = |act: &'static str| {
        move |server: &mut redis::Connection| {
            let sent = cmd("CLUSTER").arg(act).arg(0).arg(0).exec(server);
            sent.expect("it is set");
        }
    };
    let (trouble, help) = (slots("DELSLOTSRANGE"), slots("ADDSLOTSRANGE"));
    waits_out("CLUSTERDOWN", server.plain(), &server.url(), trouble, help).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_without_its_master_is_waited_out() {
    let server = Server::started(&[]);
    let trouble = |server: &mut redis::Connection| {
        set(server, "replica-serve-stale-data", "no");
        set(server, "replica-read-only", "no"); // or it says READONLY
        let sent = cmd("REPLICAOF").arg("127.0.0.1").arg("1").exec(server);
        sent.expect("it is set");
        let read: RedisResult<u64> = cmd("GET").arg("visits").query(server);
        assert_eq!(read.expect_err("not even read").code(), Some("MASTERDOWN"));
    };
    let help = |server: &mut redis::Connection| {
        let sent = cmd("REPLICAOF").arg("NO").arg("ONE").exec(server);
        sent.expect("it is set");
    };
    waits_out("MASTERDOWN", server.plain(), &server.url(), trouble, help).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_cannot_save_is_waited_out() {
    let server = Server::started(&["--appendonly", "no", "--enable-protected-configs", "yes"]);
    let saves = |server: &mut redis::Connection| {
        cmd("BGSAVE").exec(server).expect("it begins");
        loop {
            let told: String = cmd("INFO")
                .arg("persistence")
                .query(server)
                .expect("it is told");
            if told.contains("rdb_bgsave_in_progress:0") {
                return told.contains("rdb_last_bgsave_status:ok");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let (gone, stays) = (TempDir::new().expect("one"), TempDir::new().expect("one"));
    let to_stay = stays.path().to_str().expect("UTF-8").to_owned();
    let trouble = move |server: &mut redis::Connection| {
        set(server, "save", "3600 1"); // who never saves is never refused
        set(server, "dir", gone.path().to_str().expect("UTF-8"));
        drop(gone);
        assert!(!saves(server), "there is no directory");
    };
    let help = move |server: &mut redis::Connection| {
        set(server, "dir", to_stay);
        assert!(saves(server), "there is a directory");
        set(server, "save", "");
    };
    waits_out("MISCONF", server.plain(), &server.url(), trouble, help).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_that_takes_too_long_is_waited_out() {
    let server = Server::started(&["--busy-reply-threshold", "1"]);
    let mut busy = server.plain();
    let trouble = move |_: &mut redis::Connection| {
        std::thread::spawn(move || {
            let _: RedisResult<Value> =
                cmd("EVAL").arg("while true do end").arg(0).query(&mut busy);
        });
        std::thread::sleep(Duration::from_millis(50)); // from its threshold on others are told
    };
    let help = |server: &mut redis::Connection| {
        cmd("SCRIPT").arg("KILL").exec(server).expect("it ends");
    };
    waits_out("BUSY", server.plain(), &server.url(), trouble, help).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_refused_for_longer_than_it_may_wait_is_told_the_word() {
    let server = Server::started(&[]);
    let builder = Builder::new(&server.url()).expect("an address");
    let mut redis = builder
        .patience(Duration::from_millis(300))
        .build()
        .expect("valid settings");
    set(&mut server.plain(), "min-replicas-to-write", "1");
    let began = std::time::Instant::now();
    let refused: RedisResult<u64> = redis.incr("visits", 1).await;
    assert_eq!(
        refused.expect_err("it is refused").code(),
        Some("NOREPLICAS")
    );
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "{:?}",
        began.elapsed()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_was_refused_while_it_was_queued_is_repeated_as_its_commands() {
    let server = Server::started(&[]);
    let mut plain = server.plain();
    let (mut redis, mut heard) = connection(&server.url());
    let () = redis.set("visits", 16).await.expect("it is set");
    set(&mut plain, "maxmemory", 1);
    let counting = tokio::spawn(async move {
        let mut twice = pipe();
        twice.atomic().incr("visits", 1).incr("visits", 1);
        twice.query_async::<(u64, u64)>(&mut redis).await
    });
    let Some(Heard::Again(Effect::Unsent, _)) = heard.recv().await else {
        panic!("it was not repeated");
    };
    set(&mut plain, "maxmemory", 0);
    assert_eq!(
        counting.await.expect("no panic").expect("it counts"),
        (17, 18)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_data_is_read_commands_wait_without_an_attempt() {
    let mut server = Server::new(&["--appendonly", "no", "--key-load-delay", "5000"]);
    server.start();
    let mut plain = server.plain();
    for key in 0..100 {
        let () = plain.set(key, 1).expect("it is set");
    }
    let () = plain.set("visits", 16).expect("it is set");
    cmd("SAVE").exec(&mut plain).expect("it is saved");
    server.kill();
    server.start();
    let (mut redis, mut heard) = connection(&server.url());
    assert_eq!(redis.incr("visits", 1).await, Ok(17));
    assert!(heard.try_recv().is_err(), "it burnt an attempt");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_has_too_many_clients_is_dialled_again() {
    let server = Server::started(&[]);
    let mut plain = server.plain();
    set(&mut plain, "maxclients", 1);
    let (mut redis, _) = connection(&server.url());
    let reading = tokio::spawn(async move { redis.get::<_, Option<u64>>("visits").await });
    let refused = |server: &mut redis::Connection| -> bool {
        let stats: String = cmd("INFO").arg("stats").query(server).expect("stats");
        !stats.contains("rejected_connections:0")
    };
    while !refused(&mut plain) {
        tokio::task::yield_now().await;
    }
    set(&mut plain, "maxclients", 100);
    assert_eq!(reading.await.expect("no panic"), Ok(None));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_fit_the_data_or_is_not_allowed_is_told_at_once() {
    let server = Server::started(&[]);
    let (mut redis, mut heard) = connection(&server.url());
    let () = redis.set("name", "a lamp").await.expect("it is set");
    let refused: RedisResult<u64> = redis.lpush("name", 1).await;
    assert_eq!(refused.expect_err("a string").code(), Some("WRONGTYPE"));
    assert_eq!(
        heard.recv().await,
        Some(Heard::Stopped(StopReason::Permanent))
    );
    let rule = cmd("ACL")
        .arg("SETUSER")
        .arg("default")
        .arg("-incrby")
        .exec(&mut server.plain());
    rule.expect("it is set");
    let refused: RedisResult<u64> = redis.incr("visits", 1).await;
    assert_eq!(refused.expect_err("not allowed").code(), Some("NOPERM"));
    assert_eq!(
        heard.recv().await,
        Some(Heard::Stopped(StopReason::Permanent))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_word_of_a_script_is_believed() {
    let server = Server::started(&[]);
    let (mut redis, mut heard) = connection(&server.url());
    let script = "redis.call('INCR', KEYS[1]) return redis.error_reply('LOADING of my own')";
    let script = cmd("EVAL").arg(script).arg(1).arg("visits").take();
    let refused: RedisResult<u64> = script.query_async(&mut redis).await;
    assert_eq!(refused.expect_err("its own word").code(), Some("LOADING"));
    assert_eq!(
        heard.recv().await,
        Some(Heard::Stopped(StopReason::NotIdempotent))
    );
    assert_eq!(redis.get("visits").await, Ok(1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_transaction_did_beside_its_error_stays_and_is_not_done_again() {
    let server = Server::started(&[]);
    let (mut redis, mut heard) = connection(&server.url());
    let () = redis.set("name", "a lamp").await.expect("it is set");
    let mut both = pipe();
    both.atomic().incr("visits", 1).lpush("name", 1);
    let refused: RedisResult<(u64, u64)> = both.query_async(&mut redis).await;
    assert!(refused.is_err());
    assert_eq!(
        heard.recv().await,
        Some(Heard::Stopped(StopReason::Permanent))
    );
    assert_eq!(redis.get("visits").await, Ok(1));
}
