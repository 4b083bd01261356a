//! What does a server of a cluster say about a slot that is elsewhere or on its way, and did nothing happen?

use std::time::Duration;

use becalm::Effect;
use becalm_redis::subscription::{Event, Topic};
use redis::{Cmd, FromRedisValue, RedisResult, cmd};
use tokio::time::timeout;

use crate::server::Server;
use crate::words::{Heard, connection};

/// Two nodes that know each other, the first of which has all slots.
struct Pair {
    first: Server,
    second: Server,
}

impl Pair {
    fn started() -> Self {
        let (first, second) = (Server::cluster("5000"), Server::cluster("5000"));
        let pair = Self { first, second };
        pair.cluster(&["ADDSLOTSRANGE", "0", "16383"]);
        let (port, bus) = pair.second.cluster_ports();
        pair.cluster(&["MEET", "127.0.0.1", &port, &bus]);
        let knows = |server: &Server| {
            let nodes: String = ask(server, &["NODES"]);
            let connected = |line: &str| line.contains("connected") && !line.contains("handshake");
            nodes.lines().filter(|line| connected(line)).count() == 2
        };
        let is_well = || {
            let told: String = ask(&pair.first, &["INFO"]);
            told.contains("cluster_state:ok")
        };
        while !(knows(&pair.first) && knows(&pair.second) && is_well()) {
            std::thread::sleep(Duration::from_millis(10));
        }
        pair
    }

    fn id(server: &Server) -> String {
        ask(server, &["MYID"])
    }

    fn second(&self) -> String {
        Self::id(&self.second)
    }

    fn cluster(&self, arguments: &[&str]) {
        let _: String = ask(&self.first, arguments);
    }

    /// The first node says this word to this command, which is waited out until the slot stays.
    async fn waits_out<T: FromRedisValue + Send + 'static>(
        &self,
        word: &str,
        command: Cmd,
        to_stay: &[&str],
    ) -> T {
        let (mut redis, mut heard) = connection(&self.first.url());
        let refused: RedisResult<T> = command.query(&mut self.first.plain());
        let refused = refused.err().expect("it is elsewhere");
        assert_eq!(refused.code(), Some(word));
        let waiting = tokio::spawn(async move { command.query_async(&mut redis).await });
        let first = timeout(Duration::from_secs(20), heard.recv()).await;
        let Ok(Some(Heard::Again(effect, _))) = first else {
            panic!("{word}: {first:?}");
        };
        assert_eq!(effect, Effect::Unsent, "{word}");
        self.cluster(to_stay);
        let done: RedisResult<T> = waiting.await.expect("no panic");
        done.expect("it is done once")
    }
}

