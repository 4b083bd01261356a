//! What does a `ServiceProfile` say about retrying?
//!
//! `pkg/profiles/profiles.go` and `controller/api/destination/profile_translator.go` of linkerd/linkerd2,
//! `linkerd/service-profiles/src/proto.rs` and `linkerd/app/outbound/src/http/retry.rs` of linkerd/linkerd2-proxy. The
//! budget is that of tower 0.5.3.

use std::time::Duration;

use becalm::Budget;
use becalm::Policy;
use becalm::budget::Window;
use becalm::classify::FailureKind;
use becalm::preset::Preset;
use becalm::retry_on::{Codes, Failures, RetryOn};
use becalm::support::Human;

use super::conditions::{half_range, methods, statuses};
use crate::code;
use crate::document::{Key, Node, Span};
use crate::list::list;
use crate::mapping::{Draft, Origin};
use crate::reading::Reading;
use crate::systems::kubernetes::{check, name_of};
use crate::told::Told;

const SPEC: &[&str] = &["routes", "retryBudget", "dstOverrides", "opaquePorts"];
const ROUTE: &[&str] = list!("name condition responseClasses isRetryable:flag timeout:time");
const BUDGET: &[&str] = &[
    "retryRatio:number",
    "minRetriesPerSecond:number",
    "ttl:time",
];

const KEYS: &[&str] = &[
    "attempts", "backoff", "base", "jitter", "hint", "budget", "deadline", "retry_on",
];

/// As many retries as becalm's own default lets come at once.
const MANY: f64 = 10.0;

/// Of gRPC's codes those that are failures where no class says otherwise (`linkerd/proxy/client-policy/src/grpc.rs`).
const CODES: [u32; 6] = [2, 4, 7, 13, 14, 15];

/// What the proxy allows, and where that stands.
#[derive(Debug, Clone)]
struct Allowed {
    /// `None` where the proxy drops the budget, and with it all retries.
    window: Option<Window>,
    origin: Origin,
    /// Whether it is the default.
    is_default: bool,
}

pub fn read(reading: &mut Reading<'_>) {
    let document = reading.document;
    let Some(spec) = document.at(&["spec"]) else {
        return;
    };
    let before = std::mem::replace(&mut reading.misread, code::REFUSED);
    check(reading, Some(spec), "a ServiceProfile", SPEC);
    let name = document.at(&["metadata", "name"]).and_then(Node::text);
    let allowed = budget(reading, spec);
    for route in spec.list(&["routes"]) {
        check(reading, Some(route), "a route", ROUTE);
        required(reading, route, "a route", &["name", "condition"]);
        of_route(reading, name, route, &allowed);
    }
    reading.misread = before;
}

fn required(reading: &mut Reading<'_>, node: &Node, what: &str, keys: &[&str]) {
    for key in keys
        .iter()
        .map(|it| name_of(it))
        .filter(|it| node.get(it).is_none())
    {
        let sentence = format!("Linkerd refuses {what} without `{key}`");
        reading.find(node.span, code::REFUSED, sentence, format!("add `{key}`"));
    }
}

fn of_route(reading: &mut Reading<'_>, name: Option<&str>, route: &Node, allowed: &Allowed) {
    let Some((key, _)) = route.entry("isRetryable") else {
        return;
    };
    let is_retryable = reading.flag(route.get("isRetryable"), "true or false");
    if is_retryable.known() != Some(true) {
        return;
    }
    let Some(window) = allowed.window else {
        return;
    };
    let preset = Preset::by_name("linkerd-profile");
    let mut draft = Draft::of(
        preset.map_or_else(|_| Policy::default(), Preset::policy),
        KEYS,
    );
    draft.origin("budget", allowed.origin.clone());
    let reserve = window.floor_per_second * window.ttl.as_secs_f64();
    if window.share <= 0.0 && reserve < 1.0 {
        draft.policy.attempts = 1;
        draft.policy.budget = Budget::None;
        let how = "a budget of nothing allows no retry".to_owned();
        draft.origin("attempts", Origin::Derived(key.span, how));
    } else {
        draft.policy.budget = Budget::Window(window);
    }
    let timeout = reading.go_duration(route.get("timeout"), "a duration such as 15s");
    draft.deadline(timeout);
    retry_on(reading, &mut draft, route);
    if allowed.is_default {
        default_budget(reading, key, &window);
    } else {
        floor(reading, allowed, &window);
    }
    lose(&mut draft, key.span);
    let shown = route.get("name").and_then(Node::text).unwrap_or("?");
    let names = name.map(ToOwned::to_owned).into_iter().collect();
    reading.map(draft, format!("route {shown}"), names, key.span);
}

