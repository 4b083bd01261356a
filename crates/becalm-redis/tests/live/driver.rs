//! Does it stand where redis's own connection does?

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use becalm::Policy;
use becalm_redis::{Builder, Connection, Credentials};
use redis::{AsyncCommands, Commands, RedisResult, Script, cmd, pipe};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::proxy::Proxy;
use crate::server::Server;

#[tokio::test]
async fn typed_commands_pipelines_transactions_scripts_and_scans_work_as_they_are() {
    let server = Server::started(&[]);
    let mut redis = Connection::open(&format!("{}/3", server.url())).expect("an address");
    let () = redis.set("a", 1).await.expect("it is set");
    let (b, a): (u64, u64) = pipe()
        .incr("b", 2)
        .get("a")
        .query_async(&mut redis)
        .await
        .expect("both");
    assert_eq!((b, a), (2, 1));
    let mut both = pipe();
    both.atomic().incr("a", 1).ignore().incr("b", 1);
    assert_eq!(both.query_async(&mut redis).await, Ok((3,)));
    let script = Script::new("return redis.call('INCRBY', KEYS[1], ARGV[1])");
    for expected in [7, 12] {
        let added: RedisResult<u64> = script.key("a").arg(5).invoke_async(&mut redis).await;
        assert_eq!(added, Ok(expected));
    }
    let mut keys = Vec::<String>::new();
    let mut found = redis.scan().await.expect("a cursor");
    while let Some(key) = found.next_item().await {
        keys.push(key.expect("a key"));
    }
    keys.sort();
    assert_eq!(keys, ["a", "b"]);
    let elsewhere: Option<u64> = server.plain().get("a").expect("nothing");
    assert_eq!(elsewhere, None, "it is in database 3");
}

#[tokio::test]
async fn what_changes_or_holds_the_connection_is_refused_and_has_one_of_its_own() {
    let server = Server::started(&[]);
    let mut redis = Connection::open(&server.url()).expect("an address");
    for line in [
        "SELECT 1",
        "WATCH a",
        "BLPOP a 0",
        "MULTI",
        "XREAD BLOCK 0 STREAMS a 0",
    ] {
        let mut command = cmd("");
        command.clear();
        for word in line.split(' ') {
            command.arg(word);
        }
        let refused: RedisResult<()> = command.query_async(&mut redis).await;
        let sentence = refused.expect_err("it is refused").to_string();
        assert!(sentence.contains("dedicated"), "{line}: {sentence}");
    }
    let mut own = redis.dedicated().await.expect("a connection");
    let waiting = tokio::spawn(async move { own.blpop::<_, (String, u64)>("orders", 0.0).await });
    // Longer than answers may take otherwise.
    let () = cmd("CLIENT")
        .arg("PAUSE")
        .arg(1100)
        .query_async(&mut redis.clone())
        .await
        .expect("it pauses");
    let _: u64 = redis
        .lpush("orders", 17)
        .await
        .or_else(|_| server.plain().lpush("orders", 17))
        .expect("it is there");
    assert_eq!(
        waiting.await.expect("no panic"),
        Ok(("orders".to_owned(), 17))
    );
}

#[tokio::test]
async fn a_login_that_has_expired_is_renewed_at_the_next_dial_once() {
    let server = Server::started(&["--requirepass", "old"]);
    let asked = Arc::<Mutex<Vec<bool>>>::default();
    let seen = Arc::clone(&asked);
    let builder = Builder::new(&server.url()).expect("an address");
    let builder = builder.credentials(move |renew| {
        seen.lock().expect("unpoisoned").push(renew);
        async move {
            Ok::<_, std::io::Error>(Credentials::password(if renew { "old" } else { "older" }))
        }
    });
    let mut redis = builder.build().expect("valid settings");
    assert_eq!(redis.incr("visits", 1).await, Ok(1));
    assert_eq!(*asked.lock().expect("unpoisoned"), [false, true]);

    let wrong = |_| async { Ok::<_, std::io::Error>(Credentials::of("nobody", "secret-17")) };
    let builder = Builder::new(&server.url())
        .expect("an address")
        .credentials(wrong);
    let mut redis = builder.build().expect("valid settings");
    let refused: RedisResult<u64> = redis.incr("visits", 1).await;
    let sentence = refused.expect_err("refused").to_string();
    assert!(
        sentence.contains("WRONGPASS") && !sentence.contains("secret-17"),
        "{sentence}"
    );
    assert!(!format!("{redis:?}").contains("secret-17"));
}

