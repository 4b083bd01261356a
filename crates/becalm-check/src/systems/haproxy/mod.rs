//! What does an HAProxy configuration say about retrying?
//!
//! `retries`, `retry-on` and `option redispatch` of 2.6 (`doc/configuration.txt`, sections 4.2; `src/backend.c`,
//! `src/http_ana.c`); run with 2.6.12.

mod conditions;
mod configuration;
mod lines;
mod proxies;
mod retry_on;
mod slips;

use std::time::Duration;

use becalm::hint::HintMode;
use becalm::support::Human;
use becalm::{Budget, Jitter, Policy};

use crate::code;
use crate::document::{Document, Span};
use crate::evidence::Evidence;
use crate::list::list;
use crate::mapping::{Draft, Origin};
use crate::reading::Reading;
use crate::said::Said;
use crate::system::{Follows, Form, Schema, System};
pub(super) use configuration::Files;
use lines::{Line, Section, sections};
use proxies::Proxy;

pub(super) const HAPROXY: System = System {
    name: "haproxy",
    title: "HAProxy",
    versions: &["2.6"],
    evidence: Evidence::Run,
    form: Form::Text,
    remedies: REMEDIES,
    fewer: Some("lower `retries`"),
    elsewhere: &[],
    follows: Follows::Attempts,
    schema: Schema::OPEN,
};

/// What helps against a lint, by its code.
const REMEDIES: &[(&str, &str)] = &[
    (
        "repeats-non-idempotent",
        "add `http-request disable-l7-retry unless METH_GET` to the backend, or leave all but `conn-failure` out of `retry-on`",
    ),
    (
        "repeats-what-may-be-done",
        "leave `response-timeout`, `empty-response` and `junk-response` out of `retry-on`",
    ),
    (
        "no-deadline",
        "lower `retries` or `timeout server`: HAProxy bounds no request as a whole",
    ),
];

pub(super) fn recognises(document: &Document<'_>) -> bool {
    is_haproxy(document.text)
}

fn is_haproxy(text: &str) -> bool {
    let is_head = |line: &&str| {
        // Lines of other files are told by a letter.
        if !line.trim_start().starts_with(['g', 'd', 'f', 'b', 'l']) {
            return false;
        }
        let first = line.split_whitespace().next().unwrap_or_default();
        matches!(
            first,
            "global" | "defaults" | "frontend" | "backend" | "listen"
        ) && !line.contains([':', '{', '=', ';', ','])
    };
    let says = list!(
        "mode server bind timeout retries retry-on option balance maxconn default_backend log use_backend"
    );
    let is_said = |line: &&str| {
        let mut words = line.split_whitespace();
        words.next().is_some_and(|it| says.contains(&it)) && words.next().is_some()
    };
    let mut lines = text.lines();
    lines.any(|it| is_head(&it)) && lines.take(200).any(|it| is_said(&it))
}

const KEYS: &[&str] = list!("attempts base jitter budget attempt_timeout retry_on");

pub(super) fn read<'a>(reading: &mut Reading<'a>, files: &Files<'a>) {
    let (own, conditions) = sections(reading.document.text);
    slips::tell(reading, reading.document.text, &own);
    for line in conditions.iter().filter(|it| it.word(0) == ".if") {
        let sentence = format!(
            "whether `{}` holds is not known here, and what stands below it is read as if it did",
            line.rest(0)
        );
        let remedy = "check the file without its conditions";
        reading.find(line.span(), code::UNKNOWN_VALUE, sentence, remedy);
    }
    chosen(reading, &own);
    for (section, proxy) in configuration::backends(reading, &own, files) {
        backend(reading, section, &proxy);
    }
}

/// Tells of requests that choose their backend by themselves, which may be one of another file.
fn chosen(reading: &mut Reading<'_>, sections: &[Section]) {
    let lines = sections.iter().flat_map(|it| &it.lines);
    let is_chosen = |it: &&Line| {
        matches!(it.word(0), "use_backend" | "default_backend") && it.word(1).contains(['%', '$'])
    };
    for line in lines.filter(is_chosen) {
        let sentence = format!(
            "which backend `{}` is, and what it repeats where it stands in another file, is not known here",
            line.word(1)
        );
        let remedy = "name the files of all backends";
        reading.find(line.span(), code::NOT_SEEN, sentence, remedy);
    }
}

