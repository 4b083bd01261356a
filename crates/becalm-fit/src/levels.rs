//! How fast did the service answer, by how many requests it had?
//!
//! That is a fact, whatever the workers, the order and the times: no lower end of a capacity is above it.

use crate::known::WITHIN;
use crate::number::{group, least};

/// Answers in short stretches, by how many requests the service had when each of them began.
#[derive(Debug, Clone, Default)]
pub struct Levels {
    /// How long a stretch is, in microseconds; 0: nothing is counted.
    length: i64,
    /// Of that, how long answers do not count at its beginning: what it had then may be one too many by the steps of the clock, which
    /// is over at once.
    uncounted: i64,
    /// When this one began, what it had then, and its answers so far.
    from: Option<i64>,
    had: usize,
    answers: u64,
    /// What the service has now.
    has: usize,
    /// By the group of what it had.
    rows: Vec<Row>,
    /// The time since the last answer, in microseconds, by the group of what it had; until when it is told.
    since: Vec<(usize, i64)>,
    /// The sum of these times.
    silent: i64,
    until: Option<i64>,
    /// Since when it has requests and answers none.
    quiet: Option<i64>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Row {
    stretches: u64,
    answers: u64,
    /// For how long the service had as many requests as this row is for, in microseconds, without stalls; and how many it answered then.
    time: i64,
    ended: u64,
    /// The sum of the long silences that ended with this number of requests, in microseconds.
    stood: i64,
}

/// A rate of answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// Per second.
    pub rate: f64,
    /// Its standard error, if answers come independently of each other.
    pub error: f64,
}

/// Of fewer answers, chance decides.
const FEW: u64 = 100;
/// Of fewer it decides how two levels differ.
const COMPARED: u64 = 400;
/// A service that has requests stands still if it answers none in this number of stretches, or in two usual times.
const STALL: i64 = 8;
/// A service that answers none in this number of stretches has stood still, unless all of its requests take very long.
const STOOD: i64 = 200;
/// By this factor levels have to differ, so that their rates tell whether there is a limit.
const APART: usize = 2;

impl Levels {
    /// Begins to count, in stretches of this many microseconds, for a clock of such steps.
    pub fn begin(&mut self, length: i64, step: i64) {
        self.uncounted = step.saturating_mul(2);
        self.length = length
            .max(self.uncounted)
            .saturating_add(self.uncounted)
            .max(1);
    }

    /// The service has one more.
    pub fn add(&mut self) {
        if self.has == 0 {
            self.quiet = self.until;
        }
        self.has += 1;
    }

    /// One was answered, or left, at this moment.
    pub fn over(&mut self, moment: i64) {
        self.pass(moment);
        if self.length > 0 {
            if !self.is_stalled() {
                for at in 0..self.since.len() {
                    let (had, time) = self.since[at];
                    self.row(had).time += time;
                }
                self.row(self.has).ended += 1;
            }
            self.since.clear();
            self.silent = 0;
            let stood = moment.saturating_sub(self.quiet.unwrap_or(moment));
            if stood > self.length.saturating_mul(STOOD) {
                self.row(self.has).stood += stood;
            }
            self.quiet = Some(moment);
        }
        self.has = self.has.saturating_sub(1);
        let since = moment.saturating_sub(self.from.unwrap_or(moment));
        self.answers += u64::from(since >= self.uncounted);
    }

    /// Time passes to this moment.
    pub fn pass(&mut self, moment: i64) {
        if self.length == 0 {
            return;
        }
        let gone = moment.saturating_sub(self.until.unwrap_or(moment));
        self.until = Some(moment);
        if self.has > 0 && gone > 0 && !self.is_stalled() {
            self.since.push((self.has, gone));
            self.silent = self.silent.saturating_add(gone);
        }
        let from = *self.from.get_or_insert(moment);
        let stretches = moment.saturating_sub(from) / self.length;
        if stretches < 1 {
            return;
        }
        self.count(self.had, 1, self.answers);
        // Nothing happened in the others.
        self.count(self.has, stretches.unsigned_abs() - 1, 0);
        self.from = Some(from.saturating_add(stretches.saturating_mul(self.length)));
        (self.had, self.answers) = (self.has, 0);
    }

    fn count(&mut self, had: usize, stretches: u64, answers: u64) {
        let row = self.row(had);
        row.stretches += stretches;
        row.answers += answers;
    }

    /// Whether it answered none for longer than chance makes it.
    fn is_stalled(&self) -> bool {
        self.silent > self.length.saturating_mul(STALL)
    }

    fn row(&mut self, had: usize) -> &mut Row {
        let at = group(had);
        if at >= self.rows.len() {
            self.rows.resize(at + 1, Row::default());
        }
        &mut self.rows[at]
    }

    /// The highest rate, as far as it is known, at which it answered while it had some number of requests or more.
    pub fn highest(&self) -> Option<Rate> {
        let mut sum = Row::default();
        let mut highest: Option<Rate> = None;
        for row in self.rows.iter().skip(1).rev() {
            sum.add(*row);
            let Some(rate) = self.rate(sum).filter(|_| sum.answers >= FEW) else {
                continue;
            };
            let least = |it: Rate| it.rate - WITHIN * it.error;
            if highest.is_none_or(|it| least(it) < least(rate)) {
                highest = Some(rate);
            }
        }
        highest
    }

