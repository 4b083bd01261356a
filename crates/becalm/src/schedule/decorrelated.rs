//! What is the mean of a delay that depends on all delays before it?
//!
//! Decorrelated jitter draws D(k) from U(L, min(C, 3 D(k-1))), L being the larger of base and
//! floor, C the cap; the clamped form draws from U(L, 3 D(k-1)) and then takes the smaller of that
//! and C. Let h(x) be what is expected of a later delay when an earlier one is x. One draw more
//! between them turns h into its average over the interval of that draw:
//!
//! ```text
//! (T h)(x) = integral of h from L to y, divided by y - L      y = min(E, 3x)
//! ```
//!
//! with E = C, and E = 3 C for the clamped form, where h(x) = h(C) beyond C. The mean of D(k) is
//! then the average, over the interval of the first draw, of T applied k - 1 times to what the last
//! draw is worth: x itself, or min(x, C).
//!
//! The integral is computed by the trapezoidal rule, on a grid where three times a point is a point
//! again. h is smooth between two cuts; the cuts are L 3^i, E / 3^i, and 3^i times the end of the
//! first draw's interval. So the error is a series in even powers of the step. Five grids, each twice
//! as fine as the one before, and Romberg's extrapolation leave less than 10^-12 of the mean.

use alloc::vec::Vec;
use core::iter::successors;

use crate::delay::DelayRule;
use crate::jitter::Jitter;

/// Steps between two cuts, of one grid after the other.
const STEPS: [u32; 5] = [8, 16, 32, 64, 128];

/// The means of the first, the second, ... delay of one policy, in nanoseconds.
#[derive(Debug, Clone)]
pub(super) struct Means {
    low: f64,
    /// Empty if every delay is `low`.
    grids: Vec<Grid>,
}

/// h at points from L to E.
#[derive(Debug, Clone)]
struct Grid {
    points: Vec<f64>,
    expected: Vec<f64>,
    /// How many points further three times a point is.
    tripled: usize,
    /// The point at which the first draw's interval ends.
    first_end: usize,
}

impl Means {
    /// `None` for a jitter whose draws do not depend on each other.
    pub(super) fn of(jitter: Jitter, rule: &DelayRule) -> Option<Self> {
        let reach = match jitter {
            Jitter::Decorrelated => 1.0,
            Jitter::DecorrelatedClamped => 3.0,
            _ => return None,
        };
        let (low, high) = jitter.interval(rule.bounds(0, false, None));
        let (low, high, cap) = (float(low), float(high), float(rule.cap));
        let mut grids = Vec::new();
        if 0.0 < low && low < cap {
            let cuts = cuts(low, high, reach * cap);
            grids.extend(STEPS.map(|steps| Grid::new(&cuts, steps, high, cap)));
        }
        Some(Self { low, grids })
    }

    /// The mean of the next delay.
    pub(super) fn next(&mut self) -> u64 {
        rounded(self.next_exactly())
    }

    fn next_exactly(&mut self) -> f64 {
        let mut means: Vec<_> = self.grids.iter_mut().map(Grid::next).collect();
        let mut power = 1.0;
        while means.len() > 1 {
            power *= 4.0;
            let better = |it: &[f64]| it[1] + (it[1] - it[0]) / (power - 1.0);
            means = means.windows(2).map(better).collect();
        }
        means.pop().unwrap_or(self.low)
    }
}

impl Grid {
    /// With what a last draw is worth: itself, or the cap beyond the cap.
    fn new(cuts: &[f64], steps: u32, first_end: f64, cap: f64) -> Self {
        let mut points = Vec::new();
        for ends in cuts.windows(2) {
            let width = (ends[1] - ends[0]) / f64::from(steps);
            points.extend((0..steps).map(|step| ends[0] + width * f64::from(step)));
        }
        points.extend(cuts.last());
        Self {
            expected: points.iter().map(|point| point.min(cap)).collect(),
            tripled: 3 * steps as usize,
            first_end: points.partition_point(|point| *point < first_end),
            points,
        }
    }

    /// The average of h over the interval of the first draw. Then h becomes T h.
    fn next(&mut self) -> f64 {
        let (low, last) = (self.points[0], self.points.len() - 1);
        let (mut from, mut before, mut integral) = (low, self.expected[0], 0.0);
        for (to, expected) in self.points.iter().zip(&mut self.expected) {
            integral += (to - from) * f64::midpoint(before, *expected);
            (from, before) = (*to, *expected);
            if from > low {
                *expected = integral / (from - low); // the average up to this point
            }
        }
        let average = self.expected[self.first_end.min(last)];
        let whole = self.expected[last];
        self.expected.drain(..self.tripled.min(last));
        self.expected.resize(last + 1, whole);
        average
    }
}

/// `low` x 3^i, `high` x 3^i and `end` / 3^i, from `low` to `end`: three to each power of three.
fn cuts(low: f64, high: f64, end: f64) -> Vec<f64> {
    let divided = successors(Some(end), |cut| Some(cut / 3.0)).take_while(|cut| *cut > low);
    let mut divided: Vec<_> = divided.collect();
    divided.reverse();
    let tripled = successors(Some([low, high]), |cuts| Some(cuts.map(|cut| 3.0 * cut)));
    let mut cuts = Vec::new();
    for ([low, high], divided) in tripled.zip(divided) {
        let mut level = [low, high.min(end), divided];
        level.sort_by(f64::total_cmp);
        cuts.extend(level);
    }
    cuts
}

#[expect(clippy::cast_precision_loss)] // one part in 2^53
fn float(nanos: u64) -> f64 {
    nanos as f64
}

