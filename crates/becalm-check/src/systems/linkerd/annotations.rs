//! What do Linkerd's annotations say about retrying?
//!
//! `retry.linkerd.io` and `timeout.linkerd.io`, since Linkerd 2.16: `parse_http_retry`, `parse_grpc_retry` and
//! `parse_timeouts` of `policy-controller/k8s/index/src/outbound`, `convert_retry` of
//! `policy-controller/grpc/src/outbound/http.rs`, and `linkerd/http/retry/src/lib.rs` of the proxy.

use std::time::Duration;

use becalm::Policy;
use becalm::classify::FailureKind;
use becalm::preset::Preset;
use becalm::retry_on::{Codes, Failures, RetryOn, Statuses};

use crate::code;
use crate::document::{Document, Key, Node, Span};
use crate::list::list;
use crate::mapping::{Draft, Origin};
use crate::reading::{Later, Reading};
use crate::systems::kubernetes::{
    is_a, is_beside, is_same, kind_of, named, namespace, texts_alone,
};
use crate::systems::methods;
use crate::systems::resources::Resources;
use crate::told::Told;

/// Of what the policy controller reads annotations (`index.rs`, `index/http.rs` and `index/grpc.rs` of
/// `policy-controller/k8s/index/src/outbound`).
const SERVICES: [(&str, &[&str]); 2] = [
    ("Service", &[""]),
    ("EgressNetwork", &["policy.linkerd.io"]),
];
const ROUTES: [(&str, &[&str]); 2] = [
    (
        "HTTPRoute",
        &["gateway.networking.k8s.io", "policy.linkerd.io"],
    ),
    ("GRPCRoute", &["gateway.networking.k8s.io"]),
];

fn is_one(resource: &Node, kinds: &[(&str, &[&str])]) -> bool {
    kinds
        .iter()
        .any(|(kind, groups)| is_a(resource, kind, groups))
}

fn is_service(document: &Document<'_>) -> bool {
    document.tree.is_some_and(|it| is_one(it, &SERVICES))
}

const PREFIXES: [&str; 2] = ["retry.linkerd.io/", "timeout.linkerd.io/"];
const HTTP: &str = "retry.linkerd.io/http";
const GRPC: &str = "retry.linkerd.io/grpc";
const LIMIT: &str = "retry.linkerd.io/limit";
const TIMEOUT: &str = "retry.linkerd.io/timeout";
const WHOLE: &str = "timeout.linkerd.io/request";
const OTHERS: [&str; 2] = ["timeout.linkerd.io/response", "timeout.linkerd.io/idle"];

const KEYS: &[&str] =
    list!("attempts base cap jitter hint budget attempt_timeout deadline retry_on");

/// Those of a resource that are about retries and times, and those of its pods, which Linkerd does not read.
pub fn all<'a>(document: &Document<'a>) -> impl Iterator<Item = &'a (Key, Node)> {
    let metadata = [document.tree, document.at(&["spec", "template"])].into_iter();
    let annotations = metadata
        .flatten()
        .filter_map(|it| it.at(&["metadata", "annotations"]));
    let all = annotations.flat_map(Node::entries);
    all.filter(|(key, _)| PREFIXES.iter().any(|it| key.name.starts_with(it)))
        .inspect(|(key, _)| key.asked.set(true))
}

pub fn read(reading: &mut Reading<'_>, resources: &Resources<'_>) {
    let document = reading.document;
    for (key, _) in all(&document) {
        let known = [HTTP, GRPC, LIMIT, TIMEOUT, WHOLE, OTHERS[0], OTHERS[1]];
        if !known.contains(&&*key.name) {
            let sentence = format!("Linkerd has no annotation `{}`", key.name);
            let remedy = Later(|| {
                let meant = crate::meant::nearest(&key.name, known);
                meant.map_or_else(String::new, |meant| format!("did you mean `{meant}`?"))
            });
            reading.find(key.span, code::KEY_NOT_READ, sentence, remedy);
        }
    }
    let first = all(&document).find(|(key, _)| key.name.starts_with(PREFIXES[0]));
    let Some((first, _)) = first else {
        return;
    };
    let is_route = document.tree.is_some_and(|it| is_one(it, &ROUTES));
    if !is_route && !is_service(&document) {
        let kind = kind_of(&document);
        let sentence = format!("Linkerd does not read `{}` of a {kind}", first.name);
        let remedy = "annotate the Service, or its HTTPRoute or GRPCRoute";
        reading.find(first.span, code::KEY_NOT_READ, sentence, remedy);
        return;
    }
    let name = document.at(&["metadata", "name"]).and_then(Node::text);
    if name.is_some_and(|it| overridden(reading, it, first, resources)) {
        return;
    }
    // Where one annotation is not understood, Linkerd takes none of them, or refuses the resource.
    let before = std::mem::replace(&mut reading.misread, code::REFUSED);
    let mark = reading.mark();
    for (_, value) in all(&document) {
        texts_alone(reading, value, "an annotation");
    }
    let draft = draft(reading, first.span);
    reading.misread = before;
    let is_refused = |(code, _)| code == code::REFUSED.name;
    if reading.since(mark).any(is_refused) {
        return;
    }
    let names = names(&document, name);
    let shown = document.at(&["kind"]).and_then(Node::text).unwrap_or("?");
    let shown = format!("{shown} {}", name.unwrap_or("?"));
    reading.map(draft, shown, names, first.span);
}

