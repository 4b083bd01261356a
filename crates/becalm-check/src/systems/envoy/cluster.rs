//! What of an Envoy cluster bounds its retries?

use becalm::Budget;

use super::fields::{self, CIRCUIT_BREAKERS, RETRY_BUDGET, THRESHOLDS, at, entry, field, items};
use super::numbers::whole;
use crate::code;
use crate::document::{Node, Span};
use crate::mapping::{Draft, Origin};
use crate::reading::Reading;
use crate::told::Told;

/// Retries at once in one proxy that bound nothing: a fleet of them has more than a service serves.
const BOUNDS_NOTHING: u32 = 500;

/// What [`Budget`] holds at most.
const MOST: u32 = 1_000_000;

/// Envoy's own, where a cluster says nothing.
const MAX_RETRIES: u32 = 3;

/// Finds what a cluster should not have.
pub fn check(reading: &mut Reading<'_>, cluster: &Node) {
    let Some(breakers) = field(cluster, "circuit_breakers") else {
        return;
    };
    fields::check(reading, breakers, &CIRCUIT_BREAKERS);
    for thresholds in items(breakers, "thresholds")
        .iter()
        .chain(items(breakers, "per_host_thresholds"))
    {
        fields::check(reading, thresholds, &THRESHOLDS);
        if let Some(budget) = field(thresholds, "retry_budget") {
            fields::check(reading, budget, &RETRY_BUDGET);
        }
    }
    for thresholds in items(breakers, "per_host_thresholds") {
        for name in ["max_retries", "retry_budget"] {
            if let Some((key, _)) = entry(thresholds, name) {
                let sentence = format!(
                    "`{name}` bounds nothing among the thresholds for each host, of which Envoy reads `max_connections` alone"
                );
                let remedy = "move it to `thresholds`";
                reading.find(key.span, code::KEY_NOT_READ, sentence, remedy);
            }
        }
    }
}

/// The budget of a cluster for requests of this priority. Without a cluster, it is not in the file.
pub fn budget(
    reading: &mut Reading<'_>,
    draft: &mut Draft,
    cluster: Option<&Node>,
    priority: &str,
) {
    draft.policy.budget = Budget::concurrency(0.0, MAX_RETRIES);
    let thresholds = cluster.and_then(|it| at(it, &["circuit_breakers", "thresholds"]));
    let of_priority = |it: &&Node| {
        let own = field(it, "priority")
            .and_then(Node::text)
            .unwrap_or("DEFAULT");
        own == priority
            || (own == "0" && priority == "DEFAULT")
            || (own == "1" && priority == "HIGH")
    };
    let Some(thresholds) = thresholds.and_then(|it| it.items().iter().find(of_priority)) else {
        return;
    };
    if let Some((key, given)) = entry(thresholds, "retry_budget") {
        share(reading, draft, given, key.span);
        if let Some((key, _)) = entry(thresholds, "max_retries") {
            let sentence = "`max_retries` bounds nothing beside a `retry_budget`";
            let remedy = "leave out one of them";
            reading.find(key.span, code::KEY_NOT_READ, sentence, remedy);
        }
        return;
    }
    let most = whole(
        reading,
        field(thresholds, "max_retries"),
        "a number of retries",
    );
    match most {
        Told::Is(most, span) => at_most(reading, draft, most, span),
        told => draft.set("budget", told, |_, _| {}),
    }
}

/// So many retries at once.
pub fn at_most(reading: &mut Reading<'_>, draft: &mut Draft, most: u32, span: Span) {
    if most == 0 {
        draft.policy.attempts = 1;
        let how = "no retry at once is none at all".to_owned();
        draft.origin("attempts", Origin::Derived(span, how));
        return;
    }
    draft.policy.budget = if most > MOST {
        Budget::None
    } else {
        Budget::concurrency(0.0, most)
    };
    let how = format!("{most} retries at once in each proxy");
    draft.origin("budget", Origin::Derived(span, how));
    if most >= BOUNDS_NOTHING {
        reading.find(
            span,
            code::BUDGET_BOUNDS_NOTHING,
            format!(
                "{most} retries may run at once in each proxy, which bounds nothing in an outage"
            ),
            "set what the service bears beside its load, such as 10, or a budget of 20 %",
        );
    }
}

fn share(reading: &mut Reading<'_>, draft: &mut Draft, budget: &Node, span: Span) {
    let percent = field(budget, "budget_percent");
    if let Some(percent) = percent.filter(|it| !it.is_table()) {
        let sentence = format!(
            "`budget_percent` is a message of {}, which refuses a bare number",
            reading.who()
        );
        let remedy = "write `budget_percent: {value: 20.0}`";
        reading.find(percent.span, code::REFUSED, sentence, remedy);
    }
    let percent = match percent {
        None => Told::Absent,
        Some(percent) => match field(percent, "value") {
            None if percent.is_table() => Told::Is(0.0, percent.span),
            None => Told::Absent,
            value => reading.told(value, "a percentage from 0 to 100", |text| {
                text.parse().ok().filter(|it| (0.0..=100.0).contains(it))
            }),
        },
    };
    let floor = whole(
        reading,
        field(budget, "min_retry_concurrency"),
        "a number of retries",
    );
    if let Some(interval) = field(budget, "budget_interval") {
        let why = "the share is of the requests of this interval, not of those under way";
        draft.lose("budget_interval", why, Some(interval.span));
    }
    share_of(reading, draft, (percent, 20.0), (floor, 3), span);
}

/// A share and a floor, each with its default. Where one of them is unknown, the budget is unknown.
pub fn share_of(
    reading: &mut Reading<'_>,
    draft: &mut Draft,
    (percent, usual): (Told<f64>, f64),
    (floor, least): (Told<u32>, u32),
    span: Span,
) {
    let unknown = Origin::unknown(&percent).or_else(|| Origin::unknown(&floor));
    let percent = percent.known().unwrap_or(usual);
    at_most_share(
        reading,
        draft,
        percent,
        floor.known().unwrap_or(least),
        span,
    );
    if let Some(unknown) = unknown {
        draft.origin("budget", unknown);
    }
}

/// So many percent of the requests under way, and at least so many.
fn at_most_share(
    reading: &mut Reading<'_>,
    draft: &mut Draft,
    percent: f64,
    floor: u32,
    span: Span,
) {
    let share = (percent * 10_000.0).round() / 1_000_000.0;
    if share <= 0.0 {
        at_most(reading, draft, floor, span);
        return;
    }
    draft.policy.budget = Budget::concurrency(share, floor.min(MOST));
    draft.origin(
        "budget",
        Origin::Derived(
            span,
            format!("{percent} % of the requests under way, at least {floor}"),
        ),
    );
    if floor >= BOUNDS_NOTHING || percent >= 100.0 {
        reading.find(
            span,
            code::BUDGET_BOUNDS_NOTHING,
            format!(
                "a budget of {percent} % with {floor} retries at least bounds nothing in an outage"
            ),
            "set a retry budget of 20 %, with its floor at 3",
        );
    }
}
