//! What do the policies say that targets name?

use std::collections::HashMap;
use std::time::Duration;

use becalm::Policy;
use becalm::breaker::Breaker;

use super::matching;
use super::targets::Target;
use super::{Files, entries};
use crate::code::{self, Code};
use crate::document::{Key, Node, Span};
use crate::durations::go_duration;
use crate::list::list;
use crate::mapping::{Draft, Origin};
use crate::meant::nearest;
use crate::reading::Reading;
use crate::severity::Severity;
use crate::systems::cenkalti::{constant, exponential};
use crate::systems::kubernetes::{check, of_type};
use crate::template::is_placeholder;
use crate::told::Told;

const RETRY: &[&str] =
    list!("policy:text duration:time maxInterval:time maxRetries:number matching");
const BREAKER: &[&str] = list!("maxRequests:number interval:time timeout:time trip:text");
const KEYS: &[&str] = list!(
    "attempts backoff base multiplier cap jitter hint budget attempt_timeout deadline retry_on"
);

/// Retries of calls that Dapr makes by itself.
const BUILT_IN: &str = "DaprBuiltInServiceRetries";

/// The lint speaks of methods, and a component has none.
const TWICE: Code = Code {
    name: "repeats-non-idempotent",
    severity: Severity::Warning,
    about: "what a component does is done twice",
};

/// Of `exponential`, which no field changes.
const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(60);
/// Of `constant`, where nothing is said.
const WAIT: Duration = Duration::from_secs(5);

/// The policies of a resource, each read once.
pub struct Policies<'n> {
    own: Option<&'n Node>,
    /// Of retries: what they are and where, or nothing where they repeat nothing.
    drafts: HashMap<&'n str, Option<(Draft, Span)>>,
}

impl<'n> Policies<'n> {
    pub fn of(reading: &mut Reading<'_>, own: Option<&'n Node>) -> Self {
        let all = |kind: &str| entries(own.and_then(|it| it.get(kind)));
        for (_, timeout) in all("timeouts") {
            of_type(reading, "timeouts", timeout, "time");
            duration(reading, Some(timeout));
        }
        for (_, breaker) in all("circuitBreakers") {
            check(reading, Some(breaker), "a circuit breaker", BREAKER);
        }
        let mut drafts = HashMap::new();
        for (key, retry) in all("retries") {
            let draft = draft(reading, key, retry);
            drafts.insert(&*key.name, draft.map(|it| (it, key.span)));
        }
        Self { own, drafts }
    }

    /// Whether the resource itself has retries of this name.
    pub fn has(&self, name: &str) -> bool {
        self.drafts.contains_key(name)
    }

