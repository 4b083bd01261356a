//! How sure is a mean of few runs? Student's interval.

/// A mean, and how far it may be off.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Mean {
    /// The mean.
    pub value: f64,
    /// The ends of its 95 % confidence interval; `None` of a single run, which says nothing of it.
    pub interval: Option<(f64, f64)>,
}

impl Mean {
    /// The mean of independent runs; `None` of nothing, and where a value is not finite.
    ///
    /// The interval is Student's (*The probable error of a mean*, Biometrika 6, 1908): right for
    /// values that are distributed normally, and near enough for means and shares of many events.
    pub fn of(values: &[f64]) -> Option<Self> {
        if values.is_empty() || values.iter().any(|it| !it.is_finite()) {
            return None;
        }
        let count = f64::from(u32::try_from(values.len()).unwrap_or(u32::MAX));
        let value = values.iter().sum::<f64>() / count;
        let freedom = values.len() - 1;
        let interval = (freedom > 0).then(|| {
            let off = |it: &f64| (it - value) * (it - value);
            let variance = values.iter().map(off).sum::<f64>() / (count - 1.0);
            let half = student(freedom) * (variance / count).sqrt();
            (value - half, value + half)
        });
        Some(Self { value, interval })
    }
}

/// The 97.5th percentile of Student's t: by how many standard errors a mean is off in 5 of 100 cases,
/// with so many degrees of freedom. Infinite for none.
///
/// A table up to 12, and beyond it the expansion of R. A. Fisher and E. A. Cornish (*The percentile
/// points of distributions having known cumulants*, Technometrics 2, 1960), which is then right to
/// four digits.
pub(crate) fn student(freedom: usize) -> f64 {
    const FEW: [f64; 12] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179,
    ];
    /// This percentile of the normal distribution.
    const NORMAL: f64 = 1.959_963_985;
    if freedom == 0 {
        return f64::INFINITY;
    }
    if let Some(few) = FEW.get(freedom - 1) {
        return *few;
    }
    let freedom = f64::from(u32::try_from(freedom).unwrap_or(u32::MAX));
    let square = NORMAL * NORMAL;
    let first = NORMAL * (square + 1.0) / 4.0;
    let second = NORMAL * ((5.0 * square + 16.0) * square + 3.0) / 96.0;
    let third = NORMAL * (((3.0 * square + 19.0) * square + 17.0) * square - 15.0) / 384.0;
    NORMAL + (first + (second + third / freedom) / freedom) / freedom
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_percentiles_are_those_of_the_tables() {
        for (freedom, expected) in [
            (1, 12.706),
            (12, 2.179),
            (13, 2.1604),
            (20, 2.0860),
            (29, 2.0452),
            (99, 1.9842),
            (100_000, 1.9600),
        ] {
            let off = (student(freedom) - expected).abs();
            assert!(off < 1e-4, "{freedom}: {}", student(freedom));
        }
        assert!((1..40).all(|it| student(it) > student(it + 1)));
    }

    #[test]
    fn a_single_run_has_no_interval_and_what_is_not_finite_no_mean() {
        let alone = Mean::of(&[3.0]).unwrap();
        assert_eq!((alone.value, alone.interval), (3.0, None));
        assert_eq!(Mean::of(&[]), None);
        assert_eq!(Mean::of(&[1.0, f64::INFINITY]), None);
        let (low, high) = Mean::of(&[1.0, 3.0]).unwrap().interval.unwrap();
        assert!((high - 2.0 - 12.706).abs() < 1e-9 && (2.0 - low - 12.706).abs() < 1e-9);
    }
}
