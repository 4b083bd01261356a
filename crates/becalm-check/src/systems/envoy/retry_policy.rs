//! What does a route of Envoy do when a request fails?

use std::time::Duration;

use becalm::Policy;
use becalm::hint::HintMode;
use becalm::preset::Preset;
use becalm::retry_on::Methods;

use super::cluster;
use super::fields::{
    self, HEDGE_POLICY, RATE_LIMITED_BACK_OFF, RETRY_BACK_OFF, RETRY_POLICY, at, entry, field,
    items,
};
use super::files::Clusters;
use super::methods::methods;
use super::numbers::{is_number, whole};
use super::place::{Place, clusters_of};
use super::timeouts;
use super::words::Words;
use crate::code;
use crate::document::{Key, Node, Span, Value};
use crate::list::list;
use crate::mapping::{Draft, NAMES, Origin};
use crate::reading::{Later, Reading};
use crate::template::is_placeholder;
use crate::told::Told;

/// Of a policy, what Envoy has a word for.
pub const KEYS: &[&str] =
    list!("attempts base cap jitter hint budget deadline attempt_timeout retry_on");

/// What Envoy does where a policy says nothing.
pub fn policy() -> Policy {
    Preset::by_name("envoy").map_or_else(|_| Policy::default(), Preset::policy)
}

/// Of a connection manager: the longest time of a stream where the route says none.
const STREAM: &[&str] = &["common_http_protocol_options", "max_stream_duration"];

/// Maps the retries of a route: the policy of its cluster, which overrides its own, which overrides that of its
/// virtual host (run: a route with 1 retry to a cluster with 4 makes 5 attempts).
pub fn of_route<'a>(reading: &mut Reading<'a>, clusters: Clusters<'a>, place: Place<'_>) {
    let names = clusters_of(place.action);
    // Of several clusters each may have a policy of its own.
    let has_own = |name: &&String| {
        let (_, cluster) = clusters.get(name)?;
        entry(protocol_options(cluster)?, "retry_policy")
    };
    let (own, others): (Vec<_>, Vec<_>) = names.iter().partition(|it| has_own(it).is_some());
    for name in own {
        to_clusters(reading, clusters, place, vec![name.clone()]);
    }
    if !others.is_empty() || names.is_empty() {
        let others = others.into_iter().cloned().collect();
        to_clusters(reading, clusters, place, others);
    }
}

/// Maps the policy of a cluster to which no route of the files leads: it holds for the requests of any route.
pub fn of_cluster<'a>(
    reading: &mut Reading<'a>,
    clusters: Clusters<'a>,
    name: &str,
    cluster: &Node,
) {
    let Some((key, _)) = protocol_options(cluster).and_then(|it| entry(it, "retry_policy")) else {
        return;
    };
    let sentence = format!(
        "no route of the files leads to the cluster {name}: how long all attempts may take is not known here; Envoy's default of 15s stands in"
    );
    let remedy = "name the file of its routes as well";
    reading.find(key.span, code::NOT_SEEN, sentence, remedy);
    let nothing = Node {
        span: key.span,
        value: Value::Table(Vec::new()),
    };
    let place = Place {
        host: &nothing,
        route: &nothing,
        action: &nothing,
        manager: None,
    };
    to_clusters(reading, clusters, place, vec![name.to_owned()]);
}

