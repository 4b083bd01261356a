//! Does the adaptive throttle shed what the server would reject, and no more?

use std::time::Duration;

use becalm::rng::{Random, SplitMix64};
use becalm::{
    Throttle,
    throttle::{AdaptiveThrottle, Priority},
    time::Instant,
};

const START: Instant = Instant::ZERO;
const MILLI: Duration = Duration::from_millis(1);

fn counted(accepted: u32, rejected: u32, priority: Priority) -> AdaptiveThrottle {
    let throttle = AdaptiveThrottle::new(Throttle::default());
    count(&throttle, accepted, rejected, priority);
    throttle
}

fn count(throttle: &AdaptiveThrottle, accepted: u32, rejected: u32, priority: Priority) {
    (0..accepted).for_each(|_| throttle.on_accepted(START, priority));
    (0..rejected).for_each(|_| throttle.on_rejected(START, priority));
}

fn near(actual: f64, expected: f64) {
    assert!(
        (actual - expected).abs() < 1e-12,
        "{actual} instead of {expected}"
    );
}

#[test]
fn below_the_share_that_is_forgiven_nothing_is_shed_and_nothing_is_drawn() {
    let throttle = counted(50, 50, Priority::Critical);
    for priority in [Priority::CriticalPlus, Priority::Critical] {
        near(throttle.probability(START, priority), 0.0);
        let admitted = throttle.admit(START, priority, || unreachable!("there is no doubt"));
        assert_eq!(admitted, Ok(()));
    }
}

/// p = 80 / 101, to the last of 64 bits.
#[test]
fn a_call_is_shed_if_the_bits_are_below_the_probability() {
    let share = u64::try_from((80_u128 << 64) / 101).unwrap();
    let admit =
        |bits| counted(10, 90, Priority::Critical).admit(START, Priority::Critical, || bits);
    let shed = admit(share - 1).unwrap_err();
    near(shed.probability(), 80.0 / 101.0);
    assert_eq!(shed.priority(), Priority::Critical);
    assert_eq!(admit(share), Ok(()));
    assert!(admit(0).is_err() && admit(u64::MAX).is_ok());
}

/// As a request; one that is admitted counts when its outcome is told.
#[test]
fn a_shed_call_counts_at_once() {
    let throttle = counted(10, 90, Priority::Critical);
    assert!(throttle.admit(START, Priority::Critical, || 0).is_err());
    near(
        throttle.probability(START, Priority::Critical),
        81.0 / 102.0,
    );
    assert!(
        throttle
            .admit(START, Priority::Critical, || u64::MAX)
            .is_ok()
    );
    near(
        throttle.probability(START, Priority::Critical),
        81.0 / 102.0,
    );
}

#[test]
fn calls_that_begin_together_are_not_shed_for_having_no_answer_yet() {
    let throttle = AdaptiveThrottle::new(Throttle::default());
    for _ in 0..10_000 {
        assert!(throttle.admit(START, Priority::Critical, || 0).is_ok());
    }
}

#[test]
fn priorities_are_counted_apart_and_never_shed_the_more_critical() {
    for (index, rejected) in Priority::ALL.iter().enumerate() {
        let throttle = counted(0, 1000, *rejected);
        for priority in &Priority::ALL[..index] {
            near(throttle.probability(START, *priority), 0.0);
            count(&throttle, 1000, 0, *priority);
        }
        near(throttle.probability(START, *rejected), 0.9);
    }
}

/// What sheds half of the critical calls sheds all that may be shed of those who have not been heard
/// of, and were to be shed first.
#[test]
fn a_quiet_priority_inherits_what_the_more_critical_have_learnt() {
    let throttle = counted(25, 76, Priority::Critical);
    near(throttle.probability(START, Priority::CriticalPlus), 0.0);
    near(
        throttle.probability(START, Priority::Critical),
        51.0 / 102.0,
    );
    for priority in &Priority::ALL[2..] {
        near(throttle.probability(START, *priority), 0.9);
    }
}

