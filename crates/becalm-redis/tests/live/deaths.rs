//! What do consumers and servers that are killed, and outages, leave behind?

use std::future;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use becalm::Cancel;
use becalm_redis::Connection;
use becalm_redis::streams::{Consumer, Message};
use redis::Commands;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::server::Server;
use crate::streams::{
    Fault, Seen, builder, consume, dead, down, millis, number, pending, publish, run_until,
};

/// As the test's own process: it takes five messages, says so, and never ends with them.
#[tokio::test]
#[ignore = "another test runs it, to kill it"]
async fn victim() {
    let Ok(url) = std::env::var("BECALM_QUEUE") else {
        return;
    };
    let redis = Connection::open(&url).expect("an address");
    let consumer = Consumer::builder(redis.clone(), "orders", "shipping").concurrency(5);
    let consumer = match std::env::var("BECALM_ORDER_BY") {
        Ok(field) => consumer.order_by(field),
        Err(_) => consumer,
    };
    let handler = move |_| {
        let mut redis = redis.clone();
        async move {
            let _: u64 = redis::AsyncCommands::incr(&mut redis, "begun", 1)
                .await
                .expect("counted");
            sleep(Duration::from_secs(60)).await;
            Ok::<_, Fault>(())
        }
    };
    let ended = consumer
        .build()
        .expect("valid")
        .run(future::pending::<()>(), handler)
        .await;
    panic!("{ended:?}");
}

/// A process that holds five messages.
pub async fn victim_of(server: &Server) -> Child {
    victim_with(server, None, 5).await
}

/// A process that has begun this many messages.
async fn victim_with(server: &Server, order_by: Option<&str>, count: u64) -> Child {
    let mut victim = Command::new(std::env::current_exe().expect("a test"));
    victim.args(["--exact", "deaths::victim", "--ignored"]);
    victim.env("BECALM_QUEUE", server.url());
    victim.envs(order_by.map(|field| ("BECALM_ORDER_BY", field)));
    victim.stdout(Stdio::null()).stderr(Stdio::null());
    let mut victim = victim.spawn().expect("it runs");
    let mut redis = server.plain();
    while redis.get::<_, Option<u64>>("begun").expect("a count") != Some(count) {
        assert_eq!(victim.try_wait().expect("it is ours"), None, "it has ended");
        sleep(millis(10)).await;
    }
    victim
}

