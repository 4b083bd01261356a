//! What does a consumer of a stream do when Redis refuses, forgets or is full, and its handler panics?

use std::future;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use becalm::{Breaker, Cancel, Failure, Policy};
use becalm_redis::streams::{Builder, Consumer, Message};
use becalm_redis::{Builder as Dial, Connection};
use redis::streams::{StreamMaxlen, StreamRangeReply};
use redis::{Commands, RedisResult, cmd};
use tokio::time::{sleep, timeout};

use crate::proxy::Proxy;
use crate::server::Server;
use crate::streams::{Fault, builder, dead, down, millis, number, run_until};

/// Number and attempt of what was handled.
#[derive(Clone, Default)]
struct Handled(Arc<Mutex<Vec<(usize, u32)>>>);

impl Handled {
    /// The attempt.
    fn add(&self, message: &Message) -> u32 {
        let attempt = message.delivery().attempt();
        let handled = (number(message), attempt);
        self.0.lock().expect("unpoisoned").push(handled);
        attempt
    }

    fn all(&self) -> Vec<(usize, u32)> {
        self.0.lock().expect("unpoisoned").clone()
    }
}

fn publish(server: &Server, number: usize, key: &str) {
    let fields = [("number", number.to_string()), ("key", key.to_owned())];
    let published: RedisResult<String> = server.plain().xadd("orders", "*", &fields);
    published.expect("it is published");
}

fn by_key(server: &Server) -> Builder {
    builder(server, "shipping").order_by("key")
}

fn held(server: &Server) -> Vec<String> {
    server.plain().keys("orders:shipping:h*").expect("keys")
}

