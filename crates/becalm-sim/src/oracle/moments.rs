//! What are the mean and the spread of a delay? By pen and paper.

/// Moments of a distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moments {
    /// The mean.
    pub mean: f64,
    /// The variance.
    pub variance: f64,
    /// The fourth central moment, which the sampling error of a variance depends on.
    pub fourth: f64,
}

impl Moments {
    /// Of one value.
    pub const fn certain(value: f64) -> Self {
        Self {
            mean: value,
            variance: 0.0,
            fourth: 0.0,
        }
    }

    /// Of a number that is uniform between two ends: w^2/12 and w^4/80 for a width of w.
    ///
    /// Full jitter has ceiling/2 and ceiling^2/12, equal jitter 3/4 ceiling and ceiling^2/48.
    pub fn uniform(low: f64, high: f64) -> Self {
        let square = (high - low) * (high - low);
        Self {
            mean: f64::midpoint(low, high),
            variance: square / 12.0,
            fourth: square * square / 80.0,
        }
    }

    /// Of the delay of the n-th retry, n from 1, under decorrelated jitter that no cap has reached.
    ///
    /// Given the previous delay p, the next one is uniform on (b, 3p), whose m-th moment is
    /// `((3p)^(m+1) - b^(m+1)) / ((m+1) (3p - b))`, which divides into the sum over j of
    /// `(3p)^j b^(m-j) / (m+1)`. Averaged over p, the m-th moment of one retry is made of the first m
    /// moments of the retry before; the delay before the first counts as b. So the mean is
    /// `(b + 3 E[k-1]) / 2`: 2, 3.5, 5.75, 9.125 times the base.
    pub fn decorrelated(base: f64, retry: u32) -> Self {
        let square = base * base;
        let mut raw = [1.0, base, square, square * base, square * square];
        for _ in 0..retry {
            let mut next = [0.0; 5];
            for (m, moment) in next.iter_mut().enumerate() {
                let (mut sum, mut power) = (0.0, 1.0);
                for (j, before) in raw.iter().take(m + 1).enumerate() {
                    let rest: f64 = (j..m).map(|_| base).product();
                    sum += power * before * rest;
                    power *= 3.0;
                }
                #[expect(clippy::cast_precision_loss)] // 5 at most
                let terms = (m + 1) as f64;
                *moment = sum / terms;
            }
            raw = next;
        }
        let [_, mean, second, third, fourth] = raw;
        let variance = second - mean * mean;
        Self {
            mean,
            variance,
            fourth: fourth - 4.0 * mean * third + 6.0 * mean * mean * second
                - 3.0 * mean * mean * mean * mean,
        }
    }

    /// The standard error of the mean of so many draws.
    pub fn error_of_mean(&self, draws: f64) -> f64 {
        (self.variance / draws).sqrt()
    }

    /// The standard error of the variance of so many draws.
    pub fn error_of_variance(&self, draws: f64) -> f64 {
        ((self.fourth - self.variance * self.variance) / draws).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decorrelated_delays_grow_by_the_known_means() {
        for (retry, mean) in [(1, 2.0), (2, 3.5), (3, 5.75), (4, 9.125)] {
            let moments = Moments::decorrelated(10.0, retry);
            assert!((moments.mean - 10.0 * mean).abs() < 1e-9);
        }
    }

    #[test]
    fn the_first_decorrelated_delay_is_uniform() {
        let (first, uniform) = (Moments::decorrelated(10.0, 1), Moments::uniform(10.0, 30.0));
        assert!((first.variance - uniform.variance).abs() < 1e-9);
        assert!((first.fourth - uniform.fourth).abs() < 1e-6);
    }
}
