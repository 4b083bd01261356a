//! What happens to those who wait for a place when the policy is replaced?

use crate::probe::{ByHand, MS, fixed};
use crate::queued::{busy, ended_of, queue, waiting, world};

#[test]
fn a_reload_that_raises_the_limit_wakes_who_waits() {
    let world = world(queue(1, 4));
    let _busy = busy(&world);
    let mut calls: Vec<_> = (0..3).map(|number| waiting(&world, number)).collect();
    let policy = fixed(100 * MS).bulkhead(queue(3, 4));
    world
        .retrier
        .replace_policy(policy)
        .expect("a valid policy");
    let wakes: Vec<_> = calls.iter().map(ByHand::wakes).collect();
    assert_eq!(wakes, [1, 1, 0], "two more places");
    assert_eq!(world.retrier.concurrency_limit(), Some(3));
    assert_eq!(ended_of(calls[0].run()), Some(Ok(0)));
    assert_eq!(ended_of(calls[1].run()), Some(Ok(1)));
    assert_eq!(ended_of(calls[2].run()), Some(Ok(2)));
}

/// Nobody is left behind where the bulkhead goes while calls wait for it.
#[test]
fn a_reload_that_takes_the_bulkhead_out_leaves_nobody_behind() {
    let world = world(queue(1, 4));
    let busy = busy(&world);
    let mut calls: Vec<_> = (0..3).map(|number| waiting(&world, number)).collect();
    world
        .retrier
        .replace_policy(fixed(100 * MS))
        .expect("a valid policy");
    drop(busy);
    for (number, call) in (0..).zip(&mut calls) {
        assert_eq!(call.wakes(), 1, "woken by the one before");
        assert_eq!(ended_of(call.run()), Some(Ok(number)));
    }
    let put_back = fixed(100 * MS).bulkhead(queue(1, 4));
    world
        .retrier
        .replace_policy(put_back)
        .expect("a valid policy");
    world.assert_idle("all have ended");
}