    /// Maps a target that names retries.
    pub fn map<'a>(&mut self, reading: &mut Reading<'a>, target: &Target<'_>, files: &Files<'a>) {
        let Some((key, node)) = target.retry else {
            return;
        };
        let told = reading.told(Some(node), "the name of retries", |it| Some(it.to_owned()));
        let Some(name) = told.known() else { return };
        if self.has(&name) {
            self.map_by_name(reading, target, &name);
            return;
        }
        if Target::of_name(&name).is_some() {
            let sentence =
                format!("`{name}` is Dapr's own, and what it is for this target is not known here");
            reading.find(node.span, code::NOT_KNOWN, sentence, "");
            return;
        }
        if let Some((file, retry)) = files.retries(&name, reading.document.file) {
            let mut draft = Draft::of(Policy::default(), KEYS);
            let mut found = None;
            reading.in_file(file, &mut draft, key.span, |reading, draft| {
                found = self::draft(reading, key, retry);
                if let Some(it) = &found {
                    draft.clone_from(it);
                }
            });
            if found.is_some() {
                self.end(reading, target, draft, key.span);
            }
            return;
        }
        let known = self.drafts.keys().copied();
        let (code, remedy) = match nearest(&name, known) {
            Some(meant) => (code::NEVER_RETRIES, format!("did you mean `{meant}`?")),
            None => (code::NOT_SEEN, "name the file of it as well".to_owned()),
        };
        let sentence = format!(
            "no retries are called `{name}` here: where no other Resiliency has them, nothing of {} is repeated",
            target.title
        );
        reading.find(node.span, code, sentence, remedy);
    }

    /// Maps a target that has the retries of this name.
    pub fn map_by_name(&mut self, reading: &mut Reading<'_>, target: &Target<'_>, name: &str) {
        if let Some(Some((draft, span))) = self.drafts.get(name) {
            let (draft, span) = (draft.clone(), *span);
            self.end(reading, target, draft, span);
        }
    }

    fn end(&self, reading: &mut Reading<'_>, target: &Target<'_>, mut draft: Draft, span: Span) {
        if let Some((_, timeout)) = self.named(reading, "timeouts", target.timeout) {
            let text = timeout.text().unwrap_or_default();
            if let Some(told) = go_text(timeout) {
                draft.attempt_timeout(Told::Is(told, timeout.span));
            } else if is_placeholder(text) {
                draft.attempt_timeout(Told::Unknown(timeout.span, text.to_owned()));
            }
        }
        if let Some((key, node)) = self.named(reading, "circuitBreakers", target.breaker) {
            breaker(&mut draft, key, node);
        }
        if let Some(twice) = target.twice {
            let why = "a component has none: all that it does is repeated";
            draft.lose("methods", why, None);
            let at = target.retry.map_or(span, |(key, _)| key.span);
            let sentence = format!("{}: {twice}", target.title);
            let remedy = "leave its retries out, or let what comes again change nothing";
            reading.find(at, TWICE, sentence, remedy);
        }
        let why = "a request or an answer that is streamed is not repeated";
        draft.lose("streams", why, None);
        let names = target.names.clone();
        reading.map(draft, &*target.title, names, span);
    }

    /// The policy that a target names.
    fn named(
        &self,
        reading: &mut Reading<'_>,
        kind: &str,
        node: Option<&Node>,
    ) -> Option<(&'n Key, &'n Node)> {
        let node = node?;
        let name = node.text()?;
        let all = self.own.and_then(|it| it.get(kind));
        let found = all.and_then(|it| it.entry(name));
        if found.is_none() {
            let sentence = format!(
                "`{name}` is none of the `{kind}` here: where no other Resiliency has it, there is none"
            );
            let known = entries(all).iter().map(|(key, _)| &*key.name);
            let remedy = nearest(name, known).map_or_else(
                || "name the file of it as well".to_owned(),
                |meant| format!("did you mean `{meant}`?"),
            );
            reading.find(node.span, code::NOT_SEEN, sentence, remedy);
        }
        found
    }
}

fn draft(reading: &mut Reading<'_>, key: &Key, retry: &Node) -> Option<Draft> {
    check(reading, Some(retry), "a policy of retries", RETRY);
    let get = |name: &str| retry.get(name).filter(|it| !it.is_null());
    let kind = reading.told(get("policy"), "`constant` or `exponential`", |it| {
        let it = it.to_ascii_lowercase();
        ["constant", "exponential"].contains(&&*it).then_some(it)
    });
    let is_exponential = match &kind {
        Told::Is(kind, _) => kind == "exponential",
        Told::Absent => false,
        Told::Unknown(..) => return None,
    };
    let wait = duration(reading, get("duration"));
    let most = duration(reading, get("maxInterval"));
    let mut draft = if is_exponential {
        let most = most.clone().known().unwrap_or(LONGEST);
        Draft::of(exponential(FIRST, 1.5, most), KEYS)
    } else {
        Draft::of(constant(wait.clone().known().unwrap_or(WAIT)), KEYS)
    };
    draft.set("backoff", kind, |_, _| {});
    let (read, word, ignored) = if is_exponential {
        let ignored = ("duration", "a first wait of 500 ms");
        (("cap", most), "exponential", ignored)
    } else {
        let ignored = ("maxInterval", "the same wait each time");
        (("base", wait), "constant", ignored)
    };
    match read {
        ("cap", Told::Is(_, span)) => {
            let how = "what is drawn may be half of it longer";
            draft.origin("cap", Origin::Derived(span, how.into()));
        }
        (field, told) => draft.set(field, told, |_, _| {}),
    }
    if let Some((key, _)) = retry.entry(ignored.0) {
        let sentence = format!(
            "`{}` is not read with `policy: {word}`, which has {}",
            ignored.0, ignored.1
        );
        let remedy = "leave it out, or choose the other policy";
        reading.find(key.span, code::WAIT_IGNORED, sentence, remedy);
    }
    if !attempts(reading, &mut draft, key, get("maxRetries")) {
        return None;
    }
    matching::read(reading, &mut draft, retry.entry("matching"));
    if key.name == BUILT_IN {
        built_in(&mut draft, key);
    }
    Some(draft)
}

