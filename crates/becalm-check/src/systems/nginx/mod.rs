//! What does an nginx configuration say about the next server of an upstream?
//!
//! `ngx_http_upstream_next` of 1.22 (`src/http/ngx_http_upstream.c`) and the modules that pass requests on; run with
//! 1.22.1.

mod directives;
mod settings;
mod upstreams;
mod words;

use std::time::Duration;

use becalm::hint::HintMode;
use becalm::{Budget, Jitter, Policy};

use crate::code;
use crate::document::{Document, Span};
use crate::mapping::{Draft, Origin};
use crate::reading::Reading;
use crate::system::{Evidence, Form, System};
use directives::{Directive, directives};
use settings::{FAMILIES, Family, Settings};
use upstreams::{Servers, Upstreams};

pub(super) const NGINX: System = System {
    name: "nginx",
    title: "nginx",
    versions: &["1.22"],
    evidence: Evidence::Run,
    form: Form::Text,
    remedies: &[],
    recognises,
    read,
};

/// By a line as no other of the formats has it.
fn recognises(document: &Document<'_>) -> bool {
    is_nginx(document.text)
}

fn is_nginx(text: &str) -> bool {
    let blocks = ["upstream", "server", "location", "http", "events", "stream"];
    text.lines().any(|line| {
        let line = line.split('#').next().unwrap_or_default().trim();
        let first = line.split([' ', '\t', '{', ';']).next().unwrap_or_default();
        let is_head = |it: &str| !it.contains(['=', ':', '"']);
        let is_block =
            blocks.contains(&first) && line.split_once('{').is_some_and(|(it, _)| is_head(it));
        let is_own = FAMILIES.iter().any(|it| {
            let rest = first.strip_prefix(it.prefix);
            rest.is_some_and(|rest| rest == "_pass" || rest.starts_with("_next_upstream"))
        });
        is_block && (line.ends_with(['{', '}', ';'])) || is_own && line.contains(';')
    })
}

const KEYS: &[&str] = &[
    "attempts",
    "base",
    "jitter",
    "budget",
    "attempt_timeout",
    "deadline",
    "retry_on",
];

fn read(reading: &mut Reading<'_>) {
    reading.misread = code::REFUSED;
    let all = match directives(reading.document.text) {
        Ok(all) => all,
        Err(error) => {
            reading.find(
                error.span,
                code::REFUSED,
                format!("nginx refuses the file: {}", error.sentence),
                "",
            );
            return;
        }
    };
    let mut upstreams = Upstreams::default();
    upstreams.gather(&all, true);
    gather_elsewhere(reading.document, &mut upstreams);
    let settings = Settings::default();
    block(reading, &upstreams, &settings, &all, "");
}

/// What a file includes may be named beside it.
fn gather_elsewhere(document: Document<'_>, upstreams: &mut Upstreams) {
    let others = document
        .together
        .iter()
        .filter(|it| it.file != document.file);
    for other in others.filter(|it| is_nginx(it.text)) {
        let read = directives(other.text).unwrap_or_default();
        upstreams.gather(&read, false);
    }
}

/// The deepest blocks come first off this stack of calls: no deeper than the reader allows.
fn block(
    reading: &mut Reading<'_>,
    upstreams: &Upstreams,
    outer: &Settings,
    directives: &[Directive],
    place: &str,
) {
    let settings = outer.inside(reading, directives);
    for directive in directives {
        let pass = FAMILIES.iter().find(|it| it.passes(directive.name()));
        if let (Some(family), Some(to)) = (pass, directive.args().first()) {
            pass_to(
                reading,
                upstreams,
                &settings,
                family,
                (directive, &to.text),
                place,
            );
        }
        if directive.name() == "stream" || directive.name() == "upstream" {
            continue; // of connections, not of requests
        }
        if directive.block.is_some() {
            let words: Vec<_> = directive.words.iter().map(|it| &*it.text).collect();
            let inner = match directive.name() {
                "http" => String::new(),
                "if" | "limit_except" => format!("{place} {}", words.join(" ")),
                _ => words.join(" "),
            };
            block(reading, upstreams, &settings, directive.inner(), &inner);
        }
    }
}

