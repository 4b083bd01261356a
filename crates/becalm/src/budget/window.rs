//! How are retries kept to a share of the first tries of the last seconds, as in Finagle?
//!
//! First tries and retries are counted in ten slices each, and every question is answered from those
//! counts in whole millionths: no ratio is rounded, and no slice outlives the window.

use core::time::Duration;

use super::account::{Account, Fill, Level};
use super::balance;
use super::config::Window;
use super::kind::Budget;
use super::slices::{Slice, Slices};
use crate::classify::Failure;
use crate::sync::{AtomicU64, MILLION, Ordering, fence, millionths};
use crate::time::Instant;

impl Budget {
    /// Retries are at most this share of the first tries in a window of this length, and so many
    /// more for each of its seconds.
    pub const fn window(share: f64, ttl: Duration, floor_per_second: f64) -> Self {
        Self::Window(Window {
            share,
            ttl,
            floor_per_second,
        })
    }
}

/// A retry, in the unit of share and reserve.
const RETRY: u64 = MILLION;
/// Slices in the `ttl`.
const OF_TTL: u64 = 10;
/// Slices that are looked at. The model checker looks at fewer: the same code, in a shorter window.
pub(super) const LIVE: usize = if cfg!(becalm_loom) { 3 } else { 10 };
/// The resolution of a slice, so that its length and a generation fit one word.
const TICK: u64 = 1000;

/// What happened in a window of so many slices, and what it allows.
#[derive(Debug, Default)]
pub(super) struct WindowBudget<const SLICES: usize> {
    first_tries: Slices<LIVE>,
    retries: Slices<SLICES>,
    /// The generation, and the length of a slice in microseconds.
    epoch: AtomicU64,
    /// Millionths of a retry for each first try, and for the window.
    share: AtomicU64,
    reserve: AtomicU64,
}

impl<const SLICES: usize> WindowBudget<SLICES> {
    /// Whether no retry is in the window.
    fn is_idle(&self, now: Instant) -> bool {
        // A retry that is counted after this fence finds out if the budget is closed.
        fence(Ordering::SeqCst);
        self.retries.sum(self.slice(now)) == 0
    }

    /// What the window up to this slice allows, in millionths of a retry.
    fn limit(&self, slice: Slice) -> u64 {
        let of_calls = match self.share.load(Ordering::Relaxed) {
            0 => 0,
            share => share.saturating_mul(self.first_tries.sum(slice)),
        };
        of_calls.saturating_add(self.reserve.load(Ordering::Relaxed))
    }

    fn slice(&self, now: Instant) -> Slice {
        let epoch = self.epoch.load(Ordering::Acquire);
        let micros = epoch & u64::from(u32::MAX);
        Slice::at(generation_of(epoch), now.as_nanos(), micros * TICK)
    }

    fn generation(&self) -> u32 {
        generation_of(self.epoch.load(Ordering::Acquire))
    }
}

impl<const SLICES: usize> Account for WindowBudget<SLICES> {
    /// First tries are kept if the window is as long as it was.
    fn open(&self, generation: u32, own: Option<Budget>, fill: Fill, now: Instant) {
        let (share, micros, reserve) = match own {
            Some(Budget::Window(config)) => {
                let micros = slice_micros(config.ttl);
                let floor = millionths(config.floor_per_second);
                let reserve = floor.saturating_mul(micros * OF_TTL) / 1_000_000;
                (millionths(config.share), micros, reserve)
            }
            Some(Budget::PerMinute(config)) => (0, 1_000_000, RETRY * u64::from(config.retries)),
            _ => return,
        };
        let keep = micros == self.epoch.load(Ordering::Relaxed) & u64::from(u32::MAX);
        let slice = Slice::at(generation, now.as_nanos(), micros * TICK);
        self.share.store(share, Ordering::Relaxed);
        self.reserve.store(reserve, Ordering::Relaxed);
        self.first_tries.renew(slice, keep);
        self.retries.renew(slice, false);
        // What is not left counts as made just now.
        let limit = u32::try_from(self.limit(slice) / RETRY).unwrap_or(u32::MAX);
        let made = limit - balance::part(limit, fill.usable);
        self.retries.set(slice, made.into());
        let epoch = u64::from(generation) << 32 | micros;
        self.epoch.store(epoch, Ordering::Release);
    }

    /// Counts a retry, if the window allows it; tells the number of its slice.
    fn take(&self, generation: u32, now: Instant, _failure: &Failure) -> Option<u32> {
        let slice = self.slice(now);
        if self.generation() != generation {
            return None;
        }
        let allowed = |retries: u64| retries.saturating_mul(RETRY) <= self.limit(slice);
        self.retries.add_if(slice, allowed).map(Slice::number)
    }

    fn put_back(&self, generation: u32, slice: u32) {
        if self.generation() == generation {
            self.retries.remove(Slice::numbered(generation, slice));
        }
    }

    /// It is full while no retry is in the window.
    fn level(&self, now: Instant) -> Level {
        let slice = self.slice(now);
        let most = self.limit(slice) / RETRY;
        let is_idle = self.is_idle(now);
        let left = most.saturating_sub(self.retries.sum(slice));
        #[expect(clippy::cast_precision_loss)] // a gauge
        let (left, most) = (left as f64, most as f64);
        let fill = if is_idle { 1.0 } else { left / most.max(1.0) };
        Level { left, most, fill }
    }

    fn first_try(&self, now: Instant) {
        self.first_tries.add(self.slice(now));
    }
}

fn generation_of(epoch: u64) -> u32 {
    u32::try_from(epoch >> 32).unwrap_or_default()
}

/// The length of a slice, from 0.1 to 6 s.
fn slice_micros(ttl: Duration) -> u64 {
    let micros = u64::try_from(ttl.as_micros()).unwrap_or(u64::MAX) / OF_TTL;
    micros.clamp(1, u32::MAX.into())
}
