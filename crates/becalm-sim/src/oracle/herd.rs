//! How many attempts does a herd make, and when is it back? By pen and paper.
//!
//! N clients fail at t = 0 and wait; the server refuses until it is up. Times are in seconds, a share
//! is a number of clients over N.

use super::{positive, share};

/// The attempts per client between two moments before `base`, under full jitter and a multiplier of
/// 2, while the server refuses.
///
/// The k-th attempt comes at `S(k) = D(1) + ... + D(k)` with `D(i)` from `U(0, 2^(i-1) base)`. As
/// long as t <= base no interval ends before t, so each density is the constant
/// `1 / (2^(i-1) base)`, and the density of the sum is their product times the volume of the simplex:
///
/// ```text
/// f(k, t) = (t / base)^(k-1) / ((k-1)! 2^(k(k-1)/2) base)
/// ```
///
/// Its integral up to t is `(t / base)^k / (k! 2^(k(k-1)/2))`, and the attempts are the sum over k.
/// At t = base the densities add up to 1 + 1/2 + 1/16 + 1/384 + ... = 1.565 / base. A moment outside
/// of 0 to base makes the answer NaN.
pub fn full_jitter_before_base(base: f64, from: f64, to: f64) -> f64 {
    let up_to = |t: f64| {
        let t = share(t / positive(base));
        let (mut sum, mut term, mut halving) = (0.0, 1.0, 1.0);
        for k in 1..=20 {
            term *= t * halving / f64::from(k);
            halving /= 2.0;
            sum += term;
        }
        sum
    };
    up_to(to) - up_to(from)
}

/// The attempts per client and second of a herd that has long been spread, whose delays have this
/// mean: by the elementary renewal theorem its inverse.
///
/// At a cap C: 2/C for full jitter, 4/(3C) for equal.
pub fn steady_rate(mean_delay: f64) -> f64 {
    1.0 / positive(mean_delay)
}

/// The time from the end of a long outage that this share of the clients is connected within, with
/// full jitter at the cap.
///
/// To a server that comes up at a moment that has nothing to do with any client's last attempt, each
/// is at a uniformly chosen point of a delay chosen by its length. What is left of that has the
/// density `P(D > x) / E[D]`, here `(1 - x/C) 2/C`: within x is the share `1 - (1 - x/C)^2`.
/// The median is `C (1 - 1/sqrt 2)`, the 99th percentile 0.9 C.
pub fn reconnected_full(cap: f64, back: f64) -> f64 {
    positive(cap) * (1.0 - (1.0 - share(back)).sqrt())
}

/// When a herd is back with equal jitter: the density is 4/(3C) up to C/2 and `2 (1 - x/C) 4/(3C)` from there.
///
/// Within C/2 are two thirds, and within x beyond it `1 - (1 - x/C)^2 4/3`. The median is 3C/8.
pub fn reconnected_equal(cap: f64, back: f64) -> f64 {
    let (cap, back) = (positive(cap), share(back));
    if back <= 2.0 / 3.0 {
        back * cap * 0.75
    } else {
        cap * (1.0 - ((1.0 - back) * 0.75).sqrt())
    }
}

/// The density of the reconnect time at a quantile, for its sampling error: full jitter.
pub fn reconnect_density_full(cap: f64, at: f64) -> f64 {
    (1.0 - share(at / positive(cap))) * 2.0 / cap
}

/// The density of the reconnect time at a quantile, for its sampling error: equal jitter.
pub fn reconnect_density_equal(cap: f64, at: f64) -> f64 {
    let rest = 2.0 * (1.0 - share(at / positive(cap)));
    (if rest > 1.0 { 1.0 } else { rest }) * 4.0 / (3.0 * cap)
}

/// The share of a wave between two moments of it, where its clients have added up so many uniform
/// numbers from 0 to 1 (Irwin, Hall: both in Biometrika 19, 1927).
///
/// The distribution function at x is the sum over k up to x of `(-1)^k C(n, k) (x - k)^n / n!`: the
/// simplex below x, with the corners beyond the unit cube taken off by inclusion and exclusion.
pub fn sum_of_uniforms_between(count: u32, from: f64, to: f64) -> f64 {
    let up_to = |x: f64| {
        let (mut sum, mut binomial) = (0.0, 1.0);
        for k in 0..=count {
            let beyond = (x - f64::from(k)).max(0.0);
            // (x - k)^n / n!, factor by factor.
            let volume: f64 = (1..=count).map(|i| beyond / f64::from(i)).product();
            sum += binomial * volume;
            binomial *= -f64::from(count - k) / f64::from(k + 1);
        }
        sum
    };
    up_to(to) - up_to(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A quantile and the density there.
    type Law = (fn(f64, f64) -> f64, fn(f64, f64) -> f64);

    fn close(got: f64, expected: f64) {
        assert!((got - expected).abs() < 1e-9, "{got}, not {expected}");
    }

    #[test]
    fn the_waves_before_the_base_add_up_to_one_and_a_half() {
        let narrow = full_jitter_before_base(2.0, 2.0 - 1e-6, 2.0) * 2.0 / 1e-6;
        assert!((narrow - 1.565_14).abs() < 1e-4, "{narrow}");
        // At first there is but one wave.
        let first = full_jitter_before_base(2.0, 0.0, 1e-6) * 2.0 / 1e-6;
        assert!((first - 1.0).abs() < 1e-6, "{first}");
    }

    #[test]
    fn quantiles_are_those_of_their_densities() {
        close(reconnected_full(2.0, 0.5), 2.0 - 2.0_f64.sqrt());
        close(reconnected_full(1.0, 0.99), 0.9);
        close(reconnected_equal(8.0, 0.5), 3.0);
        let laws: [Law; 2] = [
            (reconnected_full, reconnect_density_full),
            (reconnected_equal, reconnect_density_equal),
        ];
        for (quantile, density) in laws {
            for share in [0.1, 0.5, 0.66, 0.7, 0.9, 0.99] {
                let (here, there) = (quantile(3.0, share), quantile(3.0, share + 1e-6));
                let slope = 1e-6 / (there - here);
                assert!((slope / density(3.0, here) - 1.0).abs() < 1e-3, "{share}");
            }
            close(quantile(3.0, 1.0), 3.0);
        }
    }

    #[test]
    fn sums_of_uniforms_are_the_known_ones() {
        close(sum_of_uniforms_between(1, 0.25, 0.5), 0.25);
        close(sum_of_uniforms_between(2, 0.0, 1.0), 0.5);
        close(sum_of_uniforms_between(5, 0.0, 5.0), 1.0);
        close(sum_of_uniforms_between(5, 0.0, 2.5), 0.5);
        // The density of five in their middle is 115/192.
        let middle = sum_of_uniforms_between(5, 2.5 - 5e-4, 2.5 + 5e-4) / 1e-3;
        assert!((middle - 115.0 / 192.0).abs() < 1e-6, "{middle}");
    }

    #[test]
    fn what_is_out_of_range_has_no_answer() {
        assert!(full_jitter_before_base(1.0, 0.5, 1.1).is_nan());
        assert!(full_jitter_before_base(0.0, 0.0, 0.0).is_nan());
        assert!(steady_rate(0.0).is_nan());
        for law in [reconnected_full, reconnected_equal] {
            assert!(law(1.0, 1.1).is_nan() && law(1.0, -0.1).is_nan() && law(0.0, 0.5).is_nan());
        }
        for density in [reconnect_density_full, reconnect_density_equal] {
            assert!(density(1.0, 1.1).is_nan() && density(-1.0, 0.0).is_nan());
        }
    }
}
