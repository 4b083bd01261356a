//! When may the next one pass, at a rate with a burst? The generic cell rate algorithm, without a clock.

use core::time::Duration;

use crate::duration::nanos;
use crate::time::Instant;

/// At most `burst + rate x interval` over any interval (ITU-T I.371), in whole nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct CellRate {
    /// One's share of the time.
    share: Duration,
    /// How far ahead of the time may be paid.
    ahead: Duration,
    /// When the last one's share of the rate is over.
    paid_until: Instant,
}

impl CellRate {
    /// One passes in each `share` of the time, and at most `burst` at once.
    pub const fn new(share: Duration, burst: u32) -> Self {
        Self {
            share,
            ahead: share.saturating_mul(burst.saturating_sub(1)),
            paid_until: Instant::ZERO,
        }
    }

    /// The share of each of so many in so much time, rounded up, so that the rate is never exceeded; zero if that is
    /// below a nanosecond, `None` for nobody.
    pub fn share_of(many: u32, per: Duration) -> Option<Duration> {
        let nanos = per
            .as_nanos()
            .div_ceil(core::num::NonZeroU128::new(u128::from(many))?.get());
        Some(Duration::from_nanos(
            u64::try_from(nanos).unwrap_or(u64::MAX),
        ))
    }

    /// One's share of the time.
    #[inline]
    pub const fn share(&self) -> Duration {
        self.share
    }

    /// The first moment from now on at which one may pass.
    #[inline]
    pub fn next(&self, now: Instant) -> Instant {
        let earliest = self.paid_until.as_nanos().saturating_sub(nanos(self.ahead));
        Instant::from_nanos(earliest).max(now)
    }

    /// Whether so many could pass now beside one that does, or the time of so many has gone by in which none did.
    #[inline]
    pub fn spares(&self, many: u32, now: Instant) -> bool {
        self.paid_until.after(self.share.saturating_mul(many)) <= now.after(self.ahead)
    }

    /// Whether all that has passed is paid for.
    #[inline]
    pub fn is_at_rest(&self, now: Instant) -> bool {
        self.paid_until <= now
    }

    /// Lets one pass now, or says when it may.
    #[inline]
    pub fn pass(&mut self, now: Instant) -> Result<(), Instant> {
        let next = self.next(now);
        if next > now {
            return Err(next);
        }
        self.paid_until = self.paid_until.max(now).after(self.share);
        Ok(())
    }
}
