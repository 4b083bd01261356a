//! How sure is a share that was counted? Exact intervals and tests for a binomial proportion.

/// A number of successes in a number of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Proportion {
    /// Runs that survived, or whatever was counted.
    pub successes: u32,
    /// All runs.
    pub runs: u32,
}

impl Proportion {
    /// Counts the successes.
    pub fn of(outcomes: impl IntoIterator<Item = bool>) -> Self {
        outcomes
            .into_iter()
            .fold(Self::default(), |so_far, it| Self {
                successes: so_far.successes + u32::from(it),
                runs: so_far.runs + 1,
            })
    }

    /// The share of successes; not a number without runs.
    pub fn share(self) -> f64 {
        f64::from(self.successes) / f64::from(self.runs)
    }

    /// Whether all succeeded.
    pub fn is_all(self) -> bool {
        self.successes == self.runs
    }

    /// Whether all succeeded, or none.
    pub fn is_alike(self) -> bool {
        self.successes == 0 || self.is_all()
    }

    /// Both together.
    #[must_use]
    pub const fn and(self, others: Self) -> Self {
        Self {
            successes: self.successes + others.successes,
            runs: self.runs + others.runs,
        }
    }

    /// Whether at least half succeeded.
    pub fn is_mostly(self) -> bool {
        2 * u64::from(self.successes) >= u64::from(self.runs)
    }

    /// The interval that covers the true share in at least 95 of 100 samples, whatever it is.
    ///
    /// C. J. Clopper, E. S. Pearson, *The use of confidence or fiducial limits illustrated in the
    /// case of the binomial*, Biometrika 26 (1934): each end is the share under which a count at
    /// least as far off has a probability of 2.5 %. From 0 to 1 without runs.
    pub fn interval(self) -> (f64, f64) {
        const TAIL: f64 = 0.025;
        let Self { successes, runs } = self;
        let low = match successes {
            0 => 0.0,
            k => crossing(|share| at_least(k, runs, share) >= TAIL),
        };
        let high = if successes >= runs {
            1.0
        } else {
            // P(X <= k) = 1 - P(X > k), but without the loss of digits.
            crossing(|share| at_least(runs - successes, runs, 1.0 - share) < TAIL)
        };
        (low, high)
    }

    /// Whether the true share is above one half, with at most this probability of a wrong yes: the
    /// exact binomial test.
    pub fn is_above_half(self, error: f64) -> bool {
        self.runs > 0 && at_least(self.successes, self.runs, 0.5) <= error
    }

    /// Whether the true share is below one half, with at most this probability of a wrong yes.
    pub fn is_below_half(self, error: f64) -> bool {
        let failures = Self {
            successes: self.runs.saturating_sub(self.successes),
            runs: self.runs,
        };
        failures.is_above_half(error)
    }
}

/// The probability of at least `k` successes in `n` runs, each with the probability `share`.
///
/// The first term by logarithms, the others by their ratio to the one before.
fn at_least(k: u32, n: u32, share: f64) -> f64 {
    if k == 0 || share >= 1.0 {
        return 1.0;
    }
    if k > n || share <= 0.0 {
        return 0.0;
    }
    let factorial = |of: u32| libm::lgamma(f64::from(of) + 1.0);
    let choices = factorial(n) - factorial(k) - factorial(n - k);
    let successes = f64::from(k) * libm::log(share);
    let failures = f64::from(n - k) * libm::log1p(-share);
    let mut term = libm::exp(choices + successes + failures);
    let odds = share / (1.0 - share);
    let mut sum = 0.0;
    for i in k..=n {
        sum += term;
        term *= f64::from(n - i) / f64::from(i + 1) * odds;
    }
    f64::min(sum, 1.0)
}

/// Where a condition on a share from 0 to 1 begins to hold, to 15 digits.
fn crossing(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..52 {
        let middle = f64::midpoint(low, high);
        if holds(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    f64::midpoint(low, high)
}