fn retry_on(reading: &mut Reading<'_>, draft: &mut Draft, route: &Node) {
    let classes = route.entry("responseClasses");
    let listed = classes.map_or(&[][..], |(_, it)| it.items());
    if let Some(half) = half_range(listed) {
        let sentence = "the proxy drops a condition whose status has one end alone, although Linkerd's template says that it matches this one status";
        let remedy = "write `min` and `max`, with the same number for one status";
        reading.find(half.span, code::KEY_NOT_READ, sentence, remedy);
    }
    let repeated = statuses(listed);
    // The proxy answers a connection that breaks with 502 before its retries see it.
    let failures: Failures = [FailureKind::Reset]
        .into_iter()
        .filter(|_| repeated.contains(502))
        .collect();
    let condition = route.entry("condition");
    let lists = RetryOn::new()
        .methods(methods(condition.map(|(_, it)| it)))
        .statuses(repeated)
        .codes(CODES.into_iter().collect::<Codes>())
        .failures(failures);
    draft.policy.retry_on = lists.into();
    let origin = classes.or(condition).map(|(key, _)| key.span);
    draft.origin("retry_on", origin.map_or(Origin::Default, Origin::Line));
}

fn default_budget(reading: &mut Reading<'_>, key: &Key, window: &Window) {
    let sentence = format!(
        "without a `retryBudget` retries may be {:.0} % of the requests, and {} a second beside that",
        window.share * 100.0,
        window.floor_per_second
    );
    let remedy = "set a `retryBudget` with a lower `minRetriesPerSecond`";
    reading.find(key.span, code::DEFAULT_BUDGET, sentence, remedy);
    floor_times_clients(reading, key.span, window);
}

fn floor(reading: &mut Reading<'_>, allowed: &Allowed, window: &Window) {
    if let Origin::Line(span) | Origin::Derived(span, _) = &allowed.origin {
        floor_times_clients(reading, *span, window);
    }
}

/// What Linkerd itself sets, and its documentation shows: 10 a second for 10 s.
const OF_DEFAULT: f64 = 100.0;

fn floor_times_clients(reading: &mut Reading<'_>, span: Span, window: &Window) {
    let reserve = window.floor_per_second * window.ttl.as_secs_f64();
    if reserve <= MANY {
        return;
    }
    let sentence = format!(
        "each client's proxy may send {reserve:.0} retries at once whatever its traffic: {} a second for {}",
        window.floor_per_second,
        Human(window.ttl)
    );
    let remedy = "set `minRetriesPerSecond` x `ttl` to what the service bears, divided by the number of its clients";
    if reserve <= OF_DEFAULT {
        reading.note(span, code::FLOOR_TIMES_CLIENTS, sentence, remedy);
    } else {
        reading.find(span, code::FLOOR_TIMES_CLIENTS, sentence, remedy);
    }
}

