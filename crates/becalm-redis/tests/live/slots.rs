//! What does a server of a cluster say about a slot that is elsewhere or on its way, and did nothing happen?

use std::time::Duration;

use becalm::Effect;
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
