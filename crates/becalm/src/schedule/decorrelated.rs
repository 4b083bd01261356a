//! What is the mean of a delay that depends on all delays before it?
//!
//! Decorrelated jitter draws D(k) from U(L, min(C, 3 D(k-1))), L being the larger of base and
//! floor, C the cap; the clamped form draws from U(L, 3 D(k-1)) and then takes the smaller of that
//! and C. Let h(x) be what is expected of a later delay when an earlier one is x. One draw more
//! between them turns h into its average over the interval of that draw:
//!
//! ```text
//! (T h)(x) = A(min(E, 3x)) / (min(E, 3x) - L)      A(y) = integral of h from L to y
//! ```
//!
//! with E = C, and E = 3 C for the clamped form, where h(x) = h(C) beyond C. The mean of D(k) is
//! then the average, over the interval of the first draw, of T applied k - 1 times to what the last
//! draw is worth: x itself, or min(x, C).
//!
//! T is kept exact on power series. Cut \[L, E\] at every L 3^i and every E / 3^i: multiplying by 3
//! maps each piece onto the one that is two higher, whose A is a power series in the same local
//! variable t, and 3x - L is linear in t. So T is one term-by-term integration and one division by
//! a linear polynomial. The two highest pieces, where 3x >= E, are constant. The nearest
//! singularity of any h is at x = L / 3, at 5/3 of a piece's half width from its centre at least,
//! so that the terms fall at least as fast as 0.6^n; linear functions (no cap in reach) are exact.

use alloc::vec::Vec;
use core::iter::successors;

use crate::delay::DelayRule;
use crate::jitter::Jitter;

/// Terms of each power series: 0.6^64 is below 10^-14.
const TERMS: usize = 64;

/// The means of the first, the second, ... delay of one policy, in nanoseconds.
#[derive(Debug, Clone)]
pub(super) struct Means {
    low: f64,
    /// The upper end of the first draw's interval.
    first_high: f64,
    /// h, on the pieces of \[L, E\] from the lowest up. Empty if every delay is `low`.
    pieces: Vec<Piece>,
}

/// A power series in t = (x - `centre`) / `half`, for t from -1 to 1.
#[derive(Debug, Clone)]
struct Piece {
    centre: f64,
    half: f64,
    terms: [f64; TERMS],
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
        let end = reach * cap;
        let pieces = if 0.0 < low && low < cap {
            let ends = cuts(low, end);
            let piece = |ends: &[f64]| Piece::last_draw(ends[0], ends[1], cap);
            ends.windows(2).map(piece).collect()
        } else {
            Vec::new()
        };
        Some(Self {
            low,
            first_high: high.min(end),
            pieces,
        })
    }

    /// The mean of the next delay.
    pub(super) fn next(&mut self) -> u64 {
        let mean = self.over_first_draw();
        self.insert_draw();
        rounded(mean)
    }

    /// The average of h over the interval of the first draw.
    fn over_first_draw(&self) -> f64 {
        let mut area = 0.0;
        for (index, piece) in self.pieces.iter().enumerate() {
            let width = self.first_high - piece.start();
            if width <= 2.0 * piece.half || index + 1 == self.pieces.len() {
                let average = piece.average_up_to(piece.local(width));
                return match index {
                    0 => average, // where the width may be 0
                    _ => (area + average * width) / (self.first_high - self.low),
                };
            }
            area += piece.area();
        }
        self.low
    }

    /// Replaces h by T h.
    fn insert_draw(&mut self) {
        let mut area = 0.0;
        for higher in 0..self.pieces.len() {
            let piece = &self.pieces[higher];
            let (integral, width) = (piece.integral(area), piece.centre - self.low);
            let half = piece.half;
            area += piece.area();
            if let Some(lower) = higher.checked_sub(2) {
                self.pieces[lower].terms = divided(&integral, width, half);
            }
        }
        let Some(end) = self.pieces.last().map(|piece| piece.centre + piece.half) else {
            return;
        };
        let constant = area / (end - self.low);
        for piece in self.pieces.iter_mut().rev().take(2) {
            piece.terms = [0.0; TERMS];
            piece.terms[0] = constant;
        }
    }
}

