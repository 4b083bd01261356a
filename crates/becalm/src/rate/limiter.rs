//! When may an attempt be sent, at the rate that the server's throttles leave?

use core::time::Duration;

use super::AdaptiveRate;
use super::bucket::{Bucket, Place};
use super::cubic::Cubic;
use super::measure::Measure;
use crate::duration::nanos;
use crate::sync::{AtomicU64, Guarded, Ordering, Packed};
use crate::time::Instant;

/// The client rate limiter of the AWS SDKs' adaptive retry mode.
///
/// Off until the first throttle; then it stays on. At a throttle the rate falls to 0.7 of what was
/// measured (or of the limit, if that is less); afterwards it grows along CUBIC's curve, up to
/// twice the measured rate and never below one token in two seconds. The bucket holds the tokens of
/// one second, and at least one. A call that finds none owns the next.
///
/// Law: over any interval, calls that start at their place's time are at most the integral of the
/// rate, the bucket's size at the interval's begin, one, and the ready places that were cancelled
/// in it. Where no place is cancelled, without the one.
///
/// The algorithm is that of the AWS SDKs' retry specification (botocore 1.20
/// `retries/adaptive.py`, aws-smithy-runtime 1.16 `client_rate_limiter.rs`). Two things differ.
/// Before the first throttle the bucket's own rate follows the measured one every half second,
/// not at every answer. And a token that was promised to a waiting call follows later changes of
/// the rate, as in botocore, but in the order of arrival.
#[derive(Debug)]
#[repr(align(128))] // two cache lines: neighbours must not share the count's line
pub struct RateLimiter {
    /// 0 until the first throttle.
    enabled: AtomicU64,
    /// When the count is due to be looked at; 0 before the first answer.
    slot_ends: AtomicU64,
    /// Answers since the slot began.
    answers: AtomicU64,
    /// Nanoseconds; `u64::MAX` for none.
    max_wait: AtomicU64,
    state: Guarded<State, 12>,
}

impl RateLimiter {
    /// Makes a limiter that has not seen a throttle.
    ///
    /// A wait out of range is taken as it is: [`AdaptiveRate::validate`] is where it is refused.
    pub fn new(config: AdaptiveRate) -> Self {
        let new = Self {
            enabled: AtomicU64::new(0),
            slot_ends: AtomicU64::new(0),
            answers: AtomicU64::new(0),
            max_wait: AtomicU64::new(0),
            state: Guarded::new(&State::new(Instant::ZERO)),
        };
        new.reconfigure(config);
        new
    }

    /// Takes over another configuration; rate, tokens and places stay as they are.
    pub fn reconfigure(&self, config: AdaptiveRate) {
        let wait = config.max_wait.map_or(u64::MAX, nanos);
        self.max_wait.store(wait, Ordering::Relaxed);
    }

    /// An attempt asks for its token. It may start at `Place::at`, which is not after `now` if a
    /// token is there.
    ///
    /// The AWS SDKs ask for every attempt, retries included; a guard before the first try asks
    /// once. The `Place` of a call that never starts is [cancelled](Self::cancel).
    ///
    /// # Errors
    ///
    /// When the token would have been there, if the wait would be longer than [`AdaptiveRate::max_wait`]. The call has
    /// taken none.
    #[inline]
    pub fn acquire(&self, now: Instant) -> Result<Place, Instant> {
        if self.is_enabled() {
            self.take(now)
        } else {
            Ok(Place::free(now))
        }
    }

    #[cold]
    #[inline(never)] // keeps the path of every caller small
    fn take(&self, now: Instant) -> Result<Place, Instant> {
        let max_wait = self.max_wait.load(Ordering::Relaxed);
        self.state.change(|state| {
            state.bucket.fill(now);
            state.bucket.take(now, max_wait)
        })
    }

    /// Whether the place's token is there, at the rate of now. To be asked again at the end of a
    /// wait, so that a throttle in the meantime slows those down who are waiting.
    ///
    /// # Errors
    ///
    /// When it will be there, if it is not.
    pub fn ready(&self, place: &Place, now: Instant) -> Result<(), Instant> {
        let Some(mark) = place.mark else {
            return Ok(());
        };
        let at = self.state.change(|state| {
            state.bucket.fill(now);
            state.bucket.reached(mark, now)
        });
        if at <= now { Ok(()) } else { Err(at) }
    }

    /// Gives back the token of a call that will not start: it goes to the next that asks. The places of others stay.
    #[expect(clippy::needless_pass_by_value)] // it can be cancelled once
    pub fn cancel(&self, place: Place) {
        if let Some(mark) = place.mark {
            self.state.change(|state| state.bucket.put_back(mark));
        }
    }

