//! What becomes of a request that is passed on, where a server fails?

use std::time::Duration;

use becalm::hint::HintMode;
use becalm::{Budget, Jitter, Policy};

use super::directives::Directive;
use super::includes::Files;
use super::settings::{Family, Of, Unseen};
use super::upstreams::{self, Servers, Upstreams, host};
use super::words;
use crate::code;
use crate::document::Span;
use crate::list::list;
use crate::mapping::{Draft, Origin};
use crate::reading::Reading;
use crate::room::Connecting;
use crate::said::Said;
use crate::template::is_placeholder;
use crate::told::Told;

/// What the files say of names.
#[derive(Debug)]
pub struct Known<'a> {
    pub upstreams: Upstreams<'a>,
    /// What all files say, which holds where these do not.
    pub files: &'a Files<'a>,
}

impl<'a> Known<'a> {
    pub fn servers(&self, name: &str) -> Option<Servers<'a>> {
        let all = || self.files.upstreams.servers(name);
        self.upstreams.servers(name).or_else(all)
    }
}

/// A directive such as `proxy_pass` with what holds at its place.
#[derive(Debug)]
pub struct Pass<'s, 'a> {
    pub family: &'static Family,
    pub directive: &'s Directive<'a>,
    pub own: Of<'a>,
    /// What is included around it, and is not among the files.
    pub unseen: Option<&'s Unseen<'a>>,
    pub place: &'s str,
}

pub const KEYS: &[&str] = list!("attempts base jitter budget attempt_timeout deadline retry_on");

pub fn pass_to<'a>(reading: &mut Reading<'a>, known: &Known<'a>, pass: &Pass<'_, 'a>, to: &str) {
    if pass.family.prefix == "proxy" && !has_scheme(to) {
        // The module `stream` has a `proxy_pass` without, in a server.
        if pass.place.starts_with("location") {
            let sentence = format!("nginx refuses `proxy_pass {to}` in a location");
            let remedy = "write `http://` or `https://` before it";
            reading.find(pass.directive.span(), code::REFUSED, sentence, remedy);
        }
        return;
    }
    let (family, own) = (pass.family, &pass.own);
    let file = pass.directive.file;
    let next = own.next.as_ref();
    let place = next.and_then(|it| it.span_in(file));
    let span = place.unwrap_or_else(|| pass.directive.span());
    let name = host(to);
    let Some(words) = words::read(reading, next, family) else {
        return; // off
    };
    let tries = own.tries.as_ref().filter(|it| it.value != Some(0));
    let most = tries.and_then(|it| it.value);
    let Some(servers) = servers(reading, known, pass, to) else {
        return;
    };
    told_elsewhere(reading, known, pass);
    let attempts = match most {
        Some(most) if servers.is_known => most.min(servers.count),
        // Written on purpose, for servers that are not seen.
        Some(most) => most,
        None => servers.count,
    };
    let asks_for_more = most.is_none_or(|it| it > servers.count);
    let is_asked_for = next.is_some() || attempts > 1;
    if servers.are_names() && asks_for_more && is_asked_for {
        names(reading, pass, name);
    }
    if attempts <= 1 {
        if next.is_some() && servers.count == 1 && servers.is_known && asks_for_more {
            let unless = if servers.has_zone {
                ", unless the API of NGINX Plus adds servers to its `zone`"
            } else {
                ""
            };
            let sentence = format!(
                "{name} has one server, and a server that failed is not tried again: nothing is repeated{unless}"
            );
            let remedy = "add a server, or leave out the directive";
            reading.find(span, code::NEVER_RETRIES, sentence, remedy);
        }
        return;
    }
    let mut draft = Draft::of(at_once(attempts), KEYS);
    draft.remedies = family.remedies;
    count(reading, &mut draft, pass, (name, servers), span);
    times(reading, &mut draft, pass, span);
    draft.policy.retry_on = words.retry_on().into();
    if let Some(next) = next {
        next.tell(reading, &mut draft, span, |_, draft| {
            let origin = match &words.unknown {
                Some(text) => {
                    Origin::Derived(next.span, format!("without `{text}`, which is unknown"))
                }
                None => next.origin(),
            };
            draft.origin("retry_on", origin);
        });
    }
    if let Some(connect) = own.connect_timeout.as_ref().filter(|it| it.value.is_some()) {
        let prefix = family.prefix;
        let name = format!("{prefix}_connect_timeout");
        let remedy = format!("lower `{name}`, or raise `{prefix}_next_upstream_timeout`");
        connect.tell(reading, &mut draft, span, |reading, draft| {
            let time = connect.value;
            let time = time.map_or(Told::Absent, |it| Told::Is(it, connect.span));
            let connecting = Connecting {
                name: &name,
                time,
                default: READ_TIMEOUT,
                remedy: &remedy,
            };
            reading.room_to_connect(draft, &connecting, span);
        });
    }
    words.lose(&mut draft, span);
    lose(reading, &mut draft, pass, servers, span);
    let title = if pass.place.is_empty() {
        name.to_owned()
    } else {
        format!("{} to {name}", pass.place)
    };
    reading.map(draft, title, vec![name.to_owned()], span);
}

