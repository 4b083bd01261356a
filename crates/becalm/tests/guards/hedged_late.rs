//! What if a hedge is due, and when somebody looks the deadline has passed as well?

use std::future::pending;
use std::task::Poll;

use becalm::time::FakeSleeper;
use becalm::{
    Hedge, Scope, Sleeper, StopReason,
    call::{Call, CallOptions},
};

use crate::probe::{ByHand, Fault, MS, fixed};
use crate::world::World;

fn world() -> World {
    let policy = fixed(100 * MS)
        .hedge(Hedge::after(20 * MS))
        .deadline(50 * MS);
    World::on(&FakeSleeper::new(), policy)
}

#[test]
fn a_hedge_without_time_is_refused_once_and_for_all() {
    let world = world();
    let clock = &world.clock;
    let mut call = Call::begin(&world.retrier, CallOptions::new(), Scope::NONE, clock.now());
    call.start(clock.now(), &mut || 0).expect("no guard");
    assert_eq!(call.hedge_at(clock.now()), Some(clock.now().after(20 * MS)));
    clock.advance(60 * MS);
    assert_eq!(call.start_hedge(clock.now(), &mut || 0), None);
    // Due for ever, it would keep its driver busy for ever.
    assert_eq!(call.hedge_at(clock.now()), None);
}

/// The executor was busy.
#[test]
fn a_future_that_is_polled_late_is_cut_by_the_deadline() {
    let world = world();
    let mut call = ByHand::new(world.retrier.retry(|_| pending::<Result<u32, Fault>>()));
    assert!(call.run().is_pending());
    world.clock.advance(60 * MS);
    let Poll::Ready(Err(gave_up)) = call.run() else {
        panic!("the deadline has passed");
    };
    assert_eq!(
        (gave_up.reason(), gave_up.attempts()),
        (StopReason::DeadlineExceeded, 1)
    );
    assert_eq!(world.clock.sleepers(), 0);
}
