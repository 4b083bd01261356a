//! Does a subscription come back, and does it say what may be missing?

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use becalm_redis::subscription::{Event, Subscription, Topic};
use becalm_redis::{Builder, Connection};
use futures_core::Stream;
use redis::{Commands, Connection as Plain, cmd};
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};

use crate::proxy::Proxy;
use crate::server::Server;
use crate::unfit::command;

/// The protocols, as addresses say them.
const PROTOCOLS: [&str; 2] = ["?protocol=resp2", "?protocol=resp3"];

fn connection(url: &str) -> Connection {
    let builder = Builder::new(url).expect("an address");
    let builder = builder.idle(Duration::from_millis(300));
    let builder = builder.response_timeout(Duration::from_millis(300));
    builder.build().expect("valid settings")
}

async fn next(subscription: &mut Subscription) -> Event {
    let event = timeout(Duration::from_secs(10), subscription.next()).await;
    event
        .expect("in time")
        .expect("it goes on")
        .expect("an event")
}

/// In few words.
fn told(event: Event) -> String {
    match event {
        Event::Message(message) => {
            let pattern: Option<String> = message.get_pattern().expect("a text");
            let payload: String = message.get_payload().expect("a text");
            format!(
                "{}{}={payload}",
                pattern.map(|it| it + " ").unwrap_or_default(),
                message.get_channel_name()
            )
        }
        Event::Lost(_) => "lost".into(),
        Event::MayHaveMissed => "missed".into(),
        other => format!("{other:?}"),
    }
}

async fn next_told(subscription: &mut Subscription) -> String {
    told(next(subscription).await)
}

/// Until these are confirmed.
async fn confirmed(subscription: &mut Subscription, topics: usize) {
    for _ in 0..topics {
        let event = next(subscription).await;
        assert!(matches!(event, Event::Subscribed(_)), "{event:?}");
    }
}

fn publish(plain: &mut Plain, channel: &str, payload: &str) {
    let heard: u64 = plain.publish(channel, payload).expect("published");
    assert_eq!(heard, 1, "{channel} {payload}");
}

#[tokio::test]
async fn channels_patterns_and_sharded_channels_come_in_both_protocols() {
    let server = Server::started(&[]);
    for protocol in PROTOCOLS {
        let redis = connection(&format!("{}/{protocol}", server.url()));
        let mut heard =
            redis.subscribe([Topic::from("a"), Topic::pattern("p*"), Topic::sharded("s")]);
        confirmed(&mut heard, 3).await;
        let mut plain = server.plain();
        publish(&mut plain, "a", "1");
        publish(&mut plain, "p2", "2");
        let () = cmd("SPUBLISH")
            .arg("s")
            .arg("3")
            .query(&mut plain)
            .expect("published");
        for expected in ["a=1", "p* p2=2", "s=3"] {
            assert_eq!(next_told(&mut heard).await, expected, "{protocol}");
        }
        // It is a stream, too.
        publish(&mut plain, "a", "4");
        let event = poll_fn(|context| Pin::new(&mut heard).poll_next(context)).await;
        assert_eq!(told(event.expect("one").expect("an event")), "a=4");
    }
}

#[tokio::test]
async fn after_a_kill_all_topics_are_heard_again_and_it_says_what_may_be_missing() {
    let mut server = Server::started(&[]);
    for protocol in PROTOCOLS {
        let redis = connection(&format!("{}/{protocol}", server.url()));
        let mut heard =
            redis.subscribe([Topic::from("a"), Topic::pattern("p*"), Topic::sharded("s")]);
        confirmed(&mut heard, 3).await;
        server.kill();
        assert_eq!(next_told(&mut heard).await, "lost");
        // It dials meanwhile.
        let nothing = timeout(Duration::from_millis(300), heard.next()).await;
        assert!(nothing.is_err(), "{nothing:?}");
        server.start();
        assert_eq!(next_told(&mut heard).await, "missed");
        let mut plain = server.plain();
        publish(&mut plain, "a", "1");
        publish(&mut plain, "p2", "2");
        assert_eq!(next_told(&mut heard).await, "a=1");
        assert_eq!(next_told(&mut heard).await, "p* p2=2");
        // By somebody at the server.
        let () = cmd("CLIENT")
            .arg("KILL")
            .arg("TYPE")
            .arg("pubsub")
            .query(&mut plain)
            .expect("killed");
        assert_eq!(next_told(&mut heard).await, "lost");
        assert_eq!(next_told(&mut heard).await, "missed");
        publish(&mut plain, "a", "3");
        assert_eq!(next_told(&mut heard).await, "a=3");
    }
}

