//! Who logs in, how often, and who waits for it?

use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use becalm::Policy;
use becalm_redis::{Builder, Connection, Credentials};
use redis::{AsyncCommands, RedisResult};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::proxy::Proxy;
use crate::server::Server;

type Login = io::Result<Credentials>;

/// A connection whose login takes so long and then is this, and how often it was asked for.
fn logging_in(
    builder: Builder,
    takes: Duration,
    login: impl Fn() -> Login + Send + Sync + 'static,
) -> (Connection, Arc<AtomicUsize>) {
    let logins = Arc::new(AtomicUsize::new(0));
    let (counts, login) = (Arc::clone(&logins), Arc::new(login));
    let builder = builder.credentials(move |_| {
        counts.fetch_add(1, Ordering::SeqCst);
        let login = Arc::clone(&login);
        async move {
            sleep(takes).await;
            login()
        }
    });
    (builder.build().expect("valid settings"), logins)
}

fn secret() -> Credentials {
    Credentials::password("secret")
}

/// So many commands at once: how many of them were done.
async fn done(redis: &Connection, commands: usize) -> usize {
    let mut tasks = JoinSet::new();
    for _ in 0..commands {
        let mut redis = redis.clone();
        tasks.spawn(async move { redis.incr::<_, _, u64>("visits", 1).await });
    }
    let answers: Vec<RedisResult<u64>> = tasks.join_all().await;
    answers.iter().filter(|answer| answer.is_ok()).count()
}

#[tokio::test]
async fn logins_that_the_server_refuses_become_rarer() {
    let server = Server::started(&["--requirepass", "secret"]);
    let proxy = Proxy::to(server.port()).await;
    let builder = Builder::new(&proxy.url()).expect("an address");
    let wrong = || Ok(Credentials::password("wrong"));
    let (redis, logins) = logging_in(builder, Duration::ZERO, wrong);
    let began = Instant::now();
    let mut commands = 0;
    while began.elapsed() < Duration::from_secs(5) {
        assert_eq!(done(&redis, 100).await, 0);
        commands += 100;
        sleep(Duration::from_millis(100)).await;
    }
    assert!(commands >= 1000, "{commands}");
    // Two at once, and then after pauses of at least 0.5, 1, 2 and 4 s; a dial a second in between has what there is.
    let (logins, dials) = (logins.load(Ordering::SeqCst), proxy.connects());
    assert!((3..=10).contains(&logins), "{logins} logins");
    assert!(dials <= 10, "{dials} dials of {commands} commands");
}

#[tokio::test]
async fn while_every_login_fails_nothing_is_dialled() {
    let server = Server::started(&["--requirepass", "secret"]);
    let proxy = Proxy::to(server.port()).await;
    let builder = Builder::new(&proxy.url()).expect("an address");
    let builder = builder.patience(Duration::from_secs(5));
    let fails = || Err(io::Error::other("the vault is sealed"));
    let (mut redis, logins) = logging_in(builder, Duration::ZERO, fails);
    assert_eq!(done(&redis, 1000).await, 0);
    let logins = logins.load(Ordering::SeqCst);
    assert!((3..=10).contains(&logins), "{logins} logins");
    assert_eq!(proxy.connects(), 0);
    let none: RedisResult<u64> = redis.get("visits").await;
    let sentence = none.expect_err("no login").to_string();
    assert!(sentence.contains("the vault is sealed"), "{sentence}");
}