/// Whether a profile overrides the annotations, or the routes of a service do for all of its requests: a route takes those of
/// its service where it has none (`convert_outbound_route` of `policy-controller/grpc/src/outbound/http.rs` and `grpc.rs`;
/// "they override all retry configuration annotations on the parent Service", says `reference/retries.md`).
fn overridden(
    reading: &mut Reading<'_>,
    name: &str,
    first: &Key,
    resources: &Resources<'_>,
) -> bool {
    let document = reading.document;
    let Some(own) = document.tree else {
        return false;
    };
    let is_of_name = |it: &Node| {
        let profile = it.at(&["metadata", "name"]).and_then(Node::text);
        profile.is_some_and(|it| is_same(it, name))
    };
    let mut profiles = resources.profiles(document.file, name);
    if profiles.any(|(_, it)| is_of_name(it)) {
        let sentence = "a ServiceProfile with routes overrides the annotations of its service";
        reading.find(first.span, code::KEY_NOT_READ, sentence, "keep one of them");
        return true;
    }
    if !is_service(&document) {
        return false;
    }
    let has_parent = |it: &Node| {
        let parents = it.list(&["spec", "parentRefs"]).iter();
        let mut parents = parents.filter_map(|it| it.get("name")?.text());
        parents.any(|it| it == name)
    };
    let has_own = |it: &Node| {
        let annotations = it.at(&["metadata", "annotations"]);
        let mut annotations = annotations.map_or(&[][..], Node::entries).iter();
        annotations.any(|(key, _)| key.name.starts_with(PREFIXES[0]))
    };
    let is_route =
        |it: &Node| is_one(it, &ROUTES) && has_parent(it) && is_beside(it, own) && has_own(it);
    let mut attached = resources.attached(document.file, namespace(own), name);
    let Some((_, route)) = attached.find(|(_, it)| is_route(it)) else {
        return false;
    };
    let rules = route.list(&["spec", "rules"]);
    let is_for_all = rules.iter().any(|it| it.list(&["matches"]).is_empty());
    let which = if is_for_all {
        ""
    } else {
        ", for the requests that it matches"
    };
    let sentence = format!(
        "the annotations of {} override those of its service{which}",
        named(route)
    );
    reading.find(first.span, code::OVERRIDDEN, sentence, "");
    is_for_all
}

fn draft(reading: &mut Reading<'_>, span: Span) -> Draft {
    let document = reading.document;
    let annotation = |name: &str| document.at(&["metadata", "annotations"])?.get(name);
    let preset = Preset::by_name("linkerd-annotation");
    let policy = preset.map_or_else(|_| Policy::default(), Preset::policy);
    let mut draft = Draft::of(policy, KEYS);
    let limit = reading.told(annotation(LIMIT), "a number of retries", |it| {
        it.parse::<u16>().ok()
    });
    match limit {
        Told::Is(0, span) => {
            let sentence =
                format!("a `{LIMIT}` of 0 is read as none, and so as the default of 1 retry");
            let remedy = "leave out all annotations of `retry.linkerd.io`";
            reading.find(span, code::NOT_UNDERSTOOD, sentence, remedy);
        }
        Told::Is(retries, span) => {
            draft.retries(retries.into(), span);
        }
        told => draft.set("attempts", told, |_, _| {}),
    }
    let form = "a duration such as 500ms or 3s, without a fraction";
    let one = reading.told(annotation(TIMEOUT), form, duration);
    draft.attempt_timeout(one);
    let whole = reading.told(annotation(WHOLE), form, duration);
    draft.deadline(whole);
    for name in OTHERS {
        let other = annotation(name);
        if reading.told(other, form, duration).known().is_some() {
            let why = "an attempt is cut by it, and not repeated";
            draft.lose(name, why, other.map(|it| it.span));
        }
    }
    retry_on(reading, &mut draft, span);
    let why = "the fourth wait is 200 to 250 ms, mostly 250 ms, and each later one exactly 250 ms, since the jitter is cut at the cap";
    draft.lose("backoff", why, None);
    draft.lose("body", "one of more than 64 KiB is not repeated", None);
    if draft.policy.attempt_timeout.is_some() {
        let why = "it bounds the wait for an answer's head, of all attempts but the last";
        draft.lose(TIMEOUT, why, None);
    }
    draft
}

