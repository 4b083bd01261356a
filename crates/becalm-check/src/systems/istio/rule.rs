//! What does a `DestinationRule` bound?

use std::time::Duration;

use becalm::Budget;

use super::super::envoy::{at_most, share_of};
use super::super::kubernetes::{check, check_types, is_older, is_same, named, namespace};
use super::super::resources::At;
use super::files::within;
use super::{Files, nothing, of_route};
use crate::code;
use crate::document::{Node, Span};
use crate::mapping::Draft;
use crate::reading::Reading;
use crate::room::Connecting;
use crate::told::Told;

/// Rules about one host that are compared: with all copies of a file each route would be compared with each.
const RIVALS: usize = 16;

/// Of the rule that is about the host of a route, in this file or another.
pub fn budget<'a>(
    reading: &mut Reading<'a>,
    draft: &mut Draft,
    route: &Node,
    host: Option<&str>,
    files: &Files<'a>,
    at: Span,
) {
    draft.policy.budget = Budget::None;
    let namespace = reading.document.tree.and_then(namespace);
    let Some(host) = host else {
        return;
    };
    let is_about = |(_, it): &(&str, &Node)| {
        let about = it.at(&["spec", "host"]).and_then(Node::text);
        about.is_some_and(|about| is_one(about, self::namespace(it), host, namespace))
    };
    let all = files.rules(reading.document.file, host, namespace);
    let all = all.filter(is_about);
    let Some((file, found)) = first(reading, all.take(RIVALS)) else {
        return;
    };
    let Some(spec) = found.get("spec") else {
        return;
    };
    let destination = route.list(&["route"]).first();
    let subset = destination.and_then(|it| it.at(&["destination", "subset"])?.text());
    let is_meant = |it: &&Node| subset.is_some() && it.get("name").and_then(Node::text) == subset;
    let subset = spec.list(&["subsets"]).iter().find(is_meant);
    let policies = [
        subset.and_then(|it| it.get("trafficPolicy")),
        spec.get("trafficPolicy"),
    ];
    reading.in_file(file, draft, at, |reading, draft| {
        of_rule(reading, draft, policies);
        to_connect(reading, draft, policies, at);
    });
}

/// `connectTimeout` of the mesh is 10 s where nothing is said (`DefaultMeshConfig`).
fn to_connect(reading: &mut Reading<'_>, draft: &Draft, policies: [Option<&Node>; 2], at: Span) {
    let pools = policies.into_iter().flatten();
    let mut pools = pools.filter_map(|it| it.get("connectionPool"));
    let node = pools
        .next()
        .and_then(|it| it.at(&["tcp", "connectTimeout"]));
    let connecting = Connecting {
        name: "connectTimeout",
        time: reading.go_duration(node, "a duration such as 1s"),
        default: Duration::from_secs(10),
        remedy: "lower `connectTimeout` or `attempts`, or raise the route's `timeout`",
    };
    reading.room_to_connect(draft, &connecting, at);
}

/// The rule that holds of those about a host: `mergeDestinationRule` of `pilot/pkg/model/destination_rule.go` keeps the policy of the
/// first that has one, and takes the older ones first.
fn first<'a>(reading: &mut Reading<'a>, all: impl Iterator<Item = At<'a>>) -> Option<At<'a>> {
    let has_policy = |it: &Node| it.at(&["spec", "trafficPolicy"]).is_some();
    let (with, without): (Vec<_>, Vec<_>) = all.partition(|(_, it)| has_policy(it));
    let mut with = with.into_iter();
    let Some(mut found) = with.next() else {
        return without.into_iter().next();
    };
    for other in with {
        let (kept, lost, why) = match is_older(other.1, found.1) {
            Some(true) => (other, found, "which was created first"),
            Some(false) => (found, other, "which was created first"),
            None => (
                found,
                other,
                "if that was created first, which the files do not say",
            ),
        };
        found = kept;
        let span = lost
            .1
            .at(&["spec"])
            .and_then(|it| it.entry("trafficPolicy"));
        let Some((key, _)) = span else { continue };
        let sentence = format!(
            "the `trafficPolicy` of {} holds for this host in place of this one, {why}",
            named(kept.1)
        );
        let own = std::mem::replace(&mut reading.document.file, lost.0);
        reading.find(key.span, code::OVERRIDDEN, sentence, "keep one of them");
        reading.document.file = own;
    }
    Some(found)
}