/// Whether anything is repeated.
fn attempts(reading: &mut Reading<'_>, draft: &mut Draft, key: &Key, node: Option<&Node>) -> bool {
    let form = "a number of retries, or -1 for no end";
    draft.policy.attempts = Policy::UNLIMITED;
    match reading.told(node, form, |it| it.parse::<i64>().ok()) {
        // Written on purpose: without a policy Dapr makes retries of its own.
        Told::Is(0, _) => return false,
        Told::Is(retries @ 1.., span) => {
            draft.retries(retries.try_into().unwrap_or(u32::MAX - 2), span);
        }
        Told::Is(_, span) => {
            let how = "below 0 is without an end";
            draft.origin("attempts", Origin::Derived(span, how.into()));
        }
        Told::Absent => {
            let how = "there is no end without `maxRetries`";
            draft.origin("attempts", Origin::Derived(key.span, how.into()));
        }
        told @ Told::Unknown(..) => draft.set("attempts", told, |_, _| {}),
    }
    true
}

/// Calls between sidecars of apps without policies: only what does not reach the other sidecar is repeated, at least three times.
fn built_in(draft: &mut Draft, key: &Key) {
    let attempts = &mut draft.policy.attempts;
    if !(4..Policy::UNLIMITED).contains(attempts) {
        *attempts = 4;
        let how = "Dapr makes at least 3 retries, and 3 of no end";
        draft.origin("attempts", Origin::Derived(key.span, how.into()));
    }
    matching::between_sidecars(draft);
}

/// What opens where failures follow each other; what else is written is not read.
fn breaker(draft: &mut Draft, key: &Key, node: &Node) {
    let trip = node.get("trip").and_then(Node::text);
    let Some(failures) = trip.map_or(Some(6), consecutive) else {
        let why = "a breaker with an expression that is not read";
        draft.lose("circuitBreaker", why, Some(key.span));
        return;
    };
    let mut breaker = Breaker::consecutive(failures);
    let open = node.get("timeout").and_then(go_text);
    breaker.open = open.unwrap_or(Duration::from_secs(60));
    breaker.open_max = breaker.open;
    breaker.jitter = 0.0;
    let probes = node
        .get("maxRequests")
        .and_then(|it| it.text()?.parse().ok());
    breaker.probes = probes.unwrap_or(1).max(1);
    breaker.successes = breaker.probes;
    if breaker.validate().is_err() {
        let why = "a breaker with values that no policy can have";
        draft.lose("circuitBreaker", why, Some(key.span));
        return;
    }
    draft.policy.breaker = Some(breaker);
    draft.origin("breaker", Origin::Line(key.span));
    let why = "of an app each address has a breaker of its own, of actors each type or each id";
    draft.lose("circuitBreaker", why, Some(key.span));
}

/// `consecutiveFailures > 5`.
fn consecutive(trip: &str) -> Option<u32> {
    let rest = trip
        .trim()
        .strip_prefix("consecutiveFailures")?
        .trim_start();
    if let Some(number) = rest.strip_prefix(">=") {
        return number.trim().parse().ok().filter(|it| *it > 0);
    }
    let number: u32 = rest.strip_prefix('>')?.trim().parse().ok()?;
    number.checked_add(1)
}

fn duration(reading: &mut Reading<'_>, node: Option<&Node>) -> Told<Duration> {
    reading.told(node, "a duration such as 5s", parsed)
}

fn go_text(node: &Node) -> Option<Duration> {
    node.text().and_then(parsed)
}

/// As `time.ParseDuration` has it; a number is of milliseconds.
fn parsed(text: &str) -> Option<Duration> {
    match text.parse() {
        Ok(millis) => Some(Duration::from_millis(millis)),
        Err(_) => go_duration(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trips_count_failures_that_follow_each_other() {
        for (trip, failures) in [
            ("consecutiveFailures > 15", Some(16)),
            ("consecutiveFailures>=5", Some(5)),
            ("totalFailures > 5", None),
            ("consecutiveFailures > 5 && requests > 10", None),
        ] {
            assert_eq!(consecutive(trip), failures, "{trip}");
        }
    }
}
