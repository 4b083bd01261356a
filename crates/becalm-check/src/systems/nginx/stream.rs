//! What becomes of a connection that is passed on by the module `stream`, where a server is not reached?
//!
//! `src/stream/ngx_stream_proxy_module.c` of 1.22: `proxy_next_upstream` is `on` where nothing is said, and each server is tried once.

use std::time::Duration;

use becalm::classify::FailureKind;
use becalm::retry_on::{Codes, Failures, Methods, RetryOn, Statuses};

use super::directives::Directive;
use super::passes::{KEYS, at_once};
use super::settings::{FAMILIES, Settings, time};
use super::upstreams::{Upstreams, host};
use crate::code;
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
        let levels = [server.inner(), stream.inner()];
        of_server(reading, &upstreams, &own, levels);
        reading.document.file = file;
    }
}

fn of_server<'a>(
    reading: &mut Reading<'a>,
    upstreams: &Upstreams<'a>,
    settings: &Settings<'a>,
    levels: [&[Directive<'a>]; 2],
) {
    let find = |name: &str| {
        levels
            .iter()
            .find_map(|it| it.iter().find(|it| it.name() == name))
    };
    let Some((pass, to)) = find("proxy_pass").and_then(|it| Some((it, it.args().first()?))) else {
        return;
    };
    let own = settings.of(&FAMILIES[0]);
    if let Some(next) = &own.next {
        match &*next.text {
            "on" => {}
            "off" => return,
            other => {
                let sentence = format!("nginx refuses `proxy_next_upstream {other}` in `stream`");
                reading.find(next.span, code::REFUSED, sentence, "write `on` or `off`");
                return;
            }
        }
    }
    let name = host(&to.text);
    let span = own.next.as_ref().map_or_else(|| pass.span(), |it| it.span);
    let Some(servers) = upstreams.servers(name) else {
        if name.contains('$') {
            let sentence = format!(
                "which servers `{name}` stands for is not known here, nor how many are tried"
            );
            reading.find(
                span,
                code::NOT_SEEN,
                sentence,
                "set `proxy_next_upstream_tries`",
            );
        }
        return;
    };
    let tries = own.tries.as_ref().filter(|it| it.value != Some(0));
    let most = tries.and_then(|it| it.value).unwrap_or(u32::MAX);
    let attempts = most.min(servers.count);
    if attempts <= 1 {
        return;
    }
    let mut draft = Draft::of(at_once(attempts), KEYS);
    if let Some(tries) = tries.filter(|_| most <= servers.count) {
        draft.origin("attempts", tries.origin());
    } else {
        let how = format!("as many as {name} has servers");
        draft.origin(
            "attempts",
            Origin::Derived(servers.span_in(pass.file).unwrap_or(span), how),
        );
    }
    if let Some(tries) = tries.filter(|_| most > servers.count) {
        let sentence = format!(
            "{name} has {} servers, each of which is tried once: {attempts} attempts, and not {most}",
            servers.count
        );
        reading.find(tries.span, code::ATTEMPTS_CUT, sentence, "");
    }
    let connect =
        find("proxy_connect_timeout").and_then(|it| Some((it, time(&it.args().first()?.text)?)));
    draft.policy.attempt_timeout = Some(connect.map_or(CONNECT_TIMEOUT, |(_, it)| it));
    if let Some((directive, _)) = connect {
        draft.origin("attempt_timeout", Origin::Line(directive.span()));
    }
    if let Some(total) = own
        .timeout
        .as_ref()
        .filter(|it| it.value.is_some_and(|it| !it.is_zero()))
    {
        draft.policy.deadline = total.value;
        draft.origin("deadline", total.origin());
        draft.lose(
            "proxy_next_upstream_timeout",
            "no attempt begins after it; the one that runs is not cut",
            Some(total.span),
        );
    }
    let failures: Failures = [FailureKind::Connect, FailureKind::ConnectTimeout]
        .into_iter()
        .collect();
    let listed = RetryOn::new()
        .methods(Methods::Any)
        .statuses(Statuses::default())
        .codes(Codes::default());
    draft.policy.retry_on = listed.failures(failures).into();
    if let Some(next) = &own.next {
        draft.origin("retry_on", next.origin());
    }
    draft.lose(
        "stream",
        "only what was not yet sent is tried again: a connection that was made is not",
        None,
    );
    reading.map(
        draft,
        format!("stream to {name}"),
        vec![name.to_owned()],
        span,
    );
}

/// What nginx waits for where nothing is said.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);
