//! How long is the wait before the next attempt? As long as the backoff draws, or as the server says, if that ends before the deadline.

use core::time::Duration;

use super::{Rules, Standing};
use crate::classify::{Class, Failure};
use crate::delay::round_to_tick;
use crate::duration::nanos;
use crate::hint::{Hint, HintMode};
use crate::rng::{Random, uniform};
use crate::stop::StopReason;
use crate::time::Instant;

/// A wait, and where the backoff stands after it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wait {
    pub delay: u64,
    pub step: u32,
    pub previous: Option<u64>,
}

impl Wait {
    /// When it is over, if it begins now.
    pub fn ends(&self, now: Instant) -> Instant {
        now.after_nanos(self.delay)
    }
}

/// The longest wait that still ends before the deadline; `None` where none does.
fn longest_before_deadline(at: &Standing) -> Option<u64> {
    if at.deadline == Instant::NEVER {
        return Some(u64::MAX);
    }
    let left = at.deadline.as_nanos().checked_sub(at.now.as_nanos())?;
    left.checked_sub(1)
}

#[inline(always)]
#[allow(clippy::inline_always, reason = "see `call::landing::follow`")]
pub(super) fn wait<R: Random + ?Sized>(
    rules: &Rules,
    at: &Standing,
    failure: &Failure,
    random: &mut R,
) -> Result<Wait, StopReason> {
    if failure.hint.is_some() {
        if let Some(wait) = wait_as_told(rules, *at, failure, random)? {
            return Ok(wait);
        }
    }
    let (drawn, delay) = computed(rules, at, failure, random);
    if longest_before_deadline(at).is_none_or(|room| delay > room) {
        return Err(StopReason::DeadlineExceeded);
    }
    Ok(Wait {
        delay,
        step: at.step.saturating_add(1),
        previous: Some(drawn),
    })
}

/// The wait that the server has asked for, if it names one that the policy heeds. Out of line: most failures bring no hint.
#[inline(never)]
fn wait_as_told<R: Random + ?Sized>(
    rules: &Rules,
    at: Standing,
    failure: &Failure,
    random: &mut R,
) -> Result<Option<Wait>, StopReason> {
    let room = longest_before_deadline(&at);
    let (drawn, low, high) = match hint(rules, failure) {
        Some(Hint::Exactly(delay)) => {
            let (delay, room) = fitting(rules, delay, room)?;
            let starts_again = Wait {
                delay,
                step: 0,
                previous: None,
            };
            (starts_again, delay, room)
        }
        Some(Hint::AtLeast(hint)) => {
            let (hint, room) = fitting(rules, hint, room)?;
            let over = rules.delay.ceiling(at.step, is_throttled(failure));
            let over = over.max(hint / 10);
            let drawn = uniform(random, hint, room.min(hint.saturating_add(over)));
            (hinted(&at, drawn), hint, room)
        }
        Some(Hint::Spread { after, over }) => {
            let (after, room) = fitting(rules, after, room)?;
            let high = room.min(after.saturating_add(nanos(over)));
            let drawn = uniform(random, after, high);
            (hinted(&at, drawn), after, high)
        }
        Some(Hint::Stop | Hint::Below(_)) | None => return Ok(None),
    };
    Ok(Some(Wait {
        delay: round_to_tick(drawn.delay, low, high, rules.tick, random),
        ..drawn
    }))
}

fn is_throttled(failure: &Failure) -> bool {
    failure.class == Class::Throttled
}

/// The backoff's own wait, as drawn and as rounded.
#[inline(always)]
#[allow(clippy::inline_always, reason = "see `call::landing::follow`")]
fn computed<R: Random + ?Sized>(
    rules: &Rules,
    at: &Standing,
    failure: &Failure,
    random: &mut R,
) -> (u64, u64) {
    let throttled = is_throttled(failure);
    let drawn = rules.delay.draw(at.step, throttled, at.previous, random);
    let (floor, cap) = (rules.delay.floor, rules.delay.cap);
    let delay = round_to_tick(drawn, floor, cap, rules.tick, random);
    (drawn, delay)
}

/// The least time between two asks for a token, 1 ms: a policy whose delays are zero would ask without a pause. It
/// binds after the draw, since calls that ask at the same time do no harm.
const BETWEEN_ASKS: u64 = 1_000_000;

/// How long a call that found no token waits before it asks again: another draw from where it stands. A hint of the
/// server was waited for before the first ask. It stops where the draw does not end before the deadline.
pub(crate) fn asks_again<R: Random + ?Sized>(
    rules: &Rules,
    at: &Standing,
    failure: &Failure,
    random: &mut R,
) -> Result<u64, StopReason> {
    let (_, delay) = computed(rules, at, failure, random);
    let delay = delay.max(BETWEEN_ASKS);
    let room = longest_before_deadline(at).filter(|room| delay <= *room);
    room.map_or(Err(StopReason::BudgetExhausted), |_| Ok(delay))
}

