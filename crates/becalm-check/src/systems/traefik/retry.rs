//! What does the middleware `retry` make of a request?

use std::time::Duration;

use becalm::Policy;
use becalm::classify::FailureKind;
use becalm::retry_on::{Codes, Failures, Methods, RetryOn, Statuses};

use super::Source;
use super::durations::{duration, of_source};
use super::routers::Around;
use crate::code;
use crate::document::{Key, Node};
use crate::list::list;
use crate::mapping::{Draft, Origin};
use crate::reading::Reading;
use crate::scalars::go_flag;
use crate::system::Remedies;
use crate::systems::cenkalti::{MAX_ELAPSED, constant, exponential};
use crate::systems::kubernetes::check_types;
use crate::told::Told;

const FIELDS: &[&str] = list!(
    "attempts initialInterval timeout status disableRetryOnNetworkError retryNonIdempotentMethod \
     maxRequestBodyBytes"
);

/// Of those of a resource that take a type alone: times are numbers or texts.
const TYPES: &[&str] = list!(
    "attempts:number status:text disableRetryOnNetworkError:flag retryNonIdempotentMethod:flag \
     maxRequestBodyBytes:number"
);

const KEYS: &[&str] =
    list!("attempts base multiplier jitter cap hint budget attempt_timeout deadline retry_on");

/// What helps where `timeout` is not known.
const OF_OLD: Remedies = &[("no-deadline", NO_TIMEOUT), ("no-total-time", NO_TIMEOUT)];
const NO_TIMEOUT: &str = "Traefik 3.6 has no bound on all attempts together; lower `attempts`";

/// Methods that are repeated for a status: all but POST, PATCH and LOCK. A CONNECT is not passed on.
const IDEMPOTENT: [&str; 6] = ["DELETE", "GET", "HEAD", "OPTIONS", "PUT", "TRACE"];

/// The longest interval between two attempts.
const LONGEST: Duration = Duration::from_secs(60);

pub fn read(
    reading: &mut Reading<'_>,
    name: &str,
    (key, retry): (&Key, &Node),
    source: Source,
    around: &Around<'_>,
) {
    let is_old = reading.version == "3.6";
    let fields = if is_old { &FIELDS[..2] } else { FIELDS };
    source.check(reading, retry, "`retry`", fields, |_| true);
    if source == Source::Resource {
        check_types(reading, Some(retry), TYPES);
    }
    let get = |name: &str| source.get(retry, name).filter(|it| !it.is_null());
    let interval = reading.told(get("initialInterval"), "a duration such as 100ms", |it| {
        of_source(it, source)
    });
    let Some(attempts) = attempts(reading, key, get("attempts")) else {
        return;
    };
    let mut draft = Draft::of(waits(&interval, attempts.clone().known()), KEYS);
    draft.remedies = if is_old { OF_OLD } else { &[] };
    draft.set("base", interval, |_, _| {});
    if let Told::Is(_, span) = attempts
        && draft.policy.deadline == Some(MAX_ELAPSED)
    {
        let how = "the interval doubles until the last attempt";
        draft.origin("multiplier", Origin::Derived(span, how.into()));
    }
    draft.set("attempts", attempts, |policy, it| policy.attempts = it);
    let fields = Fields {
        name,
        key,
        retry,
        source,
    };
    if !repeated(reading, &mut draft, &fields) {
        return;
    }
    times(reading, &mut draft, &fields, around);
    if draft.policy.attempts == 1 {
        let sentence = format!("middleware {name}: `attempts: 1` is the first try alone");
        let remedy = "set `attempts: 2`, or leave the middleware out";
        reading.find(key.span, code::NEVER_RETRIES, sentence, remedy);
        return;
    }
    draft.lose(
        "servers",
        "each attempt goes to a server that the balancer chooses, perhaps the same",
        None,
    );
    for (other, span) in &around.others {
        let why = "a middleware of its own, which lets through less";
        draft.lose(*other, why, Some(*span));
    }
    let names = around.services.iter().map(|it| (*it).to_owned());
    let title = format!("middleware {name}");
    reading.map(draft, title, names.collect(), key.span);
}

