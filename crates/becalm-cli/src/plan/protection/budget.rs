//! What does each kind of budget grant, at once and for good?

use std::fmt::Write as _;

use becalm::Budget;
use becalm::budget::{Concurrency, Grpc, PerMinute, Ratio, Tokens, Window};
use serde::Serialize;

use super::percent;

/// What one kind of budget grants.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Grant {
    kind: &'static str,
    text: String,
    /// Retries that a full budget grants at once.
    burst: f64,
    /// Retries for each of what earns them, once the burst is spent; 0 where nothing but time does.
    share: f64,
    /// What earns them.
    of: Earner,
    /// Retries that time alone grants.
    per_minute: f64,
    /// `burst` and `share` for throttled failures, where these cost another number of tokens.
    throttled: Option<Throttled>,
}

/// What a budget grants after throttled failures.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Throttled {
    burst: f64,
    share: f64,
}

/// What earns retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Earner {
    FirstTries,
    Successes,
    CleanSuccesses,
    CallsUnderWay,
    Time,
}

/// What each kind grants; all of them must.
pub fn grants(budget: Budget) -> Vec<Grant> {
    let grants = budget.kinds().filter_map(|kind| match kind {
        Budget::Ratio(kind) => Some(ratio(kind)),
        Budget::FirstTries(kind) => Some(first_tries(kind)),
        Budget::Tokens(kind) => Some(tokens(kind)),
        Budget::Grpc(kind) => Some(grpc(kind)),
        Budget::Window(kind) => Some(window(kind)),
        Budget::Concurrency(kind) => Some(concurrency(kind)),
        Budget::PerMinute(kind) => Some(per_minute(kind)),
        _ => None,
    });
    grants.collect()
}

fn ratio(ratio: Ratio) -> Grant {
    Grant {
        kind: "ratio",
        text: Budget::Ratio(ratio).to_string(),
        burst: ratio.held().floor(),
        share: ratio.ratio,
        of: Earner::Successes,
        per_minute: (ratio.floor_per_second * 60.0 * 1e4).round() / 1e4,
        throttled: None,
    }
}

fn first_tries(first_tries: Ratio) -> Grant {
    Grant {
        kind: "first-tries",
        text: Budget::FirstTries(first_tries).to_string(),
        of: Earner::FirstTries,
        ..ratio(first_tries)
    }
}

fn tokens(tokens: Tokens) -> Grant {
    let burst = |cost: u32| f64::from(tokens.capacity / cost.max(1));
    let share = |cost: u32| f64::from(tokens.clean_success) / f64::from(cost.max(1));
    let throttled = tokens.throttled_cost;
    Grant {
        kind: "tokens",
        text: Budget::Tokens(tokens).to_string(),
        burst: burst(tokens.cost),
        share: share(tokens.cost),
        of: Earner::CleanSuccesses,
        per_minute: 0.0,
        throttled: (throttled != tokens.cost).then(|| Throttled {
            burst: burst(throttled),
            share: share(throttled),
        }),
    }
}

/// Every failure takes a token, granted or not; retries are granted while more than half are left.
fn grpc(grpc: Grpc) -> Grant {
    Grant {
        kind: "grpc",
        text: Budget::Grpc(grpc).to_string(),
        burst: f64::from(grpc.max_tokens.div_ceil(2).saturating_sub(1)),
        share: grpc.token_ratio,
        of: Earner::Successes,
        per_minute: 0.0,
        throttled: None,
    }
}

fn window(window: Window) -> Grant {
    Grant {
        kind: "window",
        text: Budget::Window(window).to_string(),
        burst: window.floor_per_second * window.ttl.as_secs_f64(),
        share: window.share,
        of: Earner::FirstTries,
        per_minute: window.floor_per_second * 60.0,
        throttled: None,
    }
}

fn concurrency(concurrency: Concurrency) -> Grant {
    Grant {
        kind: "concurrency",
        text: Budget::Concurrency(concurrency).to_string(),
        burst: f64::from(concurrency.floor),
        share: concurrency.share,
        of: Earner::CallsUnderWay,
        per_minute: 0.0,
        throttled: None,
    }
}