/// A wait that the server has set: it moves the backoff on, and is none of its draws.
fn hinted(at: &Standing, delay: u64) -> Wait {
    Wait {
        delay,
        step: at.step.saturating_add(1),
        previous: at.previous,
    }
}

/// The hint as the policy's mode leaves it.
#[inline]
fn hint(rules: &Rules, failure: &Failure) -> Option<Hint> {
    let given = failure.hint?;
    let cap = rules.policy.cap.min(rules.policy.max_hint);
    match (rules.policy.hint, given) {
        (HintMode::Honor, hint) => Some(hint),
        (HintMode::Clamp, Hint::AtLeast(delay)) => Some(Hint::AtLeast(delay.min(cap))),
        (HintMode::Clamp, Hint::Exactly(delay)) => Some(Hint::Exactly(delay.min(cap))),
        (HintMode::Clamp, Hint::Spread { after, over }) => Some(Hint::Spread {
            after: after.min(cap),
            over: over.min(cap),
        }),
        (HintMode::Clamp, Hint::Stop | Hint::Below(_)) | (HintMode::Ignore, _) => None,
    }
}

/// The hint in nanoseconds and the room for it, if it fits: at most the longest accepted one, and over
/// before the deadline.
fn fitting(rules: &Rules, hint: Duration, room: Option<u64>) -> Result<(u64, u64), StopReason> {
    let hint = nanos(hint);
    let room = room.filter(|room| hint <= rules.max_hint && hint <= *room);
    room.map(|room| (hint, room)).ok_or(StopReason::HintTooLong)
}

#[cfg(test)]
mod tests {
    use super::super::decide;
    use super::*;
    use crate::idempotency::Operation;
    use crate::jitter::Jitter;
    use crate::policy::Policy;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;
    const NOW: Instant = Instant::from_nanos(5000 * MS);

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// After the first attempt of a call without a deadline.
    const STANDING: Standing = Standing {
        now: NOW,
        deadline: Instant::NEVER,
        attempt: 1,
        attempts: 4,
        operation: Operation::Idempotent,
        body_replayable: true,
        forbidden_below: false,
        repeated_above: false,
        step: 0,
        previous: None,
    };

    fn with_room(nanos: u64) -> Standing {
        // The wait must end before the deadline, not at it.
        let deadline = Instant::from_nanos(NOW.as_nanos() + nanos + 1);
        Standing {
            deadline,
            ..STANDING
        }
    }

    /// Least and greatest delay in milliseconds, or why there is none.
    fn ends(policy: &Policy, at: &Standing, failure: Failure) -> Result<(u64, u64), StopReason> {
        let rules = Rules::of(policy.clone(), Duration::ZERO);
        let delay =
            |bits: u64| decide(&rules, at, &failure, &mut || bits).map(|wait| wait.delay / MS);
        Ok((delay(0)?, delay(u64::MAX)?))
    }

    fn busy() -> Failure {
        Failure::transient()
    }

    #[test]
    fn the_jitter_of_a_hint_goes_on_top_of_it() {
        let policy = Policy::default(); // ceiling 100 ms, longest hint 60 s
        for (hint, most) in [
            (0, 100),         // the ceiling
            (300, 400),       // the ceiling
            (1000, 1100),     // both are equal
            (30_000, 33_000), // a tenth of the hint
            (60_000, 66_000), // the longest hint is a bound of the hint, not of the delay
        ] {
            let failure = busy().retry_after(ms(hint));
            assert_eq!(ends(&policy, &STANDING, failure), Ok((hint, most)));
        }
        let later = Standing {
            step: 3,
            ..STANDING
        };
        assert_eq!(
            ends(&policy, &later, busy().retry_after(ms(300))),
            Ok((300, 1100))
        );
    }

    #[test]
    fn the_cap_and_the_floor_bind_computed_delays_only() {
        let policy = Policy::default().cap(ms(200)).floor(ms(150));
        assert_eq!(ends(&policy, &STANDING, busy()), Ok((150, 200)));
        assert_eq!(
            ends(&policy, &STANDING, busy().retry_after(ms(500))),
            Ok((500, 600))
        );
        assert_eq!(
            ends(&policy, &STANDING, busy().retry_after(ms(10))),
            Ok((10, 110))
        );
    }

    #[test]
    fn a_throttled_hint_is_spread_over_the_throttled_ceiling() {
        let policy = Policy::default().throttled_base(ms(1000));
        let failure = Failure::throttled().retry_after(ms(300));
        assert_eq!(ends(&policy, &STANDING, failure), Ok((300, 1300)));
    }

