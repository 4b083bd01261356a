//! What does an nginx configuration say about the next server of an upstream?
//!
//! `ngx_http_upstream_next` of 1.22 (`src/http/ngx_http_upstream.c`) and the modules that pass requests on; run with
//! 1.22.1.

mod again;
mod directives;
mod includes;
mod passes;
mod places;
mod settings;
mod stream;
mod upstreams;
mod words;

use std::rc::Rc;

use becalm::retry_on::RetryOn;

use crate::code;
use crate::document::{Document, Node};
use crate::evidence::Evidence;
use crate::reading::Reading;
use crate::said::Said;
use crate::system::{Follows, Form, Schema, System};
use directives::{Directive, Word, directives};
pub(super) use includes::Files;
pub(super) use passes::at_once;
use passes::{Known, Pass, pass_to};
pub(super) use settings::time;
use settings::{FAMILIES, Settings};
use upstreams::Upstreams;
use words::Listed;

pub(super) const NGINX: System = System {
    name: "nginx",
    title: "nginx",
    versions: &["1.22"],
    evidence: Evidence::Run,
    form: Form::Text,
    remedies: REMEDIES,
    fewer: Some("lower `proxy_next_upstream_tries`"),
    elsewhere: &[],
    follows: Follows::Nothing,
    schema: Schema::OPEN,
};

/// What helps against a lint, by its code.
const REMEDIES: &[(&str, &str)] = &[
    (
        "repeats-non-idempotent",
        "leave `non_idempotent` out of `proxy_next_upstream`",
    ),
    (
        "attempt-timeout-fills-deadline",
        "set a shorter `proxy_read_timeout`, or a longer `proxy_next_upstream_timeout`",
    ),
    ("no-deadline", "set `proxy_next_upstream_timeout 10s;`"),
];

/// By a line as no other of the formats has it, or since a file beside it includes it.
pub(super) fn recognises(document: &Document<'_>, files: &Files<'_>) -> bool {
    is_nginx(document.text) || files.is_included(document.file)
}

fn is_nginx(text: &str) -> bool {
    let blocks = ["upstream", "server", "location", "http", "events", "stream"];
    let mut lines = text
        .lines()
        .filter(|it| it.contains('{') || it.contains(';'));
    lines.any(|line| {
        let line = line.split('#').next().unwrap_or_default().trim();
        let first = line.split([' ', '\t', '{', ';']).next().unwrap_or_default();
        let is_head = |it: &str| !it.contains(['=', ':', '"']) || is_location(it);
        let is_block =
            blocks.contains(&first) && line.split_once('{').is_some_and(|(it, _)| is_head(it));
        let is_own = FAMILIES.iter().any(|it| {
            let rest = first.strip_prefix(it.prefix);
            rest.is_some_and(|rest| rest == "_pass" || rest.starts_with("_next_upstream"))
        });
        is_block && (line.ends_with(['{', '}', ';'])) || is_own && line.contains(';')
    })
}

/// Whether a line begins a location as no other format does: by a sign and what it is about.
fn is_location(head: &str) -> bool {
    let mut words = head.split_whitespace();
    let is_sign = |it: &str| ["=", "~", "~*", "^~"].contains(&it);
    words.next() == Some("location") && words.next().is_some_and(is_sign) && words.next().is_some()
}

pub(super) fn read<'a>(reading: &mut Reading<'a>, files: &'a Files<'a>) {
    reading.misread = code::REFUSED;
    let document = reading.document;
    let own;
    let all = if let Some(known) = files.joined(document.file, document.text) {
        known
    } else {
        own = directives(document.text, document.file);
        own.as_deref().map_err(|it| *it)
    };
    let all = match all {
        Ok(all) => all,
        Err(error) => {
            let (code, sentence) = if error.is_lua {
                let why = "what nginx makes of the file is not known here";
                let sentence = format!("{}, after a block of Lua: {why}", error.sentence);
                (code::NOT_KNOWN, sentence)
            } else {
                let sentence = format!("nginx refuses the file: {}", error.sentence);
                (code::REFUSED, sentence)
            };
            reading.find(error.span, code, sentence, "");
            return;
        }
    };
    if files.is_included(document.file) {
        return; // read in its place
    }
    let mut known = Known {
        upstreams: Upstreams::NONE,
        files,
    };
    known.upstreams.gather(all);
    let settings = Settings::default().inside(reading, all);
    places::tell(reading, all);
    block(reading, &known, &settings, all, "");
    if !passes_on(all) {
        applies_to_nothing(reading, all);
    }
}