fn has_scheme(to: &str) -> bool {
    let scheme = to.split_once("://").map(|(scheme, _)| scheme);
    let is_http = |it: &str| {
        ["http", "https"]
            .iter()
            .any(|own| it.eq_ignore_ascii_case(own))
    };
    scheme.is_some_and(is_http) || to.contains('$') || is_placeholder(to)
}

/// Those that are tried; `None` where nothing is left to say.
fn servers<'a>(
    reading: &mut Reading<'a>,
    known: &Known<'a>,
    pass: &Pass<'_, 'a>,
    to: &str,
) -> Option<Servers<'a>> {
    let (own, name) = (&pass.own, host(to));
    let most = own
        .tries
        .as_ref()
        .and_then(|it| it.value)
        .filter(|it| *it > 0);
    if let Some(mut servers) = known.servers(name) {
        if let Some(unseen) = servers.unseen {
            servers.count = most.unwrap_or(servers.count.max(2));
            servers_elsewhere(reading, pass, name, unseen, servers.count);
        }
        return Some(servers);
    }
    if let Some(upstream) = with_port(name, known) {
        let sentence = format!(
            "nginx refuses `{to}`: the upstream {upstream} of these files may not have a port"
        );
        let remedy = "leave the port out; each server of the upstream has its own";
        reading.find(pass.directive.span(), code::REFUSED, sentence, remedy);
        return None;
    }
    let is_asked_for = own.next.is_some() || own.tries.is_some();
    // Without a word about retrying an address is one server and one attempt.
    if !is_asked_for && !upstreams::is_bare(name) && !name.contains('$') {
        return None;
    }
    let servers = Servers::of_host(name, most.unwrap_or(1));
    if !servers.is_known {
        unknown(reading, pass, to, servers.count);
    }
    Some(servers)
}

/// An upstream of the files that is written with a port.
fn with_port<'n>(name: &'n str, known: &Known<'_>) -> Option<&'n str> {
    let (upstream, port) = name.rsplit_once(':')?;
    port.parse::<u16>().ok()?;
    known.servers(upstream).map(|_| upstream)
}