    #[test]
    fn the_jitter_of_a_hint_is_cut_to_the_deadline() {
        let policy = Policy::default();
        let failure = busy().retry_after(ms(300));
        assert_eq!(ends(&policy, &with_room(350 * MS), failure), Ok((300, 350)));
        assert_eq!(ends(&policy, &with_room(300 * MS), failure), Ok((300, 300)));
        let short = with_room(300 * MS - 1);
        assert_eq!(ends(&policy, &short, failure), Err(StopReason::HintTooLong));
    }

    #[test]
    fn a_hint_fits_up_to_the_longest_one() {
        let policy = Policy::default();
        let longest = policy.max_hint;
        for hint in [Hint::AtLeast, Hint::Exactly] {
            let fits = busy().hint(hint(longest));
            assert!(ends(&policy, &STANDING, fits).is_ok());
            for beyond in [longest + Duration::from_nanos(1), Duration::MAX] {
                let failure = busy().hint(hint(beyond));
                assert_eq!(
                    ends(&policy, &STANDING, failure),
                    Err(StopReason::HintTooLong)
                );
            }
        }
    }

    #[test]
    fn an_exact_hint_has_no_jitter_and_starts_the_backoff_again() {
        let policy = Policy::default().jitter(Jitter::Decorrelated);
        let rules = Rules::of(policy, Duration::ZERO);
        let at = Standing {
            step: 5,
            previous: Some(7),
            ..STANDING
        };
        for hint in [0, 1, 59_999] {
            let failure = busy().hint(Hint::Exactly(ms(hint)));
            for bits in [0, u64::MAX] {
                let wait = decide(&rules, &at, &failure, &mut || bits).unwrap();
                assert_eq!((wait.delay, wait.step, wait.previous), (hint * MS, 0, None));
            }
        }
    }

    fn spread(after: u64, over: u64) -> Failure {
        let (after, over) = (ms(after), ms(over));
        busy().hint(Hint::Spread { after, over })
    }

    /// A tenth of the hint, or the ceiling, would bring a fleet back within half a second.
    #[test]
    fn c9_a_window_that_the_server_names_is_used_as_it_is() {
        let policy = Policy::default(); // ceiling 100 ms, longest hint 60 s, cap 20 s
        for (after, over) in [(5000, 10_000), (0, 30_000), (0, 0), (60_000, 600_000)] {
            let window = Ok((after, after + over));
            assert_eq!(ends(&policy, &STANDING, spread(after, over)), window);
        }
        let late = ends(&policy, &STANDING, spread(60_001, 0));
        assert_eq!(late, Err(StopReason::HintTooLong));
    }

    #[test]
    fn c9_the_deadline_cuts_the_window_and_refuses_one_that_opens_behind_it() {
        let policy = Policy::default();
        let cut = ends(&policy, &with_room(7000 * MS), spread(5000, 10_000));
        assert_eq!(cut, Ok((5000, 7000)));
        let at_its_end = ends(&policy, &with_room(5000 * MS), spread(5000, 10_000));
        assert_eq!(at_its_end, Ok((5000, 5000)));
        let behind = ends(&policy, &with_room(5000 * MS - 1), spread(5000, 10_000));
        assert_eq!(behind, Err(StopReason::HintTooLong));
    }

    #[test]
    fn c9_the_hint_mode_clamps_both_ends_or_ignores_the_window() {
        let clamp = Policy::default().cap(ms(400)).hint(HintMode::Clamp);
        let clamped = |after, over| ends(&clamp, &STANDING, spread(after, over));
        assert_eq!(clamped(5000, 10_000), Ok((400, 800)));
        assert_eq!(clamped(50, 100), Ok((50, 150)));
        let ignore = Policy::default().hint(HintMode::Ignore);
        assert_eq!(ends(&ignore, &STANDING, spread(5000, 1)), Ok((0, 100)));
    }

    #[test]
    fn a_computed_delay_is_remembered_as_drawn_and_a_hinted_one_is_not() {
        let policy = Policy::default().jitter(Jitter::Decorrelated);
        let rules = Rules::of(policy, ms(1));
        let at = Standing {
            step: 5,
            previous: Some(150 * MS + 7),
            ..STANDING
        };
        let wait = |failure| decide(&rules, &at, &failure, &mut || u64::MAX).unwrap();
        let computed = wait(busy());
        assert_eq!((computed.step, computed.previous), (6, Some(450 * MS + 21)));
        assert_eq!(computed.delay, 450 * MS, "rounded to the tick");
        for failure in [busy().retry_after(ms(300)), spread(300, 900)] {
            let hinted = wait(failure);
            assert_eq!((hinted.step, hinted.previous), (6, Some(150 * MS + 7)));
        }
    }