/// The retries that a patch sets, of a route or a virtual host, and where. `None` where it does not say what is repeated. Of a
/// route that is there already, what it leaves out is not Envoy's default.
pub fn of_patch(
    reading: &mut Reading<'_>,
    applies_to: &str,
    is_new: bool,
    value: &Node,
) -> Option<(Draft, Span)> {
    let action = match applies_to {
        "HTTP_ROUTE" => field(value, "route")?,
        "VIRTUAL_HOST" => value,
        _ => return None,
    };
    let (key, retry) = entry(action, "retry_policy")?;
    if !retry.is_table() {
        let sentence = "a RetryPolicy of Envoy is a mapping: the patch is refused";
        let remedy = "write `retry_on` and `num_retries` below it";
        reading.find(retry.span, code::REFUSED, sentence, remedy);
    }
    fields::check(reading, retry, &RETRY_POLICY);
    field(retry, "retry_on")?;
    let retries = Retries {
        file: reading.document.file,
        key,
        retry,
        span: key.span,
    };
    let place = Place {
        host: action,
        route: value,
        action,
        manager: None,
    };
    let is_whole = is_new && applies_to == "HTTP_ROUTE";
    let timeout = is_whole.then_some(timeouts::TIMEOUT);
    let mut draft = retries.draft(reading, place, timeout)?;
    if !is_whole && field(action, "timeout").is_none() && draft.policy.deadline.is_none() {
        let why = "set by the route that is patched".to_owned();
        draft.origin("deadline", Origin::NotExpressible(why));
    }
    Some((draft, key.span))
}

fn to_clusters<'a>(
    reading: &mut Reading<'a>,
    clusters: Clusters<'a>,
    place: Place<'_>,
    names: Vec<String>,
) {
    let Place {
        host,
        route,
        action,
        ..
    } = place;
    let found = |name: &String| clusters.get(name);
    let cluster = names.iter().find_map(found);
    let of_cluster = cluster
        .and_then(|(_, it)| protocol_options(it))
        .and_then(|it| entry(it, "retry_policy"));
    let own = entry(action, "retry_policy");
    let all = [of_cluster, own, entry(host, "retry_policy")];
    let Some((key, retry)) = all.into_iter().flatten().next() else {
        return;
    };
    if let (Some(_), Some((key, _))) = (of_cluster, own) {
        let sentence =
            "the retry policy of the cluster's HttpProtocolOptions overrides that of the route";
        reading.find(key.span, code::OVERRIDDEN, sentence, "keep one of them");
    }
    let own_file = reading.document.file;
    let from = of_cluster.and(cluster).map_or(own_file, |(file, _)| file);
    let is_own = from == own_file;
    let span = if is_own { key.span } else { route.span };
    let retries = Retries {
        file: from,
        key,
        retry,
        span,
    };
    let Some(mut draft) = retries.draft(reading, place, Some(timeouts::TIMEOUT)) else {
        return;
    };
    draft.elsewhere = (!is_own).then(|| (from.to_owned(), key.span));
    if cluster.is_none() {
        let shown = names.first().map_or("of the request", |it| &**it);
        let sentence = format!(
            "the cluster {shown} is in none of the files, so that its circuit breakers are not known; Envoy's default of 3 retries at once stands in"
        );
        let remedy = "name the file of its clusters as well";
        reading.find(key.span, code::NOT_SEEN, sentence, remedy);
    }
    let priority = field(action, "priority")
        .and_then(Node::text)
        .unwrap_or("DEFAULT");
    let (file, cluster) = cluster.map_or((own_file, None), |(file, it)| (file, Some(it)));
    reading.in_file(file, &mut draft, span, |reading, draft| {
        cluster::budget(reading, draft, cluster, priority);
        if let Some(cluster) = cluster {
            timeouts::to_connect(reading, draft, cluster, key.span);
        }
        lose_of_cluster(draft, cluster);
    });
    timeouts::while_idle(reading, &draft, place);
    reading.in_file(from, &mut draft, span, |_, draft| {
        lose_of_retry(draft, retry);
    });
    lose(reading, &mut draft, action, host);
    let name = name(route, &names);
    let domains = items(host, "domains").iter().filter_map(Node::text);
    let domains = domains.filter(|it| *it != "*").map(ToOwned::to_owned);
    let names = names.into_iter().chain(domains).take(NAMES).collect();
    reading.map(draft, name, names, span);
}

/// A retry policy, and the file that has it.
struct Retries<'a, 'n> {
    file: &'a str,
    key: &'n Key,
    retry: &'n Node,
    /// Where a reader of the route's file looks.
    span: Span,
}

