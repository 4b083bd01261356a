//! Is a window narrower than a timer's tick still spread? Delays are rounded to the tick at random.

use std::collections::BTreeMap;
use std::time::Duration;

use becalm::rng::{Random, SplitMix64};
use becalm::{
    Budget, Failure, Hint, Jitter, Policy, Scope,
    call::{Call, CallOptions, Decision},
    shared::Shared,
    time::Instant,
};

/// Tokio's tick, and that of Windows.
const TICKS: [Duration; 2] = [Duration::from_millis(1), Duration::from_micros(15_600)];
/// A rounded delay is off by one tick at most, so the standard error of the mean is below
/// 1 / sqrt(20 000) = 0.7 % of a tick; 3 % is more than four of them. The seeds are fixed.
const SAMPLES: u32 = 20_000;
const TOLERANCE: f64 = 0.03;

/// What many clients wait that fail together for the first time; the mean is in ticks.
struct Wave {
    policy: Policy,
    tick: Duration,
    delays: BTreeMap<Duration, u32>,
    mean: f64,
}

impl Wave {
    fn of(policy: Policy, tick: Duration, failure: Failure) -> Self {
        let policy = policy.budget(Budget::None);
        let shared = Shared::new(policy.clone(), tick).expect("a valid policy");
        let now = Instant::ZERO;
        let mut seeds = SplitMix64::new(7);
        let (mut delays, mut sum) = (BTreeMap::new(), 0.0);
        for _ in 0..SAMPLES {
            let mut call = Call::begin(&shared, CallOptions::new(), Scope::NONE, now);
            call.start(now, &mut || 0).expect("no deadline");
            let mut random = SplitMix64::new(seeds.next_u64());
            match call.on_outcome(now, failure.into(), &mut random) {
                Decision::RetryIn(delay) => {
                    *delays.entry(delay).or_insert(0) += 1;
                    sum += delay.as_secs_f64() / tick.as_secs_f64();
                }
                other => panic!("{other:?}"),
            }
        }
        let mean = sum / f64::from(SAMPLES);
        Self {
            policy,
            tick,
            delays,
            mean,
        }
    }

    fn assert_whole_ticks(&self) {
        for delay in self.delays.keys() {
            let past = delay.as_nanos() % self.tick.as_nanos();
            assert_eq!(past, 0, "{delay:?} of {:?}", self.policy);
        }
    }

    /// At least two ticks have a share of the wave that is worth the name.
    fn assert_spread(&self, least_share: f64) {
        let most = self.delays.values().max().expect("samples");
        let share = 1.0 - f64::from(*most) / f64::from(SAMPLES);
        assert!(share >= least_share, "{:?} {:?}", self.delays, self.policy);
    }

    fn assert_within(&self, low: Duration, high: Duration) {
        for delay in self.delays.keys() {
            assert!(
                low <= *delay && *delay <= high,
                "{delay:?} {:?}",
                self.policy
            );
        }
    }

    fn assert_mean(&self, ticks: f64) {
        let mean = self.mean;
        assert!(
            (mean - ticks).abs() < TOLERANCE,
            "{mean}, not {ticks}: {:?}",
            self.policy
        );
    }
}

fn transient() -> Failure {
    Failure::transient()
}

/// A policy whose first delay is drawn around this part of a tick.
fn around(tick: Duration, parts: f64, jitter: Jitter) -> Policy {
    Policy::fixed(tick.mul_f64(parts)).jitter(jitter)
}

#[test]
fn a_window_narrower_than_a_tick_is_spread_over_its_neighbours_and_keeps_its_mean() {
    for tick in TICKS {
        for (parts, jitter, mean) in [
            (0.4, Jitter::Full, 0.2),
            (1.0, Jitter::Full, 0.5),
            (0.8, Jitter::Equal, 0.6),
            (0.2, Jitter::Decorrelated, 0.4),
            (10.5, Jitter::Proportional(0.01), 10.5),
            (7.3, Jitter::Additive(tick / 10), 7.35),
            (0.3, Jitter::None, 0.3), // nothing but the rounding
        ] {
            let wave = Wave::of(around(tick, parts, jitter), tick, transient());
            wave.assert_whole_ticks();
            wave.assert_mean(mean);
            // The rarer of two neighbours is as likely as the mean is far from the other one.
            let to_the_nearer = mean.fract().min(1.0 - mean.fract());
            wave.assert_spread(to_the_nearer - TOLERANCE);
            wave.assert_within(tick.mul_f64(mean.floor()), tick.mul_f64(mean.ceil()));
        }
    }
}

#[test]
fn a_wide_window_is_rounded_without_a_trace() {
    for tick in TICKS {
        let wave = Wave::of(around(tick, 40.0, Jitter::Full), tick, transient());
        wave.assert_whole_ticks();
        // The standard error of the delays themselves: 40 / sqrt(12 x 20 000) = 8 % of a tick.
        assert!((wave.mean - 20.0).abs() < 0.35, "{}", wave.mean);
        // 41 ticks, the outer two half as likely: none holds more than 1 in 40, give or take.
        wave.assert_spread(0.96);
        assert_eq!(wave.delays.len(), 41);
    }
}

