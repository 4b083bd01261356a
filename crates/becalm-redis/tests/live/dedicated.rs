//! What does a connection of one's own do with a command that is dropped?

use std::time::Duration;

use becalm_redis::{Connection, Dedicated};
use redis::aio::transaction_async;
use redis::{AsyncCommands, Cmd, Commands, RedisResult, cmd, pipe};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::server::Server;

async fn dedicated(server: &Server) -> Dedicated {
    let redis = Connection::open(&server.url()).expect("an address");
    redis.dedicated().await.expect("a connection")
}

#[tokio::test]
async fn a_blpop_that_is_dropped_takes_nothing_and_the_connection_says_why() {
    let server = Server::started(&[]);
    let mut plain = server.plain();
    for round in 0..50 {
        let mut own = dedicated(&server).await;
        let orders = format!("orders-{round}");
        let popped = own.blpop::<_, (String, u64)>(&orders, 0.0);
        timeout(Duration::from_millis(20), popped)
            .await
            .expect_err("the list is empty");
        let () = plain.lpush(&orders, round).expect("it is there");
        assert_eq!(plain.llen(&orders), Ok(1), "it was taken");
        let later: RedisResult<u64> = own.llen(&orders).await;
        let error = later.expect_err("it is closed");
        assert!(
            error.is_io_error() && error.to_string().contains("was dropped before its answer"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn what_was_never_polled_or_has_its_answer_closes_nothing() {
    let server = Server::started(&[]);
    let mut own = dedicated(&server).await;
    drop(own.blpop::<_, (String, u64)>("orders", 0.0));
    let wrong: RedisResult<u64> = cmd("NONE").query_async(&mut own).await;
    assert!(wrong.is_err());
    assert_eq!(own.llen("orders").await, Ok(0));
}

#[tokio::test]
async fn a_clone_whose_command_is_dropped_closes_all_and_each_says_why() {
    let server = Server::started(&[]);
    let own = dedicated(&server).await;
    let mut waits = own.clone();
    let waits = tokio::spawn(async move { waits.blpop::<_, (String, u64)>("a", 0.0).await });
    sleep(Duration::from_millis(20)).await;
    let mut other = own.clone();
    let other = timeout(
        Duration::from_millis(20),
        other.blpop::<_, (String, u64)>("b", 0.0),
    );
    other.await.expect_err("the list is empty");
    let told = timeout(Duration::from_secs(5), waits)
        .await
        .expect("it is told");
    let error = told.expect("no panic").expect_err("it is closed");
    assert!(
        error.to_string().contains("was dropped before its answer"),
        "{error}"
    );
}

#[tokio::test]
async fn transactions_that_watch_count_each_once() {
    let server = Server::started(&[]);
    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        let own = dedicated(&server).await;
        tasks.spawn(async move {
            let mut lost = 0;
            for _ in 0..20 {
                let counted: RedisResult<(u64,)> =
                    transaction_async(own.clone(), &["visits"], |mut own, mut all| {
                        lost += 1;
                        async move {
                            let visits: Option<u64> = own.get("visits").await?;
                            tokio::task::yield_now().await;
                            all.set("visits", visits.unwrap_or(0) + 1).ignore();
                            all.get("visits").query_async(&mut own).await
                        }
                    })
                    .await;
                counted.expect("it counts");
                lost -= 1;
            }
            lost
        });
    }
    let lost: u32 = tasks.join_all().await.into_iter().sum();
    assert_eq!(server.plain().get("visits"), Ok(160));
    assert!(lost > 0, "nothing was contended");
}

#[tokio::test]
async fn what_a_server_sends_of_itself_is_refused_and_its_place_is_named() {
    let server = Server::started(&[]);
    let mut redis = Connection::open(&server.url()).expect("an address");
    let mut own = redis.dedicated().await.expect("a connection");
    for (line, place) in [
        ("SUBSCRIBE a", "Connection::subscribe()"),
        ("psubscribe a*", "Connection::subscribe()"),
        ("SSUBSCRIBE a", "Connection::subscribe()"),
        ("UNSUBSCRIBE", "Connection::subscribe()"),
        ("MONITOR", "redis's own client"),
        ("SYNC", "redis's own client"),
    ] {
        let mut command = Cmd::new();
        command.arg(line.split(' ').collect::<Vec<_>>());
        let mut several = pipe();
        several.add_command(command.clone());
        for refused in [
            command.exec_async(&mut redis).await,
            command.exec_async(&mut own).await,
            several.exec_async(&mut redis).await,
            several.exec_async(&mut own).await,
        ] {
            let sentence = refused.expect_err(line).to_string();
            assert!(sentence.contains(place), "{line}: {sentence}");
        }
    }
    assert_eq!(own.incr("a", 1).await, Ok(1));
}