impl<'a> Retries<'a, '_> {
    /// `None` where nothing is repeated. `timeout` is what holds where the route has none.
    fn draft(
        self,
        reading: &mut Reading<'a>,
        place: Place<'_>,
        timeout: Option<Duration>,
    ) -> Option<Draft> {
        let Self { key, retry, .. } = self;
        let mut draft = Draft::of(policy(), KEYS);
        draft.policy.deadline = timeout;
        let most = of_request(reading, &mut draft, place);
        let mut repeats = false;
        reading.in_file(self.file, &mut draft, self.span, |reading, draft| {
            fields::check(reading, retry, &RETRY_POLICY);
            let retries = whole(reading, field(retry, "num_retries"), "a number of retries");
            draft.told_retries(retries);
            let form = "a duration such as 5s";
            let each = reading.proto_duration(field(retry, "per_try_timeout"), form);
            timeouts::of_attempt(reading, draft, "per_try_timeout", each, most);
            back_off(reading, draft, retry);
            hint(reading, draft, retry);
            let methods = methods(draft, place.route, retry);
            repeats = retry_on(reading, draft, key, retry, methods);
        });
        repeats.then_some(draft)
    }
}

/// Returns the time-out below which that of an attempt has to be.
fn of_request(reading: &mut Reading<'_>, draft: &mut Draft, place: Place<'_>) -> Option<Duration> {
    let form = "a duration such as 15s";
    let timeout = reading.proto_duration(field(place.action, "timeout"), form);
    let by_stream = entry(place.action, "max_stream_duration");
    let stream = by_stream.and_then(|(_, it)| field(it, "max_stream_duration"));
    let of_manager = place.manager.and_then(|it| at(it, STREAM));
    let stream = reading.proto_duration(stream.or(of_manager), form);
    if let Some((key, _)) = by_stream.and_then(|(_, it)| entry(it, "grpc_timeout_header_max")) {
        let why = "a call of gRPC brings its own deadline, up to this";
        draft.lose("grpc_timeout_header_max", why, Some(key.span));
    }
    timeouts::of_request(reading, draft, timeout, &stream, by_stream.is_some())
}

pub fn back_off(reading: &mut Reading<'_>, draft: &mut Draft, retry: &Node) {
    let Some((key, back_off)) = entry(retry, "retry_back_off") else {
        return;
    };
    fields::check(reading, back_off, &RETRY_BACK_OFF);
    let form = "a duration such as 0.5s";
    let base = reading.proto_duration(field(back_off, "base_interval"), form);
    let cap = reading.proto_duration(field(back_off, "max_interval"), form);
    let refusal = match (&base, &cap) {
        (Told::Absent, _) => Some("a `retry_back_off` without a `base_interval`"),
        (Told::Is(base, _), _) if base.is_zero() => Some("a `base_interval` of 0"),
        (_, Told::Is(cap, _)) if cap.is_zero() => Some("a `max_interval` of 0"),
        (Told::Is(base, _), Told::Is(cap, _)) if cap < base => {
            Some("a `max_interval` below the `base_interval`")
        }
        _ => None,
    };
    if let Some(refusal) = refusal {
        let sentence = format!("{} refuses the file for {refusal}", reading.who());
        let remedy = "set a base above 0, and a maximum at or above it, or none";
        reading.find(key.span, code::REFUSED, sentence, remedy);
        return;
    }
    let millisecond = Duration::from_millis(1);
    base_alone(draft, &base.map(|it| it.max(millisecond)), "base_interval");
    draft.set("cap", cap, |policy, it| policy.cap = it.max(millisecond));
}

/// Takes a base, and ten times the base as the cap: what holds where no cap is set.
pub fn base_alone(draft: &mut Draft, base: &Told<Duration>, name: &str) {
    if let Told::Is(base, span) = *base {
        draft.policy.cap = base.saturating_mul(10);
        let how = format!("10 times the {name}");
        draft.origin("cap", Origin::Derived(span, how));
    }
    draft.set("base", base.clone(), |policy, it| policy.base = it);
}

