//! How many of the calls that begin while a service is away for a moment do retries save, and what do they take?
//!
//! A call that begins when the service stays away for another s makes its attempts after waits W1, W2, ..., each drawn from 0 to
//! its ceiling c1, c2, ... (full jitter). It fails if the sum of all its waits is less than s, and it asks for retry k + 1 if the
//! sum of the first k is. Calls begin at a constant rate, so that s is uniform from 0 to the absence D: the share of calls whose
//! first k waits are too short is E (D - W1 - ... - Wk)+ / D. The sum of k uniform waits has the distribution function
//! `1/(k! c1 ... ck) x sum over all sets S of waits of (-1)^|S| (x - sum of S)+^k`. Its integral from 0 to D has k + 1 in place of
//! k.
//!
//! Source: W. Feller, *An Introduction to Probability Theory and Its Applications*, volume II (1971), I.9, on sums of uniform
//! variables.

use super::positive;

/// The share of calls without a success: all of their waits, of these ceilings, end before the service is back.
pub fn lost(ceilings: &[f64], absence: f64) -> f64 {
    let absence = positive(absence);
    let (mut sum, mut divisor) = (0.0, absence);
    for set in 0..1_u32 << ceilings.len() {
        let chosen = (0..ceilings.len()).filter(|at| set >> at & 1 == 1);
        let left = absence - chosen.map(|at| ceilings[at]).sum::<f64>();
        let sign = if set.count_ones() % 2 == 0 { 1.0 } else { -1.0 };
        sum += sign * power(left.max(0.0), ceilings.len() + 1);
    }
    for (at, ceiling) in (2_u32..).zip(ceilings) {
        divisor *= positive(*ceiling) * f64::from(at);
    }
    sum / divisor
}

/// Retries that each of these calls asks for in the mean.
pub fn retries(ceilings: &[f64], absence: f64) -> f64 {
    (0..ceilings.len())
        .map(|waits| lost(&ceilings[..waits], absence))
        .sum()
}

/// The longest absence whose retries a budget pays in full that holds this ratio of what succeeds in this time, in seconds: D x
/// the retries of each call <= ratio x span. The rate of the calls is on both sides.
pub fn ridden_out(ceilings: &[f64], ratio: f64, span: f64) -> f64 {
    let held = positive(ratio) * positive(span);
    let (mut low, mut high) = (0.0, held);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if middle * retries(ceilings, middle) <= held {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

fn power(base: f64, exponent: usize) -> f64 {
    (0..exponent).map(|_| base).product()
}
