//! How sure is a quantile of few runs? By the ranks between which it lies.

/// The ends of the 95 % confidence interval of the quantile of this share, by the ranks of the values (W. R. Thompson, *On
/// confidence ranges for the median and other expectation distributions*, Annals of Mathematical Statistics 7, 1936): right
/// however the values are distributed.
///
/// `None` of so few values that the smallest and the largest do not enclose it as surely: of fewer than six for a median.
pub(crate) fn ends_of_quantile(values: &[f64], share: f64) -> Option<(f64, f64)> {
    const TAIL: f64 = 0.025;
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let runs = u32::try_from(sorted.len()).ok()?;
    // How likely it is that at most this many values lie below the quantile.
    let mut at_most = 0.0;
    let (mut low, mut high) = (None, None);
    for (rank, value) in (0..runs).zip(&sorted) {
        at_most += exactly(rank, runs, share);
        if at_most <= TAIL {
            low = Some(*value);
        }
        if at_most >= 1.0 - TAIL {
            high = high.or(Some(*value));
        }
    }
    low.zip(high)
}

/// The probability of exactly `k` of `n`, each with the probability `share`.
fn exactly(k: u32, n: u32, share: f64) -> f64 {
    let factorial = |of: u32| libm::lgamma(f64::from(of) + 1.0);
    let choices = factorial(n) - factorial(k) - factorial(n - k);
    libm::exp(choices + f64::from(k) * libm::log(share) + f64::from(n - k) * libm::log1p(-share))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of ranks for the median: 1 and 6 of 6, 2 and 9 of 10, 6 and 15 of 20.
    #[test]
    fn s3_ranks_are_those_of_the_table() {
        let ranks = |runs: u32, share| {
            let values: Vec<f64> = (1..=runs).map(f64::from).collect();
            ends_of_quantile(&values, share)
        };
        assert_eq!(ranks(5, 0.5), None);
        assert_eq!(ranks(6, 0.5), Some((1.0, 6.0)));
        assert_eq!(ranks(10, 0.5), Some((2.0, 9.0)));
        assert_eq!(ranks(20, 0.5), Some((6.0, 15.0)));
        assert_eq!(ranks(0, 0.5), None);
        assert_eq!(
            ranks(10, 0.9),
            None,
            "what is longer may lie beyond the largest"
        );
        assert_eq!(ranks(40, 0.9), Some((32.0, 40.0)));
    }
}
