//! By how much do service times differ between those who found few others and those who found many?

use crate::tally::{Moments, Tally};

/// Between those who found fewer than some number and the others: by how much their service times differ.
#[derive(Debug, Clone, Copy)]
pub struct Difference {
    /// In microseconds.
    pub by: f64,
    /// Its standard error.
    pub error: f64,
    /// What the steps of the clock may make of it, as far as those who found a worker free are on one side of it.
    pub by_clock: f64,
    /// The mean of all.
    pub mean: f64,
}

impl Difference {
    /// By how many standard errors they differ, beyond the share of a service time that is tolerated.
    pub fn beyond(&self, tolerance: f64) -> f64 {
        // Where moments and times are both cut, those that waited end early by up to half a step more.
        let by_clock = if self.by < 0.0 {
            3.0 * self.by_clock
        } else {
            self.by_clock
        };
        (self.by.abs() - by_clock - tolerance * self.mean) / self.error.max(1e-9)
    }
}

/// The differences for each number that splits the requests, and for each extreme, if there are so many workers.
pub fn differences(windows: &[&Tally], workers: usize, step: f64) -> Vec<Difference> {
    let each = (0..EXTREMES).flat_map(|it| Splits::of(windows, workers, it).all(step));
    each.collect()
}

/// Whether so many workers explain times that are longer by one and the same share for all who found a worker free: what is
/// done before and after a worker has a request, which those that wait spend on waiting.
///
/// The times of those who found one are the same then whatever they found, and those of the others, too. Where requests share
/// processors they are not, and neither are they in several pools.
pub fn is_apart(windows: &[&Tally], workers: usize, step: f64) -> bool {
    (0..EXTREMES).all(|extreme| {
        let splits = Splits::of(windows, workers, extreme);
        let is_such_a_share = splits.at(workers, step).is_some_and(|it| {
            let share = -it.by / it.mean;
            (0.0..=APART).contains(&share)
        });
        let within = [splits.of_free(workers), splits.of_waited(workers)];
        let mut each = within.iter().flat_map(|it| it.all(step));
        is_such_a_share && each.all(|it| it.beyond(TOLERANCE) < USUAL)
    })
}

/// The ends of a normal distribution between which the largest of a few dozen correlated statistics is in 95 %: found by
/// the logs of known truth in `tests`.
pub const USUAL: f64 = 3.3;

/// So many ways to leave extremes out there are.
const EXTREMES: usize = 2;

/// What may be done at most before and after a worker has a request, as a share of its time: the capacity comes out too small by
/// up to this.
const APART: f64 = 0.12;

/// By this share service times may differ within those who found a worker free, and within the others.
const TOLERANCE: f64 = 0.01;

/// Requests, and the sums of their service times.
type Sum = (f64, Moments);

fn less(of: Sum, other: Sum) -> Sum {
    let sum = of.1.sum - other.1.sum;
    let squares = of.1.squares - other.1.squares;
    (of.0 - other.0, Moments { sum, squares })
}

/// Requests of a stretch, without one of the extremes, by the number found.
struct Column {
    /// Of all that found fewer.
    below: Vec<Sum>,
    all: Sum,
}

impl Column {
    #[expect(clippy::cast_precision_loss)]
    fn of(tally: &Tally, workers: usize, extreme: usize) -> Self {
        let mut so_far = (0.0, Moments::default());
        let mut below = Vec::with_capacity(tally.rows.len());
        for (number, row) in tally.rows.iter().enumerate() {
            below.push(so_far);
            let moments = match row.served.get(workers) {
                Some(served) if number >= workers => served.clipped[extreme],
                _ => row.clipped[extreme],
            };
            so_far.0 += row.requests as f64;
            so_far.1.sum += moments.sum;
            so_far.1.squares += moments.squares;
        }
        Self { below, all: so_far }
    }

    fn below(&self, number: usize) -> Sum {
        self.below.get(number).copied().unwrap_or(self.all)
    }
}

/// Stretches of a log, each with a mean of its own, that are split at the same number.
struct Splits {
    columns: Vec<Column>,
    /// Who found fewer found a worker free; 0 where all of them did, or none.
    workers: usize,
    /// Of service times, within each stretch.
    variance: f64,
    mean: f64,
}

impl Splits {
    fn of(windows: &[&Tally], workers: usize, extreme: usize) -> Self {
        let each = windows.iter().map(|it| Column::of(it, workers, extreme));
        Self {
            workers,
            ..Self::new(each.collect())
        }
    }

    fn new(columns: Vec<Column>) -> Self {
        let (mut spread, mut requests, mut sum) = (0.0, 0.0, 0.0);
        for (n, moments) in columns.iter().map(|it| it.all).filter(|it| it.0 > 0.0) {
            spread += moments.squares - moments.sum * moments.sum / n;
            requests += n;
            sum += moments.sum;
        }
        Self {
            columns,
            workers: 0,
            variance: f64::max(spread, 0.0) / f64::max(requests, 1.0),
            mean: sum / f64::max(requests, 1.0),
        }
    }

    /// Of those who found a worker free.
    fn of_free(&self, workers: usize) -> Self {
        let each = self.columns.iter().map(|it| Column {
            below: it.below.iter().take(workers).copied().collect(),
            all: it.below(workers),
        });
        Self::new(each.collect())
    }

    /// Of the others.
    fn of_waited(&self, workers: usize) -> Self {
        let each = self.columns.iter().map(|it| {
            let free = it.below(workers);
            let waited = it.below.iter().skip(workers);
            Column {
                below: waited.map(|it| less(*it, free)).collect(),
                all: less(it.all, free),
            }
        });
        Self::new(each.collect())
    }

    fn all(&self, step: f64) -> Vec<Difference> {
        let groups = self.columns.iter().map(|it| it.below.len()).max();
        let each = (1..groups.unwrap_or(0)).filter_map(|it| self.at(it, step));
        each.collect()
    }

    /// Between those who found fewer and the others. `None` of so few that it tells nothing that is near to normal.
    fn at(&self, number: usize, step: f64) -> Option<Difference> {
        let (mut weight, mut difference, mut free) = (0.0, 0.0, 0.0);
        for column in &self.columns {
            let (few, of_few) = column.below(number);
            let (many, of_many) = less(column.all, (few, of_few));
            if few < 1.0 || many < 1.0 {
                continue;
            }
            let own = few * many / (few + many);
            weight += own;
            let all_free = column.below(self.workers).0;
            let few_free = column.below(number.min(self.workers)).0;
            free += own * (few_free / few - (all_free - few_free) / many);
            difference += own * (of_many.sum / many - of_few.sum / few);
        }
        // Times of those that waited are between two ends; the others' are cut to steps or rounded, and a quarter of one is added.
        let by_clock = (step / 4.0).floor() * free / weight.max(1.0);
        (weight >= 5.0).then(|| Difference {
            by: difference / weight,
            error: (self.variance / weight).sqrt(),
            by_clock,
            mean: self.mean,
        })
    }
}
