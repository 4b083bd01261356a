//! Does the counter count each once while Redis is killed in the middle?

use std::sync::Arc;

use becalm::StopReason;
use becalm_examples::redis_counter::Counter;
use redis::Client;
use tokio::task::{JoinSet, yield_now};

use crate::servers::redis::Redis;
use crate::within;

fn counter(server: &Redis) -> Counter {
    let client = Client::open(server.url()).expect("an address");
    Counter::new(client).expect("valid policies")
}

#[tokio::test]
async fn c3_what_was_cut_in_the_middle_is_read_again_but_not_counted_again() {
    within(async {
        let mut server = Redis::new();
        server.start();
        let counter = counter(&server);
        assert_eq!(counter.increment("visits").await.expect("it counts"), 1);
        server.freeze();
        let (added, read, ()) = tokio::join!(
            counter.increment("visits"),
            counter.value("visits"),
            async {
                // Both commands are on their way: this comes third.
                yield_now().await;
                server.kill();
                server.start();
            }
        );
        let gave_up = added.expect_err("it may have been counted");
        assert_eq!(
            (gave_up.reason(), gave_up.attempts()),
            (StopReason::NotIdempotent, 1)
        );
        assert_eq!(read.expect("a value"), 1);
        assert_eq!(counter.increment("visits").await.expect("it counts"), 2);
    })
    .await;
}

#[tokio::test]
async fn c10_commands_wait_for_a_server_that_is_not_there_yet() {
    within(async {
        let mut server = Redis::new();
        let counter = Arc::new(counter(&server));
        let mut tasks = JoinSet::new();
        for _ in 0..50 {
            let counter = Arc::clone(&counter);
            tasks.spawn(async move { counter.increment("visits").await });
        }
        yield_now().await; // each has asked for the connection
        server.start();
        while let Some(added) = tasks.join_next().await {
            added.expect("no panic").expect("it counts");
        }
        assert_eq!(counter.value("visits").await.expect("a value"), 50);
    })
    .await;
}