/// The deepest blocks come first off this stack of calls: no deeper than the reader and the includes allow.
fn block<'a>(
    reading: &mut Reading<'a>,
    known: &Known<'a>,
    settings: &Settings<'a>,
    directives: &[Directive<'a>],
    place: &str,
) {
    for directive in directives {
        let file = std::mem::replace(&mut reading.document.file, directive.file);
        let pass = FAMILIES.iter().find(|it| it.passes(directive.name()));
        if let (Some(family), Some(to)) = (pass, directive.args().first()) {
            let pass = Pass {
                family,
                directive,
                own: settings.of(family),
                unseen: settings.unseen.as_deref(),
                place,
            };
            pass_to(reading, known, &pass, &to.text);
        }
        if directive.name() == "stream" {
            stream::read(reading, directive);
        }
        if directive.name() == "server" {
            again::tell(reading, known, settings, directive.inner());
        }
        // Of connections, not of requests.
        let is_other = ["stream", "upstream"].contains(&directive.name());
        if directive.block.is_some() && !is_other {
            let words: Vec<_> = directive.words.iter().map(|it| &*it.text).collect();
            let inner = match directive.name() {
                "http" => String::new(),
                "if" | "limit_except" => format!("{place} {}", words.join(" ")),
                _ => words.join(" "),
            };
            let settings = settings.inside(reading, directive.inner());
            block(reading, known, &settings, directive.inner(), &inner);
        }
        reading.document.file = file;
    }
}

/// What the words of `proxy_next_upstream` in one value repeat; `None` of `off`.
pub(super) fn next_upstream(reading: &mut Reading<'_>, given: Option<&Node>) -> Option<RetryOn> {
    let said = given.map(|node| {
        let text = node.text().unwrap_or_default();
        let words = text.split_whitespace().map(|text| Word {
            text: text.to_owned(),
            span: node.span,
        });
        Said {
            value: Some(Rc::new(Listed::of(words.collect()))),
            text: text.into(),
            span: node.span,
            file: reading.document.file,
        }
    });
    let words = words::read(reading, said.as_ref(), &FAMILIES[0])?;
    Some(words.retry_on())
}

/// Whether a directive passes requests or connections on.
fn passes_on(directives: &[Directive<'_>]) -> bool {
    directives.iter().any(|it| {
        let is_pass = FAMILIES.iter().any(|family| family.passes(it.name()));
        is_pass || passes_on(it.inner())
    })
}

/// Of a file that others include, and that is not named with them.
fn applies_to_nothing<'a>(reading: &mut Reading<'a>, directives: &[Directive<'a>]) {
    for directive in directives {
        let name = directive.name();
        let is_next = |prefix| {
            let rest = name.strip_prefix(prefix);
            rest.is_some_and(|rest| rest.starts_with("_next_upstream"))
        };
        if let Some(family) = FAMILIES.iter().find(|it| is_next(it.prefix)) {
            let sentence = format!(
                "no file that is named passes requests on with `{}_pass` where this holds: how often they are repeated is not known here",
                family.prefix
            );
            let remedy = "name the file that includes this one as well";
            let file = std::mem::replace(&mut reading.document.file, directive.file);
            reading.find(directive.span(), code::NOT_SEEN, sentence, remedy);
            reading.document.file = file;
            return;
        }
    }
    for directive in directives {
        applies_to_nothing(reading, directive.inner());
    }
}
