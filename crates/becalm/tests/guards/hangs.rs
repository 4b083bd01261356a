//! What do the guards learn from attempts that hang, where nothing but the deadline ends them?

use std::future::pending;
use std::task::Poll;

use becalm::bulkhead::{Aimd, Limit};
use becalm::time::FakeSleeper;
use becalm::{Bulkhead, Policy, StopReason, Throttle};

use crate::probe::{ByHand, Fault, MS, SECOND, fixed};
use crate::world::World;

/// So many calls at once that the deadline cuts.
fn hang(world: &World, calls: u32) {
    world.clock.advance(MS);
    let call = || ByHand::new(world.retrier.retry(|_| pending::<Result<u32, Fault>>()));
    let mut calls: Vec<_> = (0..calls).map(|_| call()).collect();
    assert!(calls.iter_mut().all(|call| call.run().is_pending()));
    world.clock.advance(SECOND);
    for call in &mut calls {
        let Poll::Ready(Err(gave_up)) = call.run() else {
            panic!("it is not cut");
        };
        assert_eq!(gave_up.reason(), StopReason::DeadlineExceeded);
        assert_eq!(gave_up.attempts(), 1);
    }
}

fn on(policy: Policy) -> World {
    World::on(&FakeSleeper::new(), policy.deadline(SECOND))
}

#[test]
fn c24_hangs_that_only_the_deadline_ends_lower_an_adaptive_limit() {
    let mut aimd = Aimd::default();
    aimd.initial = 10;
    let world = on(fixed(100 * MS).bulkhead(Bulkhead::limited(Limit::Aimd(aimd))));
    for limit in [9, 8, 7] {
        hang(
            &world,
            world.retrier.concurrency_limit().expect("a bulkhead"),
        );
        assert_eq!(world.retrier.concurrency_limit(), Some(limit));
    }
    world.assert_idle("cut");
}

#[test]
fn c24_hangs_that_only_the_deadline_ends_teach_the_throttle() {
    let world = on(fixed(100 * MS).throttle(Throttle::accepts(2.0)));
    hang(&world, 200);
    let shed = (0..100).filter(|_| {
        let mut call = ByHand::new(world.retrier.retry(|_| pending::<Result<u32, Fault>>()));
        match call.run() {
            Poll::Ready(ended) => ended.unwrap_err().reason() == StopReason::Shed,
            Poll::Pending => false,
        }
    });
    let shed = shed.count();
    assert!(
        shed > 75,
        "{shed} of 100, of which nine tenths are to be shed"
    );
}
