//! Up to which value do runs survive? Bisection over seeds.

use std::ops;

use super::pooled::{self, Point};
use super::proportion::Proportion;

/// Where a search looks for a threshold, and how thoroughly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    /// The lowest value that is tried, above 0.
    pub low: f64,
    /// The highest.
    pub high: f64,
    /// Two values that differ by no more than this share of themselves are the same. Default 0.05.
    pub resolution: f64,
    /// How many values are tried at most, at least 3. Default 12: those that a range of 1 : 100
    /// needs to be halved down to the resolution, and four to narrow the interval.
    pub points: u32,
    /// How many runs a value gets at most. Default 10: with nine or more that all end alike survival is significant at one of
    /// twelve values.
    pub runs: u32,
}

/// Runs that a value gets at first. What needs the others, [`find_beside`] says.
const FIRST: u32 = 4;

impl Range {
    /// From the lowest to the highest, to 5 %, with at most 12 values of 10 runs.
    pub const fn new(low: f64, high: f64) -> Self {
        Self {
            low,
            high,
            resolution: 0.05,
            points: 12,
            runs: 10,
        }
    }
}

/// Runs of a value that are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Asked {
    /// How many values were tried before, so that each can have seeds of its own.
    pub point: u32,
    /// Which of its runs.
    pub runs: ops::Range<u32>,
}

/// The value that half of all runs survive, as far as runs can tell.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Threshold {
    /// The estimate. `None` where more than half survive even the highest value, or fewer than half
    /// the lowest.
    pub estimate: Option<f64>,
    /// The lower end of the 95 % confidence interval: the highest value at which survival is
    /// significantly above one half. `None` if there is none in the range.
    pub low: Option<f64>,
    /// The upper end: the lowest value at which survival is significantly below one half.
    pub high: Option<f64>,
    /// Whether more than half survive the highest value of the range.
    pub is_above: bool,
    /// Every value that was tried, in the order of the search.
    pub points: Vec<Point>,
}

/// Finds the value that half of all runs survive, with nothing known before.
pub fn find(range: &Range, survive: impl FnMut(f64, Asked) -> Proportion) -> Threshold {
    find_beside(range, &[], survive)
}

/// Finds the value that half of all runs survive. What is known of some values already is part of the
/// search: it is not run again, and no result contradicts it. `survive` runs a value.
///
/// Bisection of the logarithm, by majority, and then of the gaps between the estimate and the
/// nearest values that are significant. Survival has to fall with the value, and the runs of
/// different values have to be independent; nothing else is assumed about the shape of the curve,
/// which a probit fit would. The values follow the results, so the interval is made of tests that
/// stay right under any choice: an exact binomial test at each, whose level is 2.5 % divided by the
/// number of values (C. E. Bonferroni, 1936). It errs on the wide side.
///
/// A value whose first four runs end alike gets no more, unless it may be an end of the interval or is one of the range: that is no test,
/// and says only where to look next. Of four runs none is significant, so that a test is made of all runs of a value or not at all, and
/// its level holds.
pub fn find_beside(
    range: &Range,
    known: &[Point],
    mut survive: impl FnMut(f64, Asked) -> Proportion,
) -> Threshold {
    let most = range.points.max(3);
    let known = known.iter().filter(|it| it.survived.runs > 0);
    let known = known.map(|it| Tried {
        point: *it,
        number: None,
    });
    let mut search = Search {
        error: 0.025 / f64::from(most),
        most,
        runs: range.runs.max(1),
        resolution: range.resolution.max(1e-6),
        tried: known.collect(),
        survive: &mut survive,
    };
    let low = if range.low > 0.0 {
        range.low
    } else {
        f64::MIN_POSITIVE
    };
    let high = range.high.max(low);
    let (survived, lost) = search.known_ends(high);
    let survives_high = lost.is_none() && search.end(high, true);
    let survives_low = survives_high || survived.is_some() || search.end(low, false);
    if survives_low && !survives_high {
        // A third of the values narrows the interval.
        let (from, to) = (survived.unwrap_or(low), lost.unwrap_or(high));
        search.bisect(
            from,
            to,
            most.div_ceil(3),
            Search::side,
            Proportion::is_mostly,
        );
    }
    search.narrow(low, high);
    let (above, below) = search.significant();
    let points = search.points();
    // An estimate outside of its own interval would be noise of the pooling.
    let estimate = pooled::half(&points)
        .filter(|_| survives_low && !survives_high)
        .map(|it| it.max(above.unwrap_or(it)).min(below.unwrap_or(it)));
    Threshold {
        estimate,
        low: above,
        high: below,
        is_above: survives_high,
        points,
    }
}

struct Search<'a> {
    error: f64,
    most: u32,
    runs: u32,
    resolution: f64,
    tried: Vec<Tried>,
    survive: &'a mut dyn FnMut(f64, Asked) -> Proportion,
}

/// A value that was tried. `None` of one that was known: it gets no runs.
struct Tried {
    point: Point,
    number: Option<u32>,
}