/// Envoy waits for as long as a header of the answer says, where it is asked to.
fn hint(reading: &mut Reading<'_>, draft: &mut Draft, retry: &Node) {
    let Some((key, limited)) = entry(retry, "rate_limited_retry_back_off") else {
        return;
    };
    fields::check(reading, limited, &RATE_LIMITED_BACK_OFF);
    if items(limited, "reset_headers").is_empty() {
        let sentence = format!(
            "{} refuses the file for a `rate_limited_retry_back_off` without `reset_headers`",
            reading.who()
        );
        let remedy = "add `reset_headers: [{name: Retry-After, format: SECONDS}]`";
        reading.find(key.span, code::REFUSED, sentence, remedy);
    }
    draft.policy.hint = HintMode::Honor;
    draft.policy.max_hint = Duration::from_secs(300);
    draft.origin("hint", Origin::Line(key.span));
    let most = reading.proto_duration(field(limited, "max_interval"), "a duration such as 300s");
    draft.set("max_hint", most, |policy, it| policy.max_hint = it);
    let why = "a header that asks for more than max_interval is ignored, where a policy stops; the headers have names of their own";
    draft.lose("rate_limited_retry_back_off", why, Some(key.span));
}

/// Whether anything is repeated.
pub fn retry_on(
    reading: &mut Reading<'_>,
    draft: &mut Draft,
    key: &Key,
    retry: &Node,
    methods: Option<Methods>,
) -> bool {
    let never = |reading: &mut Reading<'_>, span, sentence: &str, remedy: &str| {
        reading.find(span, code::NEVER_RETRIES, sentence, remedy);
        false
    };
    let Some(methods) = methods else {
        let sentence = "no request of this route has a method of `retriable_request_headers`, so that nothing is repeated";
        return never(reading, key.span, sentence, "");
    };
    let given = field(retry, "retry_on");
    let is_bare_number = given.is_some_and(is_number);
    let told = reading.told(given, "one text such as \"5xx,reset\"", |it| {
        (!is_bare_number && !is_placeholder(it)).then(|| Words::read(it))
    });
    let (mut words, span) = match told {
        Told::Is(words, span) => (words, span),
        Told::Unknown(span, text) => {
            draft.origin("retry_on", Origin::Unknown(span, text));
            return true;
        }
        Told::Absent => {
            let sentence = "a retry policy without `retry_on` repeats nothing, but for requests that ask for it in a header";
            let remedy = "set `retry_on`, such as \"connect-failure,refused-stream,unavailable\"";
            return never(reading, key.span, sentence, remedy);
        }
    };
    for word in &words.unknown {
        let sentence = format!("Envoy ignores `{word}` in `retry_on`");
        let remedy = Later(|| Words::meant(word));
        reading.find(span, code::KEY_NOT_READ, sentence, remedy);
    }
    statuses(reading, &mut words, retry);
    if let (Some((key, _)), false) = (entry(retry, "retriable_headers"), words.reads_headers) {
        let sentence =
            "`retriable_headers` is not read without the word `retriable-headers` in `retry_on`";
        let remedy = "add the word, or leave out the list";
        reading.find(key.span, code::KEY_NOT_READ, sentence, remedy);
    }
    for (word, why) in &words.lost {
        draft.lose(*word, *why, Some(span));
    }
    if !words.repeats_anything() {
        return if words.reads_statuses {
            let sentence =
                "`retriable-status-codes` has no list of statuses, and nothing else is repeated";
            never(
                reading,
                span,
                sentence,
                "add `retriable_status_codes`, such as [503]",
            )
        } else {
            let sentence =
                "no word of `retry_on` is one that Envoy knows, so that nothing is repeated";
            never(reading, span, sentence, "")
        };
    }
    if draft.policy.attempt_timeout.is_some() && !words.repeats_timeouts {
        let why = "an attempt that is cut by it is not repeated";
        draft.lose("per_try_timeout", why, None);
    }
    draft.policy.retry_on = words.retry_on(methods).into();
    draft.origin("retry_on", Origin::Line(span));
    true
}

