//! Which policies are tried?

use std::fmt;
use std::time::Duration;

use becalm::{Backoff, Breaker, Budget, Jitter, Policy};

/// The values that each setting may take, and how many policies are tried.
///
/// A setting without values stays as in the policy that was given. The defaults span what the
/// well-known libraries and SDKs ship, from timid to eager.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Space {
    /// Policies that are sampled. Default 32; from 1 to [`Space::MOST`].
    pub policies: u32,
    /// All attempts of a call. Default 2, 3, 4, 6.
    pub attempts: Vec<u32>,
    /// The first ceiling, which doubles from retry to retry. Default 25 ms to 1.6 s, in factors of 2.
    pub base: Vec<Duration>,
    /// The cap, as a multiple of the base. Default 4, 16, 64.
    pub caps: Vec<u32>,
    /// The jitter. Default full, equal, decorrelated. None of them is `none`: clients in step serve
    /// nobody.
    pub jitter: Vec<Jitter>,
    /// The budget. Default 2 %, 5 %, 10 % and 20 %, each with a small burst of 5 tokens, and with the default's, which
    /// follows the traffic (`burst:5s,min:10`). No budget is not among them: nothing else bounds the load of retries
    /// while everything fails.
    pub budgets: Vec<Budget>,
    /// The breaker. Default none, and open at half of the calls of 10 s, at least 20, for up to 1 s
    /// and for up to 10 s.
    pub breakers: Vec<Option<Breaker>>,
    /// The attempt timeout, as a multiple of the client's own. Default 0.5 and 1; of a client without
    /// a timeout, none.
    pub timeouts: Vec<f64>,
    /// The names of the [places](crate::change::Place) whose policies may be changed. Default none:
    /// all of them. A name that no place has is none.
    pub places: Vec<String>,
}

impl Default for Space {
    fn default() -> Self {
        let budget = |ratio| [Budget::ratio(ratio).burst(5.0), Budget::ratio(ratio)];
        let breaker = |open: &str| {
            let text = format!("share:0.5,within:10s,min:20,open:{open}");
            text.parse::<Breaker>().ok()
        };
        Self {
            policies: 32,
            attempts: vec![2, 3, 4, 6],
            base: [25, 50, 100, 200, 400, 800, 1600]
                .map(Duration::from_millis)
                .to_vec(),
            caps: vec![4, 16, 64],
            jitter: vec![Jitter::Full, Jitter::Equal, Jitter::Decorrelated],
            budgets: [0.02, 0.05, 0.1, 0.2]
                .into_iter()
                .flat_map(budget)
                .collect(),
            breakers: vec![None, breaker("1s"), breaker("10s")],
            timeouts: vec![0.5, 1.0],
            places: Vec::new(),
        }
    }
}

impl Space {
    /// Policies that are sampled at most.
    pub const MOST: u32 = 1024;

    /// Sets how many policies are tried.
    #[must_use]
    pub fn policies(mut self, policies: u32) -> Self {
        self.policies = policies;
        self
    }

    /// Sets which places may be changed.
    #[must_use]
    pub fn places(mut self, names: impl IntoIterator<Item = String>) -> Self {
        self.places = names.into_iter().collect();
        self
    }

    /// Refuses what cannot be searched.
    ///
    /// # Errors
    ///
    /// [`InvalidSpace`] names the field and the remedy.
    pub fn validate(&self) -> Result<(), InvalidSpace> {
        let is_factor = |it: &f64| it.is_finite() && *it > 0.0;
        if !(1..=Self::MOST).contains(&self.policies) {
            Err(InvalidSpace::Policies)
        } else if self.attempts.contains(&0) {
            Err(InvalidSpace::Attempts)
        } else if self.caps.contains(&0) {
            Err(InvalidSpace::Caps)
        } else if !self.timeouts.iter().all(is_factor) {
            Err(InvalidSpace::Timeouts)
        } else {
            Ok(())
        }
    }

    /// How many, within bounds: a space that was not validated has them, too.
    pub(super) fn count(&self) -> usize {
        let count = self.policies.clamp(1, Self::MOST);
        usize::try_from(count).unwrap_or(1)
    }

    /// Sets what the space has to say, with the n-th value of each setting.
    pub(super) fn policy(
        &self,
        from: &Policy,
        timeout: Option<Duration>,
        at: [usize; 7],
    ) -> Policy {
        let [attempts, base, cap, jitter, budget, breaker, of_timeout] = at;
        let mut policy = from.clone();
        set(&mut policy.attempts, pick(&self.attempts, attempts));
        if let Some(base) = pick(&self.base, base) {
            policy.base = base;
            policy.backoff = Backoff::Exponential;
            policy.multiplier = Policy::default().multiplier;
            policy.cap = policy.cap.max(base);
            policy.throttled_base = None;
        }
        if let Some(factor) = pick(&self.caps, cap) {
            policy.cap = policy.base.saturating_mul(factor);
        }
        set(&mut policy.jitter, pick(&self.jitter, jitter));
        set(&mut policy.budget, pick(&self.budgets, budget));
        set(&mut policy.breaker, pick(&self.breakers, breaker));
        if let (Some(factor), Some(timeout)) = (pick(&self.timeouts, of_timeout), timeout) {
            let timeout = Duration::try_from_secs_f64(timeout.as_secs_f64() * factor);
            policy.attempt_timeout = timeout.ok().or(policy.attempt_timeout);
        }
        policy
    }

    /// How many values each setting has, in the order in which [`Space::policy`] takes them.
    pub(super) fn sizes(&self) -> [usize; 7] {
        [
            self.attempts.len(),
            self.base.len(),
            self.caps.len(),
            self.jitter.len(),
            self.budgets.len(),
            self.breakers.len(),
            self.timeouts.len(),
        ]
    }
}

/// Why a space is refused. `Display` names the field and the remedy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidSpace {
    /// `policies` is 0 or above [`Space::MOST`].
    Policies,
    /// `attempts` has a 0.
    Attempts,
    /// `caps` has a 0.
    Caps,
    /// `timeouts` has what is no factor.
    Timeouts,
}

impl fmt::Display for InvalidSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Policies => "policies is out of range; try from 1 to 1024",
            Self::Attempts => "attempts has a 0; a call makes at least 1",
            Self::Caps => "caps has a 0; a cap is at least 1 times the base",
            Self::Timeouts => {
                "timeouts has what is no number above 0; use 0.5 for half of the \
                               client's own"
            }
        })
    }
}

impl std::error::Error for InvalidSpace {}

fn pick<T: Copy>(values: &[T], at: usize) -> Option<T> {
    values.get(at).copied()
}

fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_space_that_cannot_be_searched_is_refused() {
        let refused = |change: fn(&mut Space)| {
            let mut space = Space::default();
            change(&mut space);
            space.validate()
        };
        assert_eq!(refused(|_| ()), Ok(()));
        assert_eq!(refused(|it| it.policies = 0), Err(InvalidSpace::Policies));
        assert_eq!(
            refused(|it| it.policies = Space::MOST + 1),
            Err(InvalidSpace::Policies)
        );
        assert_eq!(
            refused(|it| it.attempts.push(0)),
            Err(InvalidSpace::Attempts)
        );
        assert_eq!(refused(|it| it.caps.push(0)), Err(InvalidSpace::Caps));
        for factor in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let mut space = Space::default();
            space.timeouts.push(factor);
            let refused = space.validate();
            assert_eq!(refused, Err(InvalidSpace::Timeouts), "{factor}");
            assert!(refused.unwrap_err().to_string().contains("timeouts"));
        }
    }
}
