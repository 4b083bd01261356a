//! What is kept of the requests of a stretch of a log, by the number that they found?
//!
//! If a service has W workers and one queue, a request that finds n others begins to be served when n - W + 1 of them are
//! over, or at once. The ends of those n are in the log: so for each W that may be, the log says how long its service took.

use crate::number::{group, least};
use crate::times::Times;

/// What is kept; two can be added.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// By the group of the number found.
    pub rows: Vec<Row>,
    /// By the group of the workers: those who waited, if there are so many.
    pub waited: Vec<Waited>,
    /// Requests that were taken in while nobody knew what the service worked on.
    pub unknown: u64,
}

/// Requests that found about the same number.
#[derive(Debug, Clone, Default)]
pub struct Row {
    /// How many.
    pub requests: u64,
    /// The numbers that they found, added.
    pub numbers: f64,
    /// Their times, in microseconds, added, and their squares.
    pub times: Moments,
    /// Their times and squares, added, without each of the extremes.
    pub clipped: [Moments; 2],
    /// The times of others who found so many, and left, added.
    pub left: f64,
    /// Their times.
    pub all: Times,
    /// By the group of the workers, up to their own: their service times if there are so many workers.
    pub served: Vec<Served>,
}

/// Requests that waited.
#[derive(Debug, Clone, Copy, Default)]
pub struct Waited {
    /// How many.
    pub requests: u64,
    /// How many ended before their turn, by more than the clock's step.
    pub early: u64,
}

/// Service times if there are so many workers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Served {
    /// In microseconds, added.
    pub sum: f64,
    /// Without each of the extremes.
    pub clipped: [Moments; 2],
}

/// A sum and a sum of squares.
#[derive(Debug, Clone, Copy, Default)]
pub struct Moments {
    /// The sum.
    pub sum: f64,
    /// The sum of the squares.
    pub squares: f64,
}

/// Where a request stands among those that began within one step of the clock.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// So many of them come behind it.
    pub behind: usize,
    /// Whether there are no others: of those that there are, nobody knows the order.
    pub is_alone: bool,
}

/// How times are measured.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    extremes: [f64; 2],
    /// Of the clock, in microseconds.
    pub step: f64,
}

impl Scale {
    /// Times beyond an extreme count as this: a few of them would decide about all. There are two, of which one alone may hide what
    /// matters. With this step of the clock, in microseconds.
    pub fn of(extremes: [f64; 2], step: f64) -> Self {
        let extremes = extremes.map(|it| it.max(1.0));
        Self { extremes, step }
    }

    #[inline]
    fn add(self, moments: &mut [Moments; 2], micros: f64) {
        for (moments, extreme) in moments.iter_mut().zip(self.extremes) {
            moments.add(micros.clamp(-extreme, extreme));
        }
    }
}

impl Moments {
    #[inline]
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.squares += value * value;
    }

    fn merge(&mut self, other: Self) {
        self.sum += other.sum;
        self.squares += other.squares;
    }
}

impl Tally {
    /// Adds a request that took so long and found others that end then, in order.
    #[expect(clippy::cast_precision_loss)]
    pub fn add(&mut self, duration: u64, end: i64, found: &[i64], place: Place, scale: Scale) {
        // Of those that began at once, all are one row: whoever of them came first, together they began to be served at the same moments.
        let number = found.len() + place.behind;
        let own = group(number);
        if own >= self.rows.len() {
            self.rows.resize_with(own + 1, Row::default);
            self.waited.resize(own + 1, Waited::default());
        }
        let row = &mut self.rows[own];
        row.served.resize(own + 1, Served::default());
        // Some logs cut times to whole steps, some do not: what is between.
        let time = duration as f64 + (scale.step / 4.0).floor();
        row.requests += 1;
        row.numbers += found.len() as f64;
        row.times.add(time);
        scale.add(&mut row.clipped, time);
        row.all.add(duration);
        for workers in 1..=own {
            let begun = found
                .len()
                .checked_sub(least(workers))
                .and_then(|at| found.get(at));
            let served = &mut row.served[workers];
            let Some(begun) = begun else {
                served.sum += time;
                scale.add(&mut served.clipped, time);
                continue;
            };
            let time = (end - begun) as f64;
            served.sum += time;
            scale.add(&mut served.clipped, time);
            let waited = &mut self.waited[workers];
            waited.requests += 1;
            // Both ends of the time are cut to steps.
            waited.early += u64::from(place.is_alone && time < -2.0 - scale.step);
        }
    }

    /// Adds a request whose client left after so long, and that had found so many.
    #[expect(clippy::cast_precision_loss)]
    pub fn left(&mut self, duration: u64, found: usize) {
        if let Some(row) = self.rows.get_mut(group(found)) {
            row.left += duration as f64;
        }
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: &Self) {
        if other.rows.len() > self.rows.len() {
            self.rows.resize_with(other.rows.len(), Row::default);
            self.waited.resize(other.rows.len(), Waited::default());
        }
        for (row, more) in self.rows.iter_mut().zip(&other.rows) {
            row.merge(more);
        }
        for (waited, more) in self.waited.iter_mut().zip(&other.waited) {
            waited.requests += more.requests;
            waited.early += more.early;
        }
        self.unknown += other.unknown;
    }

    /// Requests that are in it.
    pub fn requests(&self) -> u64 {
        self.rows.iter().map(|row| row.requests).sum()
    }

    /// Times of all that found fewer than this.
    pub fn times_below(&self, number: usize) -> Times {
        let mut times = Times::default();
        let below = self.rows.iter().enumerate();
        for (_, row) in below.take_while(|(at, _)| least(*at) < number) {
            times.merge(&row.all);
        }
        times
    }
}

impl Row {
    fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.numbers += other.numbers;
        self.times.merge(other.times);
        merge(&mut self.clipped, other.clipped);
        self.left += other.left;
        self.all.merge(&other.all);
        if other.served.len() > self.served.len() {
            self.served.resize(other.served.len(), Served::default());
        }
        for (served, more) in self.served.iter_mut().zip(&other.served) {
            served.sum += more.sum;
            merge(&mut served.clipped, more.clipped);
        }
    }
}

fn merge(moments: &mut [Moments; 2], others: [Moments; 2]) {
    for (moments, other) in moments.iter_mut().zip(others) {
        moments.merge(other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALONE: Place = Place {
        behind: 0,
        is_alone: true,
    };

    #[test]
    fn a_request_is_served_when_enough_of_those_before_it_are_over() {
        let mut tally = Tally::default();
        // It began at 0, found three that end at 10, 20 and 30, and ended at 45.
        tally.add(45, 45, &[10, 20, 30], ALONE, Scale::of([300.0; 2], 1.0));
        let served: Vec<f64> = tally.rows[3].served.iter().map(|it| it.sum).collect();
        // With one worker it waited for all three, with three for one, with more for none.
        assert_eq!(served, [0.0, 15.0, 25.0, 35.0]);
        assert!((tally.rows[3].times.sum - 45.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_added_apart_is_the_same_as_together() {
        let scale = Scale::of([30.0, 100.0], 1.0);
        let (mut one, mut other, mut both) = (Tally::default(), Tally::default(), Tally::default());
        one.add(45, 45, &[10, 20, 30], ALONE, scale);
        both.add(45, 45, &[10, 20, 30], ALONE, scale);
        other.add(5, 50, &[52], ALONE, scale);
        both.add(5, 50, &[52], ALONE, scale);
        one.merge(&other);
        assert_eq!(format!("{one:?}"), format!("{both:?}"));
    }
}