#[tokio::test]
async fn a_consumer_that_is_killed_in_the_middle_loses_nothing_and_charges_nothing() {
    let server = Server::started(&[]);
    publish(&server, 5, |_| String::new());
    let mut victim = victim_of(&server).await;
    let seen = Seen::default();
    let record = seen.clone();
    let counts = move |message: Message| {
        record.add(&message);
        async { Ok(()) }
    };
    victim.kill().expect("it runs"); // SIGKILL
    victim.wait().expect("it ends");
    let is_over = || seen.len() == 5 && pending(&server, "shipping") == 0;
    run_until(vec![builder(&server, "shipping")], counts, is_over).await;
    let mut seen = seen.all();
    seen.sort_unstable();
    assert_eq!(
        seen,
        (0..5).map(|number| (number, 1, 0)).collect::<Vec<_>>()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_is_killed_and_comes_back_loses_no_message() {
    let mut server = Server::started(&[]);
    publish(&server, 200, |_| String::new());
    let seen = Seen::default();
    let record = seen.clone();
    let handler = move |message: Message| {
        record.add(&message);
        async move {
            sleep(millis(5)).await;
            if number(&message).is_multiple_of(10) && message.delivery().attempt() == 1 {
                down()
            } else {
                Ok(())
            }
        }
    };
    let stop = Cancel::new();
    let mut running = JoinSet::new();
    for _ in 0..2 {
        let consumer = builder(&server, "shipping")
            .concurrency(4)
            .build()
            .expect("valid");
        running.spawn(consumer.run(stop.cancelled(), handler.clone()));
    }
    while seen.len() < 40 {
        sleep(millis(5)).await;
    }
    server.kill();
    sleep(millis(100)).await;
    server.start();
    let is_left = |server: &Server| {
        let mut redis = server.plain();
        let later: u64 = redis.zcard("orders:shipping:later").expect("a set");
        let again: u64 = redis.xlen("orders:shipping:again").expect("a stream");
        pending(server, "shipping") > 0 || later + again > 0
    };
    let numbers = |seen: &Seen| {
        let mut numbers: Vec<_> = seen.all().iter().map(|it| it.0).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.len()
    };
    let began = Instant::now();
    while numbers(&seen) < 200 || is_left(&server) {
        assert!(
            began.elapsed() < Duration::from_secs(40),
            "{} of 200",
            numbers(&seen)
        );
        sleep(millis(20)).await;
    }
    stop.cancel();
    running
        .join_all()
        .await
        .into_iter()
        .for_each(|ended| ended.expect("it ends well"));
    assert_eq!(dead(&server, "shipping").ids.len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outage_kills_no_good_message_and_sends_few() {
    const COUNT: usize = 150;
    let server = Server::started(&[]);
    let is_down = Arc::new(AtomicBool::new(false));
    let (good, failed) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let is_poison = |number: usize| number % 30 == 17;
    let (down_now, done, fails) = (Arc::clone(&is_down), Arc::clone(&good), Arc::clone(&failed));
    let handler = move |message: Message| {
        let is_down = down_now.load(Ordering::SeqCst);
        let number = number(&message);
        if is_poison(number) {
            return std::future::ready(down());
        }
        let counter = if is_down { &fails } else { &done };
        counter.fetch_add(1, Ordering::SeqCst);
        std::future::ready(if is_down { down() } else { Ok(()) })
    };
    let url = server.url();
    let outage = tokio::task::spawn_blocking(move || {
        let client = redis::Client::open(url).expect("an address");
        let mut redis = client.get_connection().expect("it is there");
        let began = Instant::now();
        for number in 0..COUNT {
            let fields = [("number", number.to_string())];
            let _: String = redis.xadd("orders", "*", &fields).expect("it is published");
            is_down.store((30..COUNT - 1).contains(&number), Ordering::SeqCst);
            std::thread::sleep(millis(10));
        }
        began.elapsed()
    });
    let short = consume(Duration::from_secs(6), millis(1_000));
    let consumers = (0..3).map(|_| {
        builder(&server, "shipping")
            .concurrency(1)
            .consume(short.clone())
    });
    let over = || good.load(Ordering::SeqCst) >= 145 && dead(&server, "shipping").ids.len() == 5;
    run_until(consumers.collect(), handler, over).await;
    assert_eq!(good.load(Ordering::SeqCst), 145, "each once");
    let dead = dead(&server, "shipping");
    assert!(
        dead.ids
            .iter()
            .all(|it| is_poison(it.get::<String>("number").unwrap().parse().unwrap()))
    );
    // Three in a row each, and a probe after each pause of 100, 200, 400, 500 ms or longer.
    let outage = outage.await.expect("no panic").as_millis() as usize;
    let failed = failed.load(Ordering::SeqCst);
    assert!(
        failed <= 3 * (3 + 3 + outage / 400),
        "{failed} in {outage} ms"
    );
}

#[tokio::test]
async fn what_is_trimmed_away_holds_nobody_back() {
    let server = Server::started(&[]);
    let mut redis = server.plain();
    let _: () = redis
        .xgroup_create_mkstream("orders", "shipping", "0")
        .expect("a group");
    publish(&server, 3, |_| "one key".into());
    let mut victim = victim_with(&server, Some("key"), 1).await;
    victim.kill().expect("it runs");
    victim.wait().expect("it ends");
    let _: u64 = redis
        .xtrim("orders", redis::streams::StreamMaxlen::Equals(0))
        .expect("trimmed");
    let seen = Seen::default();
    let record = seen.clone();
    let counts = move |message: Message| {
        record.add(&message);
        async { Ok(()) }
    };
    let consumer = builder(&server, "shipping").order_by("key");
    run_until(vec![consumer], counts, || seen.len() == 2).await;
    let numbers: Vec<_> = seen.all().iter().map(|it| it.0).collect();
    assert_eq!(numbers, [1, 2]);
}
