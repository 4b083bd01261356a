//! What do a network that goes and comes, and a person, change?

use std::time::Duration;

use becalm::reconnect::{Next, Reconnect, Reconnector};
use becalm::rng::SplitMix64;
use becalm::time::Instant;
use becalm::{Failure, Policy};

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// One that has failed this often, and waits.
fn waiting(seed: u64, failures: usize, failure: &Failure) -> (Reconnector, Instant) {
    let policy = Policy::exponential(secs(1))
        .cap(secs(3600))
        .attempts(Policy::UNLIMITED);
    let mut now = Instant::ZERO;
    let mut machine = Reconnector::new(Reconnect::new(policy), SplitMix64::new(seed), now).unwrap();
    for _ in 0..failures {
        while let Next::Wait(until) = machine.next(now) {
            now = until;
        }
        let Next::Connecting(id) = machine.next(now) else {
            panic!()
        };
        machine.failed(id, now, failure);
    }
    (machine, now)
}

#[test]
fn offline_nothing_is_dialled_and_online_all_come_spread_over_the_first_ceiling() {
    let mut early = 0;
    for seed in 0..1_000 {
        // Half of them had been told when to come, and all of them have missed their moment.
        let told = Failure::transient().retry_after(secs(50));
        let failure = if seed % 2 == 0 {
            told
        } else {
            Failure::transient()
        };
        let (mut machine, now) = waiting(seed, 12, &failure);
        machine.offline();
        let now = now.after(secs(7_200));
        assert_eq!(machine.next(now), Next::Offline);
        machine.online(now);
        let wait = match machine.next(now) {
            Next::Wait(until) => until.since(now),
            Next::Dial(_) => Duration::ZERO,
            other => panic!("{other:?}"),
        };
        assert!(wait <= secs(1), "{wait:?}");
        early += usize::from(wait < Duration::from_millis(500));
    }
    // Half of them in the first half, within 4 standard deviations (4 x 15.8).
    assert!(early.abs_diff(500) < 64, "{early}");
}

#[test]
fn a_changed_network_ends_a_wait_early_unless_the_server_asked_for_it() {
    let (mut machine, now) = waiting(1, 12, &Failure::transient());
    let Next::Wait(long) = machine.next(now) else {
        panic!()
    };
    machine.network_changed(now);
    let Next::Wait(short) = machine.next(now) else {
        panic!()
    };
    assert!(long.since(now) > secs(1) && short.since(now) <= secs(1));

    let (mut machine, now) = waiting(1, 1, &Failure::transient().retry_after(secs(60)));
    let before = machine.next(now);
    machine.network_changed(now);
    machine.offline();
    machine.online(now);
    assert_eq!(machine.next(now), before);
    // Only a person who presses the button is not held by that.
    machine.dial_now(now);
    assert!(matches!(machine.next(now), Next::Dial(_)));
}

#[test]
fn closed_is_closed_whatever_comes_after() {
    let mut now = Instant::ZERO;
    let mut machine =
        Reconnector::<()>::new(Reconnect::default(), SplitMix64::new(1), now).unwrap();
    let Next::Dial(dial) = machine.next(now) else {
        panic!()
    };
    machine.close();
    // The dial comes to an end all the same: its connection is the driver's to close.
    assert!(!machine.opened(dial.id, now));
    now = now.after(secs(60));
    machine.dial_now(now);
    machine.network_changed(now);
    assert_eq!(machine.next(now), Next::Closed);
}
