//! How many permits are held, and for how long?

use core::time::Duration;

use becalm::time::Instant;

/// So many have come back until their mean forgets.
const SAMPLES: u32 = 16;

/// The permits that are held.
#[derive(Debug)]
pub(super) struct Permits {
    most: Option<u32>,
    held: u32,
    /// The sum of the moments from which on they are.
    since: u128,
    /// How long those were held that have come back: the mean of the first so many, then one in which the last counts for a sixteenth.
    mean: Duration,
    samples: u32,
}

impl Permits {
    pub const fn new(most: Option<u32>) -> Self {
        Self {
            most,
            held: 0,
            since: 0,
            mean: Duration::ZERO,
            samples: 0,
        }
    }

    #[inline]
    pub const fn held(&self) -> u32 {
        self.held
    }

    #[inline]
    pub fn has_room(&self) -> bool {
        self.most.is_none_or(|most| self.held < most)
    }

    #[inline]
    pub fn are_half_free(&self) -> bool {
        self.most.is_none_or(|most| self.held < most.div_ceil(2))
    }

    #[inline]
    pub fn take(&mut self, now: Instant) {
        self.held += 1;
        if self.most.is_none() {
            return;
        }
        self.since += u128::from(now.as_nanos());
    }

    /// One that was held since then comes back.
    #[inline]
    pub fn release(&mut self, since: Instant, now: Instant) {
        self.held = self.held.saturating_sub(1);
        if self.most.is_none() {
            // Nobody asks how long one is held.
            return;
        }
        self.since = self.since.saturating_sub(since.as_nanos().into());
        self.samples = (self.samples + 1).min(SAMPLES);
        let before = self.mean.saturating_mul(self.samples - 1);
        self.mean = before.saturating_add(now.since(since)) / self.samples;
    }

    /// One's share of the time, where they are bounded.
    #[inline]
    pub fn share(&self, now: Instant) -> Option<Duration> {
        let most = self.most?;
        Some(self.each(now) / most)
    }

    /// How long one is held. While few have come back, at least as long as those that are held have been: the first to come back are the
    /// shortest.
    fn each(&self, now: Instant) -> Duration {
        if self.samples == SAMPLES {
            return self.mean;
        }
        let since = self.since.checked_div(self.held.into());
        let since = since.and_then(|since| u64::try_from(since).ok());
        let age = since.map_or(Duration::ZERO, |since| {
            now.since(Instant::from_nanos(since))
        });
        self.mean.max(age)
    }
}
