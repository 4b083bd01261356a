//! How bad is a danger in a file of this system, and what helps there?
//!
//! An error is what loses money: what is not idempotent is repeated as the file asks, or nothing bounds the repetitions. A
//! warning is what somebody can change in this system. All else is a note.

use std::time::Duration;

use becalm::Policy;
use becalm::classify::FailureKind;
use becalm::hedge::HedgeDelay;
use becalm::lint::Lint;
use becalm::retry_on::{Codes, Statuses};

use crate::code;
use crate::finding::Finding;
use crate::mapping::{Mapping, Origin};
use crate::severity::Severity;
use crate::system::{Follows, System};

/// Whether the file itself says something about retrying.
pub fn is_written(mapping: &Mapping, system: &System) -> bool {
    let own = |it: &Origin| matches!(it, Origin::Line(_) | Origin::Unknown(..));
    let counted = |key: &str, it: &Origin| {
        let is_said = match system.follows {
            Follows::Attempts => key == "attempts",
            Follows::Nothing => false,
            Follows::All => true,
        };
        is_said && matches!(it, Origin::Derived(..))
    };
    let is_time = |key: &str| ["deadline", "attempt_timeout"].contains(&key);
    let mut origins = mapping.origins.iter().filter(|(key, _)| !is_time(key));
    origins.any(|(key, it)| own(it) || counted(key, it))
}

/// How bad it is.
pub fn severity(
    mapping: &Mapping,
    is_written: bool,
    system: &System,
    lint: &str,
    has_remedy: bool,
) -> Severity {
    let is_own = |it: &Origin| matches!(it, Origin::Line(_) | Origin::Derived(..));
    let origins_say = |wanted: &str| {
        let mut origins = mapping.origins.iter();
        origins.any(|(key, it)| *key == wanted && is_own(it))
    };
    let is_unknown = |wanted: &str| {
        let mut origins = mapping.origins.iter();
        origins.any(|(key, it)| *key == wanted && matches!(it, Origin::Unknown(..)))
    };
    // A mode that stands for all says nothing of methods.
    let is_mode = system.follows == Follows::All;
    let asks = !is_mode && origins_say("retry_on");
    let is_elsewhere = system.elsewhere.contains(&lint);
    match lint {
        _ if !is_written => Severity::Note,
        // Who says in code which calls are repeated does not ask for it in the file.
        "repeats-non-idempotent" if asks && !is_elsewhere => Severity::Error,
        // What is filled in elsewhere may bound it.
        "no-bound" | "unlimited-without-budget" if is_unknown("attempts") => Severity::Warning,
        "no-bound" | "unlimited-without-budget" => Severity::Error,
        // No setting of a system that has this budget is another one.
        "hints-ignored" | "concurrency-alone" => Severity::Note,
        "repeats-non-idempotent" => Severity::Warning,
        // Of many attempts there can be fewer.
        "no-budget" | "hedge-without-budget" if is_elsewhere && begun(&mapping.policy) > FEW => {
            Severity::Warning
        }
        "no-total-time" if has_ends(mapping) => Severity::Note,
        _ if is_elsewhere => Severity::Note,
        // A budget that the system has by itself is as large in every file.
        "large-budget" if !origins_say("budget") => Severity::Note,
        "no-jitter" if longest_wait(&mapping.policy) <= SHORT => Severity::Note,
        // Time-outs that the system has by itself leave no more room in any other file.
        "attempt-timeout-fills-deadline"
            if mapping.policy.attempts <= FEW
                && !["attempt_timeout", "deadline"].into_iter().any(origins_say) =>
        {
            Severity::Note
        }
        _ if has_remedy => Severity::Warning,
        _ => Severity::Note,
    }
}

/// Attempts that are usual: three retries.
const FEW: u32 = 4;

/// The longest wait of the first attempts, which no later one is shorter than.
fn longest_wait(policy: &Policy) -> Duration {
    let waits = policy.schedule().take(LOOKED_AT).map(|it| it.most);
    waits.max().unwrap_or_default()
}

/// Waits that have grown to their cap by then.
const LOOKED_AT: usize = 64;

/// How many attempts begin before the deadline, as far as they are counted.
fn begun(policy: &Policy) -> u32 {
    let mut waited = Duration::ZERO;
    let is_in_time = |least: &Duration| {
        waited = waited.saturating_add(*least);
        policy.deadline.is_none_or(|it| waited < it)
    };
    let waits = policy.schedule().take(FEW as usize).map(|it| it.least);
    waits.take_while(is_in_time).fold(1, |all, _| all + 1)
}

/// Whether all of a call has an end, by those of its attempts: how long they take together is a lint where that is long.
pub fn has_ends(mapping: &Mapping) -> bool {
    let policy = &mapping.policy;
    let is_ended = policy.attempts != Policy::UNLIMITED && policy.attempt_timeout.is_some();
    is_ended && ENDS_ATTEMPTS.contains(&mapping.system)
}