fn per_minute(per_minute: PerMinute) -> Grant {
    Grant {
        kind: "per-minute",
        text: Budget::PerMinute(per_minute).to_string(),
        burst: f64::from(per_minute.retries),
        share: 0.0,
        of: Earner::Time,
        per_minute: f64::from(per_minute.retries),
        throttled: None,
    }
}

impl Grant {
    /// Retries for each call that it grants for good at the most, where calls are what earns them. A
    /// floor of less than one a minute is left out.
    pub fn sustained(&self) -> f64 {
        match self.of {
            Earner::Time | Earner::CallsUnderWay => f64::INFINITY,
            _ if self.per_minute >= 1.0 => f64::INFINITY,
            _ => self.share,
        }
    }

    /// What it grants, in a sentence.
    pub fn sentence(&self) -> String {
        let Self { kind, burst, .. } = self;
        let share = percent(self.share);
        match self.of {
            Earner::Time => format!("budget {kind}: at most {burst} retries in any minute"),
            Earner::CallsUnderWay => format!(
                "budget {kind}: retries in progress are at most {share} of the calls in progress, or \
                 {burst} if that is more"
            ),
            of => {
                let of = match of {
                    Earner::Successes => "successes",
                    Earner::CleanSuccesses => "successes without a retry",
                    _ => "first tries",
                };
                let mut sentence =
                    format!("budget {kind}: {burst} retries at once, then {share} of {of}");
                if self.per_minute > 0.0 {
                    let (number, time) = match self.per_minute {
                        ..1.0 => (self.per_minute * 60.0, "an hour"),
                        ..60.0 => (self.per_minute, "a minute"),
                        _ => (self.per_minute / 60.0, "a second"),
                    };
                    let number = (number * 100.0).round() / 100.0;
                    let _ = write!(sentence, " and {number} {time}");
                }
                if let Some(Throttled { burst, share }) = self.throttled {
                    let share = percent(share);
                    let _ = write!(sentence, "; when throttled {burst}, then {share}");
                }
                sentence
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_tells_what_it_grants_at_once_and_for_good() {
        for (budget, sentence) in [
            (
                "ratio:0.1,burst:10,floor:10/h",
                "budget ratio: 10 retries at once, then 10% of successes and 10 an hour",
            ),
            (
                "ratio:0.1,burst:10,floor:2",
                "budget ratio: 10 retries at once, then 10% of successes and 2 a second",
            ),
            (
                "first-tries:0.1,burst:10",
                "budget first-tries: 10 retries at once, then 10% of first tries",
            ),
            (
                "tokens:500,cost:14,throttled:5,refund:last,clean:1",
                "budget tokens: 35 retries at once, then 7.1% of successes without a retry; when \
                 throttled 100, then 20%",
            ),
            (
                "grpc:10,ratio:0.1",
                "budget grpc: 4 retries at once, then 10% of successes",
            ),
            (
                "window:0.2,ttl:10s,floor:10",
                "budget window: 100 retries at once, then 20% of first tries and 10 a second",
            ),
            (
                "concurrency:0.2,floor:3",
                "budget concurrency: retries in progress are at most 20% of the calls in progress, or \
                 3 if that is more",
            ),
            (
                "per-minute:60",
                "budget per-minute: at most 60 retries in any minute",
            ),
        ] {
            let budget: Budget = budget.parse().unwrap();
            let grants = grants(budget);
            assert_eq!(grants.len(), 1, "{budget}");
            assert_eq!(grants[0].sentence(), sentence);
            assert_eq!(grants[0].text, budget.to_string());
        }
    }

    #[test]
    fn of_several_each_is_told_and_of_none_nothing() {
        let both: Budget = "ratio:0.1 + per-minute:60".parse().unwrap();
        let kinds: Vec<_> = grants(both).iter().map(|grant| grant.kind).collect();
        assert_eq!(kinds, ["ratio", "per-minute"]);
        assert_eq!(grants(Budget::None), []);
    }
}