struct Fields<'n> {
    name: &'n str,
    key: &'n Key,
    retry: &'n Node,
    source: Source,
}

impl<'n> Fields<'n> {
    fn get(&self, name: &str) -> Option<&'n Node> {
        let found = self.source.get(self.retry, name);
        found.filter(|it| !it.is_null())
    }
}

/// Nothing where Traefik refuses the middleware.
fn attempts(reading: &mut Reading<'_>, key: &Key, node: Option<&Node>) -> Option<Told<u32>> {
    let remedy = "set `attempts: 2`, or leave the middleware out";
    let told = reading.told(node, "a number of attempts", |it| it.parse::<i64>().ok());
    match told {
        Told::Absent => {
            let sentence = "Traefik refuses a middleware `retry` without `attempts`";
            reading.find(key.span, code::REFUSED, sentence, remedy);
            None
        }
        Told::Is(..=0, span) => {
            let sentence = "Traefik refuses a middleware `retry` of no attempts";
            reading.find(span, code::REFUSED, sentence, remedy);
            None
        }
        told => Some(told.map(|it| u32::try_from(it).unwrap_or(u32::MAX - 1))),
    }
}

/// At once where there is no interval.
fn waits(interval: &Told<Duration>, attempts: Option<u32>) -> Policy {
    match interval {
        Told::Is(interval, _) if !interval.is_zero() => {
            let retries = attempts.unwrap_or(2).saturating_sub(1).max(1);
            let multiplier = 2_f64.powf(1.0 / f64::from(retries));
            // Alike on all machines.
            let multiplier = (multiplier * 1e6).round() / 1e6;
            exponential(*interval, multiplier, LONGEST)
        }
        _ => constant(Duration::ZERO),
    }
}

/// What is repeated; whether Traefik takes it.
fn repeated(reading: &mut Reading<'_>, draft: &mut Draft, fields: &Fields<'_>) -> bool {
    let form = "true or false";
    let flag = |reading: &mut Reading<'_>, name: &str| match fields.source {
        Source::Resource => reading.flag(fields.get(name), form),
        // To yaml.v3 `yes` is a text.
        Source::File | Source::Labels => reading.told(fields.get(name), form, go_flag),
    };
    let no_network = flag(reading, "disableRetryOnNetworkError");
    let all = flag(reading, "retryNonIdempotentMethod");
    let unknown = Origin::unknown(&no_network).or_else(|| Origin::unknown(&all));
    let no_network = no_network.known() == Some(true);
    let all = all.known() == Some(true);
    let status = fields.get("status");
    let is_empty = status.is_some_and(|it| it.items().is_empty() && it.text().is_none());
    let listed = statuses(reading, status.filter(|_| !is_empty));
    if no_network && listed.is_none() {
        let sentence = format!(
            "middleware {}: Traefik refuses `disableRetryOnNetworkError` without `status`: nothing would be repeated",
            fields.name
        );
        let remedy = "set `status: [\"503\"]`, or leave it out";
        reading.find(fields.key.span, code::REFUSED, sentence, remedy);
        return false;
    }
    let has = |status: u16| listed.is_some_and(|it| it.contains(status));
    let mut failures = Failures::default();
    if !no_network {
        let connecting = [FailureKind::Connect, FailureKind::ConnectTimeout];
        failures = connecting.into_iter().collect();
    }
    // What Traefik answers with where its server does not.
    let own = [
        (502, FailureKind::Reset),
        (504, FailureKind::TimedOut),
        (500, FailureKind::InvalidAnswer),
    ];
    let own = own.into_iter().filter(|(status, _)| has(*status));
    failures = own.fold(failures, |all, (_, kind)| all.and(kind));
    let methods = if all || listed.is_none() {
        Methods::Any
    } else {
        Methods::of(IDEMPOTENT)
    };
    if all && listed.is_none() {
        let sentence = "`retryNonIdempotentMethod` is read with `status` alone: what did not reach its server is repeated \
                        for each method";
        let node = fields.get("retryNonIdempotentMethod");
        let span = node.map_or(fields.key.span, |it| it.span);
        let remedy = "leave it out, or set `status`";
        reading.find(span, code::KEY_NOT_READ, sentence, remedy);
    }
    let lists = RetryOn::new()
        .methods(methods)
        .statuses(listed.unwrap_or_default())
        .codes(Codes::default())
        .failures(failures);
    draft.policy.retry_on = lists.into();
    let said = fields.get("retryNonIdempotentMethod").filter(|_| all);
    if let Some(node) = said.or(status).filter(|_| listed.is_some()) {
        draft.origin("retry_on", Origin::Line(node.span));
        let body = fields.get("maxRequestBodyBytes");
        let told = reading.told(body, "a number of bytes, or -1", |it| {
            it.parse::<i64>().ok().filter(|it| *it >= -1)
        });
        let why = "of a request with a larger body (2 MiB where nothing is said) only what did not reach its server is repeated";
        if !matches!(told, Told::Is(-1, _)) {
            draft.lose("maxRequestBodyBytes", why, body.map(|it| it.span));
        }
    }
    if let Some(unknown) = unknown {
        draft.origin("retry_on", unknown);
    }
    true
}