/// How many attempts there are, and where that is said.
fn count<'a>(
    reading: &mut Reading<'a>,
    draft: &mut Draft,
    pass: &Pass<'_, 'a>,
    (name, servers): (&str, Servers<'a>),
    span: Span,
) {
    if let Some(tries) = pass.own.tries.as_ref().filter(|it| it.value != Some(0)) {
        tries.tell(reading, draft, span, |reading, draft| match tries.value {
            Some(most) if most > servers.count => {
                let how = format!(
                    "cut from {}: each server is tried once, and there are {}{}",
                    tries.text,
                    servers.count,
                    if servers.is_known { "" } else { " names" }
                );
                draft.origin("attempts", Origin::Derived(tries.span, how));
                if !servers.is_known {
                    return;
                }
                let sentence = format!(
                    "{name} has {} servers, each of which is tried once: {} attempts, and not {}",
                    servers.count, servers.count, tries.text
                );
                reading.find(tries.span, code::ATTEMPTS_CUT, sentence, "");
            }
            _ => draft.origin("attempts", tries.origin()),
        });
        return;
    }
    let upstream = servers.span_in(pass.directive.file).unwrap_or(span);
    let how = match servers.unseen {
        Some(_) => "stands in for servers that are not seen".to_owned(),
        None => format!("as many as {name} has servers"),
    };
    let today = servers.is_known.then_some(draft.policy.attempts);
    let today = today.map_or_else(String::new, |it| format!(", {it} today"));
    draft.origin("attempts", Origin::Derived(upstream, how));
    let sentence = format!(
        "a request makes as many attempts as {name} has servers{today}: one more server is one more attempt"
    );
    let remedy = format!("set `{}_next_upstream_tries 2;`", pass.family.prefix);
    reading.find(span, code::ATTEMPTS_GROW, sentence, remedy);
}

/// What no policy holds.
fn lose<'a>(
    reading: &mut Reading<'a>,
    draft: &mut Draft,
    pass: &Pass<'_, 'a>,
    servers: Servers<'a>,
    span: Span,
) {
    let upstream = servers.span_in(pass.directive.file);
    let upstream = Some(upstream.unwrap_or_else(|| pass.directive.span()));
    let why = "each attempt goes to another server of the upstream";
    draft.lose("upstream", why, upstream);
    if !servers.is_known && servers.unseen.is_none() {
        let why = "one with a name is one server for each of its addresses, and counts as one here";
        draft.lose("server", why, upstream);
    }
    draft.lose("max_fails", "a server that failed so often (once by default) within fail_timeout (10 s) is left out for that long, and with it an attempt; without any left, requests fail at once", upstream);
    let why = "a connection that was kept and is closed costs no attempt";
    draft.lose("keepalive", why, None);
    let buffering = pass.own.request_buffering.as_ref();
    if let Some(buffering) = buffering.filter(|it| it.value == Some(false)) {
        buffering.tell(reading, draft, span, |_, draft| {
            let why = "a request whose body is sent on as it comes is not repeated once that has begun, whatever its method";
            draft.lose(format!("{}_request_buffering", pass.family.prefix), why, Some(buffering.span));
        });
    }
}

/// The servers of what is no upstream of the files.
fn unknown(reading: &mut Reading<'_>, pass: &Pass<'_, '_>, to: &str, count: u32) {
    let (what, remedy) = if to.contains('$') {
        let what = "is made of variables: whether it names an upstream of these files, and so how many attempts a request makes, is not known here";
        (what, "name the upstream itself")
    } else {
        let what = "is no upstream of these files: a request makes as many attempts as it has addresses, which are not known here";
        (what, "name the file with its upstream as well")
    };
    let sentence = format!("`{to}` {what}; {}", stands_in(pass, count));
    reading.find(pass.directive.span(), code::NOT_SEEN, sentence, remedy);
}

/// The servers of an upstream that takes them from a file, or from code.
fn servers_elsewhere(
    reading: &mut Reading<'_>,
    pass: &Pass<'_, '_>,
    name: &str,
    directive: &str,
    count: u32,
) {
    let whose = match directive {
        "include" | "state" => "of a file that is not seen",
        _ => "that code chooses",
    };
    reading.find(
        pass.directive.span(),
        code::NOT_SEEN,
        format!(
            "{name} has servers {whose} (`{directive}`): how many attempts a request makes is not known here; {}",
            stands_in(pass, count)
        ),
        format!("set `{}_next_upstream_tries`", pass.family.prefix),
    );
}

