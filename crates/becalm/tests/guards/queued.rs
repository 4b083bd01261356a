//! A bulkhead with a queue: one call has the place, others wait for it.

use std::future::pending;
use std::task::Poll;

use becalm::time::FakeSleeper;
use becalm::{Bulkhead, GaveUp};

use crate::probe::{ByHand, Fault, MS, fixed};
use crate::world::{Stop, World};

/// What a call ends with.
pub type Ended = Result<u32, GaveUp<Fault>>;

pub fn queue(calls: u32, waiting: u32) -> Bulkhead {
    Bulkhead::calls(calls).waiting(waiting)
}

/// On a clock that only the test moves.
pub fn world(bulkhead: Bulkhead) -> World {
    World::on(&FakeSleeper::new(), fixed(100 * MS).bulkhead(bulkhead))
}

/// A call that has its place until it is dropped.
#[track_caller]
pub fn busy(world: &World) -> ByHand<impl Future<Output = Ended>> {
    let mut call = ByHand::new(world.retrier.retry(|_| pending::<Result<u32, Fault>>()));
    assert!(call.run().is_pending());
    call
}

/// A call that waits for a place, and succeeds with this once it has one.
#[track_caller]
pub fn waiting(world: &World, answer: u32) -> ByHand<impl Future<Output = Ended>> {
    let answered = move |_| async move { Ok::<_, Fault>(answer) };
    let mut call = ByHand::new(world.retrier.retry(answered));
    assert!(call.run().is_pending(), "it waits");
    call
}

/// How a call ended; `None` if it has not.
pub fn ended_of(polled: Poll<Ended>) -> Option<Result<u32, Stop>> {
    match polled {
        Poll::Pending => None,
        Poll::Ready(result) => Some(result.map_err(Stop::from)),
    }
}