fn retry_on(reading: &mut Reading<'_>, draft: &mut Draft, span: Span) {
    let document = reading.document;
    let annotation = |name: &str| document.at(&["metadata", "annotations"])?.get(name);
    let form = "a list of 5xx, gateway-error, statuses and ranges such as 500-504, without blanks";
    let http = reading.told(annotation(HTTP), form, statuses);
    let form = "a list of cancelled, deadline-exceeded, internal, resource-exhausted and unavailable, without blanks";
    let grpc = reading.told(annotation(GRPC), form, codes);
    let is_of_grpc = matches!((&http, &grpc), (Told::Absent, Told::Is(..)));
    if matches!((&http, &grpc), (Told::Absent, Told::Absent)) {
        let sentence = format!(
            "without `{HTTP}` or `{GRPC}` no answer is repeated, but for attempts that time out"
        );
        let remedy = format!("set `{HTTP}: \"503\"`");
        reading.find(span, code::NEVER_RETRIES, sentence, remedy);
    }
    let mut failures = Failures::default().and(FailureKind::RefusedStream);
    if draft.policy.attempt_timeout.is_some() {
        failures = failures.and(FailureKind::TimedOut);
    }
    let origin = [annotation(HTTP), annotation(GRPC)];
    let origin = origin.into_iter().flatten().next().map(|it| it.span);
    let unknown = Origin::unknown(&http).or_else(|| Origin::unknown(&grpc));
    let said = origin.map_or(Origin::Default, Origin::Line);
    draft.origin("retry_on", unknown.unwrap_or(said));
    let statuses = http.known().unwrap_or_default();
    if statuses.contains(502) {
        failures = failures.and(FailureKind::Reset);
        let why = "of those that break some are repeated: the ones that the proxy answers with 502";
        draft.lose("connections", why, None);
    }
    let rules = document
        .at(&["spec"])
        .map_or(&[][..], |it| it.list(&["rules"]));
    let matches: Vec<Node> = rules
        .iter()
        .flat_map(|it| it.list(&["matches"]))
        .cloned()
        .collect();
    let lists = RetryOn::new()
        .methods(methods::named(&matches, &["method"]))
        .codes(grpc.known().unwrap_or_default())
        .failures(failures);
    // Of a client of gRPC alone no method of HTTP is told.
    draft.policy.retry_on = if is_of_grpc {
        lists.into()
    } else {
        lists.statuses(statuses).into()
    };
}

/// Those from 400 on; a policy looks at no others.
fn statuses(text: &str) -> Option<Statuses> {
    let status = |it: &str| it.parse().ok().filter(|it| (100..600).contains(it));
    let mut all = Statuses::default();
    for word in text.split(',') {
        let range: (u16, u16) = match word.to_ascii_lowercase().as_str() {
            "5xx" => (500, 599),
            "gateway-error" => (502, 504),
            word => match word.split_once('-') {
                Some((from, to)) => (status(from)?, status(to)?),
                None => (status(word)?, status(word)?),
            },
        };
        if range.0 > range.1 {
            return None;
        }
        all = (range.0..=range.1).fold(all, Statuses::and);
    }
    Some(all)
}

fn codes(text: &str) -> Option<Codes> {
    let each = text.split(',').map(|word| {
        Some(match word.to_ascii_lowercase().as_str() {
            "cancelled" => 1,
            "deadline-exceeded" => 4,
            "internal" => 13,
            "resource-exhausted" => 8,
            "unavailable" => 14,
            _ => return None,
        })
    });
    each.collect()
}

/// One whole number with one unit, as the controller's `parse_duration` reads it.
fn duration(text: &str) -> Option<Duration> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits)?;
    let number: u64 = number.parse().ok()?;
    let millis = match unit {
        "" if number == 0 => 0,
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    number.checked_mul(millis).map(Duration::from_millis)
}

/// The service, or those to which a route leads.
fn names(document: &Document<'_>, name: Option<&str>) -> Vec<String> {
    if is_service(document) {
        return name.map(ToOwned::to_owned).into_iter().collect();
    }
    let spec = document.at(&["spec"]);
    let parents = spec.map_or(&[][..], |it| it.list(&["parentRefs"]));
    let hosts = spec.map_or(&[][..], |it| it.list(&["hostnames"]));
    let parents = parents.iter().filter_map(|it| it.get("name")?.text());
    let hosts = hosts.iter().filter_map(Node::text);
    parents.chain(hosts).map(ToOwned::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_without_blanks() {
        for (text, told) in [
            ("5xx", Some("5xx")),
            ("GATEWAY-ERROR,429", Some("429, 502-504")),
            ("500-503", Some("500-503")),
            ("200", Some("none")),
            ("5xx, 429", None),
            ("503-500", None),
            ("600", None),
            ("", None),
        ] {
            let read = statuses(text).map(|it| it.to_string());
            let told = told.map(|it| if it == "none" { "" } else { it });
            assert_eq!(read.as_deref(), told, "{text}");
        }
        assert_eq!(
            codes("unavailable,Internal"),
            Some([13, 14].into_iter().collect())
        );
        assert_eq!(codes("unavailable, internal"), None);
    }

    #[test]
    fn durations_have_one_unit() {
        for (text, millis) in [
            ("0", Some(0)),
            ("3s", Some(3000)),
            ("1d", Some(86_400_000)),
            ("5", None),
            ("1.5s", None),
            ("1m30s", None),
            ("-1s", None),
        ] {
            assert_eq!(duration(text).map(|it| it.as_millis()), millis, "{text}");
        }
    }
}
