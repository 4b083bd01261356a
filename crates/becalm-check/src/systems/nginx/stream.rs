//! What happens to a connection that is passed on by the module `stream`, where a server is not reached?
//!
//! `src/stream/ngx_stream_proxy_module.c` of 1.22: `proxy_next_upstream` is `on` where nothing is said, and each server is tried once.

use std::time::Duration;

use super::super::methods::connecting;
use super::directives::Directive;
use super::passes::{KEYS, at_once};
use super::settings::{FAMILIES, Of, Settings, flag, time};
use super::upstreams::{Upstreams, host};
use crate::code;
use crate::document::Span;
use crate::mapping::{Draft, Origin};
use crate::reading::Reading;

/// Reads the servers of a block `stream`.
pub fn read<'a>(reading: &mut Reading<'a>, stream: &Directive<'a>) {
    let mut upstreams = Upstreams::NONE;
    upstreams.gather(stream.inner());
    let settings = Settings::default().inside(reading, stream.inner());
    for server in stream.inner().iter().filter(|it| it.name() == "server") {
        let file = std::mem::replace(&mut reading.document.file, server.file);
        let own = settings.inside(reading, server.inner());
        let levels = Levels([server.inner(), stream.inner()]);
        of_server(reading, &upstreams, &own, levels);
        reading.document.file = file;
    }
}

/// A server's directives, before those of the block around it.
#[derive(Clone, Copy)]
struct Levels<'d, 'a>([&'d [Directive<'a>]; 2]);

impl<'d, 'a> Levels<'d, 'a> {
    fn find(self, name: &str) -> Option<&'d Directive<'a>> {
        let mut levels = self.0.iter();
        levels.find_map(|it| it.iter().find(|it| it.name() == name))
    }
}

fn of_server<'a>(
    reading: &mut Reading<'a>,
    upstreams: &Upstreams<'a>,
    settings: &Settings<'a>,
    levels: Levels<'_, 'a>,
) {
    let pass = levels.find("proxy_pass");
    let Some((pass, to)) = pass.and_then(|it| Some((it, it.args().first()?))) else {
        return;
    };
    let own = settings.of(&FAMILIES[0]);
    if !is_on(reading, &own) {
        return;
    }
    let name = host(&to.text);
    let span = own.next.as_ref().map_or_else(|| pass.span(), |it| it.span);
    let Some(servers) = upstreams.servers(name) else {
        not_seen(reading, name, span);
        return;
    };
    let place = servers.span_in(pass.file).unwrap_or(span);
    let Some(mut draft) = attempts(reading, &own, name, servers.count, place) else {
        return;
    };
    times(&mut draft, &own, levels);
    draft.policy.retry_on = connecting().into();
    if let Some(next) = &own.next {
        draft.origin("retry_on", next.origin());
    }
    draft.lose(
        "stream",
        "only what was not yet sent is tried again: a connection that was made is not",
        None,
    );
    let title = format!("stream to {name}");
    reading.map(draft, title, vec![name.to_owned()], span);
}

/// Whether another server is tried at all; tells of a word that nginx refuses here.
fn is_on(reading: &mut Reading<'_>, own: &Of<'_>) -> bool {
    let Some(next) = &own.next else {
        return true;
    };
    let on = flag(&next.text);
    if on.is_none() {
        let sentence = format!(
            "nginx refuses `proxy_next_upstream {}` in `stream`",
            next.text
        );
        reading.find(next.span, code::REFUSED, sentence, "write `on` or `off`");
    }
    on == Some(true)
}

fn not_seen(reading: &mut Reading<'_>, name: &str, span: Span) {
    if name.contains('$') {
        let sentence =
            format!("which servers `{name}` stands for is not known here, nor how many are tried");
        let remedy = "set `proxy_next_upstream_tries`";
        reading.find(span, code::NOT_SEEN, sentence, remedy);
    }
}

/// A draft with as many attempts as are made, where that is more than one.
fn attempts(
    reading: &mut Reading<'_>,
    own: &Of<'_>,
    name: &str,
    servers: u32,
    place: Span,
) -> Option<Draft> {
    let tries = own.tries.as_ref().filter(|it| it.value != Some(0));
    let most = tries.and_then(|it| it.value).unwrap_or(u32::MAX);
    let attempts = most.min(servers);
    if attempts <= 1 {
        return None;
    }
    let mut draft = Draft::of(at_once(attempts), KEYS);
    match tries {
        Some(tries) if most <= servers => draft.origin("attempts", tries.origin()),
        _ => {
            let how = format!("as many as {name} has servers");
            draft.origin("attempts", Origin::Derived(place, how));
        }
    }
    if let Some(tries) = tries.filter(|_| most > servers) {
        let sentence = format!(
            "{name} has {servers} servers, each of which is tried once: {attempts} attempts, and not {}",
            tries.text
        );
        reading.find(tries.span, code::ATTEMPTS_CUT, sentence, "");
    }
    Some(draft)
}

/// The bounds in time of one attempt, and of all.
fn times(draft: &mut Draft, own: &Of<'_>, levels: Levels<'_, '_>) {
    let connect = levels.find("proxy_connect_timeout");
    let connect = connect.and_then(|it| Some((it, time(&it.args().first()?.text)?)));
    draft.policy.attempt_timeout = Some(connect.map_or(CONNECT_TIMEOUT, |(_, it)| it));
    if let Some((directive, _)) = connect {
        draft.origin("attempt_timeout", Origin::Line(directive.span()));
    }
    let is_bound = |it: &Duration| !it.is_zero();
    let total = own.timeout.as_ref();
    if let Some(total) = total.filter(|it| it.value.as_ref().is_some_and(is_bound)) {
        draft.policy.deadline = total.value;
        draft.origin("deadline", total.origin());
        draft.lose(
            "proxy_next_upstream_timeout",
            "no attempt begins after it; the one that runs is not cut",
            Some(total.span),
        );
    }
}

/// What nginx waits for where nothing is said.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);
