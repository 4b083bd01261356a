//! What do the properties of Resilience4j say about retrying?
//!
//! `CommonRetryConfigurationProperties`, `ConfigUtils`, `RetryConfig`, `RetryImpl` and the orders of the aspects of
//! `resilience4j-spring6`, in resilience4j/resilience4j 2.4.0 and 1.7.1.

mod instance;
mod retry_on;
mod siblings;
mod waits;

use std::collections::HashSet;

use becalm::Policy;
use becalm::preset::Preset;

use super::spring::{self, Properties, at, check, entry, get, is_called};
use crate::code;
use crate::document::{Document, Key, Node};
use crate::evidence::Evidence;
use crate::hints::looks_like_retries;
use crate::list::list;
use crate::mapping::{Draft, Origin};
use crate::reading::Reading;
use crate::scalars::{Scalars, is_number};
use crate::system::{Follows, Form, Schema, System};
use crate::told::Told;
use instance::{Configs, Levels};
use siblings::Siblings;

pub(super) const RESILIENCE4J: System = System {
    name: "resilience4j",
    title: "Resilience4j",
    versions: &["2.4", "1.7"],
    evidence: Evidence::Read,
    form: Form::Tree,
    remedies: REMEDIES,
    fewer: Some("lower `maxAttempts`"),
    elsewhere: &[
        "no-budget",
        "no-deadline",
        "no-total-time",
        "repeats-non-idempotent",
    ],
    follows: Follows::Attempts,
    schema: Schema {
        scalars: Scalars::Java,
        own: &[
            ("", "failAfterMaxAttempts"),
            ("", "consumeResultBeforeRetryAttempt"),
        ],
        tables: &["retry"],
        of_no_table: code::NOT_UNDERSTOOD,
        ..Schema::OPEN
    },
};

/// What helps against a lint, by its code.
const REMEDIES: &[(&str, &str)] = &[
    (
        "no-budget",
        "lower `maxAttempts`: Resilience4j has no budget",
    ),
    ("no-jitter", "set `enableRandomizedWait: true`"),
    ("retries-at-once", "set `waitDuration`"),
    (
        "no-growth",
        "set an `exponentialBackoffMultiplier` of 1.5 or 2",
    ),
    (
        "hints-ignored",
        "name a class for `intervalBiFunction`, which sees the exception and with it the Retry-After",
    ),
    (
        "no-deadline",
        "set a time-out around the call in code: a TimeLimiter inside the retry ends an attempt",
    ),
    (
        "attempt-timeout-fills-deadline",
        "lower `timeoutDuration` or `maxAttempts`",
    ),
    (
        "repeats-non-idempotent",
        "give what is not idempotent an instance of its own, whose `retryExceptions` name what is said before the work begins",
    ),
    (
        "repeats-what-may-be-done",
        "name in `retryExceptions` what is said before the work begins, such as java.net.ConnectException",
    ),
    (
        "waits-exceed-deadline",
        "lower `maxAttempts` or `waitDuration`, or raise `timeoutDuration`",
    ),
    (
        "long-waits",
        "lower `waitDuration`, or `exponentialMaxWaitDuration` of waits that grow",
    ),
];

const ROOT: &[&str] = &["resilience4j"];

pub(super) fn recognises(document: &Document<'_>) -> bool {
    spring::has(document, ROOT)
}

const KEYS: &[&str] = &[
    "attempts", "backoff", "base", "jitter", "hint", "budget", "deadline", "retry_on",
];

/// The fields of `InstanceProperties`.
const KNOWN: &[&str] = list!(
    "waitDuration intervalBiFunction maxAttempts retryExceptionPredicate resultPredicate \
     consumeResultBeforeRetryAttempt retryExceptions ignoreExceptions eventConsumerBufferSize \
     enableExponentialBackoff exponentialBackoffMultiplier exponentialMaxWaitDuration \
     enableRandomizedWait randomizedWaitFactor failAfterMaxAttempts baseConfig"
);

/// Its name before 2.0.
const OLD_ATTEMPTS: &str = "maxRetryAttempts";

pub(super) fn read(reading: &mut Reading<'_>) {
    reading.misread = code::REFUSED;
    let Some(properties) = Properties::read(reading, ROOT) else {
        return;
    };
    let Some(all) = get(&properties.tree, "resilience4j") else {
        return;
    };
    names(all);
    siblings::check_breakers(reading, all);
    let Some((key, retry)) = entry(all, "retry") else {
        return;
    };
    let known = [
        "instances",
        "backends",
        "configs",
        "retryAspectOrder",
        "tags",
        // `RetryMetricsAutoConfiguration`, and what Micronaut asks for.
        "metrics",
        "enabled",
    ];
    check(reading, Some(retry), "`resilience4j.retry`", &known);
    let configs = get(retry, "configs").map_or(&[][..], Node::entries);
    let instances = ["instances", "backends"].into_iter();
    let instances = instances.filter_map(|it| get(retry, it));
    let instances: Vec<_> = instances.flat_map(Node::entries).collect();
    for (key, given) in configs.iter().chain(instances.iter().copied()) {
        keys(reading, given);
        if !given.is_table() && !given.is_null() {
            let sentence = format!(
                "`{}` stands where the names of configs and instances stand, and is none with settings",
                key.name
            );
            let remedy = "move it into one of them, such as `configs.default`";
            reading.find(key.span, code::NOT_UNDERSTOOD, sentence, remedy);
        }
    }
    if !configs.is_empty() || !instances.is_empty() {
        let sentence = "which methods are repeated is said in code, by annotations and decorators: Resilience4j repeats whatever they stand at, a POST as well";
        reading.find(key.span, code::IN_CODE, sentence, "");
    }
    let changed = changed(reading, &properties);
    let is_told = |key: &Key| {
        changed
            .as_ref()
            .is_none_or(|names| names.contains(&key.name))
    };
    let default = configs.iter().find(|(key, _)| key.name == "default");
    let default = default.filter(|_| instances.is_empty());
    let told = instances.into_iter().filter(|(key, _)| is_told(key));
    let (configs, siblings) = {
        let is_alone = properties.is_alone();
        (
            Configs::of(Some(retry), is_alone),
            Siblings::of(all, is_alone),
        )
    };
    for (key, given) in told.chain(default) {
        let name = &*key.name;
        let levels = Levels::of(reading, &configs, name, given);
        let mut draft = draft(reading, &levels);
        siblings.tell(reading, &mut draft, &levels, name);
        let told = properties.named(&format!("retry {name}"));
        reading.map(draft, told, vec![name.to_owned()], key.span);
    }
}

