//! Did goodput come back, and when?

use std::time::Duration;

use crate::engine::float;
use crate::scenario::Phases;

/// Whether a service came back after the last trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Recovery {
    /// So long after the trigger's end; zero if it never left.
    After(Duration),
    /// Not before the end of the run.
    Never,
}

impl Recovery {
    /// How long it took.
    pub const fn time(self) -> Option<Duration> {
        match self {
            Self::After(time) => Some(time),
            Self::Never => None,
        }
    }

    /// Whether it came back.
    pub const fn is_back(self) -> bool {
        matches!(self, Self::After(_))
    }
}

/// The share of what was usual that counts as back.
const BACK: f64 = 0.95;
/// Standard deviations by which chance may lower the share of a window with few calls. With four, a
/// window falls below in one of 30 000 by chance alone.
const CHANCE: f64 = 4.0;
/// The part of the usual share that scatter may take at most: however much it varies, next to nothing
/// is not as usual.
const SCATTER: f64 = 0.8;
/// Windows side by side that say how far windows scatter; of fewer the deviation says little.
const LEAST_WINDOWS: usize = 4;
/// Calls that a window has on average at least, as far as there is time: of fewer the deviation
/// says little, and none of three may be chance where one of ten fails.
const LEAST_CALLS: u64 = 20;

/// What is usual: counted, and so itself a matter of chance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Usual {
    /// The share of calls that succeed.
    pub share: f64,
    /// Of how many calls.
    pub calls: u64,
}

/// When the calls of every later window succeed as usual.
///
/// A window is good if the calls that begin in it succeed at 95 % or more of the usual share, less
/// what chance explains of so few calls, and less what windows scatter while all is well: where
/// queues alone make calls late now and then, those of one window share their luck. Back is when
/// every window that begins later is good, up to the end; the last windows have to be good for that.
pub(super) fn recovery(
    phases: &Phases,
    bucket: Duration,
    usual: Usual,
    calls: &[u64],
    succeeded: &[u64],
) -> Recovery {
    let after = phases.after.start..phases.settled;
    if after.is_empty() {
        return Recovery::Never;
    }
    let calls = running(calls);
    let succeeded = running(succeeded);
    let began = at(&calls, after.end).saturating_sub(at(&calls, after.start));
    let least = (after.len() as u64 * LEAST_CALLS).checked_div(began);
    let least = usize::try_from(least.unwrap_or_default()).unwrap_or(usize::MAX);
    let window = phases.window.max(least).min(after.len());
    let latest = after.end - window;
    let within = |sums: &[u64], from: usize| at(sums, from + window).saturating_sub(at(sums, from));
    // Without a trigger they are too few, and what goes wrong may be among them.
    let steady = phases.usual();
    let windows = steady.start..(steady.end + 1).saturating_sub(window);
    let scatter = if steady.len() < LEAST_WINDOWS * window {
        0.0
    } else {
        deviation(windows.map(|from| (within(&calls, from), within(&succeeded, from))))
    };
    let lost = (CHANCE * scatter).min(SCATTER * usual.share);
    let is_bad =
        |from: usize| !is_good(usual, lost, within(&calls, from), within(&succeeded, from));
    let last_bad = (after.start..=latest).rev().find(|from| is_bad(*from));
    let Some(bad) = last_bad else {
        return Recovery::After(Duration::ZERO);
    };
    // As many good windows in a row as one is long; fewer where there is little time.
    let hold = window.min((latest - after.start) / 2 + 1);
    if bad + hold > latest {
        return Recovery::Never;
    }
    let buckets = u32::try_from(bad + 1 - after.start).unwrap_or(u32::MAX);
    Recovery::After(bucket.saturating_mul(buckets))
}

/// The standard deviation of the shares of these windows, of those that have calls.
fn deviation(windows: impl Iterator<Item = (u64, u64)>) -> f64 {
    let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for (calls, succeeded) in windows.filter(|(calls, _)| *calls > 0) {
        let share = float(succeeded) / float(calls);
        count += 1.0;
        sum += share;
        squares += share * share;
    }
    let mean = sum / f64::max(count, 1.0);
    (squares / f64::max(count, 1.0) - mean * mean)
        .max(0.0)
        .sqrt()
}

/// `lost` is the share that scatter may take.
fn is_good(usual: Usual, lost: f64, calls: u64, succeeded: u64) -> bool {
    if calls == 0 {
        return true;
    }
    let (calls, counted) = (float(calls), float(usual.calls));
    // One more of either kind: that none of ten failed does not show that none ever does (P. S.
    // Laplace's rule of succession).
    let share = (usual.share * counted + 1.0) / (counted + 2.0);
    let variance = share * (1.0 - share) * (1.0 / calls + 1.0 / counted.max(1.0));
    let allowed = (CHANCE * variance.max(0.0).sqrt()).max(lost);
    float(succeeded) / calls >= BACK * usual.share - allowed
}

/// Sums up to, and without, each bucket.
fn running(counts: &[u64]) -> Vec<u64> {
    let mut sum = 0;
    let sums = counts.iter().map(|count| {
        sum += count;
        sum
    });
    std::iter::once(0).chain(sums).collect()
}

/// What comes after the last bucket is as at its end.
fn at(sums: &[u64], index: usize) -> u64 {
    let last = sums.len().saturating_sub(1);
    sums.get(index.min(last)).copied().unwrap_or_default()
}