    #[test]
    fn the_hint_mode_clamps_or_ignores_delays_and_obeys_a_stop() {
        let clamp = Policy::default().cap(ms(400)).hint(HintMode::Clamp);
        let ignore = Policy::default().hint(HintMode::Ignore);
        let hour = Duration::from_secs(3600);
        assert_eq!(
            ends(&clamp, &STANDING, busy().retry_after(hour)),
            Ok((400, 500))
        );
        assert_eq!(
            ends(&clamp, &STANDING, busy().retry_after(ms(50))),
            Ok((50, 150))
        );
        let pushed_back = busy().hint(Hint::Exactly(hour));
        assert_eq!(ends(&clamp, &STANDING, pushed_back), Ok((400, 400)));
        for failure in [busy().retry_after(hour), pushed_back] {
            assert_eq!(ends(&ignore, &STANDING, failure), Ok((0, 100)));
        }
        for policy in [clamp, ignore] {
            let stopped = ends(&policy, &STANDING, busy().hint(Hint::Stop));
            assert_eq!(stopped, Err(StopReason::DoNotRetry));
        }
    }

    #[test]
    fn a_wait_that_would_end_at_the_deadline_is_not_begun() {
        let policy = Policy::default().jitter(Jitter::None); // waits 100 ms
        let fits = ends(&policy, &with_room(100 * MS), busy());
        assert_eq!(fits, Ok((100, 100)));
        let at_the_deadline = ends(&policy, &with_room(100 * MS - 1), busy());
        assert_eq!(at_the_deadline, Err(StopReason::DeadlineExceeded));
        for late in [0, 1, 5000 * MS] {
            let at = Standing {
                deadline: Instant::from_nanos(NOW.as_nanos() - late),
                ..STANDING
            };
            let now = Policy::fixed(Duration::ZERO);
            assert_eq!(ends(&now, &at, busy()), Err(StopReason::DeadlineExceeded));
        }
    }

    #[test]
    fn a_call_of_unlimited_attempts_goes_on_when_the_count_has_come_to_its_end() {
        let at = |attempts| Standing {
            attempt: u32::MAX,
            attempts,
            step: u32::MAX,
            ..STANDING
        };
        let policy = Policy::default();
        let unlimited = ends(&policy, &at(Policy::UNLIMITED), busy());
        assert_eq!(unlimited, Ok((0, 20_000)));
        let limited = ends(&policy, &at(u32::MAX - 1), busy());
        assert_eq!(limited, Err(StopReason::AttemptsExhausted));
    }

    #[test]
    fn rounding_to_the_tick_respects_hint_floor_and_deadline() {
        let policy = Policy::default().floor(Duration::from_micros(500));
        let rules = Rules::of(policy, ms(1));
        let draw = |at: &Standing, failure: Failure, bits| {
            decide(&rules, at, &failure, &mut || bits).map(|wait| wait.delay)
        };
        assert_eq!(draw(&STANDING, busy(), 0), Ok(MS));
        let hinted = busy().retry_after(Duration::from_micros(2500));
        assert_eq!(draw(&STANDING, hinted, 0), Ok(3 * MS));
        let exact = busy().hint(Hint::Exactly(Duration::from_micros(2500)));
        for bits in [0, u64::MAX] {
            assert_eq!(draw(&STANDING, exact, bits), Ok(3 * MS));
            let tight = draw(&with_room(2700 * 1000), exact, bits);
            assert_eq!(tight, Ok(2500 * 1000), "no tick fits: as the server said");
        }
    }

    proptest! {
        #[test]
        fn no_standing_and_no_hint_panic(
            now: u64, deadline: u64, attempt: u32, attempts: u32, step: u32,
            previous: Option<u64>, hint: Option<Duration>, form in 0..3_u8, over: Duration,
            tick: Duration, bits: u64,
        ) {
            let rules = Rules::of(Policy::default().jitter(Jitter::Decorrelated), tick);
            let (now, deadline) = (Instant::from_nanos(now), Instant::from_nanos(deadline));
            let at = Standing { now, deadline, attempt, attempts, step, previous, ..STANDING };
            let hint = hint.map(|after| match form {
                0 => Hint::Exactly(after),
                1 => Hint::AtLeast(after),
                _ => Hint::Spread { after, over },
            });
            let failure = Failure { hint, ..busy() };
            if let Ok(wait) = decide(&rules, &at, &failure, &mut || bits) {
                let ends = now.as_nanos().saturating_add(wait.delay);
                prop_assert!(ends < deadline.as_nanos() || deadline == Instant::NEVER);
            }
        }
    }
}
