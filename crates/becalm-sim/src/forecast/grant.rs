//! What does each kind of budget grant, at once and for good?

use becalm::Budget;
use becalm::budget::{Ratio, Tokens};
use serde::Serialize;

/// What one kind of budget grants.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Grant {
    /// The name of the kind.
    pub kind: &'static str,
    /// As a flag.
    pub text: String,
    /// Retries that a full budget grants at once, at any rate of calls.
    pub burst: f64,
    /// The seconds of what earns retries that a full budget grants at once, where that is more than `burst`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst_seconds: Option<f64>,
    /// Retries for each of what earns them, once the burst is spent; 0 where nothing but time does.
    pub share: f64,
    /// What earns them.
    pub of: Earner,
    /// Retries that time alone grants.
    pub per_minute: f64,
    /// `burst` and `share` for throttled failures, where these cost another number of tokens.
    pub throttled: Option<Throttled>,
}

/// What a budget grants after throttled failures.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Throttled {
    /// Retries that a full budget grants at once.
    pub burst: f64,
    /// Retries for each of what earns them.
    pub share: f64,
}

/// What earns retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Earner {
    /// Each call.
    FirstTries,
    /// Each call that succeeds.
    Successes,
    /// Each call that succeeds without a retry.
    CleanSuccesses,
    /// Calls that run now.
    CallsUnderWay,
    /// Nothing else.
    Time,
}

/// What each kind grants; all of them must.
pub(super) fn grants(budget: Budget) -> Vec<Grant> {
    budget.kinds().filter_map(grant).collect()
}

fn grant(budget: Budget) -> Option<Grant> {
    use Earner::{CallsUnderWay, CleanSuccesses, FirstTries, Successes, Time};

    let of = |kind, burst, share, of, per_minute| Grant {
        kind,
        text: budget.to_string(),
        burst,
        burst_seconds: None,
        share,
        of,
        per_minute,
        throttled: None,
    };
    let ratio = |kind, it: Ratio, earner| {
        let per_minute = (it.floor_per_second * 60.0 * 1e4).round() / 1e4;
        let span = it.burst.span();
        Grant {
            burst_seconds: (!span.is_zero()).then_some(span.as_secs_f64()),
            ..of(kind, it.held().floor(), it.ratio, earner, per_minute)
        }
    };
    Some(match budget {
        Budget::Ratio(it) => ratio("ratio", it, Successes),
        Budget::FirstTries(it) => ratio("first-tries", it, FirstTries),
        Budget::Tokens(it) => {
            let Throttled { burst, share } = paid(it, it.cost);
            let throttled = it.throttled_cost;
            Grant {
                throttled: (throttled != it.cost).then(|| paid(it, throttled)),
                ..of("tokens", burst, share, CleanSuccesses, 0.0)
            }
        }
        Budget::Grpc(it) => {
            // Every failure takes a token, granted or not; retries are granted while more than half are left.
            let burst = f64::from(it.max_tokens.div_ceil(2).saturating_sub(1));
            of("grpc", burst, it.token_ratio, Successes, 0.0)
        }
        Budget::Window(it) => {
            let (floor, ttl) = (it.floor_per_second, it.ttl.as_secs_f64());
            of("window", floor * ttl, it.share, FirstTries, floor * 60.0)
        }
        Budget::Concurrency(it) => {
            let floor = f64::from(it.floor);
            of("concurrency", floor, it.share, CallsUnderWay, 0.0)
        }
        Budget::PerMinute(it) => {
            let retries = f64::from(it.retries);
            of("per-minute", retries, 0.0, Time, retries)
        }
        _ => return None,
    })
}

/// What tokens grant where a retry takes this many.
fn paid(tokens: Tokens, cost: u32) -> Throttled {
    let cost = cost.max(1);
    Throttled {
        burst: f64::from(tokens.capacity / cost),
        share: f64::from(tokens.clean_success) / f64::from(cost),
    }
}

impl Grant {
    /// Retries that a full budget grants at once where this number of what earns them comes in a second.
    pub(super) fn at_once(&self, per_second: f64) -> f64 {
        let earned = self.burst_seconds.unwrap_or(0.0) * self.share * per_second;
        self.burst.max(earned)
    }

    /// Retries for each call that it grants for good at the most, where calls are what earns them. A
    /// floor of less than one a minute is left out.
    pub fn sustained(&self) -> f64 {
        match self.of {
            Earner::Time | Earner::CallsUnderWay => f64::INFINITY,
            _ if self.per_minute >= 1.0 => f64::INFINITY,
            _ => self.share,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_each_is_told_and_of_none_nothing() {
        let both: Budget = "ratio:0.1 + per-minute:60".parse().unwrap();
        let kinds: Vec<_> = grants(both).iter().map(|grant| grant.kind).collect();
        assert_eq!(kinds, ["ratio", "per-minute"]);
        assert_eq!(grants(Budget::None), []);
        let own: Budget = "per-minute:60".parse().unwrap();
        assert_eq!(grants(own)[0].text, own.to_string());
    }
}