    /// Counts an answer that was not a throttle: a success, or a failure of another kind.
    #[inline]
    pub fn on_success(&self, now: Instant) {
        let counting = now.as_nanos() < self.slot_ends.load(Ordering::Relaxed);
        if counting && !self.is_enabled() {
            self.answers.fetch_add(1, Ordering::Relaxed);
        } else {
            self.answered(now, false);
        }
    }

    /// Tells that the server answered that it is throttling.
    pub fn on_throttle(&self, now: Instant) {
        self.answered(now, true);
    }

    #[cold]
    #[inline(never)] // keeps the success path of every caller small
    fn answered(&self, now: Instant, throttled: bool) {
        self.state.change(|state| {
            if self.slot_ends.load(Ordering::Relaxed) == 0 {
                *state = State::new(now);
            }
            let answers = self.answers.fetch_add(1, Ordering::Relaxed);
            if now >= state.measure.slot_ends() {
                // The answers of others in between stay for the next slot.
                self.answers.fetch_sub(answers + 1, Ordering::Relaxed);
                state.measure = state.measure.counted(answers + 1, now);
            }
            let slot_ends = state.measure.slot_ends().as_nanos();
            self.slot_ends.store(slot_ends, Ordering::Relaxed);

            let measured = state.measure.rate;
            let rate = if throttled {
                let limited = self.is_enabled();
                let sent = if limited {
                    measured.min(state.bucket.rate)
                } else {
                    measured
                };
                let (cubic, left) = Cubic::throttled(sent, now);
                state.cubic = cubic;
                self.enabled.store(1, Ordering::Release);
                left
            } else {
                state.cubic.rate(now)
            };
            state.bucket.fill(now);
            state.bucket.set_rate(rate.min(2.0 * measured));
        });
    }

    /// Whether there has been a throttle.
    #[inline]
    pub fn is_enabled(&self) -> bool {
        self.enabled.load(Ordering::Acquire) != 0
    }

    /// The limit in tokens per second, as the last answer left it; infinite before the first
    /// throttle.
    pub fn rate(&self) -> f64 {
        if self.is_enabled() {
            f64::from_bits(self.state.peek(State::RATE))
        } else {
            f64::INFINITY
        }
    }

    /// Answers per second, smoothed over half seconds; 0 before the first has ended.
    pub fn measured(&self) -> f64 {
        f64::from_bits(self.state.peek(State::MEASURED))
    }

    /// How long a call that comes now would wait; zero before the first throttle.
    pub fn wait(&self, now: Instant) -> Duration {
        if !self.is_enabled() {
            return Duration::ZERO;
        }
        self.state.change(|state| {
            let mut bucket = state.bucket;
            bucket.fill(now);
            let until = bucket.take(now, 0).err();
            until.map_or(Duration::ZERO, |until| until.since(now))
        })
    }
}

/// What changes together.
#[derive(Debug)]
struct State {
    bucket: Bucket,
    cubic: Cubic,
    measure: Measure,
}

impl State {
    const RATE: usize = 0;
    const MEASURED: usize = 10;

    /// Before the first answer.
    fn new(now: Instant) -> Self {
        Self {
            bucket: Bucket::new(now),
            cubic: Cubic {
                w_max: 0.0,
                throttled_at: now,
            },
            measure: Measure::new(now),
        }
    }
}

impl Packed<12> for State {
    fn of_words(words: [u64; 12]) -> Self {
        let [rate, capacity, level, debt, holes, supplied, ref rest @ ..] = words;
        let [fraction, filled_at, w_max, throttled_at, measured, slot] = *rest;
        Self {
            bucket: Bucket {
                rate: f64::from_bits(rate),
                capacity: signed(capacity),
                level: signed(level),
                debt: signed(debt),
                holes,
                supplied,
                fraction: f64::from_bits(fraction),
                filled_at: Instant::from_nanos(filled_at),
            },
            cubic: Cubic {
                w_max: f64::from_bits(w_max),
                throttled_at: Instant::from_nanos(throttled_at),
            },
            measure: Measure {
                rate: f64::from_bits(measured),
                slot,
            },
        }
    }

    fn words(&self) -> [u64; 12] {
        let (bucket, cubic, measure) = (&self.bucket, &self.cubic, &self.measure);
        [
            bucket.rate.to_bits(),
            unsigned(bucket.capacity),
            unsigned(bucket.level),
            unsigned(bucket.debt),
            bucket.holes,
            bucket.supplied,
            bucket.fraction.to_bits(),
            bucket.filled_at.as_nanos(),
            cubic.w_max.to_bits(),
            cubic.throttled_at.as_nanos(),
            measure.rate.to_bits(),
            measure.slot,
        ]
    }
}

/// The bits of this word as a number with a sign.
fn signed(word: u64) -> i64 {
    i64::from_ne_bytes(word.to_ne_bytes())
}

/// The bits of this number as a word.
fn unsigned(word: i64) -> u64 {
    u64::from_ne_bytes(word.to_ne_bytes())
}
