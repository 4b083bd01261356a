//! Do the laws hold for calls that wait for tokens? Random histories of many calls in virtual time.

use core::task::Waker;
use core::time::Duration;

use becalm::budget::WhenSpent;
use becalm::rng::{Random, SplitMix64};
use becalm::{
    Budget, Failure, Policy, Scope, StopReason,
    call::{Call, CallOptions, Decision, Start},
    shared::Shared,
    time::Instant,
};
use proptest::prelude::*;

const RATIO: f64 = 0.2;
const BURST: f64 = 3.0;
const PLACES: u32 = 7;
const ATTEMPTS: u32 = 4;
const PATIENCE: Duration = Duration::from_secs(3);

fn shared(seed: u64) -> Shared {
    let jitters = ["full", "equal", "decorrelated", "none"];
    let policy = Policy::exponential(Duration::from_millis(100))
        .jitter(
            jitters[usize::try_from(seed % 4).unwrap_or_default()]
                .parse()
                .unwrap(),
        )
        .attempts(ATTEMPTS)
        .deadline(PATIENCE)
        .when_spent(WhenSpent::Wait)
        .max_waiting(PLACES)
        .budget(Budget::ratio(RATIO).burst(BURST).floor_per_second(0.0));
    Shared::new(policy, Duration::from_millis(1)).expect("a valid policy")
}

/// A call, and when something is to be done for it.
struct Running<'s> {
    call: Call<&'s Shared>,
    due: Instant,
    runs: bool,
    began: Instant,
}

/// What a history has come to.
#[derive(Debug, Default)]
struct Counts {
    calls: u32,
    successes: u32,
    retries: u32,
    waited: u32,
    stops: Vec<StopReason>,
}

/// Calls every 20 ms, whose attempts take 5 ms, against a service that is away while `is_down`.
fn history(seed: u64, calls: u32, is_down: impl Fn(Duration) -> bool) -> Counts {
    let (shared, mut random) = (shared(seed), SplitMix64::new(seed));
    let mut counts = Counts::default();
    let mut running: Vec<Running<'_>> = (0..calls)
        .map(|number| {
            let began = Instant::ZERO.after(Duration::from_millis(20) * number);
            Running {
                call: Call::begin(&shared, CallOptions::new(), Scope::NONE, began),
                due: began,
                runs: false,
                began,
            }
        })
        .collect();
    while let Some(at) = (0..running.len()).min_by_key(|at| running[*at].due) {
        let now = running[at].due;
        // Most come in time, some are woken a little late.
        let late = Duration::from_millis(random.next_u64() % 3);
        let this = &mut running[at];
        let is_over = if this.runs {
            this.runs = false;
            let is_good = !is_down(now.since(Instant::ZERO)) && random.next_u64() % 50 > 0;
            let verdict = if is_good {
                becalm::classify::Verdict::Success
            } else {
                Failure::transient().into()
            };
            match this.call.on_outcome(now, verdict, &mut random) {
                Decision::RetryIn(delay) => {
                    counts.waited += u32::from(this.call.waits_for_token());
                    this.due = now.after(delay).after(late);
                    false
                }
                Decision::Stop(reason) => {
                    counts.stops.push(reason);
                    true
                }
                _ => {
                    counts.successes += 1;
                    true
                }
            }
        } else {
            match this.call.poll_start(now, Waker::noop(), &mut random) {
                Ok(Start::Go(attempt)) => {
                    counts.calls += u32::from(attempt.number() == 1);
                    counts.retries += u32::from(attempt.number() > 1);
                    assert!(attempt.number() <= ATTEMPTS);
                    this.runs = true;
                    this.due = now.after(Duration::from_millis(5));
                    false
                }
                Ok(Start::Wait(until)) => {
                    assert!(until > now && until < this.began.after(PATIENCE));
                    this.due = until;
                    false
                }
                Ok(other) => panic!("{other:?}"),
                Err(reason) => {
                    // One that waits ends in time; one that was woken late may miss it by that.
                    let end = this.began.after(PATIENCE);
                    assert!(now < end.after(Duration::from_millis(3)), "{reason:?}");
                    counts.stops.push(reason);
                    true
                }
            }
        };
        if is_over {
            running.swap_remove(at);
        }
        assert!(shared.waiting() <= u64::from(PLACES));
        let granted = RATIO * f64::from(counts.successes) + BURST;
        assert!(f64::from(counts.retries) <= granted + 1e-6, "{counts:?}");
    }
    assert_eq!(shared.waiting(), 0);
    counts
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// 4. and 9.: no history grants more than the budget's law, and none lets more wait than there are places.
    #[test]
    fn the_laws_hold_for_calls_that_wait(seed: u64, away in 0_u64..2000, of in 500_u64..4000) {
        let is_down = |at: Duration| at.as_millis() % u128::from(of) < u128::from(away);
        let counts = history(seed, 300, is_down);
        prop_assert_eq!(counts.calls, 300);
        prop_assert_eq!(counts.successes as usize + counts.stops.len(), 300);
    }

    /// Without a success there is no token after the burst, and without a token nothing is sent.
    #[test]
    fn in_an_outage_a_waiting_call_sends_nothing(seed: u64) {
        let counts = history(seed, 300, |_| true);
        prop_assert!(f64::from(counts.retries) <= BURST);
        prop_assert!(counts.waited >= PLACES);
        prop_assert!(counts.stops.contains(&StopReason::BudgetExhausted));
        prop_assert!(counts.stops.contains(&StopReason::TooManyWaiting));
    }
}

/// What patience is for: the calls of a short absence are there when tokens are.
#[test]
fn calls_that_wait_are_saved_by_what_succeeds_later() {
    let saved = history(4, 300, |at| at < Duration::from_millis(100));
    assert_eq!(saved.stops, [], "{saved:?}");
    assert!(saved.waited > 0);
}

/// A driver that does not wait is told so by the reason.
#[test]
fn start_waits_for_nobody() {
    let shared = shared(0);
    let mut random = SplitMix64::new(1);
    let fail = |call: &mut Call<&Shared>, random: &mut SplitMix64| {
        call.on_outcome(Instant::ZERO, Failure::transient().into(), random)
    };
    let mut reasons = Vec::new();
    for _ in 0..5 {
        let mut call = Call::begin(&shared, CallOptions::new(), Scope::NONE, Instant::ZERO);
        call.start(Instant::ZERO, &mut random).unwrap();
        let Decision::RetryIn(delay) = fail(&mut call, &mut random) else {
            panic!("it stops");
        };
        let started = call.start(Instant::ZERO.after(delay), &mut random);
        reasons.extend(started.err());
    }
    assert_eq!(reasons, [StopReason::BudgetExhausted; 2]);
    assert_eq!(shared.waiting(), 0);
}
