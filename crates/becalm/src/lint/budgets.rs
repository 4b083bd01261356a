//! Which budgets bound too little?

use alloc::format;
use alloc::string::String;

use super::Case;
use crate::budget::{Budget, Kind, WhenSpent, Window};
use crate::policy::Policy;
use crate::sync::millionths;

pub(super) fn unlimited_without_budget(case: &Case<'_>) -> Option<String> {
    (case.is_unlimited() && case.budget == Budget::None).then(|| {
        "attempts are unlimited and no budget bounds them, so every failing call keeps on \
         loading a server that is down; set attempts or budget ratio:0.1"
            .into()
    })
}

pub(super) fn no_budget(case: &Case<'_>) -> Option<String> {
    (case.budget == Budget::None).then(|| match case.attempts {
        Policy::UNLIMITED => "without a budget an outage multiplies the load without limit; set \
                              budget ratio:0.1"
            .into(),
        attempts => format!(
            "without a budget an outage multiplies the load by up to {attempts}; set budget \
             ratio:0.1"
        ),
    })
}

/// As large as the smallest of its kinds: several are too large only if each is.
pub(super) fn large_budget(case: &Case<'_>) -> Option<String> {
    let mut dangers = bounds(case.budget).map(|bound| bound.danger());
    let first = dangers.next()??;
    dangers.all(|danger| danger.is_some()).then_some(first)
}

/// What one kind lets through.
struct Bound {
    /// Of the load, in an outage that lasts.
    share: f64,
    /// Retries of one client instance when an outage begins.
    burst: f64,
    /// Seconds of its traffic that it repeats then.
    seconds: f64,
    /// Retries a second, whatever the traffic.
    floor: f64,
}

/// The retries that a full budget pays for where nothing fills it again; `None` without a budget.
pub(super) fn smallest_burst(budget: &Budget) -> Option<f64> {
    let bursts = bounds(*budget).map(|bound| bound.burst);
    bursts.min_by(f64::total_cmp)
}

/// What each kind lets through.
fn bounds(budget: Budget) -> impl Iterator<Item = Bound> {
    let bound = |share, burst, floor| Bound {
        share,
        burst,
        seconds: 0.0,
        floor,
    };
    budget.kinds().filter_map(move |kind| match kind {
        Budget::None | Budget::AllOf(_) => None,
        Budget::Ratio(ratio) | Budget::FirstTries(ratio) => Some(Bound {
            seconds: ratio.ratio * ratio.burst.span().as_secs_f64(),
            ..bound(ratio.ratio, ratio.held(), ratio.floor_per_second)
        }),
        Budget::Tokens(tokens) => {
            let cost = f64::from(tokens.cost.min(tokens.throttled_cost));
            let share = f64::from(tokens.clean_success) / cost;
            Some(bound(share, f64::from(tokens.capacity) / cost, 0.0))
        }
        Budget::Grpc(grpc) => {
            let burst = f64::from(grpc.max_tokens) / 2.0;
            Some(bound(grpc.token_ratio, burst, 0.0))
        }
        Budget::Window(window) => {
            let floor = window.floor_per_second;
            let burst = floor * window.ttl.as_secs_f64();
            Some(bound(window.share, burst, floor))
        }
        Budget::Concurrency(slots) => Some(bound(slots.share, slots.floor.into(), 0.0)),
        Budget::PerMinute(minute) => Some(bound(0.0, minute.retries.into(), 0.0)),
    })
}

/// A second of a client of 20 calls a second, which is small by the default's measure: 5 s of its successes earn ten tokens.
const MOST_OF_A_SMALL_CLIENT: f64 = 20.0;

impl Bound {
    fn danger(&self) -> Option<String> {
        let Self {
            share,
            burst,
            seconds,
            floor,
        } = *self;
        if share > 0.5 {
            Some(format!(
                "the budget lets retries add {:.0} % to the load of an outage; set a ratio of 0.1 \
                 to 0.2",
                share * 100.0
            ))
        } else if floor > 10.0 {
            Some(format!(
                "the budget lets every client instance send {floor} retries a second whatever its \
                 traffic; set a floor of at most 10, less in a large fleet"
            ))
        } else if seconds > 0.0 && burst > MOST_OF_A_SMALL_CLIENT {
            Some(format!(
                "the budget lets every client instance send {burst:.0} retries when an outage begins, however few \
                 calls it makes; its burst follows the traffic: set min to 10, or to 1 to 10 in a large fleet"
            ))
        } else if burst > 100.0 {
            Some(format!(
                "the budget lets every client instance send {burst:.0} retries when an outage \
                 begins; set a burst of 10 to 100"
            ))
        } else if seconds > 1.0 {
            Some(format!(
                "the budget lets every client instance repeat {seconds:.1} s of its calls when an outage \
                 begins; set a burst of at most 1 s of calls, such as burst:5s of ratio:0.1"
            ))
        } else {
            None
        }
    }
}

/// Envoy 1.40 at 100 to 150 calls a second that all fail: 1.40 to 1.58 attempts a call with a
/// budget of 20 % and a floor of 3.
pub(super) fn concurrency_alone(case: &Case<'_>) -> Option<String> {
    let Budget::Concurrency(concurrency) = case.budget else {
        return None;
    };
    (concurrency.floor > 0).then(|| {
        format!(
            "the budget bounds the retries in progress and not their share of the traffic: at low \
             rates its floor of {} lets most calls retry; set ratio:0.1 beside it",
            concurrency.floor
        )
    })
}

pub(super) fn budget_never_grants(case: &Case<'_>) -> Option<String> {
    let why = case.budget.kinds().find_map(|kind| match kind {
        Budget::Grpc(grpc) if grpc.max_tokens <= 2 => Some(
            "the failure before a retry takes one of at most 2 tokens, and gRPC retries while \
             more than half are left; set grpc:10",
        ),
        Budget::Window(window) if window.share <= 0.0 && floor_of(&window) < 1_000_000 => Some(
            "without a share the window has its floor alone, which comes to less than one retry; \
             set a share of 0.1 to 0.2",
        ),
        _ => None,
    })?;
    Some(format!("the budget never grants a retry: {why}"))
}

/// What the floor comes to in the window, in millionths of a retry as the window counts it.
fn floor_of(window: &Window) -> u64 {
    let micros = u64::try_from(window.ttl.as_micros()).unwrap_or(u64::MAX);
    millionths(window.floor_per_second).saturating_mul(micros / 10 * 10) / 1_000_000
}

pub(super) fn budget_runs_out(case: &Case<'_>) -> Option<String> {
    let Some(Budget::Tokens(tokens)) = case.budget.part(Kind::Tokens) else {
        return None;
    };
    (tokens.clean_success == 0).then(|| {
        format!(
            "no success fills the budget again, so that after {} retries of calls that fail there \
             are none; set clean:1",
            tokens.capacity / tokens.cost.max(1)
        )
    })
}

pub(super) fn wait_without_budget(case: &Case<'_>) -> Option<String> {
    let waits = case.when_spent == WhenSpent::Wait;
    (waits && case.budget == Budget::None).then(|| {
        "without a budget no call waits for a token, and when_spent says nothing; set budget ratio:0.1 or leave \
         when_spent out"
            .into()
    })
}

pub(super) fn wait_without_bound(case: &Case<'_>) -> Option<String> {
    let waits = case.when_spent == WhenSpent::Wait && case.budget != Budget::None;
    (waits && case.max_waiting.is_none()).then(|| {
        "calls that wait for a token are as many as fail within the deadline, and nothing bounds them; set max_waiting \
         to as many as may lie in memory"
            .into()
    })
}
