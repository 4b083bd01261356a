//! Does the last acknowledged write stand through a failover, though a first copy comes late at the old primary?

use std::time::Duration;

use becalm::Budget;
use becalm_redis::{Builder, Connection, Policy};
use redis::{AsyncCommands, Commands, cmd};
use tokio::time::sleep;

use crate::proxy::Proxy;
use crate::server::Server;

/// Longer than a failover and its way back.
const LATE: Duration = Duration::from_secs(5);

/// A primary with a replica, and clients that go where the switch points.
struct Pair {
    first: Server,
    second: Server,
    switch: Proxy,
    redis: Connection,
}

impl Pair {
    async fn started(options: &[&str]) -> Self {
        let at_once = ["--repl-diskless-sync-delay", "0"];
        let all = [&at_once[..], options].concat();
        let (first, second) = (Server::started(&all), Server::started(&all));
        follow(&second, &first).await;
        let switch = Proxy::to(first.port()).await;
        let unpaid = Policy::default().budget(Budget::None).retrier();
        let redis = Builder::new(&switch.url()).expect("an address");
        let redis = redis.commands(unpaid.expect("a valid policy")).build();
        let redis = redis.expect("valid settings");
        let () = redis.clone().set("k", "ready").await.expect("it is set");
        // A replica has it a moment later.
        while second.plain().get("k") != Ok(Some("ready".to_owned())) {
            sleep(Duration::from_millis(5)).await;
        }
        Self {
            first,
            second,
            switch,
            redis,
        }
    }

    /// Sends a write to the first server, whose copy is held back there through a failover by this, and waits until it is done at the second.
    async fn writes_through(&self, promote: impl AsyncFnOnce(&Self)) {
        let mut one = self.redis.clone();
        let writing = async move { one.set::<_, _, ()>("k", "first").await };
        let writing = self.switch.holding(LATE, writing).await;
        promote(self).await;
        self.switch.switch(self.second.port());
        self.switch.cut();
        writing.await.expect("no panic").expect("it is repeated");
        let () = self
            .redis
            .clone()
            .set("k", "last")
            .await
            .expect("it is set");
    }
}

/// Makes this one a replica of that, and waits until it has all.
pub async fn follow(replica: &Server, primary: &Server) {
    let mut of = cmd("REPLICAOF");
    of.arg("127.0.0.1").arg(primary.port());
    of.exec(&mut replica.plain()).expect("it follows");
    until(replica, "master_link_status:up").await;
}

async fn lead(server: &Server) {
    let mut alone = cmd("REPLICAOF");
    alone.arg("NO").arg("ONE");
    alone.exec(&mut server.plain()).expect("it leads");
    until(server, "role:master").await;
}

async fn until(server: &Server, says: &str) {
    let says_so = async {
        loop {
            let told = cmd("INFO").arg("replication").query(&mut server.plain());
            let told: String = told.expect("it is told");
            if told.contains(says) {
                return;
            }
            sleep(Duration::from_millis(5)).await;
        }
    };
    let bounded = tokio::time::timeout(Duration::from_secs(20), says_so);
    bounded.await.expect(says);
}

fn value(server: &Server) -> String {
    server.plain().get("k").expect("it is there")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_comes_late_at_an_old_primary_is_gone_when_that_follows() {
    let pair = Pair::started(&[]).await;
    pair.writes_through(async |pair: &Pair| lead(&pair.second).await)
        .await;
    sleep(LATE + Duration::from_millis(200)).await;
    assert_eq!(
        (value(&pair.first), value(&pair.second)),
        ("first".into(), "last".into())
    );
    follow(&pair.first, &pair.second).await;
    assert_eq!(
        (value(&pair.first), value(&pair.second)),
        ("last".into(), "last".into())
    );
}

/// `FAILOVER` leaves no two primaries: the copy comes to a replica.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_comes_late_after_a_planned_failover_is_refused() {
    let pair = Pair::started(&[]).await;
    pair.writes_through(async |pair: &Pair| {
        let mut failover = cmd("FAILOVER");
        failover.arg("TO").arg("127.0.0.1").arg(pair.second.port());
        failover.exec(&mut pair.first.plain()).expect("it begins");
        until(&pair.second, "role:master").await;
        until(&pair.first, "master_link_status:up").await;
    })
    .await;
    sleep(LATE + Duration::from_millis(200)).await;
    assert_eq!(
        (value(&pair.first), value(&pair.second)),
        ("last".into(), "last".into())
    );
}

/// The old primary leads again while the copy is on its way: the next connection to it ends the one before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_comes_late_at_a_primary_that_leads_again_takes_no_effect() {
    let pair = Pair::started(&[]).await;
    pair.writes_through(async |pair: &Pair| lead(&pair.second).await)
        .await;
    follow(&pair.first, &pair.second).await;
    lead(&pair.first).await;
    pair.switch.switch(pair.first.port());
    pair.switch.cut();
    let read: String = pair.redis.clone().get("k").await.expect("it is read");
    assert_eq!(read, "last");
    sleep(LATE + Duration::from_millis(200)).await;
    assert_eq!(value(&pair.first), "last");
}

/// What a primary acknowledges without a replica is lost with it. `min-replicas-to-write` has it refuse that, and the write waits for the next primary.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_acknowledged_without_a_replica_is_lost_unless_the_primary_refuses_it() {
    for refuses in [false, true] {
        let pair = Pair::started(&[]).await;
        if refuses {
            for setting in [
                ["min-replicas-to-write", "1"],
                ["min-replicas-max-lag", "1"],
            ] {
                let mut set = cmd("CONFIG");
                set.arg("SET").arg(&setting);
                set.exec(&mut pair.first.plain()).expect("it is set");
            }
        }
        lead(&pair.second).await;
        until(&pair.first, "connected_slaves:0").await;
        // It counts its replicas once a second.
        sleep(Duration::from_millis(1_200)).await;
        let mut one = pair.redis.clone();
        let writing = tokio::spawn(async move { one.set::<_, _, ()>("k", "alone").await });
        sleep(Duration::from_millis(300)).await;
        assert_eq!(writing.is_finished(), !refuses);
        pair.switch.switch(pair.second.port());
        pair.switch.cut();
        writing
            .await
            .expect("no panic")
            .expect("it is acknowledged");
        follow(&pair.first, &pair.second).await;
        let stands = if refuses { "alone" } else { "ready" };
        assert_eq!(
            (value(&pair.first), value(&pair.second)),
            (stands.into(), stands.into())
        );
    }
}