/// Maps a rule that bounds retries where no route of the files leads to its host: Istio repeats without one as well.
pub fn alone<'a>(reading: &mut Reading<'a>, spec: &Node, files: &'a Files<'a>) {
    let document = reading.document;
    let namespace = document.tree.and_then(namespace);
    let Some(host) = spec.get("host").and_then(Node::text) else {
        return;
    };
    let mut destinations = files.destinations(host, namespace);
    if destinations.any(|(it, own)| is_one(host, namespace, it, own)) {
        return;
    }
    let whole = spec.get("trafficPolicy");
    let subsets = spec.list(&["subsets"]).iter();
    let subsets = subsets.filter_map(|it| it.get("trafficPolicy"));
    let bound = whole.into_iter().chain(subsets).find_map(|it| {
        let pool = || it.at(&["connectionPool", "http"])?.entry("maxRetries");
        Some((it, it.entry("retryBudget").or_else(pool)?.0))
    });
    let Some((policy, key)) = bound else {
        return;
    };
    let name = format!("host {host}");
    let names = vec![host.to_owned()];
    of_route(
        reading,
        &nothing(key.span),
        None,
        files,
        name,
        names,
        |reading, draft, _| {
            draft.policy.budget = Budget::None;
            of_rule(reading, draft, [Some(policy), whole]);
        },
    );
}

/// Whether two hosts, each in a resource of this namespace, are one: a short name is one of the resource's namespace
/// (`ResolveShortnameToFQDN`), as far as that is known.
fn is_one(one: &str, of_one: Option<&str>, other: &str, of_other: Option<&str>) -> bool {
    let differ =
        || matches!((within(one, of_one), within(other, of_other)), (Some(a), Some(b)) if a != b);
    is_same(one, other) && !differ()
}

/// Of the traffic policies of a subset and of the whole rule: each field of the former stands in place of the
/// latter's.
fn of_rule(reading: &mut Reading<'_>, draft: &mut Draft, policies: [Option<&Node>; 2]) {
    let entry = |name| policies.into_iter().flatten().find_map(|it| it.entry(name));
    for (name, why) in [
        ("outlierDetection", "a breaker for each host"),
        ("portLevelSettings", "ports have settings of their own"),
    ] {
        if let Some((key, _)) = entry(name) {
            draft.lose(name, why, Some(key.span));
        }
    }
    if let Some((key, given)) = entry("retryBudget") {
        share(reading, draft, given, key.span);
        return;
    }
    let pool = entry("connectionPool").and_then(|(_, it)| it.get("http"));
    check_types(reading, pool, &["maxRetries:number"]);
    let most = pool.and_then(|it| it.get("maxRetries"));
    match reading.whole(most, "a number of retries") {
        // "if settings.Http.MaxRetries > 0": 0 leaves the default.
        Told::Is(most, span) if most > 0 => at_most(reading, draft, most, span),
        told => draft.set("budget", told, |_, _| {}),
    }
}

/// `message TrafficPolicy.RetryBudget`, which wins over `maxRetries`.
fn share(reading: &mut Reading<'_>, draft: &mut Draft, budget: &Node, span: Span) {
    check(
        reading,
        Some(budget),
        "`retryBudget`",
        &[
            "percent:number",
            "minRetryConcurrency:number",
            "budgetInterval:time",
        ],
    );
    let percent = reading.number(budget.get("percent"), "a percentage from 0 to 100");
    let floor = reading.whole(budget.get("minRetryConcurrency"), "a number of retries");
    if matches!(percent, Told::Absent) {
        let sentence = "a `retryBudget` without `percent` is one of 20 %, and of 0.2 % before istio/istio#59504 was fixed";
        reading.find(span, code::DEFAULT_BUDGET, sentence, "set `percent`");
    }
    if let Some((key, _)) = budget.entry("budgetInterval") {
        let why = "the share is of the requests of this interval, not of those under way";
        draft.lose("budgetInterval", why, Some(key.span));
    }
    let percent = percent.map(|it| it.clamp(0.0, 100.0));
    let floor = floor.map(|it| if it > 0 { it } else { 3 });
    share_of(reading, draft, (percent, 20.0), (floor, 3), span);
}
