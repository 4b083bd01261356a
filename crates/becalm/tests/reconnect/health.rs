//! What makes the count begin anew?

use std::time::Duration;

use becalm::reconnect::{Dial, Healthy, Next, Reconnect, Reconnector};
use becalm::rng::SplitMix64;
use becalm::time::Instant;
use becalm::{Failure, Policy, StopReason};

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

fn machine(settings: Reconnect) -> Reconnector {
    Reconnector::new(settings, SplitMix64::new(1), Instant::ZERO).unwrap()
}

/// Waits and dials.
fn dialled(machine: &mut Reconnector, now: &mut Instant) -> Dial<()> {
    loop {
        match machine.next(*now) {
            Next::Wait(until) => *now = until,
            Next::Dial(dial) => return dial,
            other => panic!("{other:?}"),
        }
    }
}

/// The number of the dial after the loss of a connection to which this happened.
fn number_after(settings: Reconnect, lives: impl Fn(&mut Reconnector, &mut Instant)) -> u32 {
    let mut machine = machine(settings);
    let mut now = Instant::ZERO;
    for _ in 0..3 {
        let dial = dialled(&mut machine, &mut now);
        machine.failed(dial.id, now, &Failure::transient());
    }
    let dial = dialled(&mut machine, &mut now);
    assert_eq!(dial.number, 4);
    assert!(machine.opened(dial.id, now));
    lives(&mut machine, &mut now);
    machine.failed(dial.id, now, &Failure::transient());
    dialled(&mut machine, &mut now).number
}

#[test]
fn a_connection_proves_healthy_by_lasting_by_a_message_or_by_word() {
    let lasting = |millis| {
        let settings = Reconnect::default().healthy(Healthy::After(secs(5)));
        number_after(settings, |_, now| {
            *now = now.after(Duration::from_millis(millis));
        })
    };
    assert_eq!((lasting(4_999), lasting(5_000)), (5, 2));

    let first = Reconnect::default().healthy(Healthy::FirstMessage);
    assert_eq!(
        number_after(first.clone(), |_, now| *now = now.after(secs(3600))),
        5
    );
    let told = Reconnect::default().healthy(Healthy::Told);
    let message = |machine: &mut Reconnector, now: &mut Instant| {
        let Next::Open(id) = machine.next(*now) else {
            panic!()
        };
        machine.message(id);
    };
    assert_eq!(number_after(first, message), 2);
    assert_eq!(number_after(told.clone(), message), 5);
    let word = |machine: &mut Reconnector, now: &mut Instant| {
        let Next::Open(id) = machine.next(*now) else {
            panic!()
        };
        machine.healthy(id);
    };
    assert_eq!(number_after(told, word), 2);
}

#[test]
fn it_gives_up_after_its_attempts_or_its_time_and_a_person_begins_anew() {
    let five = Reconnect::new(Policy::fixed(secs(1)).attempts(5));
    let minute = Reconnect::new(
        Policy::fixed(secs(1))
            .attempts(Policy::UNLIMITED)
            .deadline(secs(60)),
    );
    for (settings, reason) in [
        (five, StopReason::AttemptsExhausted),
        (minute, StopReason::DeadlineExceeded),
    ] {
        let mut machine = machine(settings);
        let mut now = Instant::ZERO;
        let mut dials_of = || {
            let mut dials = 0;
            loop {
                match machine.next(now) {
                    Next::Wait(until) => now = until,
                    Next::Dial(dial) => {
                        dials += 1;
                        machine.failed(dial.id, now, &Failure::transient());
                    }
                    Next::GaveUp(why) => {
                        assert_eq!(why, reason);
                        machine.dial_now(now);
                        return dials;
                    }
                    other => panic!("{other:?}"),
                }
            }
        };
        let first = dials_of();
        assert!(first >= 5, "{first}");
        if reason == StopReason::AttemptsExhausted {
            assert_eq!((first, dials_of()), (5, 5));
        }
    }
}

/// How many dials 200 clients make in 3 s, of a server that accepts and closes at once, or refuses.
fn dials_in_three_seconds(settings: &Reconnect, accepts: bool) -> usize {
    let mut dials = 0;
    for seed in 0..200 {
        let mut now = Instant::ZERO;
        let mut machine =
            Reconnector::<()>::new(settings.clone(), SplitMix64::new(seed), now).unwrap();
        while now < Instant::ZERO.after(secs(3)) {
            match machine.next(now) {
                Next::Wait(until) => now = until,
                Next::Dial(dial) => {
                    dials += 1;
                    assert!(!accepts || machine.opened(dial.id, now));
                    now = now.after(Duration::from_millis(1));
                    machine.failed(dial.id, now, &Failure::transient());
                }
                other => panic!("{other:?}"),
            }
        }
    }
    dials
}

#[test]
fn a_server_that_accepts_and_closes_gets_no_more_dials_than_one_that_refuses() {
    let settings = Reconnect::for_commands();
    let (accepting, refusing) = (
        dials_in_three_seconds(&settings, true),
        dials_in_three_seconds(&settings, false),
    );
    assert_eq!(accepting, refusing);
    // What reconnectors do that count anew on open.
    let naive = settings.healthy(Healthy::After(Duration::ZERO));
    let hammering = dials_in_three_seconds(&naive, true);
    assert!(hammering > 5 * refusing, "{hammering} of {refusing}");
}