fn ask<T: FromRedisValue>(server: &Server, arguments: &[&str]) -> T {
    let told = cmd("CLUSTER").arg(arguments).query(&mut server.plain());
    told.expect("it is told")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slot_that_is_elsewhere_or_on_its_way_is_waited_out() {
    let pair = Pair::started();
    let (first, second) = (Pair::id(&pair.first), pair.second());
    let slot: u16 = ask(&pair.first, &["KEYSLOT", "{visits}"]);
    let slot = slot.to_string();
    let increment = || {
        let mut one = cmd("INCR");
        one.arg("{visits}");
        one
    };

    pair.cluster(&["SETSLOT", &slot, "NODE", &second]);
    let back = ["SETSLOT", &slot, "NODE", &first];
    let counted: u64 = pair.waits_out("MOVED", increment(), &back).await;
    assert_eq!(counted, 1);

    cmd("DEL")
        .arg("{visits}")
        .exec(&mut pair.first.plain())
        .expect("it is gone");
    pair.cluster(&["SETSLOT", &slot, "MIGRATING", &second]);
    let stays = ["SETSLOT", &slot, "STABLE"];
    let counted: u64 = pair.waits_out("ASK", increment(), &stays).await;
    assert_eq!(counted, 1);

    let mut plain = pair.first.plain();
    cmd("RPUSH")
        .arg("{visits}from")
        .arg(1)
        .arg(2)
        .exec(&mut plain)
        .expect("a list");
    pair.cluster(&["SETSLOT", &slot, "MIGRATING", &second]);
    let mut transfer = cmd("RPOPLPUSH");
    transfer.arg("{visits}from").arg("{visits}to");
    let moved: u64 = pair.waits_out("TRYAGAIN", transfer, &stays).await;
    assert_eq!(moved, 2);
    let left: u64 = cmd("LLEN")
        .arg("{visits}from")
        .query(&mut plain)
        .expect("a list");
    assert_eq!(left, 1, "it ran once");
}

/// A slot of a cluster is nowhere: the channel of that slot waits, and the others are heard over the same connection.
#[tokio::test]
async fn a_sharded_channel_whose_slot_is_nowhere_takes_no_other_with_it() {
    let server = Server::cluster("5000");
    let slot: u16 = ask(&server, &["KEYSLOT", "down"]);
    let (before, after) = ((slot - 1).to_string(), (slot + 1).to_string());
    let slot = slot.to_string();
    let _: String = ask(&server, &["ADDSLOTSRANGE", "0", &before, &after, "16383"]);
    let mut plain = server.plain();
    let partial = ["SET", "cluster-require-full-coverage", "no"];
    let () = cmd("CONFIG").arg(&partial).query(&mut plain).expect("set");
    while !ask::<String>(&server, &["INFO"]).contains("cluster_state:ok") {
        std::thread::sleep(Duration::from_millis(10));
    }
    for protocol in ["?protocol=resp2", "?protocol=resp3"] {
        let url = format!("{}/{protocol}", server.url());
        let redis = becalm_redis::Connection::open(&url).expect("an address");
        let mut heard = redis.subscribe([
            Topic::from("a"),
            Topic::sharded("up"),
            Topic::sharded("down"),
        ]);
        let mut next = async || {
            let event = timeout(Duration::from_secs(10), heard.next()).await;
            event
                .expect("in time")
                .expect("it goes on")
                .expect("an event")
        };
        let is_told = |event: Event, expected: &str| match event {
            Event::Message(message) => {
                let payload: String = message.get_payload().expect("a text");
                assert_eq!(payload, expected);
            }
            other => assert!(
                format!("{other:?}").starts_with(expected),
                "{other:?} {expected}"
            ),
        };
        let mut publish = |command: &str, channel: &str, payload: &str| {
            let came: u64 = cmd(command)
                .arg(channel)
                .arg(payload)
                .query(&mut plain)
                .expect("published");
            assert_eq!(came, 1, "{channel} {payload}");
        };
        is_told(next().await, "Subscribed(Channel(\"a\")");
        // In the order of topics.
        is_told(next().await, "Interrupted(Sharded(\"down\")");
        is_told(next().await, "Subscribed(Sharded(\"up\")");
        publish("SPUBLISH", "up", "1");
        publish("PUBLISH", "a", "2");
        is_told(next().await, "1");
        is_told(next().await, "2");
        let _: String = ask(&server, &["ADDSLOTS", &slot]);
        is_told(next().await, "Subscribed(Sharded(\"down\")");
        publish("SPUBLISH", "down", "3");
        is_told(next().await, "3");
        // The slot leaves the node, with its channels.
        let _: String = ask(&server, &["DELSLOTS", &slot]);
        is_told(next().await, "Interrupted(Sharded(\"down\")");
        publish("SPUBLISH", "up", "4");
        is_told(next().await, "4");
        let _: String = ask(&server, &["ADDSLOTS", &slot]);
        is_told(next().await, "MayHaveMissed");
        publish("SPUBLISH", "down", "5");
        is_told(next().await, "5");
        let _: String = ask(&server, &["DELSLOTS", &slot]);
    }
}

/// A node has its slot, and the cluster is down, since another slot is nowhere: to leave its channel takes no other with it. By default
/// (`cluster-allow-pubsubshard-when-down`) it is not refused.
#[tokio::test]
async fn a_sharded_channel_that_is_left_while_the_cluster_is_down_takes_no_other_with_it() {
    let server = Server::with_all_slots("5000");
    let redis = becalm_redis::Connection::open(&server.url()).expect("an address");
    let mut heard = redis.subscribe([Topic::from("a"), Topic::sharded("up")]);
    for _ in 0..2 {
        let event = timeout(Duration::from_secs(10), heard.next()).await;
        let event = event.expect("in time").expect("it goes on");
        assert!(matches!(event, Ok(Event::Subscribed(_))), "{event:?}");
    }
    let mut plain = server.plain();
    let refuses = ["SET", "cluster-allow-pubsubshard-when-down", "no"];
    let () = cmd("CONFIG").arg(&refuses).query(&mut plain).expect("set");
    let slot: u16 = ask(&server, &["KEYSLOT", "down"]);
    let slot = slot.to_string();
    let _: String = ask(&server, &["DELSLOTS", &slot]);
    while !ask::<String>(&server, &["INFO"]).contains("cluster_state:fail") {
        std::thread::sleep(Duration::from_millis(10));
    }
    let topics = heard.topics();
    topics.remove(Topic::sharded("up"));
    for payload in ["1", "2"] {
        let nothing = timeout(Duration::from_millis(300), heard.next()).await;
        assert!(nothing.is_err(), "{nothing:?}");
        let came = cmd("PUBLISH").arg("a").arg(payload).query(&mut plain);
        assert_eq!(came, Ok(1));
        let event = timeout(Duration::from_secs(10), heard.next()).await;
        let event = event.expect("in time").expect("it goes on");
        assert!(matches!(event, Ok(Event::Message(_))), "{event:?}");
    }
    // It is left when it can be.
    let _: String = ask(&server, &["ADDSLOTS", &slot]);
    let left = async {
        loop {
            let _ = timeout(Duration::from_millis(20), heard.next()).await;
            let count = cmd("PUBSUB").arg("SHARDNUMSUB").arg("up").query(&mut plain);
            let count: (String, u64) = count.expect("it is told");
            if count.1 == 0 {
                return;
            }
        }
    };
    timeout(Duration::from_secs(10), left).await.expect("left");
}
