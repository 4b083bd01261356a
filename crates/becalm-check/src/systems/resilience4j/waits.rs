//! How long does Resilience4j wait before a retry?
//!
//! `configureRetryIntervalFunction` and `IntervalFunction`: the wait is that of the first level that says `waitDuration`. Of the
//! rest flags, multiplier and longest wait are taken from the levels below it, and never from those above.

use std::time::Duration;

use becalm::Jitter;
use becalm::backoff::Backoff;

use super::super::spring::{duration, flag};
use super::instance::Levels;
use super::{Draft, Node, Origin, Reading, Told, entry, get};
use crate::code;

/// What is read only together with a wait or a flag.
const EXPONENTIAL: [&str; 2] = ["exponentialBackoffMultiplier", "exponentialMaxWaitDuration"];

pub fn waits(reading: &mut Reading<'_>, draft: &mut Draft, levels: &Levels<'_>) {
    if let Some(node) = levels.value("intervalBiFunction") {
        let why = "a class of the application says how long to wait";
        draft.lose("intervalBiFunction", why, Some(node.span));
    }
    let says = |it: &&Node| get(it, "waitDuration").is_some_and(|it| !it.is_null());
    let place = levels.0.iter().position(says);
    let above = place.unwrap_or(levels.0.len());
    for level in &levels.0[..above] {
        unheeded(reading, level);
    }
    let Some(place) = place else { return };
    let own = levels.0[place];
    let levels = levels.from(place);
    let form = "a duration of Spring Boot, such as 500ms";
    let wait = reading.told(get(own, "waitDuration"), form, duration);
    let wait =
        wait.map(|it| Duration::from_millis(u64::try_from(it.as_millis()).unwrap_or(u64::MAX)));
    let is_zero = matches!(&wait, Told::Is(wait, _) if wait.is_zero());
    if let (Told::Is(_, span), true, "1.7") = (&wait, is_zero, reading.version) {
        let sentence =
            "resilience4j 1.7 does not heed a `waitDuration` of 0, and waits as without it";
        let remedy = "set 1ms, or leave it out";
        reading.find(*span, code::WAIT_IGNORED, sentence, remedy);
        return;
    }
    let exponential = flag_of(
        reading,
        draft,
        &levels,
        ("enableExponentialBackoff", "backoff"),
    );
    let random = flag_of(reading, draft, &levels, ("enableRandomizedWait", "jitter"));
    if let (Told::Is(_, span), true, true) = (&wait, is_zero, exponential || random) {
        let sentence = format!(
            "{} refuses a `waitDuration` below 1 ms that is to grow or to be random",
            reading.who()
        );
        reading.find(*span, code::REFUSED, sentence, "set at least 1ms");
    }
    draft.set("base", wait, |policy, it| policy.base = it);
    let (multiplier, most, factor) = factors(reading, own, &levels);
    let has_multiplier = matches!(multiplier, Told::Is(..));
    if exponential {
        draft.policy.backoff = Backoff::Exponential;
        draft.policy.multiplier = 1.5;
        draft.origin("multiplier", Origin::Default);
        if let Some(span) = levels.value("enableExponentialBackoff").map(|it| it.span) {
            draft.origin("backoff", Origin::Line(span));
        }
        shrinking(reading, draft, &multiplier);
        draft.set("multiplier", multiplier, |policy, it| {
            policy.multiplier = it.max(1.0);
        });
        let is_read = has_multiplier && (!random || matches!(factor, Told::Is(..)));
        longest(reading, draft, most, is_read, random);
    } else {
        idle(reading, own, &EXPONENTIAL, "`enableExponentialBackoff`");
    }
    if random {
        let is_read = !exponential || has_multiplier;
        jitter(reading, draft, &levels, factor, is_read);
    } else {
        idle(
            reading,
            own,
            &["randomizedWaitFactor"],
            "`enableRandomizedWait`",
        );
    }
}

/// A level above the one that says how long to wait: its flags come too late.
fn unheeded(reading: &mut Reading<'_>, level: &Node) {
    let flags = ["enableExponentialBackoff", "enableRandomizedWait"];
    let is_set = |name: &&str| get(level, name).and_then(Node::text).and_then(flag) == Some(true);
    for name in flags.iter().filter(|it| is_set(it)) {
        let Some((key, _)) = entry(level, name) else {
            continue;
        };
        let sentence = format!(
            "`{name}` is heeded only beside `waitDuration`, which is not set here: the wait does not change"
        );
        let remedy = "set `waitDuration` here as well";
        reading.find(key.span, code::WAIT_IGNORED, sentence, remedy);
    }
}

