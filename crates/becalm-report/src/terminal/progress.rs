//! How far is a long computation, and how long will the rest take?

use std::time::Duration;

use super::fit;
use crate::format;

/// How far a computation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Units that are done.
    pub done: u64,
    /// Units that there will be, as far as is known; 0 if nothing is known.
    pub total: u64,
    /// The time since it began.
    pub elapsed: Duration,
}

impl Progress {
    /// What the rest will take at the pace so far: nothing is said before a unit is done.
    pub fn remaining(&self) -> Option<Duration> {
        if self.done == 0 || self.total < self.done {
            return None;
        }
        let left = u128::from(self.total - self.done);
        let nanoseconds = self.elapsed.as_nanos().checked_mul(left)? / u128::from(self.done);
        u64::try_from(nanoseconds).ok().map(Duration::from_nanos)
    }
}

/// A line of `width` columns: a bar, the units, and what the rest will take. What does not fit is
/// left out from the right.
///
/// ```
/// use becalm_report::terminal::{Progress, progress};
/// use std::time::Duration;
///
/// let at = Progress { done: 30, total: 120, elapsed: Duration::from_secs(2) };
/// assert_eq!(progress(at, 47), "████▎               25%  30 / 120  about 6s");
/// ```
pub fn progress(at: Progress, width: usize) -> String {
    #[expect(clippy::cast_precision_loss, reason = "shown to three digits")]
    let [done, total] = [at.done, at.total].map(|it| it as f64);
    let share = if at.total == 0 {
        0.0
    } else {
        (done / total).min(1.0)
    };
    let mut text = if at.total == 0 {
        format!("{} done", format::plain(done))
    } else {
        // Not done is never 100 %.
        let percent = (share * 100.0).floor();
        format!(
            "{percent:>3}%  {} / {}",
            format::plain(done),
            format::plain(total)
        )
    };
    if let Some(rest) = at.remaining().filter(|rest| !rest.is_zero()) {
        text += "  about ";
        text += &format::seconds(whole_seconds(rest));
    }
    // Room for the longest text, so that the bar stays as it is while figures change.
    let longest = "100%   /   about 999ms".len() + 2 * super::width(&format::plain(total));
    let bar = width.saturating_sub(longest + 2).min(40);
    if bar < 4 {
        return fit(&text, width).trim_end().into();
    }
    let filled = super::sparkbar(share, bar);
    let line = format!("{}  {text}", fit(&filled, bar));
    fit(&line, width).trim_end().into()
}

/// A guess has no more digits than it deserves.
fn whole_seconds(time: Duration) -> f64 {
    let seconds = time.as_secs_f64();
    if seconds < 1.0 {
        (seconds * 10.0).ceil() / 10.0
    } else {
        seconds.ceil()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::width as columns;

    fn at(done: u64, total: u64, seconds: u64) -> Progress {
        Progress {
            done,
            total,
            elapsed: Duration::from_secs(seconds),
        }
    }

    #[test]
    fn the_rest_is_foretold_by_the_pace_so_far() {
        assert_eq!(at(25, 100, 10).remaining(), Some(Duration::from_secs(30)));
        assert_eq!(at(100, 100, 10).remaining(), Some(Duration::ZERO));
        for nothing in [at(0, 100, 10), at(5, 0, 10), at(11, 10, 1)] {
            assert_eq!(nothing.remaining(), None);
        }
        let endless = Progress {
            elapsed: Duration::MAX,
            ..at(1, u64::MAX, 0)
        };
        assert_eq!(endless.remaining(), None);
    }

    #[test]
    fn the_bar_grows_and_the_line_never_breaks() {
        for width in 0..120 {
            let mut last = 0;
            for done in 0..=200 {
                let line = progress(at(done, 200, 3), width);
                assert!(columns(&line) <= width, "{line:?} in {width}");
                let full = line.matches('█').count();
                assert!(full >= last || done == 200, "{line:?} after {last}");
                last = full;
            }
        }
    }

    #[test]
    fn only_what_is_done_is_full() {
        assert!(progress(at(999_999, 1_000_000, 1), 80).contains(" 99%"));
        assert!(progress(at(5, 5, 1), 80).contains("100%"));
        assert!(progress(at(7, 0, 1), 80).contains("7 done"));
        assert!(progress(at(u64::MAX, 1, 1), 80).contains("100%"));
    }
}