#[tokio::test]
async fn a_login_that_never_comes_is_asked_for_again() {
    let server = Server::started(&["--requirepass", "secret"]);
    let hangs = AtomicBool::new(true);
    let builder = Builder::new(&server.url()).expect("an address");
    let builder = builder.login_timeout(Duration::from_millis(200));
    let builder = builder.credentials(move |_| {
        let hangs = hangs.swap(false, Ordering::SeqCst);
        async move {
            if hangs {
                std::future::pending::<()>().await;
            }
            Ok::<_, std::io::Error>(Credentials::password("secret"))
        }
    });
    let mut redis = builder.build().expect("valid settings");
    assert_eq!(redis.incr("visits", 1).await, Ok(1));
}

#[tokio::test]
async fn many_tasks_share_one_connection_and_dial_at_its_pace() {
    let mut server = Server::started(&[]);
    let proxy = Proxy::to(server.port()).await;
    let redis = Connection::open(&proxy.url()).expect("an address");
    server.kill();
    let mut tasks = JoinSet::new();
    for _ in 0..200 {
        let mut redis = redis.clone();
        tasks.spawn(async move { redis.incr::<_, _, u64>("visits", 1).await });
    }
    while proxy.connects() < 3 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    server.start();
    let mut counted = tasks
        .join_all()
        .await
        .into_iter()
        .collect::<RedisResult<Vec<_>>>()
        .expect("all count");
    counted.sort_unstable();
    assert_eq!(counted, (1..=200).collect::<Vec<_>>());
    assert!(proxy.connects() < 20, "{}", proxy.connects());
}

#[tokio::test]
async fn a_connection_that_has_gone_silent_is_given_up() {
    let server = Server::started(&[]);
    let proxy = Proxy::to(server.port()).await;
    let builder = Builder::new(&proxy.url()).expect("an address");
    let builder = builder.response_timeout(Duration::from_millis(50));
    let mut redis = builder.build().expect("valid settings");
    let () = redis.set("a", 1).await.expect("it is set");
    proxy.swallow();
    let reading = tokio::spawn(async move { redis.get::<_, u64>("a").await });
    while proxy.connects() < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    proxy.cut();
    assert_eq!(reading.await.expect("no panic"), Ok(1));
}

#[tokio::test]
async fn who_had_little_time_does_not_take_the_connection_from_the_others() {
    let server = Server::started(&[]);
    let proxy = Proxy::to(server.port()).await;
    let policy = Policy::default()
        .attempts(1)
        .attempt_timeout(Duration::from_millis(100));
    let builder = Builder::new(&proxy.url()).expect("an address");
    let builder = builder.commands(policy.retrier().expect("a valid policy"));
    let mut redis = builder.build().expect("valid settings");
    let () = redis.set("a", 1).await.expect("it is set");
    let pause = cmd("CLIENT")
        .arg("PAUSE")
        .arg(300)
        .exec(&mut server.plain());
    pause.expect("it pauses");
    let late: RedisResult<u64> = redis.get("a").await;
    assert!(late.expect_err("it is late").is_timeout());
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(redis.get("a").await, Ok(1));
    assert_eq!(proxy.connects(), 1);
}

#[tokio::test]
async fn a_silent_connection_is_given_up_though_nobody_waits_for_long() {
    let server = Server::started(&[]);
    let proxy = Proxy::to(server.port()).await;
    let builder = Builder::new(&proxy.url()).expect("an address");
    let builder = builder.response_timeout(Duration::from_millis(200));
    let mut redis = builder.build().expect("valid settings");
    let () = redis.set("a", 1).await.expect("it is set");
    proxy.swallow();
    let began = Instant::now();
    while proxy.connects() < 2 {
        let _ = timeout(Duration::from_millis(50), redis.get::<_, u64>("a")).await;
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "it is still in use"
        );
    }
    proxy.cut();
    assert_eq!(redis.get("a").await, Ok(1));
}