#[tokio::test]
async fn a_login_that_is_slower_than_dials_and_attempts_succeeds_once_for_all() {
    let server = Server::started(&["--requirepass", "secret"]);
    let policy = Policy::default().attempt_timeout(Duration::from_millis(300));
    let builder = Builder::new(&server.url()).expect("an address");
    let builder = builder.dial_timeout(Duration::from_millis(300));
    let builder = builder.commands(policy.retrier().expect("a valid policy"));
    let (redis, logins) = logging_in(builder, Duration::from_secs(1), || Ok(secret()));
    // The one that asks first leaves.
    let mut leaves = redis.clone();
    let left = leaves.incr::<_, _, u64>("visits", 1);
    assert!(
        tokio::time::timeout(Duration::from_millis(100), left)
            .await
            .is_err()
    );
    assert_eq!(done(&redis, 1000).await, 1000);
    assert_eq!(logins.load(Ordering::SeqCst), 1);
    // And so at the next connection.
    let mut killer = server.plain();
    for line in ["AUTH secret", "CLIENT KILL TYPE normal"] {
        let mut words = line.split(' ');
        let mut command = redis::cmd(words.next().expect("a word"));
        command.arg(words.collect::<Vec<_>>());
        command.exec(&mut killer).expect("it is done");
    }
    while redis.clone().get::<_, u64>("visits").await.is_ok() {}
    assert_eq!(done(&redis, 1000).await, 1000);
    assert_eq!(logins.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_login_that_hangs_ends_with_its_own_time_limit() {
    let server = Server::started(&["--requirepass", "secret"]);
    let builder = Builder::new(&server.url()).expect("an address");
    let builder = builder.login_timeout(Duration::from_millis(500));
    let builder = builder.patience(Duration::from_secs(4));
    let (redis, logins) = logging_in(builder, Duration::from_secs(3600), || Ok(secret()));
    assert_eq!(done(&redis, 1000).await, 0);
    let logins = logins.load(Ordering::SeqCst);
    assert!((2..=4).contains(&logins), "{logins} logins");
}

#[test]
fn a_login_outlives_the_runtime_that_asked_first() {
    let server = Server::started(&["--requirepass", "secret"]);
    let builder = Builder::new(&server.url()).expect("an address");
    let builder = builder.login_timeout(Duration::from_millis(500));
    let (redis, logins) = logging_in(builder, Duration::from_millis(100), || Ok(secret()));
    let runtime = || tokio::runtime::Runtime::new().expect("a runtime");
    let (first, mut asks) = (runtime(), redis.clone());
    first.block_on(async {
        let asked = asks.incr::<_, _, u64>("visits", 1);
        let left = tokio::time::timeout(Duration::from_millis(50), asked).await;
        left.expect_err("no login yet");
    });
    drop(first);
    assert_eq!(runtime().block_on(done(&redis, 100)), 100);
    assert_eq!(logins.load(Ordering::SeqCst), 2);
}

/// A server that is silent on its first connection, and empty.
fn silent_at_first() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        let mut silent = None;
        for stream in listener.incoming() {
            let mut stream = stream.expect("a client");
            if silent.is_none() {
                silent = Some(stream);
                continue;
            }
            let lines = BufReader::new(stream.try_clone().expect("a socket")).lines();
            for line in lines.map_while(Result::ok) {
                let answer: &[u8] = match &*line {
                    "PING" => b"+PONG\r\n",
                    "GET" => b"$-1\r\n",
                    "CLIENT" => b"-ERR unknown command\r\n",
                    _ => continue,
                };
                stream.write_all(answer).expect("it is there");
            }
        }
    });
    format!("redis://127.0.0.1:{port}")
}

#[test]
fn a_dial_that_began_on_a_runtime_that_is_gone_ends_in_time_on_another() {
    for is_dropped in [true, false] {
        let builder = Builder::new(&silent_at_first()).expect("an address");
        let builder = builder.dial_timeout(Duration::from_millis(300));
        let mut redis = builder.build().expect("valid settings");
        let runtime = || {
            let mut builder = tokio::runtime::Builder::new_current_thread();
            builder.enable_all().build().expect("a runtime")
        };
        let first = runtime();
        first.block_on(async {
            let asked = redis.get::<_, Option<u64>>("visits");
            let left = tokio::time::timeout(Duration::from_millis(100), asked).await;
            left.expect_err("it is silent");
        });
        let kept = (!is_dropped).then_some(first);
        let answer = runtime().block_on(redis.get::<_, Option<u64>>("visits"));
        assert_eq!(answer, Ok(None), "dropped: {is_dropped}");
        drop(kept);
    }
}

#[tokio::test]
async fn connections_of_ones_own_share_the_logins() {
    let server = Server::started(&["--requirepass", "secret"]);
    let builder = Builder::new(&server.url()).expect("an address");
    let pace = becalm::reconnect::Pacer::new(1000, Duration::from_secs(1), 10).expect("a pace");
    let (redis, logins) = logging_in(builder.pacer(pace), Duration::from_millis(20), || {
        Ok(secret())
    });
    for _ in 0..30 {
        redis.dedicated().await.expect("a connection");
    }
    assert_eq!(logins.load(Ordering::SeqCst), 10);
}