/// The first tick at or above the floor is where the window starts: less than a tick later, no
/// less spread.
#[test]
fn a_floor_between_two_ticks_is_kept_and_does_not_gather_the_herd() {
    for tick in TICKS {
        for floor in [0.1, 0.4, 0.9, 3.3] {
            let floor = tick.mul_f64(floor);
            let policy = Policy::fixed(floor + tick / 2).floor(floor);
            let wave = Wave::of(policy, tick, transient());
            wave.assert_whole_ticks();
            wave.assert_within(floor, floor + 2 * tick);
            // The draw is a quarter of a tick above the floor on the average.
            wave.assert_spread(0.25 - 0.15);
            let drawn = (floor + tick / 4).as_secs_f64() / tick.as_secs_f64();
            let late = wave.mean - drawn;
            assert!(
                (-TOLERANCE..1.0 + TOLERANCE).contains(&late),
                "{late} ticks late"
            );
        }
    }
}

#[test]
fn a_cap_between_two_ticks_is_kept_and_does_not_gather_the_herd() {
    for tick in TICKS {
        for cap in [2.5, 9.1, 9.9] {
            let cap = tick.mul_f64(cap);
            let policy = Policy::fixed(cap)
                .cap(cap)
                .jitter(Jitter::Additive(tick / 2));
            let wave = Wave::of(policy, tick, transient());
            wave.assert_whole_ticks();
            wave.assert_within(cap.saturating_sub(2 * tick), cap);
            wave.assert_spread(0.25 - 0.15);
        }
    }
}

/// Where the timer has no two ticks between floor and cap the rounding cannot spread, but it must
/// not gather either: all on 0 would be a loop without a wait.
#[test]
fn a_cap_below_one_tick_leaves_the_delays_as_they_were_drawn() {
    for tick in TICKS {
        let cap = tick / 3;
        for jitter in [Jitter::Full, Jitter::Equal, Jitter::None] {
            let policy = Policy::fixed(cap).cap(cap).jitter(jitter);
            let wave = Wave::of(policy, tick, transient());
            wave.assert_within(Duration::ZERO, cap);
            match jitter {
                Jitter::None => assert!(wave.delays.keys().eq([&cap])),
                _ => wave.assert_spread(0.99),
            }
        }
    }
}

#[test]
fn a_hint_between_two_ticks_is_never_rounded_below_itself() {
    for tick in TICKS {
        for parts in [0.1, 0.5, 7.3] {
            let hint = tick.mul_f64(parts);
            let policy = Policy::fixed(tick / 2);
            let wave = Wave::of(policy.clone(), tick, transient().retry_after(hint));
            wave.assert_whole_ticks();
            wave.assert_within(hint, hint + tick / 2 + 2 * tick);
            wave.assert_spread(0.1);
            // An exact one is not spread: the first tick that is not early.
            let exact = transient().hint(Hint::Exactly(hint));
            let wave = Wave::of(policy, tick, exact);
            wave.assert_whole_ticks();
            wave.assert_within(hint, hint + tick);
            assert_eq!(wave.delays.len(), 1);
        }
    }
}

#[test]
fn c9_rounding_stays_inside_the_window_that_the_server_named() {
    let tick = Duration::from_millis(10);
    let (after, over) = (tick / 2, 2 * tick);
    let window = transient().hint(Hint::Spread { after, over });
    let wave = Wave::of(Policy::default(), tick, window);
    wave.assert_whole_ticks();
    wave.assert_within(after, after + over);
}

/// The deadline is a wall for the rounded delay, too.
#[test]
fn no_delay_is_rounded_up_into_the_deadline() {
    for tick in TICKS {
        let room = tick.mul_f64(8.6);
        let policy = Policy::fixed(tick.mul_f64(8.0)).jitter(Jitter::Additive(tick / 2));
        let wave = Wave::of(
            policy.clone().deadline(room),
            tick,
            transient().retry_after(tick * 7),
        );
        wave.assert_within(tick * 7, room);
        // Computed delays of 8 to 8.5 ticks go to 8 or to 9, and 9 is behind the deadline.
        let shared = Shared::new(policy.deadline(room), tick).expect("a valid policy");
        let now = Instant::ZERO;
        for seed in 0..100 {
            let mut call = Call::begin(&shared, CallOptions::new(), Scope::NONE, now);
            call.start(now, &mut || 0).expect("the deadline is ahead");
            let mut random = SplitMix64::new(seed);
            match call.on_outcome(now, transient().into(), &mut random) {
                Decision::RetryIn(delay) => assert_eq!(delay, 8 * tick),
                stop => assert_eq!(stop, Decision::Stop(becalm::StopReason::DeadlineExceeded)),
            }
        }
    }
}