/// Those of `retriable_status_codes`.
fn statuses(reading: &mut Reading<'_>, words: &mut Words, retry: &Node) {
    let Some((key, _)) = entry(retry, "retriable_status_codes") else {
        return;
    };
    if !words.reads_statuses {
        let sentence = "`retriable_status_codes` is not read without the word `retriable-status-codes` in `retry_on`";
        let remedy = "add the word, or leave out the list";
        reading.find(key.span, code::KEY_NOT_READ, sentence, remedy);
        return;
    }
    for item in items(retry, "retriable_status_codes") {
        let status = whole(reading, Some(item), "a status such as 503");
        words.or_unknown(&status);
        words.and_statuses(status.known().and_then(|it| u16::try_from(it).ok()));
    }
}

/// What a policy cannot hold.
fn lose_of_retry(draft: &mut Draft, retry: &Node) {
    let of_retry = [
        (
            "per_try_idle_timeout",
            "an attempt that is idle for this long is cut",
        ),
        (
            "retry_priority",
            "retries go to endpoints of other priorities",
        ),
        ("retry_host_predicate", "retries go to other hosts"),
        (
            "retry_options_predicates",
            "retries choose their connection by an extension",
        ),
        (
            "host_selection_retry_max_attempts",
            "so many hosts are looked at for a retry",
        ),
        ("retriable_headers", "answers are repeated by their headers"),
        (
            "retriable_request_headers",
            "requests are repeated by their headers",
        ),
        (
            "refresh_cluster_on_retry",
            "a retry may go to another cluster",
        ),
    ];
    for (name, why) in of_retry {
        if let Some((key, _)) = entry(retry, name) {
            draft.lose(name, why, Some(key.span));
        }
    }
}

fn lose(reading: &mut Reading<'_>, draft: &mut Draft, action: &Node, host: &Node) {
    if let Some((key, _)) = entry(action, "max_grpc_timeout") {
        let why = "a call of gRPC brings its own deadline, up to this";
        draft.lose("max_grpc_timeout", why, Some(key.span));
    }
    let hedge = field(action, "hedge_policy").or_else(|| field(host, "hedge_policy"));
    if let Some(hedge) = hedge {
        fields::check(reading, hedge, &HEDGE_POLICY);
    }
    if let Some(on) = hedge.and_then(|it| field(it, "hedge_on_per_try_timeout")) {
        if on.text() == Some("true") {
            let why = "an attempt that times out goes on beside its retry";
            draft.lose("hedge_on_per_try_timeout", why, Some(on.span));
        }
    }
    let why = "the headers of a request that Envoy takes for internal override the file";
    draft.lose("x-envoy-retry-on, x-envoy-max-retries", why, None);
}

fn lose_of_cluster(draft: &mut Draft, cluster: Option<&Node>) {
    if let Some((key, _)) = cluster.and_then(|it| entry(it, "outlier_detection")) {
        let why = "a breaker for each host";
        draft.lose("outlier_detection", why, Some(key.span));
    }
}

/// Where a cluster has a retry policy of its own.
fn protocol_options(cluster: &Node) -> Option<&Node> {
    let options = field(cluster, "typed_extension_protocol_options")?;
    options.get("envoy.extensions.upstreams.http.v3.HttpProtocolOptions")
}

fn name(route: &Node, clusters: &[String]) -> String {
    let matched = ["prefix", "path", "path_separated_prefix"];
    let matched = matched
        .iter()
        .find_map(|it| at(route, &["match", it])?.text());
    let shown = field(route, "name")
        .and_then(Node::text)
        .or(matched)
        .unwrap_or("route");
    match clusters {
        [] => shown.to_owned(),
        clusters => format!("{shown} to {}", clusters.join(", ")),
    }
}