/// What the level says that nothing reads.
fn idle(reading: &mut Reading<'_>, own: &Node, names: &[&str], without: &str) {
    for (key, _) in names.iter().filter_map(|it| entry(own, it)) {
        let sentence = format!("`{}` is not heeded without {without}", key.name);
        let remedy = format!("set {without} to true");
        reading.find(key.span, code::WAIT_IGNORED, sentence, remedy);
    }
}

/// A flag, and the key of the policy that follows from it.
fn flag_of(
    reading: &mut Reading<'_>,
    draft: &mut Draft,
    levels: &Levels<'_>,
    (name, key): (&str, &'static str),
) -> bool {
    let told = reading.told(levels.value(name), "true or false", flag);
    if let Some(unknown) = Origin::unknown(&told) {
        draft.origin(key, unknown);
    }
    told.known() == Some(true)
}

/// The multiplier and the longest wait, of all levels, and the random factor, of this one alone.
fn factors(
    reading: &mut Reading<'_>,
    own: &Node,
    levels: &Levels<'_>,
) -> (Told<f64>, Told<Duration>, Told<f64>) {
    let positive = |it: &str| {
        it.parse()
            .ok()
            .filter(|it: &f64| it.is_finite() && *it > 0.0)
    };
    let share = |it: &str| it.parse().ok().filter(|it| (0.0..1.0).contains(it));
    let multiplier = levels.value("exponentialBackoffMultiplier");
    let most = levels.value("exponentialMaxWaitDuration");
    let factor = get(own, "randomizedWaitFactor");
    let some = |it: &str| duration(it).filter(|it| it.as_millis() > 0);
    (
        reading.told(multiplier, "a number above 0", positive),
        reading.told(most, "a duration of at least 1 ms, such as 5s", some),
        reading.told(factor, "a number from 0 to below 1", share),
    )
}

fn shrinking(reading: &mut Reading<'_>, draft: &mut Draft, multiplier: &Told<f64>) {
    if let Told::Is(it, span) = multiplier {
        if *it < 1.0 {
            let sentence = format!(
                "each wait is {it} of the one before: waits become shorter while the server fails"
            );
            let remedy = "set a multiplier of 1.5 or 2";
            reading.find(*span, code::WAIT_IGNORED, sentence, remedy);
            let why = "waits that become shorter";
            draft.lose("exponentialBackoffMultiplier", why, Some(*span));
        }
    }
}

/// It is read together with the multiplier alone, and with the random factor where waits are random.
fn longest(
    reading: &mut Reading<'_>,
    draft: &mut Draft,
    most: Told<Duration>,
    is_read: bool,
    random: bool,
) {
    let Told::Is(longest, span) = most else {
        draft.set("cap", most, |_, _| {});
        return;
    };
    if !is_read {
        let needs = if random {
            "`exponentialBackoffMultiplier` and `randomizedWaitFactor`"
        } else {
            "`exponentialBackoffMultiplier`"
        };
        let sentence = format!(
            "`exponentialMaxWaitDuration` is not heeded without {needs}: the waits grow without a bound"
        );
        reading.find(span, code::WAIT_IGNORED, sentence, format!("set {needs}"));
        return;
    }
    draft.policy.cap = longest;
    draft.origin("cap", Origin::Line(span));
    draft.policy.base = draft.policy.base.min(longest);
    if random {
        let why = "it cuts what was drawn, so that waits pile up on it; a policy draws below it";
        draft.lose("exponentialMaxWaitDuration", why, Some(span));
    }
}

fn jitter(
    reading: &mut Reading<'_>,
    draft: &mut Draft,
    levels: &Levels<'_>,
    factor: Told<f64>,
    is_read: bool,
) {
    let span = levels.value("enableRandomizedWait").map(|it| it.span);
    draft.policy.jitter = Jitter::Proportional(0.5);
    if let Some(span) = span {
        draft.origin(
            "jitter",
            Origin::Derived(span, "up to a half more or less".into()),
        );
    }
    match factor {
        Told::Is(_, span) if !is_read => {
            let sentence = "`randomizedWaitFactor` is not heeded without `exponentialBackoffMultiplier`: it is 0.5";
            let remedy = "set `exponentialBackoffMultiplier`";
            reading.find(span, code::WAIT_IGNORED, sentence, remedy);
        }
        factor => draft.set("jitter", factor, |policy, it| {
            policy.jitter = if it > 0.0 {
                Jitter::Proportional(it)
            } else {
                Jitter::None
            };
        }),
    }
}