fn stands_in(pass: &Pass<'_, '_>, count: u32) -> String {
    let tries = pass.own.tries.as_ref();
    match (tries.filter(|it| it.value >= Some(2)), count) {
        (Some(tries), _) => format!("its {} tries at most stand in", tries.text),
        (_, 1) => "one stands in".into(),
        (_, count) => format!("{count} stand in"),
    }
}

/// What is included may say what nothing that is read does.
fn told_elsewhere<'a>(reading: &mut Reading<'a>, known: &Known<'a>, pass: &Pass<'_, 'a>) {
    let own = &pass.own;
    if own.next.is_some() && own.tries.is_some() && own.timeout.is_some() {
        return;
    }
    let around = std::iter::successors(pass.unseen, |it| it.outer.as_deref());
    // What is around was told with what is inside.
    for include in around
        .take_while(|it| !it.is_told.replace(true))
        .flat_map(|it| &it.own)
    {
        let file = std::mem::replace(&mut reading.document.file, include.file);
        let which = if known.files.has(&include.text) {
            "files that include each other, or of several of its name"
        } else {
            "no file that is named, as far as names tell"
        };
        let sentence = format!(
            "`include {}` is of {which}: what it may say about the next server is not known here, and is taken for nothing",
            include.text
        );
        let remedy = "name the file as well, with its folder";
        reading.find(include.span, code::NOT_SEEN, sentence, remedy);
        reading.document.file = file;
    }
}

/// The servers of an upstream that are names.
fn names(reading: &mut Reading<'_>, pass: &Pass<'_, '_>, name: &str) {
    let sentence = format!(
        "{name} has servers that are names: a request makes as many attempts as there are addresses, which are not known here; `{}_next_upstream_tries` stands in, or one for each",
        pass.family.prefix
    );
    let remedy = format!("set `{}_next_upstream_tries 2;`", pass.family.prefix);
    reading.find(pass.directive.span(), code::NOT_SEEN, sentence, remedy);
}

fn times<'a>(reading: &mut Reading<'a>, draft: &mut Draft, pass: &Pass<'_, 'a>, span: Span) {
    let prefix = pass.family.prefix;
    draft.policy.attempt_timeout = Some(READ_TIMEOUT);
    let why = "it is the longest time between two reads of an answer, not of an attempt; connecting and sending have times of their own";
    let what = format!("{prefix}_read_timeout");
    match &pass.own.read_timeout {
        Some(read) => read.tell(reading, draft, span, |_, draft| {
            draft.policy.attempt_timeout = Some(read.value.unwrap_or(READ_TIMEOUT));
            draft.origin("attempt_timeout", read.origin());
            draft.lose(what, why, Some(read.span));
        }),
        None => draft.lose(what, why, None),
    }
    let is_none = |it: &&Said<'_, Duration>| it.value.is_some_and(|it| it.is_zero());
    if let Some(total) = pass.own.timeout.as_ref().filter(|it| !is_none(it)) {
        total.tell(reading, draft, span, |_, draft| {
            draft.policy.deadline = total.value;
            draft.origin("deadline", total.origin());
            let why = "no attempt begins after it; the one that runs is not cut";
            draft.lose(
                format!("{prefix}_next_upstream_timeout"),
                why,
                Some(total.span),
            );
        });
        return;
    }
    let place = if pass.unseen.is_none() {
        ""
    } else {
        " in these files"
    };
    let sentence = format!(
        "there is no `{prefix}_next_upstream_timeout`{place}: a request takes as long as all its attempts"
    );
    let remedy = format!("set `{prefix}_next_upstream_timeout 10s;`");
    reading.find(span, code::NO_TOTAL_TIME, sentence, remedy);
}

/// What nginx waits for where nothing is said.
const READ_TIMEOUT: Duration = Duration::from_secs(60);

/// The next server is asked at once.
pub fn at_once(attempts: u32) -> Policy {
    Policy::fixed(Duration::ZERO)
        .jitter(Jitter::None)
        .attempts(attempts)
        .hint(HintMode::Ignore)
        .budget(Budget::None)
}