    /// How fast it answered, where it did not stand still, while it had this many requests or more.
    #[expect(clippy::cast_precision_loss)]
    pub fn with(&self, number: usize) -> Option<Rate> {
        let rows = self.rows.iter().enumerate();
        let rows = rows.filter(|(at, _)| least(*at) >= number.max(1));
        let (time, ended) = rows.fold((0, 0), |(time, ended), (_, row)| {
            (time + row.time, ended + row.ended)
        });
        let (seconds, answers) = (time as f64 / 1e6, ended as f64);
        (ended >= FEW && time > 0).then(|| Rate {
            rate: answers / seconds,
            error: answers.sqrt() / seconds,
        })
    }

    /// The seconds of long silences at whose end the service had this number of requests or more. It may have stood still, or all of
    /// these requests may have taken very long.
    #[expect(clippy::cast_precision_loss)]
    pub fn stood_with(&self, number: usize) -> f64 {
        let rows = self.rows.iter().enumerate();
        let rows = rows.filter(|(at, _)| least(*at) >= number.max(1));
        rows.map(|(_, row)| row.stood).sum::<i64>() as f64 / 1e6
    }

    /// Whether it answered no faster with at least twice as many requests: then it was full.
    pub fn is_level(&self) -> bool {
        let sum = |rows: &[Row]| {
            let mut sum = Row::default();
            for row in rows {
                sum.add(*row);
            }
            sum
        };
        let groups = self.rows.len();
        (1..groups).any(|few| {
            let upper = group(least(few) * APART);
            if upper >= groups {
                return false;
            }
            // Those between this and half as many more.
            let to = group(least(few) + least(few) / 4).max(few) + 1;
            let (few, many) = (
                sum(&self.rows[few..to.min(upper)]),
                sum(&self.rows[upper..]),
            );
            if few.answers < COMPARED || many.answers < COMPARED {
                return false;
            }
            let rates = self.rate(few).zip(self.rate(many));
            rates.is_some_and(|(few, many)| {
                let half_as_much = few.rate * 1.25;
                many.rate + 3.0 * many.error.hypot(few.error) < half_as_much
            })
        })
    }

    #[expect(clippy::cast_precision_loss)]
    fn rate(&self, row: Row) -> Option<Rate> {
        let counted = self.length - self.uncounted;
        let seconds = row.stretches as f64 * counted as f64 / 1e6;
        let answers = row.answers as f64;
        (row.stretches > 0).then(|| Rate {
            rate: answers / seconds,
            error: answers.sqrt() / seconds,
        })
    }
}

impl Row {
    fn add(&mut self, other: Self) {
        self.stretches += other.stretches;
        self.answers += other.answers;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many clients, each of which asks again when it is answered, of a service that answers one in a millisecond up to
    /// this limit.
    fn of(clients: &[usize], limit: usize) -> Levels {
        let mut levels = Levels::default();
        levels.begin(5_000, 1);
        let mut now = 0;
        for clients in clients {
            while levels.has < *clients {
                levels.add();
            }
            for _ in 0..2_000 {
                now += 20_000 / i64::try_from((*clients).min(limit)).unwrap();
                levels.over(now);
                levels.add();
            }
        }
        levels
    }

    #[test]
    fn the_highest_rate_is_that_of_a_full_service() {
        let highest = of(&[4, 10, 40], 10).highest().unwrap();
        assert!((highest.rate / 500.0 - 1.0).abs() < 0.02, "{highest:?}");
        assert!(highest.error < 15.0, "{highest:?}");
        assert_eq!(Levels::default().highest(), None);
    }

    #[test]
    fn a_service_is_full_that_answers_no_faster_with_more() {
        assert!(of(&[4, 10, 40], 10).is_level());
        assert!(!of(&[4, 10, 40], 1000).is_level());
        assert!(!of(&[40], 10).is_level(), "one level tells nothing");
    }

    #[test]
    fn while_it_stands_still_a_service_is_not_slow() {
        let mut levels = of(&[4, 10], 10);
        let full = levels.with(10).unwrap().rate;
        assert!((full / 500.0 - 1.0).abs() < 0.02, "{full}");
        let until = levels.until.unwrap();
        for at in 1..10 {
            levels.pass(until + at * 100_000);
        }
        levels.over(until + 1_000_000);
        let after = levels.with(10).unwrap().rate;
        assert!((after / full - 1.0).abs() < 0.001, "{after} for {full}");
        assert_eq!(levels.with(11), None);
    }

    #[test]
    fn a_service_stood_still_that_had_requests_and_answered_none_for_long() {
        let mut levels = of(&[4, 10], 10);
        let until = levels.until.unwrap();
        levels.over(until + 3_000_000);
        levels.add();
        assert!((levels.stood_with(10) - 3.0).abs() < 1e-9);
        assert!(levels.stood_with(11) < 1e-9, "it had ten");
        levels.over(until + 3_900_000);
        assert!(
            (levels.stood_with(1) - 3.0).abs() < 1e-9,
            "0.9 s may be one request"
        );
        // A service without requests does not stand still.
        for _ in 0..9 {
            levels.over(until + 3_900_000);
        }
        levels.pass(until + 60_000_000);
        levels.add();
        levels.over(until + 60_010_000);
        assert!((levels.stood_with(1) - 3.0).abs() < 1e-9);
    }
}
