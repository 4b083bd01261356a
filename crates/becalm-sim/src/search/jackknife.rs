//! How sure is a figure that is computed from all runs together, such as a percentile of all their latencies?

use super::mean::student;

/// By how much such a figure may be off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Error {
    /// The standard error.
    off: f64,
    /// Its degrees of freedom.
    freedom: usize,
}

impl Error {
    /// By the jackknife (J. W. Tukey, *Bias and confidence in not-quite large samples*, Annals of Mathematical Statistics
    /// 29, 1958): each run is left out once. Runs are independent; calls of one run are not, and so a run counts as one.
    ///
    /// `without` is the figure without the run of this place. `None` of a single run, and where there is no figure without one
    /// of them.
    pub fn of(runs: usize, without: impl Fn(usize) -> Option<f64>) -> Option<Self> {
        let values: Option<Vec<f64>> = (0..runs).map(without).collect();
        let values = values.filter(|it| runs > 1 && it.iter().all(|it| it.is_finite()))?;
        let count = f64::from(u32::try_from(runs).ok()?);
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|it| (it - mean) * (it - mean)).sum();
        Some(Self {
            off: (squares * (count - 1.0) / count).sqrt(),
            freedom: runs - 1,
        })
    }

    /// Of the difference of two figures that are off so much each.
    pub fn and(self, other: Self) -> Self {
        Self {
            off: (self.off * self.off + other.off * other.off).sqrt(),
            freedom: self.freedom.min(other.freedom),
        }
    }

    /// The ends of the 95 % confidence interval of this value.
    pub fn around(self, value: f64) -> (f64, f64) {
        let half = student(self.freedom) * self.off;
        (value - half, value + half)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::Mean;

    #[test]
    fn s3_of_a_mean_it_is_students_interval() {
        let values = [3.0, 5.0, 4.0, 8.0];
        let without = |at: usize| Some((values.iter().sum::<f64>() - values[at]) / 3.0);
        let (low, high) = Error::of(4, without).unwrap().around(5.0);
        let (least, most) = Mean::of(&values).unwrap().interval.unwrap();
        assert!((low - least).abs() < 1e-9 && (high - most).abs() < 1e-9);
    }

    #[test]
    fn s3_of_one_run_nothing_is_known_and_where_a_run_is_all_there_is() {
        assert_eq!(Error::of(1, |_| Some(1.0)), None);
        assert_eq!(Error::of(2, |at| (at == 0).then_some(1.0)), None);
        let one = Error::of(3, |at| Some([1.0, 2.0, 3.0][at])).unwrap();
        assert!((one.and(one).off - one.off * 2.0_f64.sqrt()).abs() < 1e-12);
    }
}