fn budget(reading: &mut Reading<'_>, spec: &Node) -> Allowed {
    let default = Allowed {
        window: Some(Window::default()),
        origin: Origin::Default,
        is_default: true,
    };
    let Some((key, given)) = spec.entry("retryBudget").filter(|(_, it)| it.is_table()) else {
        return default;
    };
    check(reading, Some(given), "`retryBudget`", BUDGET);
    required(reading, given, "a `retryBudget`", BUDGET);
    let ratio = reading.told(given.get("retryRatio"), "a ratio of at least 0", |text| {
        text.parse()
            .ok()
            .filter(|it: &f32| it.is_finite() && *it >= 0.0)
    });
    let least = reading.whole(given.get("minRetriesPerSecond"), "a number of retries");
    let ttl = reading.go_duration(given.get("ttl"), "a duration such as 10s");
    let unknown = Origin::unknown(&ratio).or_else(|| Origin::unknown(&least));
    let unknown = unknown.or_else(|| Origin::unknown(&ttl));
    let (Told::Is(ratio, at), Told::Is(least, _), Told::Is(ttl, ttl_at)) = (ratio, least, ttl)
    else {
        let origin = unknown.unwrap_or(Origin::Default);
        return Allowed { origin, ..default };
    };
    let dropped = |reading: &mut Reading<'_>, span, sentence: String, remedy| {
        reading.find(span, code::NEVER_RETRIES, sentence, remedy);
        Allowed {
            window: None,
            origin: Origin::Line(key.span),
            is_default: false,
        }
    };
    if !(Duration::from_secs(1)..=Duration::from_secs(60)).contains(&ttl) {
        let sentence = format!(
            "the proxy drops a budget whose `ttl` is {}, and no route is retried",
            Human(ttl)
        );
        return dropped(reading, ttl_at, sentence, "set a `ttl` from 1s to 60s");
    }
    if ratio > 1000.0 {
        let sentence = format!(
            "the proxy drops a budget with a `retryRatio` of {ratio}, and no route is retried"
        );
        return dropped(reading, at, sentence, "set a ratio of 0.1 to 0.2");
    }
    let share = share(ratio);
    let origin = if (share - f64::from(ratio)).abs() > 0.01 * share {
        let how = format!("the proxy counts in whole requests, so that {ratio} is {share:.3}");
        Origin::Derived(at, how)
    } else {
        Origin::Line(key.span)
    };
    // The reserve is of whole seconds.
    let whole = Duration::from_secs(ttl.as_secs()).as_secs_f64() / ttl.as_secs_f64();
    let floor = (f64::from(least) * whole).min(10_000.0);
    let window = Window::default()
        .share(share)
        .ttl(ttl)
        .floor_per_second(floor);
    Allowed {
        window: Some(window),
        origin,
        is_default: false,
    }
}

/// What comes of a ratio in `TpsBudget::new`, which counts in whole requests for a retry, and above 1 in thousandths.
fn share(ratio: f32) -> f64 {
    let ratio_in = |unit: f32| f64::from((unit / ratio).trunc());
    let exact = if ratio <= 0.0 {
        0.0
    } else if ratio <= 1.0 {
        1.0 / ratio_in(1.0)
    } else {
        1000.0 / ratio_in(1000.0)
    };
    (exact * 1e6).round() / 1e6
}

fn lose(draft: &mut Draft, span: Span) {
    for (what, why) in [
        ("isRetryable", "a body of more than 64 KiB is not repeated"),
        (
            "retryBudget",
            "one for all routes of the profile, in each client's proxy; tower forgets requests sooner than the ttl says",
        ),
        (
            "connections",
            "of those that break some are repeated: the ones that the proxy answers with 502; one that cannot be made is not",
        ),
    ] {
        draft.lose(what, why, Some(span));
    }
    let why = "a ServiceProfile with routes overrides those of the same service, and its retry annotations";
    draft.lose("HTTPRoute", why, None);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_rounded_up_to_whole_requests() {
        for (ratio, counted) in [
            (0.0, 0.0),
            (0.1, 0.1),
            (0.2, 0.2),
            (0.3, 0.333_333),
            (0.6, 1.0),
            (1.0, 1.0),
            (1.5, 1.501_502),
            (700.0, 1000.0),
        ] {
            assert!(
                (share(ratio) - counted).abs() < 1e-9,
                "{ratio}: {}",
                share(ratio)
            );
        }
    }
}