impl Piece {
    /// What a last draw is worth between these ends: itself, or the cap beyond the cap.
    fn last_draw(start: f64, end: f64, cap: f64) -> Self {
        let centre = f64::midpoint(start, end);
        let half = ((end - start) / 2.0).max(0.0); // below 0 only by rounding
        let mut terms = [0.0; TERMS];
        (terms[0], terms[1]) = if centre < cap {
            (centre, half)
        } else {
            (cap, 0.0)
        };
        Self {
            centre,
            half,
            terms,
        }
    }

    fn start(&self) -> f64 {
        self.centre - self.half
    }

    /// t at this distance from the start.
    fn local(&self, distance: f64) -> f64 {
        if self.half > 0.0 {
            (distance / self.half - 1.0).clamp(-1.0, 1.0)
        } else {
            1.0
        }
    }

    fn area(&self) -> f64 {
        self.average_up_to(1.0) * 2.0 * self.half
    }

    /// The average from -1 to `t`, without the cancellation that a difference of two integrals
    /// would suffer near -1.
    fn average_up_to(&self, t: f64) -> f64 {
        let (mut average, mut powers, mut sign, mut degree) = (0.0, 0.0, 1.0, 1.0);
        for term in self.terms {
            powers = powers * t + sign; // (t^degree - (-1)^degree) / (t + 1)
            average += term * powers / degree;
            sign = -sign;
            degree += 1.0;
        }
        average
    }

    /// The series of the integral from the start of the piece, plus `area`.
    fn integral(&self, area: f64) -> [f64; TERMS] {
        let mut terms = [0.0; TERMS];
        let (mut at_start, mut sign, mut degree) = (0.0, -1.0, 1.0);
        for (integral, term) in terms[1..].iter_mut().zip(self.terms) {
            *integral = self.half * term / degree;
            at_start += sign * *integral;
            sign = -sign;
            degree += 1.0;
        }
        terms[0] = area - at_start;
        terms
    }
}

/// `low` = `low` x 3^0, `end` / 3^J, `low` x 3^1, `end` / 3^(J - 1), ..., `end`, ascending.
fn cuts(low: f64, end: f64) -> Vec<f64> {
    let divided = successors(Some(end), |cut| Some(cut / 3.0)).take_while(|cut| *cut > low);
    let mut divided: Vec<_> = divided.collect();
    divided.reverse();
    let tripled = successors(Some(low), |cut| Some(cut * 3.0));
    tripled
        .zip(divided)
        .flat_map(|cuts| [cuts.0, cuts.1])
        .collect()
}

/// The series divided by `constant + slope x t`, `slope` being the smaller.
fn divided(series: &[f64; TERMS], constant: f64, slope: f64) -> [f64; TERMS] {
    let mut before = 0.0;
    series.map(|term| {
        before = (term - slope * before) / constant;
        before
    })
}

#[expect(clippy::cast_precision_loss)] // one part in 2^53
fn float(nanos: u64) -> f64 {
    nanos as f64
}

/// To the nearest whole nanosecond; `core` has no `round`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates
fn rounded(nanos: f64) -> u64 {
    (nanos + 0.5) as u64
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

    /// A delay is a whole number of nanoseconds, the series is of a continuous one: the two differ
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
                    let mean = means.over_first_draw();
                    means.insert_draw();
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
                let mean = means.over_first_draw();
                means.insert_draw();
                let error = (mean - expected).abs() / expected;
                assert!(
                    error < 1e-12,
                    "{base}, retry {retry}: {mean}, not {expected}"
                );
            }
        }
    }

    #[test]
    fn no_bounds_make_the_series_diverge() {
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
                        let mean = means.over_first_draw();
                        means.insert_draw();
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