/// No message is lost without a word: those who read the present state at each event have the last one in the end.
#[tokio::test]
async fn what_was_published_is_heard_or_said_to_be_missing_through_many_cuts() {
    let server = Server::started(&[]);
    let redis = connection(&server.url());
    let mut heard = redis.subscribe(["a"]);
    confirmed(&mut heard, 1).await;
    let mut plain = server.plain();
    let publishes = tokio::task::spawn_blocking(move || {
        for number in 0..20_000 {
            if number % 2_000 == 1_999 {
                let () = cmd("CLIENT")
                    .arg("KILL")
                    .arg("TYPE")
                    .arg("pubsub")
                    .query(&mut plain)
                    .expect("killed");
            }
            let () = plain.publish("a", number).expect("published");
            if number % 20 == 0 {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        // Until it is there again.
        while plain.publish::<_, _, u64>("a", 20_000).expect("published") == 0 {
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    let (mut last, mut gaps, mut told) = (None, 0, 0);
    loop {
        match next(&mut heard).await {
            Event::Message(message) => {
                let number: u64 = message.get_payload().expect("a number");
                let is_gap = last.is_some_and(|last| number != last + 1);
                assert!(!is_gap || told > gaps, "{last:?} {number}");
                if is_gap {
                    gaps = told;
                }
                last = Some(number);
                if number == 20_000 {
                    break;
                }
            }
            Event::MayHaveMissed => told += 1,
            Event::Lost(_) => {}
            other => panic!("{other:?}"),
        }
    }
    publishes.await.expect("no panic");
    assert!(gaps > 0 && told <= 10, "{gaps} {told}");
}

#[tokio::test]
async fn a_connection_that_is_half_open_is_found_while_nothing_comes() {
    let server = Server::started(&[]);
    for protocol in PROTOCOLS {
        let proxy = Proxy::to(server.port()).await;
        let redis = connection(&format!("{}/{protocol}", proxy.url()));
        let mut heard = redis.subscribe(["a"]);
        confirmed(&mut heard, 1).await;
        // One that answers pings stays, through several times of rest.
        let nothing = timeout(Duration::from_millis(1_500), heard.next()).await;
        assert!(nothing.is_err() && proxy.connects() == 1, "{nothing:?}");
        proxy.swallow();
        let began = Instant::now();
        assert_eq!(next_told(&mut heard).await, "lost");
        assert!(
            began.elapsed() < Duration::from_secs(2),
            "{:?}",
            began.elapsed()
        );
        proxy.cut();
        assert_eq!(next_told(&mut heard).await, "missed");
        publish(&mut server.plain(), "a", "1");
        assert_eq!(next_told(&mut heard).await, "a=1");
    }
}

#[tokio::test]
async fn a_reader_that_was_away_takes_no_living_connection_for_dead() {
    let server = Server::started(&[]);
    let proxy = Proxy::to(server.port()).await;
    let mut heard = connection(&proxy.url()).subscribe(["a"]);
    confirmed(&mut heard, 1).await;
    for round in 0..3 {
        // Its thread is blocked, its timers are late, and what has come is not seen yet.
        std::thread::sleep(Duration::from_millis(800));
        sleep(Duration::from_millis(20 * round)).await;
        publish(&mut server.plain(), "a", &round.to_string());
        assert_eq!(next_told(&mut heard).await, format!("a={round}"));
        let nothing = timeout(Duration::from_millis(400), heard.next()).await;
        assert!(nothing.is_err(), "{nothing:?}");
    }
    assert_eq!(proxy.connects(), 1);
}

#[tokio::test]
async fn topics_come_and_go_while_it_runs_and_while_it_is_away() {
    let mut server = Server::started(&[]);
    let mut heard = connection(&server.url()).subscribe(["a"]);
    confirmed(&mut heard, 1).await;
    let topics = heard.topics();
    let adds = topics.clone();
    let adds = tokio::spawn(async move {
        sleep(Duration::from_millis(50)).await;
        adds.add("b");
    });
    assert_eq!(next_told(&mut heard).await, "Subscribed(Channel(\"b\"))");
    adds.await.expect("no panic");
    topics.remove("a");
    let nothing = timeout(Duration::from_millis(100), heard.next()).await;
    assert!(nothing.is_err(), "{nothing:?}");
    let unheard: u64 = server.plain().publish("a", "1").expect("published");
    assert_eq!(unheard, 0);
    publish(&mut server.plain(), "b", "2");
    assert_eq!(next_told(&mut heard).await, "b=2");

    server.kill();
    assert_eq!(next_told(&mut heard).await, "lost");
    topics.add("c");
    topics.remove("b");
    topics.add("d");
    topics.remove("d");
    server.start();
    // Of b nothing is wanted any more, so that nothing is missing.
    assert_eq!(next_told(&mut heard).await, "Subscribed(Channel(\"c\"))");
    publish(&mut server.plain(), "c", "3");
    assert_eq!(next_told(&mut heard).await, "c=3");
    assert_eq!(topics.all(), [Topic::from("c")]);
}

#[tokio::test]
async fn who_reads_slowly_costs_no_memory_here_and_is_told_when_the_server_cuts() {
    let limit = ["--client-output-buffer-limit", "pubsub 4mb 4mb 1"];
    let server = Server::started(&limit);
    let mut heard = connection(&server.url()).subscribe(["a"]);
    confirmed(&mut heard, 1).await;
    let mut plain = server.plain();
    let payload = "x".repeat(100_000);
    let mut published = 0;
    while plain
        .publish::<_, _, u64>("a", &payload)
        .expect("published")
        > 0
    {
        published += 1;
        assert!(published < 10_000, "the server keeps a gigabyte");
    }
    // What was on its way comes, then it is told.
    let mut came = 0;
    loop {
        match next(&mut heard).await {
            Event::Message(message) => {
                assert_eq!(message.get_payload_bytes().len(), payload.len());
                came += 1;
            }
            Event::Lost(_) => break,
            other => panic!("{other:?}"),
        }
    }
    assert!(came < published, "{came} of {published}: nothing was cut");
    assert_eq!(next_told(&mut heard).await, "missed");
    publish(&mut plain, "a", "1");
    assert_eq!(next_told(&mut heard).await, "a=1");
}

#[tokio::test]
async fn a_topic_that_is_refused_is_told_and_the_others_go_on() {
    let server = Server::started(&[]);
    let mut plain = server.plain();
    let user = [
        "SETUSER",
        "reader",
        "on",
        ">secret",
        "+@all",
        "resetchannels",
        "&a",
    ];
    let () = cmd("ACL").arg(&user).query(&mut plain).expect("a user");
    for protocol in PROTOCOLS {
        let url = server.url().replace("redis://", "redis://reader:secret@");
        let mut heard = connection(&format!("{url}/{protocol}")).subscribe(["a", "b"]);
        assert_eq!(next_told(&mut heard).await, "Subscribed(Channel(\"a\"))");
        let Event::Refused(topic, error) = next(&mut heard).await else {
            panic!("{protocol}: b is heard");
        };
        assert_eq!((topic, error.code()), (Topic::from("b"), Some("NOPERM")));
        assert_eq!(heard.topics().all(), [Topic::from("a")]);
        publish(&mut plain, "a", "1");
        assert_eq!(next_told(&mut heard).await, "a=1");
    }
}

#[tokio::test]
async fn a_login_that_is_refused_is_an_error_and_the_end() {
    let server = Server::started(&["--requirepass", "secret"]);
    for protocol in PROTOCOLS {
        for (login, code) in [("", "NOAUTH"), (":wrong@", "WRONGPASS")] {
            let url = server
                .url()
                .replace("redis://", &format!("redis://{login}"));
            let mut heard = connection(&format!("{url}/{protocol}")).subscribe(["a"]);
            let ended = timeout(Duration::from_secs(5), heard.next()).await;
            let error = ended
                .expect("in time")
                .expect("an error")
                .expect_err("refused");
            assert_eq!(error.code(), Some(code), "{protocol}: {error}");
            assert!(heard.next().await.is_none());
        }
    }
}

#[tokio::test]
async fn one_that_is_dropped_is_gone_from_the_server() {
    let server = Server::started(&[]);
    let mut heard = connection(&server.url()).subscribe(["a"]);
    confirmed(&mut heard, 1).await;
    drop(heard);
    let mut plain = server.plain();
    let began = Instant::now();
    while plain.publish::<_, _, u64>("a", "1").expect("published") > 0 {
        assert!(
            began.elapsed() < Duration::from_secs(5),
            "it is still there"
        );
        sleep(Duration::from_millis(5)).await;
    }
}

/// A dial has begun, and nobody waits for its end.
#[tokio::test]
async fn one_that_waits_for_nothing_holds_no_dial_of_others() {
    let server = Server::started(&[]);
    let redis = connection(&server.url());
    let mut others: Vec<_> = (0..10).map(|_| redis.subscribe(["a"])).collect();
    for heard in &mut others {
        // Begun, and left: the first are there at once.
        let _ = timeout(Duration::ZERO, heard.next()).await;
    }
    let mut redis = redis;
    let set = timeout(
        Duration::from_secs(5),
        redis::AsyncCommands::set::<_, _, ()>(&mut redis, "a", 1),
    );
    set.await.expect("it has its turn").expect("it is set");
}

/// Its runtime ends while it dials, and another goes on.
#[test]
fn a_dial_whose_runtime_has_ended_is_begun_anew() {
    let server = Server::started(&[]);
    let mut heard = connection(&server.url()).subscribe(["a"]);
    let mut one = tokio::runtime::Builder::new_current_thread();
    one.enable_all()
        .build()
        .expect("a runtime")
        .block_on(async {
            poll_fn(|context| {
                let begun = Pin::new(&mut heard).poll_next(context);
                assert!(begun.is_pending(), "{begun:?}");
                Poll::Ready(())
            })
            .await;
        });
    let another = tokio::runtime::Runtime::new().expect("a runtime");
    another.block_on(confirmed(&mut heard, 1));
}

/// Settings that say never, and a program that has no runtime yet.
#[test]
fn it_is_made_outside_of_a_runtime_and_goes_on_in_another() {
    let mut server = Server::started(&[]);
    let builder = Builder::new(&server.url()).expect("an address");
    let builder = builder.idle(Duration::MAX).response_timeout(Duration::MAX);
    let redis = builder.build().expect("valid settings");
    let mut heard = redis.subscribe(["a"]);
    let runtime = || tokio::runtime::Runtime::new().expect("a runtime");
    runtime().block_on(async {
        confirmed(&mut heard, 1).await;
        let nothing = timeout(Duration::from_millis(100), heard.next()).await;
        assert!(nothing.is_err(), "{nothing:?}");
    });
    server.kill();
    server.start();
    runtime().block_on(async {
        assert_eq!(next_told(&mut heard).await, "lost");
        assert_eq!(next_told(&mut heard).await, "missed");
    });
}

/// A server that lets each in and refuses every topic for now, or hangs up.
#[tokio::test]
async fn who_is_refused_for_ever_dials_at_its_pace() {
    for refusal in ["-BUSY Redis is busy running a script\r\n", ""] {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("redis://{}", listener.local_addr().expect("an address"));
        let dials = Arc::<AtomicUsize>::default();
        let counted = Arc::clone(&dials);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(async move {
                    let mut client = BufReader::new(client);
                    while let Some(words) = command(&mut client).await {
                        let answer = match &*words[0] {
                            "PING" => "+PONG\r\n",
                            _ if refusal.is_empty() => break,
                            _ => refusal,
                        };
                        let _ = client.get_mut().write_all(answer.as_bytes()).await;
                    }
                });
            }
        });
        let mut heard = connection(&url).subscribe(["a", "b"]);
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(4) {
            let event = timeout(Duration::from_secs(10), heard.next()).await;
            let event = event.expect("in time").expect("it goes on");
            assert!(matches!(event, Ok(Event::Lost(_))), "{event:?}");
        }
        let dials = dials.load(Ordering::SeqCst);
        assert!(dials <= 22, "{refusal:?}: {dials} dials in 4 s");
    }
}
