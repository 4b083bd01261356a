//! What does the server's word change?

use std::time::Duration;

use becalm::classify::websocket::classify_close;
use becalm::hint::Hint;
use becalm::policy::{InvalidPolicy, Mode};
use becalm::reconnect::{Next, Reconnect, Reconnector};
use becalm::rng::SplitMix64;
use becalm::time::Instant;
use becalm::{Failure, Policy, StopReason};

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// Nobody else would dial again.
#[test]
fn a_policy_that_only_observes_is_refused() {
    let observes = Reconnect::new(Policy::default().mode(Mode::Observe));
    assert_eq!(observes.validate(), Err(InvalidPolicy::Observes));
    assert_eq!(observes.plan().err(), Some(InvalidPolicy::Observes));
}

fn open<T: std::fmt::Debug>(machine: &mut Reconnector<T>, now: &mut Instant) -> Option<T> {
    loop {
        match machine.next(*now) {
            Next::Wait(until) => *now = until,
            Next::Dial(dial) => {
                assert!(machine.opened(dial.id, *now));
                return dial.handed;
            }
            other => panic!("{other:?}"),
        }
    }
}

fn last<T: std::fmt::Debug>(
    machine: &mut Reconnector<T>,
    now: Instant,
) -> becalm::reconnect::DialId {
    match machine.next(now) {
        Next::Open(id) => id,
        other => panic!("{other:?}"),
    }
}

/// The wait after a healthy connection was lost so, under this advice.
fn wait_after(seed: u64, advice: Option<Hint>, failure: &Failure) -> Result<Duration, StopReason> {
    let mut now = Instant::ZERO;
    let random = SplitMix64::new(seed);
    let mut machine = Reconnector::<()>::new(Reconnect::default(), random, now).unwrap();
    open(&mut machine, &mut now);
    let id = last(&mut machine, now);
    machine.advise(id, advice, None);
    now = now.after(secs(60));
    machine.failed(id, now, failure);
    match machine.next(now) {
        Next::Wait(until) => Ok(until.since(now)),
        Next::GaveUp(reason) => Err(reason),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_restart_spreads_its_clients_over_five_to_thirty_seconds() {
    let waits: Vec<_> = (0..4_000)
        .map(|seed| wait_after(seed, None, &classify_close(1012)).unwrap())
        .collect();
    assert!(waits.iter().all(|wait| (secs(5)..=secs(30)).contains(wait)));
    // Evenly: each of five seconds has a fifth, within 4 standard deviations (4 x 25 of 800).
    for second in 0..5 {
        let from = secs(5 + 5 * second);
        let count = waits
            .iter()
            .filter(|wait| (from..from + secs(5)).contains(wait))
            .count();
        assert!(count.abs_diff(800) < 100, "{count} from {from:?}");
    }
}

#[test]
fn advice_counts_when_the_loss_itself_says_nothing() {
    let later = Some(Hint::Exactly(secs(17)));
    assert_eq!(wait_after(1, later, &Failure::transient()), Ok(secs(17)));
    let own = Failure::transient().hint(Hint::Exactly(secs(3)));
    assert_eq!(wait_after(1, later, &own), Ok(secs(3)));
    let never = wait_after(1, Some(Hint::Stop), &Failure::transient());
    assert_eq!(never, Err(StopReason::DoNotRetry));
    assert_eq!(
        wait_after(1, None, &classify_close(1008)),
        Err(StopReason::Permanent)
    );
    // A longer wait than five minutes is not waited for.
    let long = Some(Hint::AtLeast(secs(301)));
    assert_eq!(
        wait_after(1, long, &Failure::transient()),
        Err(StopReason::HintTooLong)
    );
}

#[test]
fn what_the_server_hands_over_goes_to_one_dial_alone() {
    let mut now = Instant::ZERO;
    let random = SplitMix64::new(1);
    let mut machine = Reconnector::<&str>::new(Reconnect::default(), random, now).unwrap();
    assert_eq!(open(&mut machine, &mut now), None);
    let first = last(&mut machine, now);
    machine.advise(first, Some(Hint::Exactly(secs(2))), Some("ticket 17"));
    machine.failed(first, now, &Failure::transient());
    assert_eq!(open(&mut machine, &mut now), Some("ticket 17"));
    let second = last(&mut machine, now);
    // Word that comes late, of a connection that is gone, is not taken.
    machine.advise(first, Some(Hint::Stop), Some("ticket 18"));
    machine.failed(second, now, &Failure::transient());
    assert_eq!(open(&mut machine, &mut now), None);
}