/// Systems whose time-out of an attempt ends all of it: others end what comes no further for so long.
const ENDS_ATTEMPTS: [&str; 9] = [
    "contour",
    "dapr",
    "dotnet-resilience",
    "envoy",
    "envoy-gateway",
    "gateway-api",
    "istio",
    "kuma",
    "linkerd",
];

/// No draw spreads clients by more than the wait that it is of: one over so short a time spares a server nothing.
const SHORT: Duration = Duration::from_millis(100);

/// What a finding is where the file says nothing about retrying, and the system does it by itself.
pub fn of_default(finding: &mut Finding) {
    if may_change(finding.code) && finding.severity == Severity::Warning {
        finding.severity = Severity::Note;
    }
}

/// Whether findings of this code may become notes once their mapping is known.
pub fn may_change(code: &str) -> bool {
    Lint::CODES.contains(&code) || OF_SYSTEM.iter().any(|it| it.name == code)
}

/// Whether a note is about the system, and so is told once for all that is checked.
pub fn is_of_system(finding: &Finding) -> bool {
    finding.severity == Severity::Note && may_change(finding.code)
}

/// What a system does by itself.
const OF_SYSTEM: [code::Code; 7] = [
    code::IN_CODE,
    code::ATTEMPTS_ARE_RETRIES,
    code::ATTEMPTS_GROW,
    code::NO_TOTAL_TIME,
    code::DEFAULT_BUDGET,
    code::FLOOR_TIMES_CLIENTS,
    code::REPEATS_BY_DEFAULT,
];

/// Whether it is told: not what another lint says already, and nothing about answers where none is repeated.
pub fn is_told(mapping: &Mapping, lint: &Lint, all: &[&Lint]) -> bool {
    match lint.code {
        "repeats-what-may-be-done" => all.iter().all(|it| it.code != "repeats-non-idempotent"),
        "unlimited-without-budget" => all.iter().all(|it| it.code != "no-bound"),
        // One number bounds them, and lacks.
        "no-budget" if mapping.policy.attempts == Policy::UNLIMITED => {
            let is_said = |it: &&Lint| ["no-bound", "unlimited-without-budget"].contains(&it.code);
            mapping.system == "becalm" || !all.iter().any(is_said)
        }
        "hints-ignored" => !connects_alone(mapping),
        "attempt-timeout-fills-deadline" => !is_side_by_side(mapping),
        _ => true,
    }
}

/// Whether all attempts are hedged, and one starts while the one before still runs: a policy of becalm hedges each attempt.
fn is_side_by_side(mapping: &Mapping) -> bool {
    let (policy, timeout) = (&mapping.policy, mapping.policy.attempt_timeout);
    let delay = policy.hedge.as_ref().map(|it| it.delay);
    let is_sooner = |delay: Duration| timeout.is_none_or(|it| delay < it);
    mapping.system != "becalm" && matches!(delay, Some(HedgeDelay::After(it)) if is_sooner(it))
}

/// Whether only what was never sent is repeated.
fn connects_alone(mapping: &Mapping) -> bool {
    let Some(listed) = &mapping.policy.retry_on else {
        return false;
    };
    let of_connecting = [
        FailureKind::Connect,
        FailureKind::ConnectTimeout,
        FailureKind::RefusedStream,
    ];
    listed.statuses == Some(Statuses::default())
        && listed.codes.is_none_or(Codes::is_empty)
        && listed
            .failures
            .is_some_and(|it| it.iter().all(|it| of_connecting.contains(&it)))
}

/// What helps where the system has nothing against it.
pub fn remedy(system: &System, lint: &str) -> String {
    let lacks = LACKS.iter().find(|(it, _)| *it == lint);
    let lacks = lacks.map_or("no setting against it", |(_, it)| it);
    format!("{} has {lacks}; {}", system.title, fewer(system))
}

/// Whether there is a word for what a system lacks that has no remedy against a lint.
#[cfg(test)]
pub fn is_lacking(lint: &str) -> bool {
    LACKS.iter().any(|(it, _)| *it == lint)
}

/// How this system repeats less.
pub fn fewer(system: &System) -> &'static str {
    system.fewer.unwrap_or("retry less often")
}

/// What a system lacks that has no remedy against a lint.
const LACKS: [(&str, &str); 12] = [
    ("no-budget", "no budget of retries"),
    ("hints-ignored", "no setting that heeds `Retry-After`"),
    ("no-jitter", "no random part of a wait"),
    ("jitter-after-cap", "no other order of cap and random part"),
    ("narrow-jitter", "no wider random part"),
    ("no-growth", "no waits that grow"),
    ("retries-at-once", "no wait before a retry"),
    ("no-deadline", "no bound on all attempts together"),
    ("no-total-time", "no bound on all attempts together"),
    ("concurrency-alone", "no budget by a share of requests"),
    ("repeats-non-idempotent", "no list of methods"),
    ("repeats-what-may-be-done", "no way to tell what was done"),
];