/// Takes the names of configs and instances that look like retries as names: they set nothing, whatever they are. Others stand,
/// perhaps, in one key with what is set.
fn names(all: &Node) {
    let called =
        |(key, _): &&(Key, Node), names: &[&str]| names.iter().any(|it| is_called(key, it));
    let modules = all.entries().iter().filter(|it| called(it, MODULES));
    let places = modules.flat_map(|(_, it)| it.entries());
    let places = places.filter(|it| called(it, &["configs", "instances", "backends"]));
    let named = places.flat_map(|(_, it)| it.entries());
    for (key, _) in named.filter(|(key, it)| it.is_table() && looks_like_retries(&key.name)) {
        key.asked.set(true);
    }
}

const MODULES: &[&str] =
    list!("retry circuitbreaker ratelimiter bulkhead thread-pool-bulkhead timelimiter");

/// The instances that a profile says something of; `None` where it says something of all, or is none.
fn changed(reading: &Reading<'_>, properties: &Properties<'_>) -> Option<HashSet<String>> {
    properties.profile.as_ref()?;
    let own = spring::alone(&reading.document)?;
    let modules = get(&own, "resilience4j").map_or(&[][..], Node::entries);
    let mut names = HashSet::new();
    for (kind, given) in modules.iter().flat_map(|(_, it)| it.entries()) {
        if !["instances", "backends"]
            .iter()
            .any(|it| is_called(kind, it))
        {
            return None;
        }
        names.extend(given.entries().iter().map(|(key, _)| key.name.clone()));
    }
    Some(names)
}

fn keys(reading: &mut Reading<'_>, given: &Node) {
    let mut known = KNOWN.to_vec();
    known.push(OLD_ATTEMPTS);
    check(reading, Some(given), "a retry", &known);
    if let (Some((key, _)), false) = (entry(given, OLD_ATTEMPTS), reads_old_attempts(reading)) {
        let sentence = format!(
            "{} does not read `{}`, the name before 2.0: without `maxAttempts` it makes 3 attempts, or as many as a shared config says",
            reading.who(),
            key.name
        );
        let remedy = "write `maxAttempts`";
        reading.find(key.span, code::KEY_NOT_READ, sentence, remedy);
    }
}

fn reads_old_attempts(reading: &Reading<'_>) -> bool {
    reading.version == "1.7"
}

fn draft(reading: &mut Reading<'_>, levels: &Levels<'_>) -> Draft {
    let mut draft = Draft::of(bare(), KEYS);
    attempts(reading, &mut draft, levels);
    waits::waits(reading, &mut draft, levels);
    for name in ["retryExceptions", "ignoreExceptions"] {
        if let Some(node) = levels.value(name) {
            reading.is_default(node.span);
        }
    }
    retry_on::retry_on(&mut draft, levels);
    draft
}

fn bare() -> Policy {
    Preset::by_name("resilience4j").map_or_else(|_| Policy::default(), Preset::policy)
}

/// They count the first try.
fn attempts(reading: &mut Reading<'_>, draft: &mut Draft, levels: &Levels<'_>) {
    let form = "a number of attempts of at least 1";
    let mut told = of_key(reading, levels.value("maxAttempts"), form);
    if reads_old_attempts(reading) {
        told = told.or(of_key(reading, levels.value(OLD_ATTEMPTS), form));
    }
    draft.set("attempts", told, |policy, it| policy.attempts = it);
}

fn of_key(reading: &mut Reading<'_>, node: Option<&Node>, form: &str) -> Told<u32> {
    let is_number = node.is_some_and(is_number);
    let told = reading.told(node, form, |text| {
        // `NumberUtils.convertNumberToTargetClass` of Spring.
        let cut = text.parse().ok().filter(|_| is_number).map(f64::trunc);
        let whole = cut.map_or_else(|| text.to_owned(), |it| it.to_string());
        whole.parse().ok().filter(|it| *it > 0)
    });
    let said = node.and_then(Node::text).filter(|it| it.contains('.'));
    if let (Told::Is(attempts, span), Some(said)) = (&told, said.filter(|it| !it.ends_with(".0"))) {
        let sentence = format!("Spring cuts `{said}` to {attempts}");
        reading.find(*span, code::ATTEMPTS_CUT, sentence, "write a whole number");
    }
    told
}
