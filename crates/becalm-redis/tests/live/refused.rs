//! Does every command end well that a server refuses for seconds, with one attempt and nothing to pay?

use std::time::Duration;

use becalm::{Budget, Policy};
use becalm_redis::{Builder, Connection};
use redis::{AsyncCommands, Commands, RedisResult, Value, cmd, pipe};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::server::Server;
use crate::words::{refusals, set};

/// One attempt for each command, and no retry that could be paid.
fn connection(server: &Server) -> Connection {
    let policy = Policy::default().attempts(1).budget(Budget::None);
    let builder = Builder::new(&server.url()).expect("an address");
    let builder = builder.commands(policy.retrier().expect("a valid policy"));
    builder.build().expect("valid settings")
}

/// Every command that was refused for a second ends well, with the policy's attempts and budget untouched.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_refused_waits_as_for_a_connection_and_pays_nothing() {
    let server = Server::started(&[]);
    let mut plain = server.plain();
    let policy = Policy::default().attempts(1);
    let builder = Builder::new(&server.url()).expect("an address");
    let builder = builder.commands(policy.retrier().expect("a valid policy"));
    let redis = builder.build().expect("valid settings");
    let () = redis.clone().set("visits", 0).await.expect("it is set");
    set(&mut plain, "min-replicas-to-write", "1");
    let before = refusals(&mut plain, "NOREPLICAS");
    let mut all = tokio::task::JoinSet::new();
    for number in 0..200 {
        let mut redis = redis.clone();
        all.spawn(async move {
            if number % 2 == 0 {
                return redis.incr::<_, _, u64>("visits", 1).await;
            }
            let mut both = pipe();
            both.atomic().incr("visits", 1).incr("visits", 0);
            both.query_async::<(u64, u64)>(&mut redis)
                .await
                .map(|(visits, _)| visits)
        });
    }
    let read: u64 = redis
        .clone()
        .get("visits")
        .await
        .expect("it is not refused");
    assert_eq!(read, 0);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let asked = refusals(&mut plain, "NOREPLICAS").expect("it says") - before.expect("it says");
    set(&mut plain, "min-replicas-to-write", "0");
    let counted: RedisResult<Vec<u64>> = all.join_all().await.into_iter().collect();
    assert_eq!(counted.expect("all count").len(), 200);
    assert_eq!(plain.get("visits"), Ok(200));
    // A transaction is refused with each of its two commands.
    assert!(asked < 300 + 3 * 30, "one asks for all: {asked}");
}

async fn one_of_each_kind(mut redis: Connection, number: usize) -> RedisResult<()> {
    let key = format!("{{k}}{number}");
    match number % 6 {
        0 => redis.set(key, number).await,
        1 => redis.get::<_, Option<usize>>(key).await.map(drop),
        2 => redis.incr::<_, _, usize>(key, 1).await.map(drop),
        3 => {
            let mut both = pipe();
            both.hset(&key, "f", 1)
                .ignore()
                .expire(&key, 1_000)
                .ignore();
            both.exec_async(&mut redis).await
        }
        4 => {
            let mut both = pipe();
            both.atomic().incr(&key, 1).incr(&key, 1);
            let counted = both.query_async(&mut redis).await;
            counted.map(|counted: (usize, usize)| assert_eq!(counted, (1, 2)))
        }
        // A part of it is answered, and another refused.
        _ => {
            let mut both = pipe();
            both.get("{k}other").set(&key, number).ignore();
            let read = both.query_async(&mut redis).await;
            read.map(|read: (Option<usize>,)| assert_eq!(read, (None,)))
        }
    }
}

/// 240 commands while a server is in trouble for so long.
async fn all_end_well(word: &str, server: &Server, long: Duration, help: impl FnOnce()) {
    let redis = connection(server);
    let mut all = JoinSet::new();
    for number in 0..240 {
        all.spawn(one_of_each_kind(redis.clone(), number));
    }
    sleep(long).await;
    help();
    for ended in all.join_all().await {
        ended.unwrap_or_else(|error| panic!("{word}: {error}"));
    }
}

async fn each_word(long: Duration) {
    let server = Server::started(&["--busy-reply-threshold", "1"]);
    let replicate = |host: &str, port: &str| {
        let mut sent = cmd("REPLICAOF");
        sent.arg(host).arg(port);
        sent.exec(&mut server.plain()).expect("it is set");
    };
    replicate("127.0.0.1", "1");
    all_end_well("READONLY", &server, long, || replicate("NO", "ONE")).await;
    set(&mut server.plain(), "replica-serve-stale-data", "no");
    cmd("FLUSHALL").exec(&mut server.plain()).expect("empty");
    replicate("127.0.0.1", "1");
    all_end_well("MASTERDOWN", &server, long, || replicate("NO", "ONE")).await;

    cmd("FLUSHALL").exec(&mut server.plain()).expect("empty");
    set(&mut server.plain(), "min-replicas-to-write", "1");
    let help = || set(&mut server.plain(), "min-replicas-to-write", "0");
    all_end_well("NOREPLICAS", &server, long, help).await;

    cmd("FLUSHALL").exec(&mut server.plain()).expect("empty");
    let (mut plain, mut busy) = (server.plain(), server.plain());
    std::thread::spawn(move || {
        let _: RedisResult<Value> = cmd("EVAL").arg("while true do end").arg(0).query(&mut busy);
    });
    sleep(Duration::from_millis(50)).await; // from its threshold on others are told
    let help = || cmd("SCRIPT").arg("KILL").exec(&mut plain).expect("it ends");
    all_end_well("BUSY", &server, long, help).await;

    let cluster = Server::with_all_slots("500");
    let slots = |act: &str| {
        let mut sent = cmd("CLUSTER");
        sent.arg(act).arg(0).arg(0);
        sent.exec(&mut cluster.plain()).expect("it is set");
    };
    slots("DELSLOTSRANGE");
    all_end_well("CLUSTERDOWN", &cluster, long, || slots("ADDSLOTSRANGE")).await;
}

/// It loads for about as long as there are keys, each with its delay.
async fn while_it_loads(keys: usize) {
    let options = ["--appendonly", "no", "--key-load-delay", "5000"];
    let mut server = Server::new(&options);
    server.start();
    let mut fill = pipe();
    for key in 0..keys {
        fill.set(key, 1).ignore();
    }
    fill.exec(&mut server.plain()).expect("it is filled");
    cmd("SAVE").exec(&mut server.plain()).expect("it is saved");
    server.kill();
    server.start();
    all_end_well("LOADING", &server, Duration::ZERO, || {}).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_the_word_each_command_ends_well() {
    each_word(Duration::from_millis(500)).await;
    while_it_loads(100).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "half a minute: scripts/prove redis-lost"]
async fn in_full() {
    each_word(Duration::from_secs(3)).await;
    while_it_loads(600).await;
    println!(
        "READONLY, MASTERDOWN, NOREPLICAS, BUSY, CLUSTERDOWN, LOADING for 3 s: 240 commands each, all end well, nothing paid"
    );
}
