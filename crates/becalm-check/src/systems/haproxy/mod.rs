//! What does an HAProxy configuration say about retrying?
//!
//! `retries`, `retry-on` and `option redispatch` of 2.6 (`doc/configuration.txt`, sections 4.2; `src/backend.c`,
//! `src/http_ana.c`); run with 2.6.12.

mod lines;
mod proxies;
mod retry_on;

use std::time::Duration;

use becalm::duration::Human;
use becalm::hint::HintMode;
use becalm::{Budget, Jitter, Policy};

use crate::code;
use crate::document::Document;
use crate::mapping::{Draft, Origin};
use crate::reading::Reading;
use crate::system::{Evidence, Form, System};
use lines::{Section, sections};
use proxies::Proxy;
use retry_on::Listed;

pub(super) const HAPROXY: System = System {
    name: "haproxy",
    title: "HAProxy",
    versions: &["2.6"],
    evidence: Evidence::Run,
    form: Form::Text,
    remedies: &[],
    recognises,
    read,
};

fn recognises(document: &Document<'_>) -> bool {
    let is_head = |line: &&str| {
        let first = line.split_whitespace().next().unwrap_or_default();
        matches!(
            first,
            "global" | "defaults" | "frontend" | "backend" | "listen"
        ) && !line.contains([':', '{', '=', ';', ','])
    };
    let says = [
        "mode ",
        "server ",
        "bind ",
        "timeout ",
        "retries ",
        "retry-on ",
        "option ",
        "balance ",
        "maxconn ",
        "default_backend ",
        "log ",
        "use_backend ",
    ];
    let is_said = |line: &&str| says.iter().any(|it| line.trim_start().starts_with(it));
    let mut lines = document.text.lines();
    lines.any(|it| is_head(&it)) && lines.take(200).any(|it| is_said(&it))
}

const KEYS: &[&str] = &[
    "attempts",
    "base",
    "jitter",
    "budget",
    "attempt_timeout",
    "retry_on",
];

fn read(reading: &mut Reading<'_>) {
    let (sections, conditions) = sections(reading.document.text);
    for line in conditions.iter().filter(|it| it.word(0) == ".if") {
        let sentence = format!(
            "whether `{}` holds is not known here, and what stands below it is read as if it did",
            line.rest(0)
        );
        let remedy = "check the file without its conditions";
        reading.find(line.span(), code::UNKNOWN_VALUE, sentence, remedy);
    }
    let mut defaults: Vec<(String, Proxy)> = vec![(String::new(), Proxy::default())];
    for section in &sections {
        let head = &section.head;
        let from = from(section);
        let inherited = defaults
            .iter()
            .rev()
            .find(|(name, _)| from.is_none_or(|it| it == name));
        let inherited = inherited.map(|(_, it)| it.clone()).unwrap_or_default();
        match head.word(0) {
            // Each begins anew, but for `from`.
            "defaults" => {
                let base = if from.is_some() {
                    inherited
                } else {
                    Proxy::default()
                };
                let own = base.with(reading, section);
                defaults.push((head.word(1).to_owned(), own));
            }
            "backend" | "listen" => {
                let proxy = inherited.with(reading, section);
                if proxy.has_servers {
                    backend(reading, section, &proxy);
                }
            }
            "frontend" => proxies::frontend(reading, section),
            _ => {}
        }
    }
}

fn from(section: &Section) -> Option<&str> {
    let at = section.head.words.iter().position(|it| it.text == "from")?;
    Some(section.head.word(at + 1))
}