impl Search<'_> {
    /// The highest value that is known to be survived, and the lowest that is known not to be, which
    /// counts where they contradict each other.
    fn known_ends(&self, high: f64) -> (Option<f64>, Option<f64>) {
        let ends = |is_survived| {
            let these = self.tried.iter().map(|it| it.point);
            these.filter(move |it| it.survived.is_mostly() == is_survived)
        };
        let lost = ends(false).map(|it| it.value).min_by(f64::total_cmp);
        let bound = lost.unwrap_or(high);
        let survived = ends(true).map(|it| it.value).filter(|it| *it < bound);
        (
            survived.max_by(f64::total_cmp),
            lost.filter(|it| *it <= high),
        )
    }

    fn points(&self) -> Vec<Point> {
        self.tried.iter().map(|it| it.point).collect()
    }

    /// Whether an end of the range is survived. Where that would be the last word of the search, all runs say it.
    fn end(&mut self, value: f64, last_word: bool) -> bool {
        let is_survived = self.side(value).is_mostly();
        if is_survived != last_word {
            return is_survived;
        }
        self.complete(self.tried.len() - 1).is_mostly()
    }

    /// What the first runs of a value say, or all where those differ.
    fn side(&mut self, value: f64) -> Proportion {
        let first = self.look(value);
        if first.is_alike() {
            return first;
        }
        self.complete(self.tried.len() - 1)
    }

    /// What all runs of a value say, unless the first leave none that would be significant.
    fn claim(&mut self, value: f64) -> Proportion {
        let first = self.look(value);
        let others = self.runs.saturating_sub(first.runs);
        let with = |successes| {
            first.and(Proportion {
                successes,
                runs: others,
            })
        };
        if with(others).is_above_half(self.error) || with(0).is_below_half(self.error) {
            return self.complete(self.tried.len() - 1);
        }
        first
    }

    fn look(&mut self, value: f64) -> Proportion {
        let number = self.count();
        let runs = 0..FIRST.min(self.runs);
        let survived = (self.survive)(
            value,
            Asked {
                point: number,
                runs,
            },
        );
        self.tried.push(Tried {
            point: Point { value, survived },
            number: Some(number),
        });
        survived
    }

    /// Gives a value the rest of its runs.
    fn complete(&mut self, at: usize) -> Proportion {
        let Tried { point, number } = &mut self.tried[at];
        let runs = point.survived.runs..self.runs;
        if let Some(number) = number.filter(|_| !runs.is_empty()) {
            let asked = Asked {
                point: number,
                runs,
            };
            point.survived = point.survived.and((self.survive)(point.value, asked));
        }
        point.survived
    }

    fn count(&self) -> u32 {
        u32::try_from(self.tried.len()).unwrap_or(u32::MAX)
    }

    /// Halves a gap until it is narrow or only so many values are left to try. `is_low`: whether
    /// the value belongs to the lower end.
    fn bisect(
        &mut self,
        mut low: f64,
        mut high: f64,
        left: u32,
        ask: impl Fn(&mut Self, f64) -> Proportion,
        is_low: impl Fn(Proportion) -> bool,
    ) {
        while high > low * (1.0 + self.resolution) && self.count() + left < self.most {
            let middle = (low * high).sqrt();
            if is_low(ask(self, middle)) {
                low = middle;
            } else {
                high = middle;
            }
        }
    }

    /// The highest value significantly above one half, and the lowest significantly below.
    fn significant(&self) -> (Option<f64>, Option<f64>) {
        let values = |is: &dyn Fn(Proportion) -> bool| -> Vec<f64> {
            let these = self.tried.iter().map(|it| it.point);
            let these = these.filter(|point| is(point.survived));
            these.map(|point| point.value).collect()
        };
        let above = values(&|it| it.is_above_half(self.error));
        let below = values(&|it| it.is_below_half(self.error));
        (
            above.into_iter().max_by(f64::total_cmp),
            below.into_iter().min_by(f64::total_cmp),
        )
    }

    /// Gives the values beside the estimate the rest of their runs, one after the other, until one is significant on either side.
    fn complete_ends(&mut self, half: f64) {
        let mut order: Vec<usize> = (0..self.tried.len()).collect();
        let distance = |it: &Tried| f64::max(it.point.value / half, half / it.point.value);
        order.sort_by(|a, b| distance(&self.tried[*a]).total_cmp(&distance(&self.tried[*b])));
        let (mut is_above, mut is_below) = (false, false);
        for at in order {
            let Point { value, survived } = self.tried[at].point;
            let is_open = if value <= half { !is_above } else { !is_below };
            if is_open {
                let is_alike = survived.is_alike();
                let survived = if is_alike {
                    self.complete(at)
                } else {
                    survived
                };
                is_above |= survived.is_above_half(self.error);
                is_below |= survived.is_below_half(self.error);
            }
        }
    }

    /// Spends what is left on the gaps beside the crossing: half on either side.
    fn narrow(&mut self, low: f64, high: f64) {
        let error = self.error;
        let Some(half) = pooled::half(&self.points()) else {
            // It lies beyond what was tried.
            let is_above = self.tried.iter().all(|it| it.point.survived.is_mostly());
            return self.complete_ends(if is_above {
                f64::MAX
            } else {
                f64::MIN_POSITIVE
            });
        };
        self.complete_ends(half);
        let (above, below) = self.significant();
        let left = self.most.saturating_sub(self.count());
        let (above, below) = (above.unwrap_or(low), below.unwrap_or(high));
        self.bisect(above, half.max(above), left / 2, Self::claim, |it| {
            it.is_above_half(error)
        });
        self.bisect(half.min(below), below, 0, Self::claim, |it| {
            !it.is_below_half(error)
        });
    }
}