/// To the nearest whole nanosecond; half a nanosecond goes up, whatever its last bits are.
/// `core` has no `round`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates
fn rounded(nanos: f64) -> u64 {
    (nanos * (1.0 + 16.0 * f64::EPSILON) + 0.5) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;
    use core::time::Duration;

    /// The means by brute force: the distribution of each delay over whole nanoseconds.
    #[expect(clippy::cast_precision_loss)]
    fn enumerated(jitter: Jitter, rule: &DelayRule, retries: usize) -> Vec<f64> {
        let cap = usize::try_from(rule.cap).unwrap();
        let size = cap + 1;
        let mut likely = vec![0.0; size];
        likely[usize::try_from(rule.bounds(0, false, None).previous).unwrap()] = 1.0;
        let mut means = Vec::new();
        for _ in 0..retries {
            let mut slopes = vec![0.0; size + 1];
            let mut at_cap = 0.0;
            for (previous, chance) in likely.iter().enumerate().filter(|it| *it.1 > 0.0) {
                let bounds = rule.bounds(0, false, Some(previous as u64));
                let (low, high) = jitter.interval(bounds);
                let [low, high] = [low, high].map(|it| usize::try_from(it).unwrap());
                let each = chance / (high - low + 1) as f64;
                slopes[low.min(cap)] += each;
                slopes[high.min(cap) + 1] -= each;
                at_cap += each * high.saturating_sub(cap) as f64;
            }
            let mut height = 0.0;
            for (chance, slope) in likely.iter_mut().zip(&slopes) {
                height += slope;
                *chance = height;
            }
            likely[size - 1] += at_cap;
            let weighed = likely.iter().enumerate().map(|(x, p)| x as f64 * p);
            means.push(weighed.sum());
        }
        means
    }

    fn rule(jitter: Jitter, base: u64, floor: u64, cap: u64) -> DelayRule {
        let policy = Policy::exponential(Duration::from_nanos(base))
            .floor(Duration::from_nanos(floor))
            .cap(Duration::from_nanos(cap))
            .jitter(jitter);
        DelayRule::of(&policy)
    }

    /// A delay is a whole number of nanoseconds, the quadrature is of a continuous one: the two differ
    /// by less than a part in `low`.
    #[test]
    fn the_mean_is_that_of_the_enumerated_distribution() {
        for jitter in [Jitter::Decorrelated, Jitter::DecorrelatedClamped] {
            for (base, floor, cap) in [
                (1, 0, 7),
                (10, 0, 11),
                (100, 0, 50_000),
                (100, 0, 2_700), // 27 x base: pieces of no width
                (100, 0, 2_701),
                (100, 0, 8_099),
                (20_000, 0, 20_001),
                (20_000, 0, 60_000),
                (20_000, 0, 250_000),
                (20_000, 59_999, 250_000),
                (20_000, 60_001, 250_000),
                (20_000, 90_000, 250_000),
            ] {
                let rule = rule(jitter, base, floor, cap);
                let mut means = Means::of(jitter, &rule).unwrap();
                for (retry, expected) in (1..).zip(enumerated(jitter, &rule, 12)) {
                    let mean = means.next_exactly();
                    let error = (mean - expected).abs() / expected;
                    let at = std::format!("{jitter}, {base}, {floor}, {cap}, retry {retry}");
                    assert!(error < 0.1 / means.low, "{at}: {mean}, not {expected}");
                }
            }
        }
    }

    #[test]
    fn without_a_cap_in_reach_the_recursion_is_exact() {
        for base in [1, 100, 100_000_000, 3_600_000_000_000] {
            let rule = rule(Jitter::Decorrelated, base, 0, u64::MAX);
            let mut means = Means::of(Jitter::Decorrelated, &rule).unwrap();
            let mut expected = float(base);
            for retry in 1..=12 {
                expected = f64::midpoint(float(base), 3.0 * expected);
                let mean = means.next_exactly();
                let error = (mean - expected).abs() / expected;
                assert!(
                    error < 1e-12,
                    "{base}, retry {retry}: {mean}, not {expected}"
                );
            }
        }
    }

    /// D(3) for a cap of six times the base, by hand: 3.425 - ln(2.5) / 8.
    #[test]
    fn the_first_mean_that_is_no_polynomial_is_exact_to_twelve_digits() {
        let rule = rule(Jitter::Decorrelated, 100_000_000, 0, 600_000_000);
        let mut means = Means::of(Jitter::Decorrelated, &rule).unwrap();
        let expected = 1e8 * (3.425 - 2.5_f64.ln() / 8.0);
        let mean = [(); 3].map(|()| means.next_exactly())[2];
        assert!(
            (mean - expected).abs() < 1e-12 * expected,
            "{mean}, not {expected}"
        );
    }

    #[test]
    fn no_bounds_make_the_quadrature_diverge() {
        for jitter in [Jitter::Decorrelated, Jitter::DecorrelatedClamped] {
            for base in [1, 2, 3, 1_000_000_007, u64::MAX / 3, u64::MAX - 1, u64::MAX] {
                for cap in [
                    1,
                    base,
                    base.saturating_add(1),
                    base.saturating_mul(3),
                    u64::MAX,
                ] {
                    let mut means = Means::of(jitter, &rule(jitter, base, 0, cap)).unwrap();
                    for _ in 0..100 {
                        let mean = means.next_exactly();
                        let (low, high) = (float(base), float(cap.max(base)));
                        let most = if jitter == Jitter::Decorrelated {
                            high
                        } else {
                            3.0 * high
                        };
                        assert!(low * 0.999_999 <= mean, "{jitter} {base} {cap}: {mean}");
                        assert!(mean <= most * 1.000_001, "{jitter} {base} {cap}: {mean}");
                    }
                }
            }
        }
    }
}