fn backend<'a>(reading: &mut Reading<'a>, section: &Section, proxy: &Proxy<'a>) {
    let file = reading.document.file;
    let name = section.head.word(1).to_owned();
    let retries = proxy.retries.as_ref();
    let most = retries.and_then(|it| it.value).unwrap_or(3);
    let listed = proxy.listed();
    let places = [
        proxy.retry_on.as_ref().and_then(|it| it.span_in(file)),
        retries.and_then(|it| it.span_in(file)),
    ];
    let span = places.into_iter().flatten().next();
    let span = span.unwrap_or_else(|| section.head.span());
    if let Some(list) = proxy.retry_on.as_ref().filter(|_| !proxy.is_http) {
        let sentence = "`retry-on` is of `mode http`: in `mode tcp` a connection that cannot be made is tried again, and nothing else";
        let place = list.span_in(file).unwrap_or(span);
        let remedy = "set `mode http`, or leave it out";
        reading.find(place, code::KEY_NOT_READ, sentence, remedy);
    }
    if most == 0 || listed.is_nothing() {
        if most > 0 && proxy.retries.is_some() || most == 0 && proxy.retry_on.is_some() {
            let sentence = format!("backend {name} repeats nothing");
            reading.find(span, code::NEVER_RETRIES, sentence, "");
        }
        return;
    }
    let connects_alone = listed.is_of_connections();
    let connect = proxy.connect.as_ref().and_then(|it| it.value);
    let wait = match connect {
        _ if proxy.goes_elsewhere_at_once() => Duration::ZERO,
        Some(connect) => connect.min(LONGEST_WAIT),
        None => LONGEST_WAIT,
    };
    let mut draft = Draft::of(policy(most), KEYS);
    if let Some(retries) = retries {
        retries.tell(reading, &mut draft, span, |_, draft| {
            let origin = match retries.origin() {
                Origin::Line(span) => {
                    Origin::Derived(span, format!("{most} retries and the first try"))
                }
                unknown => unknown,
            };
            draft.origin("attempts", origin);
        });
    }
    if connects_alone {
        draft.policy.base = wait;
        draft.policy.cap = draft.policy.cap.max(wait);
    }
    tell_what_is_lost(reading, &mut draft, proxy, wait, span);
    if let Some(server) = proxy.server.as_ref().filter(|it| !is_zero(it)) {
        server.tell(reading, &mut draft, span, |_, draft| silence(draft, server));
    }
    no_total_time(reading, &mut draft, proxy, most, span);
    missing_times(reading, proxy, &name, span);
    draft.policy.retry_on = listed.retry_on(proxy.methods()).into();
    if let Some(list) = proxy.retry_on.as_ref().filter(|_| proxy.is_http) {
        list.tell(reading, &mut draft, span, |_, draft| {
            draft.origin("retry_on", list.origin());
        });
    }
    lose_requests(reading, &mut draft, proxy, span);
    reading.map(draft, format!("backend {name}"), vec![name], span);
}

/// Requests that are not repeated, or of which it is not known.
fn lose_requests<'a>(reading: &mut Reading<'a>, draft: &mut Draft, proxy: &Proxy<'a>, at: Span) {
    let listed = proxy.listed();
    if !listed.is_of_connections() {
        let why = "a request that does not fit into one buffer (16 kB) is not repeated";
        draft.lose("retry-on", why, Some(at));
    }
    for rule in &proxy.rules.conditions {
        rule.tell(reading, draft, at, |_, draft| {
            let why = "which requests it is for is not known here";
            draft.lose(&*rule.text, why, Some(rule.span));
        });
    }
    if proxy.rules.has_more_conditions {
        let why = "more such rules: which requests they are for is not known here";
        draft.lose("disable-l7-retry", why, None);
    }
    if listed.early_data {
        let why = "early data that the server refuses is sent again";
        draft.lose("0rtt-rejected", why, Some(at));
    }
}

/// Before the same server is connected to again.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

fn is_zero(time: &Said<'_, Duration>) -> bool {
    time.value.is_some_and(|it| it.is_zero())
}