/// `400`, `500-599`: those of a list, or of a label with commas.
fn statuses(reading: &mut Reading<'_>, node: Option<&Node>) -> Option<Statuses> {
    let node = node?;
    let mut all = Statuses::default();
    let mut add = |reading: &mut Reading<'_>, text: Option<&str>, span| {
        let told = reading.told_text(text, span, "a status, or a range of them", |it| {
            let (from, to) = it.split_once('-').unwrap_or((it, it));
            let number = |it: &str| it.trim().parse::<u16>().ok();
            Some((number(from)?, number(to)?))
        });
        if let Some((from, to)) = told.known() {
            all = (from.max(400)..=to.min(599)).fold(all, Statuses::and);
        }
    };
    match node.text() {
        Some(text) => text
            .split(',')
            .for_each(|it| add(reading, Some(it.trim()), node.span)),
        None if node.is_table() => add(reading, None, node.span),
        None => node
            .items()
            .iter()
            .for_each(|it| add(reading, it.text(), it.span)),
    }
    Some(all)
}

fn times(reading: &mut Reading<'_>, draft: &mut Draft, fields: &Fields<'_>, around: &Around<'_>) {
    let node = fields.get("timeout");
    let form = "a duration such as 10s";
    let timeout = reading.told(node, form, |it| of_source(it, fields.source));
    let longest = draft.policy.deadline;
    draft.set("deadline", timeout, |policy, it| {
        let all = longest.into_iter().chain((!it.is_zero()).then_some(it));
        policy.deadline = all.min();
    });
    if let Some(node) = node {
        let why = "no attempt begins after it; one that is made is not cut";
        draft.lose("timeout", why, Some(node.span));
    }
    if longest == Some(MAX_ELAPSED) {
        let why = "with waits Traefik gives up after 15 minutes, and answers with an empty 200";
        draft.lose("initialInterval", why, None);
    }
    match around.timeout {
        Some(node) => {
            let timeout = reading.told(Some(node), form, duration);
            draft.attempt_timeout(timeout);
            let why = "it bounds how long the head of an answer takes once the request was sent";
            draft.lose("responseHeaderTimeout", why, Some(node.span));
        }
        None => draft.lose(
            "serversTransport",
            "where no time-out of a server is read, none is taken for set, and connecting for up to 30 s",
            None,
        ),
    }
}