fn backend(reading: &mut Reading<'_>, section: &Section, proxy: &Proxy) {
    let name = section.head.word(1).to_owned();
    let retries = proxy.retries.as_ref();
    let most = retries.map_or(3, |it| it.value);
    let mut listed = proxy.listed();
    let span = [
        proxy.retry_on.as_ref().map(|it| it.span),
        retries.map(|it| it.span),
    ]
    .into_iter()
    .flatten()
    .next()
    .unwrap_or_else(|| section.head.span());
    if !proxy.is_http {
        if let Some(list) = &proxy.retry_on {
            let sentence = "`retry-on` is of `mode http`: in `mode tcp` a connection that cannot be made is tried again, and nothing else";
            reading.find(
                list.span,
                code::KEY_NOT_READ,
                sentence,
                "set `mode http`, or leave it out",
            );
        }
        listed = Listed::connections_alone();
    }
    if proxy.is_http && proxy.l7_is_off {
        listed = Listed::connections_alone();
    }
    if most == 0 || listed.is_nothing() {
        if most > 0 && proxy.retries.is_some() || most == 0 && proxy.retry_on.is_some() {
            reading.find(
                span,
                code::NEVER_RETRIES,
                format!("backend {name} repeats nothing"),
                "",
            );
        }
        return;
    }
    let connects_alone = listed.is_of_connections();
    let wait = proxy.connect.as_ref().map_or(Duration::from_secs(1), |it| {
        it.value.min(Duration::from_secs(1))
    });
    let mut draft = Draft::of(policy(most), KEYS);
    if let Some(retries) = retries {
        let how = format!("{most} retries and the first try");
        draft.origin("attempts", Origin::Derived(retries.span, how));
    }
    if connects_alone {
        draft.policy.base = wait;
        draft.policy.cap = draft.policy.cap.max(wait);
    }
    tell_what_is_lost(&mut draft, proxy, wait);
    if let Some(server) = proxy.server.as_ref().filter(|it| !it.value.is_zero()) {
        silence(reading, &mut draft, server, most, listed.repeats_silence());
    }
    let methods = proxy.methods();
    draft.policy.retry_on = listed.retry_on(methods).into();
    draft.origin(
        "retry_on",
        proxy
            .retry_on
            .as_ref()
            .filter(|_| proxy.is_http)
            .map_or(Origin::Default, |it| Origin::Line(it.span)),
    );
    if !connects_alone {
        draft.lose(
            "retry-on",
            "a request that does not fit into one buffer (16 kB) is not repeated",
            Some(span),
        );
    }
    for (what, span) in &proxy.conditions {
        draft.lose(
            what.clone(),
            "which requests it is for is not known here",
            Some(*span),
        );
    }
    if listed.early_data {
        draft.lose(
            "0rtt-rejected",
            "early data that the server refuses is sent again",
            Some(span),
        );
    }
    reading.map(draft, format!("backend {name}"), vec![name], span);
}

fn tell_what_is_lost(draft: &mut Draft, proxy: &Proxy, wait: Duration) {
    draft.lose(
        "conn-failure",
        format!("the same server is connected to again after {}, a second or `timeout connect`; other failures are repeated at once", Human(wait)),
        None,
    );
    if let Some(span) = proxy.redispatch {
        draft.lose(
            "redispatch",
            "a repeated request goes to another server",
            Some(span),
        );
    } else {
        draft.lose(
            "redispatch",
            "without it, each attempt goes to the same server",
            None,
        );
    }
}

fn silence(
    reading: &mut Reading<'_>,
    draft: &mut Draft,
    server: &proxies::Said<Duration>,
    most: u32,
    is_repeated: bool,
) {
    draft.policy.attempt_timeout = Some(server.value);
    draft.origin("attempt_timeout", Origin::Line(server.span));
    draft.lose(
        "timeout server",
        "it is the longest silence of a server, not the longest attempt",
        Some(server.span),
    );
    if is_repeated {
        let all = server.value.saturating_mul(most.saturating_add(1));
        let sentence = format!(
            "nothing bounds a whole request: {} attempts of {} take {} where a server hangs",
            most.saturating_add(1),
            Human(server.value),
            Human(all)
        );
        reading.find(
            server.span,
            code::NO_TOTAL_TIME,
            sentence,
            "set a shorter `timeout server`, or leave `response-timeout` out of `retry-on`",
        );
    }
}

fn policy(retries: u32) -> Policy {
    Policy::fixed(Duration::ZERO)
        .jitter(Jitter::None)
        .attempts(retries.saturating_add(1).min(Policy::UNLIMITED - 1))
        .hint(HintMode::Ignore)
        .budget(Budget::None)
}
