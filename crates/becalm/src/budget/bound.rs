//! How many tokens does a full budget hold, if that follows the traffic?
//!
//! As many as a span of the traffic earns at its mean rate, and never fewer than a fixed number. A success reads no clock,
//! so the rate is measured where a failure has read one: since the last look that is at least a span old.

use crate::sync::{AtomicU64, Guarded, Ordering, Packed};
use crate::time::Instant;

/// What a full budget holds, in millionths of a token, and what was seen of the traffic.
#[derive(Debug)]
pub(super) struct Bound {
    /// [`NONE`](Self::NONE) where nothing is bounded.
    least: AtomicU64,
    /// Nanoseconds; 0 where the bound is the least one, whatever the traffic.
    span: AtomicU64,
    looks: Guarded<Looks, 4>,
}

/// The mean rate is that since `older`. `newer` takes its place as soon as it is a span old.
#[derive(Debug, Clone, Copy, Default)]
struct Looks {
    older: Look,
    newer: Look,
}

#[derive(Debug, Clone, Copy, Default)]
struct Look {
    nanos: u64,
    deposits: u64,
}

impl Default for Bound {
    fn default() -> Self {
        Self {
            least: AtomicU64::new(0),
            span: AtomicU64::new(0),
            looks: Guarded::new(&Looks::default()),
        }
    }
}

impl Bound {
    /// The least bound where nothing is bounded.
    pub const NONE: u64 = 0;

    pub fn is_bounded(&self) -> bool {
        self.least.load(Ordering::Acquire) != Self::NONE
    }

    /// Takes over another least bound and another span, and keeps what was seen.
    pub fn set(&self, least: u64, span: u64) {
        self.span.store(span, Ordering::Relaxed);
        self.least.store(least, Ordering::Release);
    }

    /// The traffic begins at this instant: nothing was earned before.
    pub fn begin(&self, now: Instant) {
        let look = Look {
            nanos: now.as_nanos(),
            deposits: 0,
        };
        self.looks.change(|looks| {
            *looks = Looks {
                older: look,
                newer: look,
            };
        });
    }

    /// What a full budget holds now, after this number of deposits of `ratio` millionths each.
    ///
    /// Threads that fail at the same time come one after another: a bound that was too low for one of them would cut what all have.
    pub fn at(&self, now: Instant, deposits: u64, ratio: u64) -> u64 {
        let span = self.span.load(Ordering::Relaxed);
        let least = self.least.load(Ordering::Relaxed);
        if span == 0 {
            return least;
        }
        let now = Look {
            nanos: now.as_nanos(),
            deposits,
        };
        self.looks.change(|looks| {
            looks.see(now, span);
            least.max(looks.older.earned_in(span, now, ratio))
        })
    }
}

impl Looks {
    fn see(&mut self, now: Look, span: u64) {
        if now.nanos.saturating_sub(self.newer.nanos) >= span {
            self.older = self.newer;
            self.newer = now;
        }
    }
}

impl Look {
    /// What a span earns at the mean rate since this look; never more than was earned, since the time counts as a span at
    /// least.
    fn earned_in(self, span: u64, now: Self, ratio: u64) -> u64 {
        let deposits = u128::from(now.deposits.saturating_sub(self.deposits));
        let time = now.nanos.saturating_sub(self.nanos).max(span);
        let earned =
            (deposits * u128::from(ratio)).saturating_mul(u128::from(span)) / u128::from(time);
        u64::try_from(earned).unwrap_or(u64::MAX)
    }
}

impl Packed<4> for Looks {
    fn of_words([a, b, c, d]: [u64; 4]) -> Self {
        let look = |nanos, deposits| Look { nanos, deposits };
        Self {
            older: look(a, b),
            newer: look(c, d),
        }
    }

    fn words(&self) -> [u64; 4] {
        let Self { older, newer } = self;
        [older.nanos, older.deposits, newer.nanos, newer.deposits]
    }
}
