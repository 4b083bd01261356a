//! Did goodput come back, and when?

use std::time::Duration;

use super::phases::Phases;

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

/// When the calls of every later window succeed as usual.
///
/// A window is good if the calls that begin in it succeed at 95 % or more of the usual share, less
/// what chance explains of so few calls. Back is when every window that begins later is good, up to
/// the end; the last windows have to be good for that.
pub(super) fn recovery(
    phases: &Phases,
    bucket: Duration,
    usual: f64,
    calls: &[u64],
    succeeded: &[u64],
) -> Recovery {
    let after = phases.after.start..phases.settled;
    if after.is_empty() {
        return Recovery::Never;
    }
    let window = phases.window.min(after.len());
    let last = after.end - window;
    let calls = running(calls);
    let succeeded = running(succeeded);
    let is_bad = |from: usize| {
        let within = |sums: &[u64]| at(sums, from + window).saturating_sub(at(sums, from));
        !is_good(usual, within(&calls), within(&succeeded))
    };
    let last_bad = (after.start..=last).rev().find(|from| is_bad(*from));
    let Some(bad) = last_bad else {
        return Recovery::After(Duration::ZERO);
    };
    // As many good windows in a row as one is long; fewer where there is little time.
    let hold = window.min((last - after.start) / 2 + 1);
    if bad + hold > last {
        return Recovery::Never;
    }
    let buckets = u32::try_from(bad + 1 - after.start).unwrap_or(u32::MAX);
    Recovery::After(bucket.saturating_mul(buckets))
}

#[expect(clippy::cast_precision_loss)] // far below 2^52
fn is_good(usual: f64, calls: u64, succeeded: u64) -> bool {
    if calls == 0 {
        return true;
    }
    let calls = calls as f64;
    let deviation = (usual * (1.0 - usual) / calls).max(0.0).sqrt();
    succeeded as f64 / calls >= BACK * usual - CHANCE * deviation
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