/// 100 critical calls and 900 others at a server that takes 300 of all, whoever they are of: the
/// others bear the excess.
#[test]
fn the_least_critical_are_shed_in_the_stead_of_the_others() {
    let throttle = counted(30, 70, Priority::Critical);
    near(
        throttle.probability(START, Priority::Critical),
        40.0 / 101.0,
    );
    count(&throttle, 270, 630, Priority::Sheddable);
    near(throttle.probability(START, Priority::Critical), 0.0);
    // 1000 requests, of which 1.25 for each that was accepted are to be left.
    near(
        throttle.probability(START, Priority::Sheddable),
        (1000.0 - 1.25 * 300.0) / 901.0,
    );
    // In an outage even nine tenths of the others are not enough.
    count(&throttle, 0, 1000, Priority::Critical);
    near(
        throttle.probability(START, Priority::Critical),
        (2000.0 - 2.0 * 300.0 - 0.9 * 900.0) / 1101.0,
    );
}

/// One in three is rejected: more than 1 - 1/1.25, less than 1 - 1/1.5 and 1 - 1/2.
#[test]
fn the_less_critical_the_sooner_shed() {
    for (level, priority) in Priority::ALL.iter().enumerate() {
        let p = counted(200, 99, *priority).probability(START, *priority);
        let expected = [0.0, 0.0, 0.0, (299.0 - 250.0) / 300.0][level];
        near(p, expected);
    }
    let plus = counted(100, 200, Priority::CriticalPlus);
    near(plus.probability(START, Priority::CriticalPlus), 0.0);
    let critical = counted(100, 200, Priority::Critical);
    near(
        critical.probability(START, Priority::Critical),
        100.0 / 301.0,
    );
}

#[test]
fn few_rejected_calls_do_not_decide_about_many_others() {
    let throttle = counted(1000, 0, Priority::Critical);
    count(&throttle, 0, 3, Priority::CriticalPlus);
    for priority in Priority::ALL {
        near(throttle.probability(START, *priority), 0.0);
    }
}

/// A server that knows the priorities itself rejects the least critical only.
#[test]
fn whom_the_server_takes_is_not_shed_for_the_others() {
    let throttle = counted(100, 0, Priority::Critical);
    count(&throttle, 0, 10_000, Priority::Sheddable);
    near(throttle.probability(START, Priority::Critical), 0.0);
    near(throttle.probability(START, Priority::Sheddable), 0.9);
}

#[test]
fn a_reload_keeps_the_counts_but_for_another_window() {
    let throttle = counted(10, 90, Priority::Critical);
    throttle.reconfigure(Throttle::accepts(4.0));
    near(
        throttle.probability(START, Priority::Critical),
        60.0 / 101.0,
    );
    throttle.reconfigure(Throttle::accepts(2.0).max(0.5));
    near(throttle.probability(START, Priority::Critical), 0.5);
    throttle.reconfigure(Throttle::accepts(2.0).within(Duration::from_secs(60)));
    near(throttle.probability(START, Priority::Critical), 0.0);
    count(&throttle, 0, 1, Priority::Critical);
    near(throttle.probability(START, Priority::Critical), 0.5);
    let later = START.after(Duration::from_secs(60));
    near(throttle.probability(later, Priority::Critical), 0.0);
}

#[test]
fn no_time_and_no_configuration_panics() {
    for number in [0.0, -1.0, 1e-300, 1e300, f64::INFINITY, f64::NAN] {
        for window in [Duration::ZERO, Duration::MAX] {
            let config = Throttle::accepts(number).max(number).within(window);
            let throttle = AdaptiveThrottle::new(config);
            for nanos in [0, 1, u64::MAX - 1, u64::MAX] {
                let now = Instant::from_nanos(nanos);
                for &priority in Priority::ALL {
                    throttle.on_rejected(now, priority);
                    throttle.on_accepted(now, priority);
                    let _ = throttle.admit(now, priority, || 0);
                    assert!((0.0..=1.0).contains(&throttle.probability(now, priority)));
                }
            }
        }
    }
}

