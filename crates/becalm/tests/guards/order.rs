//! Of several reasons to stop that hold, which is named?

use becalm::{Failure, StopReason};

use crate::probe::{ByHand, Fault, MS, SECOND, fixed};
use crate::world::{DEFAULT, DRIVERS, World, consecutive};
use becalm::time::FakeSleeper;

/// The failing attempt finds the breaker open, the waiting room full and the budget spent.
fn stopped(driver: usize, fault: Fault, deadline: Option<std::time::Duration>) -> StopReason {
    let policy = fixed(100 * MS).breaker(consecutive(9)).max_waiting(1);
    let clock = FakeSleeper::new();
    let world = World::paying(&clock, policy, 1);
    let call = world
        .retrier
        .retry(|_| async { Err::<u32, _>(Fault::DOWN) });
    let mut waiting = ByHand::new(call);
    assert!(waiting.run().is_pending());
    assert_eq!(
        (world.retrier.waiting(), world.ledger.book().tokens),
        (1, 0)
    );

    let (_, drive) = DRIVERS[driver];
    let mut options = DEFAULT;
    options.deadline = deadline;
    let ended = drive(&world, &options, &|_| {
        world.retrier.force_open();
        Err(fault)
    });
    let book = world.ledger.book();
    assert_eq!(
        (book.withdrawals, book.denials),
        (1, 0),
        "the budget is asked last"
    );
    ended.unwrap_err().reason
}

#[test]
fn an_open_breaker_is_named_before_the_waiting_room_and_the_budget() {
    for driver in 0..DRIVERS.len() {
        assert_eq!(stopped(driver, Fault::DOWN, None), StopReason::BreakerOpen);
    }
}

#[test]
fn what_is_known_without_the_breaker_is_named_before_it() {
    let hint = |hint| Fault(Failure::throttled().retry_after(hint));
    for driver in 0..DRIVERS.len() {
        let deadline = Some(100 * MS);
        assert_eq!(
            stopped(driver, Fault::DOWN, deadline),
            StopReason::DeadlineExceeded
        );
        assert_eq!(
            stopped(driver, hint(61 * SECOND), None),
            StopReason::HintTooLong
        );
        assert_eq!(stopped(driver, Fault::GONE, None), StopReason::Permanent);
    }
}

/// The waiting room comes before the budget also where the breaker is closed.
#[test]
fn without_the_breaker_the_rest_of_the_order_stands() {
    let clock = FakeSleeper::new();
    let policy = fixed(100 * MS).breaker(consecutive(9)).max_waiting(1);
    for (driver, drive) in DRIVERS {
        let world = World::paying(&clock, policy.clone(), 1);
        let call = world
            .retrier
            .retry(|_| async { Err::<u32, _>(Fault::DOWN) });
        let mut waiting = ByHand::new(call);
        assert!(waiting.run().is_pending());
        let ended = drive(&world, &DEFAULT, &|_| Err(Fault::DOWN));
        assert_eq!(
            ended.unwrap_err().reason,
            StopReason::TooManyWaiting,
            "{driver}"
        );
        assert_eq!(world.ledger.book().denials, 0, "{driver}");
    }
}
