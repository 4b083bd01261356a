//! What is wanted of a policy?

/// What a policy costs: less is better of each.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Objectives {
    /// The service: the share of runs, of the scenario and of cases that are worse, from which it
    /// does not come back. From 0 to 1.
    pub lost: f64,
    /// The service: attempts for each first try from the trigger on.
    pub load: f64,
    /// The client: the share of calls that do not succeed. From 0 to 1.
    pub failed: f64,
    /// The client: the 99th percentile of the latency of the calls that succeed, in milliseconds.
    /// Infinite where none does.
    pub latency: f64,
}

impl Objectives {
    /// Makes these costs.
    pub const fn new(lost: f64, load: f64, failed: f64, latency: f64) -> Self {
        Self {
            lost,
            load,
            failed,
            latency,
        }
    }

    /// Whether this is at least as good in everything, and better in something (V. Pareto).
    pub fn beats(&self, other: &Self) -> bool {
        let pairs = || self.each().into_iter().zip(other.each());
        pairs().all(|(this, other)| this <= other) && pairs().any(|(this, other)| this < other)
    }

    /// In steps that matter: 0.01 attempts, a tenth of a percent of the calls, and the 2 % to which
    /// a latency is known. What differs by less is the same, or else chance would keep every policy
    /// on the front.
    #[must_use]
    pub fn rounded(&self) -> Self {
        let to = |value: f64, step: f64| (value / step).round() * step;
        let latency = if self.latency > 0.0 && self.latency.is_finite() {
            let step = libm::log(1.02);
            libm::exp(to(libm::log(self.latency), step))
        } else {
            self.latency
        };
        Self {
            lost: self.lost,
            load: to(self.load, 0.01),
            failed: to(self.failed, 0.001),
            latency,
        }
    }

    pub(super) const fn each(&self) -> [f64; 4] {
        [self.lost, self.load, self.failed, self.latency]
    }
}