/// A consumer over this connection, until it ends.
async fn ends(redis: Connection) -> RedisResult<()> {
    let consumer = Consumer::builder(redis, "orders", "shipping");
    let consumer = consumer.build().expect("valid settings");
    let running = consumer.run(future::pending::<()>(), |_| async { Ok::<_, Fault>(()) });
    let ended = timeout(Duration::from_secs(20), running).await;
    ended.expect("it ends")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_trimmed_away_while_it_is_handled_fails_as_others_do_and_keeps_its_order() {
    let server = Server::started(&[]);
    publish(&server, 0, "one key");
    publish(&server, 1, "one key");
    let handled = Handled::default();
    let (record, plain) = (handled.clone(), Arc::new(Mutex::new(server.plain())));
    let work = move |message: Message| {
        let (attempt, plain) = (record.add(&message), Arc::clone(&plain));
        async move {
            if (number(&message), attempt) == (0, 1) {
                let trim = StreamMaxlen::Equals(0);
                let trimmed: RedisResult<u64> =
                    plain.lock().expect("unpoisoned").xtrim("orders", trim);
                assert_eq!(trimmed, Ok(2));
                // Four times as long as a claim takes.
                sleep(millis(1_200)).await;
                return down();
            }
            Ok(())
        }
    };
    let is_over = || handled.all().len() >= 3 && held(&server).is_empty();
    run_until(vec![by_key(&server), by_key(&server)], work, is_over).await;
    assert_eq!(handled.all(), [(0, 1), (0, 2), (1, 1)]);
    let left: bool = server
        .plain()
        .exists("orders:shipping:trimmed")
        .expect("asked");
    assert!(!left, "nothing is left of it");
}

#[tokio::test]
async fn a_login_that_is_refused_ends_it() {
    let mut server = Server::new(&["--requirepass", "right"]);
    server.start();
    let address = server.url().replace("redis://", "redis://:wrong@");
    let redis = Connection::open(&address).expect("an address");
    let refused = ends(redis).await.expect_err("refused");
    assert!(refused.to_string().contains("WRONGPASS"), "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_breaker_of_its_commands_does_not_end_it() {
    let server = Server::started(&[]);
    let proxy = Proxy::to(server.port()).await;
    let breaker = Breaker::consecutive(1).open(millis(500));
    let policy = Policy::exponential(millis(10)).breaker(breaker);
    let commands = policy.builder().name("redis").build().expect("valid");
    let redis = Dial::new(&proxy.url()).expect("an address");
    let redis = redis.commands(commands).response_timeout(millis(100));
    let redis = redis.build();
    let consumer = Consumer::builder(redis.expect("valid settings"), "orders", "shipping");
    let consumer = consumer.claim_after(millis(300)).build().expect("valid");
    let (stop, handled) = (Cancel::new(), Handled::default());
    let record = handled.clone();
    let running = tokio::spawn(consumer.run(stop.cancelled(), move |message| {
        record.add(&message);
        async { Ok::<_, Fault>(()) }
    }));
    sleep(millis(300)).await;
    proxy.swallow();
    sleep(millis(3_000)).await;
    assert!(!running.is_finished(), "{:?}", running.await);
    proxy.cut();
    publish(&server, 0, "");
    while handled.all().is_empty() {
        assert!(!running.is_finished(), "{:?}", running.await);
        sleep(millis(5)).await;
    }
    stop.cancel();
    let ended = running.await.expect("no panic");
    ended.expect("it ends well");
}

#[tokio::test]
async fn a_server_that_answers_nothing_keeps_no_dial_for_ever() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("redis://{}", listener.local_addr().expect("an address"));
    let redis = Dial::new(&address).expect("an address");
    let redis = redis.response_timeout(millis(100)).build().expect("valid");
    // More than the pacer lets dial at once.
    for _ in 0..3 {
        let dialled = timeout(Duration::from_secs(5), redis.dedicated()).await;
        assert!(dialled.expect("it ends").expect_err("silent").is_timeout());
    }
    let server = Server::started(&[]);
    let redis = Dial::new(&server.url()).expect("an address");
    let redis = redis.response_timeout(millis(100)).build().expect("valid");
    let mut own = redis.dedicated().await.expect("a connection");
    let wait = cmd("BLPOP").arg("nothing").arg(0.5).take();
    let waited: RedisResult<Option<Vec<String>>> = wait.query_async(&mut own).await;
    assert_eq!(waited, Ok(None), "its commands wait for their answers");
}

#[tokio::test]
async fn a_panic_outside_of_a_future_is_a_failure_of_its_message() {
    let server = Server::started(&[]);
    publish(&server, 0, "");
    let handled = Handled::default();
    let record = handled.clone();
    let work = move |message: Message| {
        assert!(record.add(&message) > 1, "before there is a future");
        async { Ok(()) }
    };
    let consumer = builder(&server, "shipping").observe(|_, _| panic!("in an observer"));
    run_until(vec![consumer], work, || handled.all().len() == 2).await;
    assert_eq!(handled.all(), [(0, 1), (0, 2)]);
}

#[tokio::test]
async fn what_comes_back_stops_nobody_when_there_is_no_memory() {
    let server = Server::started(&[]);
    publish(&server, 0, "");
    let handled = Handled::default();
    let (record, is_down) = (handled.clone(), Arc::new(AtomicBool::new(true)));
    let fails = Arc::clone(&is_down);
    let work = move |message: Message| {
        record.add(&message);
        let fails = fails.load(Ordering::SeqCst);
        async move { if fails { down() } else { Ok(()) } }
    };
    let later = || {
        let later: u64 = server.plain().zcard("orders:shipping:later").expect("set");
        later == 1
    };
    run_until(vec![builder(&server, "shipping")], work.clone(), later).await;
    is_down.store(false, Ordering::SeqCst);
    let before = handled.all().len();
    (1..20).for_each(|number| publish(&server, number, ""));
    sleep(millis(1_100)).await; // it is due
    let mut full = cmd("CONFIG").arg("SET").arg("maxmemory").arg(1).take();
    full.arg("maxmemory-policy").arg("noeviction");
    full.exec(&mut server.plain()).expect("it is full");
    let refused: RedisResult<String> = server.plain().xadd("orders", "*", &[("number", "20")]);
    assert_eq!(refused.expect_err("full").code(), Some("OOM"));
    let is_over = || handled.all().len() == before + 20;
    run_until(vec![builder(&server, "shipping")], work, is_over).await;
}

#[tokio::test]
async fn a_dead_letter_that_is_put_back_begins_afresh() {
    let server = Server::started(&[]);
    publish(&server, 0, "one key");
    let handled = Handled::default();
    let (record, is_mended) = (handled.clone(), Arc::new(AtomicBool::new(false)));
    let (mended, ids) = (Arc::clone(&is_mended), Arc::<Mutex<Vec<String>>>::default());
    let seen = Arc::clone(&ids);
    let work = move |message: Message| {
        let attempt = record.add(&message);
        let mut names = message.fields().map(|(name, _)| name);
        assert!(!names.any(|name| name.starts_with(b"becalm-")));
        seen.lock().expect("unpoisoned").push(message.id().into());
        let mended = mended.load(Ordering::SeqCst);
        async move {
            match attempt {
                _ if !mended => Err(Fault(Failure::permanent())),
                1 => down(),
                _ => Ok(()),
            }
        }
    };
    let is_dead = || dead(&server, "shipping").ids.len() == 1;
    run_until(vec![by_key(&server)], work.clone(), is_dead).await;
    is_mended.store(true, Ordering::SeqCst);
    // One has its turn, the other is held behind it.
    for _ in 0..2 {
        let letter = dead(&server, "shipping").ids.remove(0);
        let fields = letter.map.into_iter().map(|(name, value)| {
            let value: String = redis::from_redis_value(value).expect("text");
            (name, value)
        });
        let mut put = cmd("XADD").arg("orders").arg("*").take();
        // In the order in which they lie there.
        let (own, others): (Vec<_>, Vec<_>) =
            fields.partition(|(name, _)| name.starts_with("becalm-"));
        for (name, value) in own.into_iter().chain(others) {
            put.arg(name).arg(value);
        }
        put.exec(&mut server.plain()).expect("it is published");
    }
    let is_over = || handled.all().len() == 5 && held(&server).is_empty();
    run_until(vec![by_key(&server)], work, is_over).await;
    let attempts: Vec<_> = handled.all().iter().map(|it| it.1).collect();
    assert_eq!(attempts, [1, 1, 2, 1, 2]);
    let entries: StreamRangeReply = server.plain().xrange_all("orders").expect("a stream");
    let entries: Vec<_> = entries.ids.into_iter().map(|it| it.id).collect();
    let mut ids = ids.lock().expect("unpoisoned").clone();
    ids.dedup();
    assert_eq!(ids, entries, "each has the id of its own entry");
    assert_eq!(dead(&server, "shipping").ids.len(), 1);
}

#[tokio::test]
async fn a_group_that_is_lost_and_made_again_loses_no_message() {
    let server = Server::started(&[]);
    let handled = Handled::default();
    let (record, plain) = (handled.clone(), Arc::new(Mutex::new(server.plain())));
    let begun = Arc::<AtomicUsize>::default();
    let begins = Arc::clone(&begun);
    let work = move |message: Message| {
        record.add(&message);
        if begins.fetch_add(1, Ordering::SeqCst) == 0 {
            let mut loss = redis::pipe();
            loss.atomic().cmd("XGROUP").arg("DESTROY");
            loss.arg("orders").arg("shipping");
            loss.xadd("orders", "*", &[("number", "2")]);
            let done: RedisResult<()> = loss.query(&mut *plain.lock().expect("unpoisoned"));
            done.expect("it is lost");
        }
        async { Ok(()) }
    };
    publish(&server, 0, "before it is there");
    let fresh = builder(&server, "shipping").start("$");
    let publisher = std::thread::spawn({
        let mut plain = server.plain();
        move || {
            let groups = |plain: &mut redis::Connection| {
                let groups = cmd("XINFO").arg("GROUPS").arg("orders").query(plain);
                let groups: Vec<redis::Value> = groups.expect("a stream");
                groups.len()
            };
            while groups(&mut plain) == 0 {
                std::thread::sleep(millis(5));
            }
            std::thread::sleep(millis(300)); // it has asked, and found nothing
            let one = plain.xadd::<_, _, _, _, String>("orders", "*", &[("number", "1")]);
            one.expect("it is published");
        }
    });
    let is_over = || handled.all().iter().any(|it| it.0 == 2);
    run_until(vec![fresh], work, is_over).await;
    publisher.join().expect("it is published");
    assert_eq!(handled.all()[0], (1, 1), "it begins with what is new");
}