/// A client that makes a call each `pause`, at a server that takes a share of those offered.
struct Client {
    throttle: AdaptiveThrottle,
    now: Instant,
    pause: Duration,
    random: SplitMix64,
    /// What the server could still take.
    room: f64,
}

impl Client {
    fn new(config: Throttle, pause: Duration) -> Self {
        Self {
            throttle: AdaptiveThrottle::new(config),
            now: START,
            pause,
            random: SplitMix64::new(7),
            room: 0.0,
        }
    }

    /// Calls for so long; how many were offered, sent and accepted.
    fn run(&mut self, time: Duration, share: f64) -> (f64, f64, f64) {
        let (mut offered, mut sent, mut accepted) = (0.0, 0.0, 0.0);
        let end = self.now.after(time);
        while self.now < end {
            self.now = self.now.after(self.pause);
            offered += 1.0;
            self.room = (self.room + share).min(10.0);
            let random = || self.random.next_u64();
            let priority = Priority::default();
            if self.throttle.admit(self.now, priority, random).is_err() {
                continue;
            }
            sent += 1.0;
            if self.room >= 1.0 {
                self.room -= 1.0;
                accepted += 1.0;
                self.throttle.on_accepted(self.now, priority);
            } else {
                self.throttle.on_rejected(self.now, priority);
            }
        }
        (offered, sent, accepted)
    }
}

/// The law of the book: K requests are sent for each that is accepted. Over 20 minutes after two of
/// settling, at 100 calls a second; within 2 %, the sampling of so many draws.
#[test]
fn what_is_sent_is_k_times_what_is_accepted() {
    for (k, share) in [
        (2.0, 0.1),
        (2.0, 0.3),
        (2.0, 0.45),
        (1.5, 0.2),
        (1.1, 0.5),
        (4.0, 0.2),
    ] {
        let config = Throttle::accepts(k);
        let mut client = Client::new(config, 10 * MILLI);
        client.run(Duration::from_secs(240), share);
        let (offered, sent, accepted) = client.run(Duration::from_secs(1200), share);
        let ratio = sent / accepted / k;
        assert!((ratio - 1.0).abs() < 0.02, "K {k}, share {share}: {ratio}");
        // And the server has what it can take.
        assert!(
            accepted / offered > share * 0.99,
            "K {k}, share {share}: {accepted}"
        );
    }
}

/// And where the server takes more than 1/K of them, nothing is shed.
#[test]
fn a_server_that_takes_enough_is_sent_all() {
    let mut client = Client::new(Throttle::default(), 10 * MILLI);
    client.run(Duration::from_secs(240), 0.55);
    let (offered, sent, _) = client.run(Duration::from_secs(600), 0.55);
    near(sent, offered);
}

/// Seconds until 95 % of the calls of a ten seconds' span are sent and accepted again.
fn recovery(config: Throttle, pause: Duration) -> u32 {
    let mut client = Client::new(config, pause);
    client.run(Duration::from_secs(300), 1.0);
    let (offered, sent, _) = client.run(Duration::from_secs(600), 0.0);
    let probes = sent / offered;
    let least = (1.0 - config.max) / 10.0;
    assert!(sent > 0.0 && (least..0.5).contains(&probes), "{probes}");
    for span in 1..200 {
        let (offered, _, accepted) = client.run(Duration::from_secs(10), 1.0);
        if accepted / offered >= 0.95 {
            return span * 10;
        }
    }
    panic!("not recovered after 2000 seconds");
}

/// Ten minutes in which nothing is accepted: the tenth that is let through sees the end of it, and
/// the client is back within two windows and the span that is looked at, at any rate. By the book,
/// without the bound, it takes longer the more the client calls.
#[test]
fn after_a_total_outage_the_client_comes_back() {
    for pause in [1000 * MILLI, 100 * MILLI, 10 * MILLI] {
        let bounded = recovery(Throttle::default(), pause);
        assert!(bounded <= 250, "{bounded} s at one call in {pause:?}");
        let by_the_book = recovery(Throttle::default().max(1.0), pause);
        assert!(
            by_the_book > bounded + 60,
            "{by_the_book} s and {bounded} s"
        );
    }
}
