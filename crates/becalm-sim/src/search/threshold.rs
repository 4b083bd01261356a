//! Up to which value do runs survive? Bisection over seeds.

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
}

impl Range {
    /// From the lowest to the highest, to 5 %, with at most 12 values.
    pub const fn new(low: f64, high: f64) -> Self {
        Self {
            low,
            high,
            resolution: 0.05,
            points: 12,
        }
    }
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
pub fn find(range: &Range, survive: impl FnMut(f64, u32) -> Proportion) -> Threshold {
    find_beside(range, &[], survive)
}

/// Finds the value that half of all runs survive. What is known of some values already is part of the
/// search: it is not run again, and no result contradicts it. `survive` runs a value so many times; it is also
/// told how many values were tried before, so that each can have seeds of its own.
///
/// Bisection of the logarithm, by majority, and then of the gaps between the estimate and the
/// nearest values that are significant. Survival has to fall with the value, and the runs of
/// different values have to be independent; nothing else is assumed about the shape of the curve,
/// which a probit fit would. The values follow the results, so the interval is made of tests that
/// stay right under any choice: an exact binomial test at each, whose level is 2.5 % divided by the
/// number of values (C. E. Bonferroni, 1936). It errs on the wide side.
pub fn find_beside(
    range: &Range,
    known: &[Point],
    mut survive: impl FnMut(f64, u32) -> Proportion,
) -> Threshold {
    let most = range.points.max(3);
    let known = known.iter().filter(|it| it.survived.runs > 0);
    let mut search = Search {
        error: 0.025 / f64::from(most),
        most,
        resolution: range.resolution.max(1e-6),
        points: known.copied().collect(),
        survive: &mut survive,
    };
    let low = if range.low > 0.0 {
        range.low
    } else {
        f64::MIN_POSITIVE
    };
    let high = range.high.max(low);
    let (survived, lost) = search.known_ends(high);
    let survives_high = lost.is_none() && search.attempt(high).is_mostly();
    let survives_low = survives_high || survived.is_some() || search.attempt(low).is_mostly();
    if survives_low && !survives_high {
        // A third of the values narrows the interval.
        let (from, to) = (survived.unwrap_or(low), lost.unwrap_or(high));
        search.bisect(from, to, most.div_ceil(3), Proportion::is_mostly);
    }
    search.narrow(low, high);
    let (above, below) = search.significant();
    // An estimate outside of its own interval would be noise of the pooling.
    let estimate = pooled::half(&search.points)
        .filter(|_| survives_low && !survives_high)
        .map(|it| it.max(above.unwrap_or(it)).min(below.unwrap_or(it)));
    Threshold {
        estimate,
        low: above,
        high: below,
        is_above: survives_high,
        points: search.points,
    }
}

struct Search<'a> {
    error: f64,
    most: u32,
    resolution: f64,
    points: Vec<Point>,
    survive: &'a mut dyn FnMut(f64, u32) -> Proportion,
}

impl Search<'_> {
    /// The highest value that is known to be survived, and the lowest that is known not to be, which
    /// counts where they contradict each other.
    fn known_ends(&self, high: f64) -> (Option<f64>, Option<f64>) {
        let ends = |is_survived| {
            let these = self.points.iter();
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

    fn attempt(&mut self, value: f64) -> Proportion {
        let before = self.tried();
        let survived = (self.survive)(value, before);
        self.points.push(Point { value, survived });
        survived
    }

    fn tried(&self) -> u32 {
        u32::try_from(self.points.len()).unwrap_or(u32::MAX)
    }

    /// Halves a gap until it is narrow or only so many values are left to try. `is_low`: whether
    /// the value belongs to the lower end.
    fn bisect(
        &mut self,
        mut low: f64,
        mut high: f64,
        left: u32,
        is_low: impl Fn(Proportion) -> bool,
    ) {
        while high > low * (1.0 + self.resolution) && self.tried() + left < self.most {
            let middle = (low * high).sqrt();
            if is_low(self.attempt(middle)) {
                low = middle;
            } else {
                high = middle;
            }
        }
    }

    /// The highest value significantly above one half, and the lowest significantly below.
    fn significant(&self) -> (Option<f64>, Option<f64>) {
        let values = |is: &dyn Fn(Proportion) -> bool| -> Vec<f64> {
            let these = self.points.iter().filter(|point| is(point.survived));
            these.map(|point| point.value).collect()
        };
        let above = values(&|it| it.is_above_half(self.error));
        let below = values(&|it| it.is_below_half(self.error));
        (
            above.into_iter().max_by(f64::total_cmp),
            below.into_iter().min_by(f64::total_cmp),
        )
    }

    /// Spends what is left on the gaps beside the crossing: half on either side.
    fn narrow(&mut self, low: f64, high: f64) {
        let error = self.error;
        let Some(half) = pooled::half(&self.points) else {
            return;
        };
        let (above, below) = self.significant();
        let left = self.most.saturating_sub(self.tried());
        let (above, below) = (above.unwrap_or(low), below.unwrap_or(high));
        self.bisect(above, half.max(above), left / 2, |it| {
            it.is_above_half(error)
        });
        self.bisect(half.min(below), below, 0, |it| !it.is_below_half(error));
    }
}