fn tell_what_is_lost<'a>(
    reading: &mut Reading<'a>,
    draft: &mut Draft,
    proxy: &Proxy<'a>,
    wait: Duration,
    at: Span,
) {
    let why = if wait.is_zero() {
        "another server is connected to at once, as `option redispatch` holds and no hash chooses the server".to_owned()
    } else {
        format!(
            "the same server is connected to again after {}, a second or `timeout connect`; other failures are repeated at once",
            Human(wait)
        )
    };
    draft.lose("conn-failure", why, None);
    if let Some(said) = &proxy.redispatch {
        said.tell(reading, draft, at, |_, draft| {
            let why = "a repeated request goes to another server";
            draft.lose("redispatch", why, Some(said.span));
        });
    } else {
        let why = "without it, each attempt goes to the same server";
        draft.lose("redispatch", why, None);
    }
}

fn silence(draft: &mut Draft, server: &Said<'_, Duration>) {
    draft.policy.attempt_timeout = server.value;
    draft.origin("attempt_timeout", server.origin());
    let why = "it is the longest silence of a server, not the longest attempt";
    draft.lose("timeout server", why, Some(server.span));
}

/// How long all attempts take, by what ends those that are repeated: silence alone where it is on the list.
fn no_total_time<'a>(
    reading: &mut Reading<'a>,
    draft: &mut Draft,
    proxy: &Proxy<'a>,
    most: u32,
    at: Span,
) {
    let listed = proxy.listed();
    let (bound, what, when, remedy) = if listed.repeats_silence() {
        (
            &proxy.server,
            "attempts",
            "where a server hangs",
            "set a shorter `timeout server`, or leave `response-timeout` out of `retry-on`",
        )
    } else if listed.is_of_connections() {
        (
            &proxy.connect,
            "attempts to connect",
            "where a server is not reached",
            "set a shorter `timeout connect`",
        )
    } else {
        (
            &proxy.server,
            "attempts",
            "where a server fails as late as it may",
            "set a shorter `timeout server`",
        )
    };
    let bound = bound.as_ref().filter(|it| !is_zero(it));
    let Some((bound, time)) = bound.and_then(|it| Some((it, it.value?))) else {
        return;
    };
    let attempts = most.saturating_add(1);
    let sentence = format!(
        "nothing bounds a whole request: {attempts} {what} of {} take up to {} {when}",
        Human(time),
        Human(time.saturating_mul(attempts))
    );
    bound.tell(reading, draft, at, |reading, _| {
        // Where connections alone are made again, none of them is long.
        if listed.is_of_connections() {
            reading.note(bound.span, code::NO_TOTAL_TIME, sentence, remedy);
        } else {
            reading.find(bound.span, code::NO_TOTAL_TIME, sentence, remedy);
        }
    });
}

/// What HAProxy warns of at start (`check_config_validity` of `src/cfgparse.c`; run with 2.6.12).
fn missing_times(reading: &mut Reading<'_>, proxy: &Proxy<'_>, name: &str, at: Span) {
    let times = [
        ("timeout connect", &proxy.connect),
        // In `mode tcp` a `timeout tunnel` stands in for it.
        ("timeout server", &proxy.server),
    ];
    let is_missing = |it: &Option<Said<'_, Duration>>| it.as_ref().is_none_or(is_zero);
    let missing = times.iter().filter(|(_, it)| is_missing(it));
    let missing: Vec<_> = missing.map(|(name, _)| format!("`{name}`")).collect();
    let is_told = proxy.is_http || is_missing(&proxy.connect);
    if missing.is_empty() || !is_told || proxy.is_in_part {
        return;
    }
    let missing = missing.join(" and ");
    let sentence = format!(
        "HAProxy warns of missing timeouts for backend '{name}': without {missing} nothing bounds an attempt"
    );
    let remedy = format!("set {missing} to a non-zero value");
    reading.find(at, code::NO_TOTAL_TIME, sentence, remedy);
}

fn policy(retries: u32) -> Policy {
    Policy::fixed(Duration::ZERO)
        .jitter(Jitter::None)
        .attempts(retries.saturating_add(1).min(Policy::UNLIMITED - 1))
        .hint(HintMode::Ignore)
        .budget(Budget::None)
}