fn pass_to(
    reading: &mut Reading<'_>,
    upstreams: &Upstreams,
    settings: &Settings,
    family: &Family,
    (pass, to): (&Directive, &str),
    place: &str,
) {
    let own = settings.of(family);
    let span = own.next.as_ref().map_or_else(|| pass.span(), |it| it.span);
    let name = upstreams::host(to);
    let Some(words) = words::read(reading, own.next.as_ref(), family) else {
        return; // off
    };
    let tries = own.tries.as_ref().filter(|it| it.value > 0);
    let servers = match upstreams.servers(name) {
        Some(servers) => servers,
        // Without a word about retrying an address is one server and one attempt.
        None if own.next.is_none() && own.tries.is_none() && !upstreams::is_bare(name) => return,
        None => unknown(reading, pass, to, tries.map_or(1, |it| it.value)),
    };
    let attempts = match tries {
        Some(tries) if servers.is_known => tries.value.min(servers.count),
        Some(tries) => tries.value,
        None => servers.count,
    };
    let upstream = servers.span.unwrap_or_else(|| pass.span());
    if attempts <= 1 {
        let asks_for_more = tries.is_none_or(|it| it.value > 1);
        if own.next.is_some() && servers.count == 1 && asks_for_more {
            alone(reading, family, servers, name, span);
        }
        return;
    }
    let mut draft = Draft::of(at_once(attempts), KEYS);
    match tries {
        Some(tries) if !servers.is_known || tries.value <= servers.count => {
            draft.origin("attempts", Origin::Line(tries.span));
        }
        Some(tries) => {
            let how = format!(
                "cut from {}: each server is tried once, and there are {}",
                tries.value, servers.count
            );
            draft.origin("attempts", Origin::Derived(tries.span, how));
            let sentence = format!(
                "{name} has {} servers, each of which is tried once: {} attempts, and not {}",
                servers.count, servers.count, tries.value
            );
            reading.find(tries.span, code::ATTEMPTS_CUT, sentence, "");
        }
        None => {
            let how = format!("as many as {name} has servers");
            draft.origin("attempts", Origin::Derived(upstream, how));
            let sentence = format!(
                "a request makes as many attempts as {name} has servers, {attempts} today: one more server is one more attempt"
            );
            reading.find(
                span,
                code::ATTEMPTS_GROW,
                sentence,
                format!("set `{}_next_upstream_tries 2;`", family.prefix),
            );
        }
    }
    times(reading, &mut draft, settings, family, span);
    draft.policy.retry_on = words.retry_on().into();
    draft.origin(
        "retry_on",
        own.next
            .as_ref()
            .map_or(Origin::Default, |it| Origin::Line(it.span)),
    );
    words.lose(&mut draft, span);
    draft.lose(
        "upstream",
        "each attempt goes to another server of the upstream",
        Some(upstream),
    );
    if !servers.is_known {
        let why = "one with a name is one server for each of its addresses, and counts as one here";
        draft.lose("server", why, Some(upstream));
    }
    draft.lose("max_fails", "a server that failed so often (once by default) within fail_timeout (10 s) is left out for that long, and with it an attempt; without any left, requests fail at once", Some(upstream));
    draft.lose(
        "keepalive",
        "a connection that was kept and is closed costs no attempt",
        None,
    );
    let title = if place.is_empty() {
        name.to_owned()
    } else {
        format!("{place} to {name}")
    };
    reading.map(draft, title, vec![name.to_owned()], span);
}

/// The servers of what is no upstream of the files.
fn unknown(reading: &mut Reading<'_>, pass: &Directive, to: &str, count: u32) -> Servers {
    let what = if to.contains('$') {
        "is made of variables"
    } else {
        "is no upstream of these files"
    };
    let stands_in = match count {
        1 => "one stands in".to_owned(),
        most => format!("its {most} tries at most stand in"),
    };
    reading.find(
        pass.span(),
        code::NOT_SEEN,
        format!("`{to}` {what}: a request makes as many attempts as it has addresses, which are not known here; {stands_in}"),
        "name the file with its upstream as well",
    );
    Servers {
        count,
        span: None,
        is_known: false,
    }
}

/// Of an upstream that has one server.
fn alone(reading: &mut Reading<'_>, family: &Family, servers: Servers, name: &str, span: Span) {
    if servers.is_known {
        let sentence = format!(
            "{name} has one server, and a server that failed is not tried again: nothing is repeated"
        );
        let remedy = "add a server, or leave out the directive";
        reading.find(span, code::NEVER_RETRIES, sentence, remedy);
    } else if servers.span.is_some() {
        let sentence = format!(
            "{name} has one server by its name: a request makes as many attempts as the name has addresses, which are not known here"
        );
        let remedy = format!("set `{}_next_upstream_tries`", family.prefix);
        reading.find(span, code::NOT_SEEN, sentence, remedy);
    }
}

fn times(
    reading: &mut Reading<'_>,
    draft: &mut Draft,
    settings: &Settings,
    family: &Family,
    span: Span,
) {
    let own = settings.of(family);
    let read = own.read_timeout.as_ref();
    draft.policy.attempt_timeout = Some(read.map_or(Duration::from_secs(60), |it| it.value));
    draft.origin(
        "attempt_timeout",
        read.map_or(Origin::Default, |it| Origin::Line(it.span)),
    );
    draft.lose(
        format!("{}_read_timeout", family.prefix),
        "it is the longest time between two reads of an answer, not of an attempt; connecting and sending have times of their own",
        read.map(|it| it.span),
    );
    match own.timeout.as_ref().filter(|it| !it.value.is_zero()) {
        Some(total) => {
            draft.policy.deadline = Some(total.value);
            draft.origin("deadline", Origin::Line(total.span));
            draft.lose(
                format!("{}_next_upstream_timeout", family.prefix),
                "no attempt begins after it; the one that runs is not cut",
                Some(total.span),
            );
        }
        None => reading.find(
            span,
            code::NO_TOTAL_TIME,
            format!("there is no `{}_next_upstream_timeout`: a request takes as long as all its attempts", family.prefix),
            format!("set `{}_next_upstream_timeout 10s;`", family.prefix),
        ),
    }
}

/// The next server is asked at once.
fn at_once(attempts: u32) -> Policy {
    Policy::fixed(Duration::ZERO)
        .jitter(Jitter::None)
        .attempts(attempts)
        .hint(HintMode::Ignore)
        .budget(Budget::None)
}
