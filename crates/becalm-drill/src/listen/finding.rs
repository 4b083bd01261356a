//! What does the drill show of a client? Decided by what was counted alone.

use std::fmt::Write as _;

use becalm::support::Human;
use becalm_report::format::plain;
use serde::Serialize;

use super::Outcome;
use super::retried::{Shown, Unseen};
use crate::judged::back;
use crate::staging::ENOUGH;
use crate::statistics::{Phase, count, per_second};

/// So many attempts for each first try, in the fault's last second, are worth a sentence of their own.
const MANY: f64 = 1.25;

/// Above this share of requests that say no id, attempts are not told from calls.
const UNIDENTIFIED: f64 = 0.05;

/// So many times as many calls as before, and no retries: then the attempts have ids of their own, or none.
const TOO_MANY: f64 = 1.5;

/// What it all came to; the names in the JSON document are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Finding {
    /// Calls failed before anything was broken.
    Unwell,
    /// The fault was begun or lifted too late.
    Void,
    /// Requests did not say which call they are of.
    Unidentified,
    /// Too few calls came before the fault, during it or after it to say anything.
    Idle,
    /// The drill ended while more and more of the calls that began after the fault succeeded.
    #[serde(rename = "too-short")]
    TooShort,
    /// Calls that began after the fault did not succeed as before it.
    Storm,
    /// They did, and too little failed during the fault to see what the client does then.
    Unseen,
    /// They did, and every call is tried as often as a number says.
    Unbounded,
    /// They did, and something bounds the retries of all calls together.
    Bounded,
    /// They did, and no call was tried twice.
    Single,
}

impl Finding {
    pub fn of(outcome: &Outcome) -> Self {
        let calls = |phase: Phase| outcome.contender.measured.phases[phase as usize].calls;
        let shown = shown(outcome);
        let is_nothing = matches!(shown, Shown::Nothing(_));
        if !outcome.before.is_enough() {
            Self::Idle
        } else if !outcome.before.is_well() {
            Self::Unwell
        } else if outcome.is_late() {
            Self::Void
        } else if calls(Phase::Before) < ENOUGH {
            Self::Idle
        } else if doubt(outcome).is_some() {
            Self::Unidentified
        } else if calls(Phase::After) < ENOUGH || is_nothing && calls(Phase::Trigger) < ENOUGH {
            Self::Idle
        } else if outcome.contender.judged.open().is_some() {
            Self::TooShort
        } else if outcome.contender.judged.back_after().is_none() {
            Self::Storm
        } else {
            match shown {
                Shown::Nothing(_) => Self::Unseen,
                Shown::Single => Self::Single,
                Shown::Bounded => Self::Bounded,
                Shown::Unbounded => Self::Unbounded,
            }
        }
    }

    /// Whether a build may go on.
    pub const fn is_good(self) -> bool {
        matches!(self, Self::Bounded | Self::Single)
    }
}

/// What it came to, in sentences made of what was counted.
pub fn conclusion(outcome: &Outcome) -> String {
    let contender = &outcome.contender;
    let setup = &outcome.setup;
    let fault = format!("{} of {}", outcome.fault, Human(setup.trigger));
    let during = &contender.measured.phases[Phase::Trigger as usize];
    let finding = Finding::of(outcome);
    let mut text = match finding {
        Finding::Unwell => format!(
            "Nothing was broken: {:.0}% of the calls were good before, and a service is well from 95% on.",
            outcome.before.share() * 100.0
        ),
        Finding::Void => format!(
            "This drill is void: {fault} was begun or lifted {} ms too late, because this machine was busy or the drill stood still. \
             Hold it again.",
            outcome.lateness.as_millis()
        ),
        Finding::Unidentified => format!(
            "Attempts cannot be told from calls: {} Let the attempts of a call have the same X-Request-Id.",
            doubt(outcome).unwrap_or_default()
        ),
        Finding::Idle if !outcome.before.is_enough() => format!(
            "Nothing was broken: {} of {} calls had their answer before {fault}, and it takes {ENOUGH} to say that the service is well. \
             Let your client call more often, or lengthen --before beyond what an answer takes.",
            outcome.before.known, outcome.before.calls
        ),
        Finding::Idle => {
            let [before, during, after] =
                Phase::ALL.map(|it| contender.measured.phases[it as usize].calls);
            format!(
                "Too few calls came to say anything: {before} before {fault}, {during} during it and {after} after it, and it \
                 takes {ENOUGH} of each. Let your client go on calling, or lengthen --before, --trigger and --after."
            )
        }
        Finding::TooShort => format!(
            "Calls did not succeed as before {} after {fault}, {}.",
            Human(setup.after),
            contender.judged.open().unwrap_or_default()
        ),
        Finding::Storm => format!(
            "Calls did not succeed again: {} after {fault}, {} of {} calls a second were answered.",
            Human(setup.after),
            plain(contender.judged.outcome.tail.goodput().round()),
            plain(contender.judged.outcome.before.goodput().round()),
        ),
        Finding::Unseen => format!("{} {}", recovered(outcome, &fault), unseen(outcome)),
        Finding::Unbounded => format!(
            "{} Nothing but a number of attempts bounds the retries: a service {} is kept down by them. Give the client a budget; \
             if it has one, what it had saved was not spent yet: lengthen --trigger.",
            recovered(outcome, &fault),
            match contender.measured.quiet.filter(|it| *it > MANY) {
                Some(attempts) =>
                    format!("that serves less than {attempts:.1} times its usual load"),
                None => "with less room".into(),
            }
        ),
        Finding::Bounded => format!(
            "{} Something bounds the retries of all calls together.",
            recovered(outcome, &fault)
        ),
        Finding::Single => format!("{} No call was tried twice.", recovered(outcome, &fault)),
    };
    let is_told = matches!(
        finding,
        Finding::Unwell | Finding::Void | Finding::Unidentified
    );
    if let Some(attempts) = during.amplification().filter(|_| !is_told) {
        let most = outcome.seen.calls_by_attempts.len();
        let quiet = contender.measured.quiet;
        let quiet = quiet.map_or_else(|| "none".into(), |it| format!("{it:.2}"));
        let _ = write!(
            text,
            " During the fault the client made {attempts:.2} attempts for each first try, in its last second {quiet}, and at most {most} of one call.",
        );
    }
    text
}

/// Why the retries cannot be judged, and what helps.
fn unseen(outcome: &Outcome) -> String {
    match shown(outcome) {
        Shown::Nothing(Unseen::Share(share)) => format!(
            "No verdict on its retries: {share}% of the attempts failed, so few that a budget would let all be tried again. \
             Take --fault status:503."
        ),
        Shown::Nothing(Unseen::Few(failed)) => format!(
            "No verdict on its retries: {failed} attempts failed in the second half of the fault, and it takes {ENOUGH} to see whether \
             they are tried again. Lengthen --trigger to several times what your client waits, or take --fault status:503."
        ),
        _ => "No verdict on its retries: in the second half of the fault they were not as in the whole. Lengthen --trigger.".into(),
    }
}

/// What its retries show.
fn shown(outcome: &Outcome) -> Shown {
    let before = &outcome.contender.measured.phases[Phase::Before as usize];
    let usual = per_second(before.calls, before.length) * outcome.setup.trigger.as_secs_f64() / 2.0;
    let is_tried_twice = outcome.seen.calls_by_attempts.len() > 1;
    outcome.retried.shows(is_tried_twice, usual)
}

fn recovered(outcome: &Outcome, fault: &str) -> String {
    let time = outcome.contender.judged.back_after().unwrap_or_default();
    format!("After {fault} it was {}.", back(time))
}

/// Why the counts may not be those of calls, in sentences.
fn doubt(outcome: &Outcome) -> Option<String> {
    let rate = |phase: Phase| {
        let figures = &outcome.contender.measured.phases[phase as usize];
        per_second(figures.arrived, figures.length)
    };
    let (before, during) = (rate(Phase::Before), rate(Phase::Trigger));
    let [ids, traces, none] = outcome.seen.identified;
    let share = count(none) / count((ids + traces + none).max(1));
    if share > UNIDENTIFIED {
        return Some(format!(
            "{:.0}% of the requests said neither by X-Request-Id nor by traceparent which call they are of. {} came in a second before, \
             and {} during the fault: if calls came as before, {:.1} attempts of each.",
            share * 100.0,
            plain(before.round()),
            plain(during.round()),
            during / before.max(1.0),
        ));
    }
    let is_tried_twice = outcome.seen.calls_by_attempts.len() > 1;
    (!is_tried_twice && before > 0.0 && during > TOO_MANY * before).then(|| {
        format!(
            "no call was tried twice, but {:.1} times as many began during the fault as before. If each attempt has an id of its own, \
             these were retries; if your client calls again as soon as a call has failed, take --fault hold.",
            during / before
        )
    })
}

#[cfg(test)]
pub mod tests {
    use std::time::Duration;

    use super::super::plan::variant;
    use super::super::retried::tests::every;
    use super::super::retried::{Moments, Retried, Tries};
    use super::super::watched;
    use super::super::{Outcome, before};
    use super::*;
    use crate::fault::{Bucket, Fault, Seen};
    use crate::judgement::Contender;
    use crate::latencies::Latencies;
    use crate::setup::Setup;
    use becalm_sim::scenario::Service;

    /// 100 calls a second for ten seconds. A fault breaks the second and the third second: a call makes this number of attempts then.
    /// `good_after` is 1 where calls succeed afterwards.
    pub fn outcome(attempts: u32, rows: usize, good_after: u32) -> Outcome {
        let setup = Setup {
            before: Duration::from_secs(1),
            trigger: Duration::from_secs(2),
            after: Duration::from_secs(7),
            workers: Service::UNLIMITED,
            service_time: Duration::ZERO,
            fault: "hold".into(),
            ..crate::setup::tests::usual()
        };
        let bucket = |number: usize| {
            let (attempts, good) = match number / 100 {
                0 => (1, 1),
                1 | 2 => (attempts, 0),
                _ => (1, good_after),
            };
            Bucket {
                calls: 1,
                attempts,
                good,
                answers: good,
            }
        };
        let seen = Seen {
            buckets: (0..1_000).map(bucket).collect(),
            calls_by_attempts: vec![1; rows],
            identified: [1_000, 0, 0],
            ..Seen::default()
        };
        let recording = watched::recording(&seen, setup.length());
        Outcome {
            contender: Contender::new(variant(), recording, &Latencies::default(), &setup),
            setup,
            fault: Fault::Hold,
            upstream: "http://localhost".into(),
            seen,
            before: before::tests::seen(100, 100, 0),
            retried: every(200, attempts.into()),
            lateness: Duration::ZERO,
            command: String::new(),
        }
    }

    #[test]
    fn a_client_is_judged_by_its_attempts_and_by_what_follows() {
        for (attempts, rows, good_after, finding, words) in [
            (1, 1, 1, Finding::Single, "No call was tried twice"),
            (
                4,
                4,
                1,
                Finding::Unbounded,
                "less than 4.0 times its usual load",
            ),
            (
                4,
                4,
                0,
                Finding::Storm,
                "0 of 100 calls a second were answered",
            ),
        ] {
            let outcome = outcome(attempts, rows, good_after);
            assert_eq!(Finding::of(&outcome), finding);
            let conclusion = conclusion(&outcome);
            assert!(conclusion.contains(words), "{conclusion}");
            let said = format!("{attempts}.00 attempts for each first try");
            assert!(conclusion.contains(&said), "{conclusion}");
        }
    }

    #[test]
    fn s4_a_drill_that_ends_while_more_and_more_calls_succeed_is_too_short() {
        let mut open = outcome(4, 4, 0);
        for (number, bucket) in open.seen.buckets.iter_mut().enumerate().skip(300) {
            bucket.good = u32::from(number % 10 < (number - 200) / 100);
        }
        let recording = watched::recording(&open.seen, open.setup.length());
        open.contender = Contender::new(variant(), recording, &Latencies::default(), &open.setup);
        assert_eq!(Finding::of(&open), Finding::TooShort);
        let told = conclusion(&open);
        let words = "Calls did not succeed as before 7s after hold of 2s, and still on its way";
        assert!(told.contains(words), "{told}");
        assert!(!crate::drill::Report::is_as_expected(&open));
    }

    #[test]
    fn what_cannot_be_told_is_said() {
        let mut unwell = outcome(4, 4, 0);
        unwell.before = before::tests::seen(100, 94, 6);
        assert_eq!(Finding::of(&unwell), Finding::Unwell);
        assert!(conclusion(&unwell).contains("94% of the calls were good before"));
        unwell.before = before::tests::seen(100, 9, 0);
        assert_eq!(Finding::of(&unwell), Finding::Idle);
        let told = conclusion(&unwell);
        assert!(told.contains("Nothing was broken: 9 of 100"), "{told}");

        let mut late = outcome(4, 4, 1);
        late.lateness = Duration::from_millis(200);
        assert_eq!(Finding::of(&late), Finding::Unbounded);
        late.lateness = Duration::from_millis(201);
        assert_eq!(Finding::of(&late), Finding::Void);
        let told = conclusion(&late);
        assert!(told.contains("201 ms too late"), "{told}");

        let mut unseen = outcome(1, 4, 1);
        unseen.retried = Retried::default();
        assert_eq!(Finding::of(&unseen), Finding::Unseen);
        let told = conclusion(&unseen);
        assert!(told.contains("take --fault status:503"), "{told}");

        let mut anonymous = outcome(4, 4, 1);
        anonymous.seen.identified = [0, 900, 100];
        assert_eq!(Finding::of(&anonymous), Finding::Unidentified);
        let told = conclusion(&anonymous);
        assert!(told.contains("10% of the requests said neither"), "{told}");
        assert!(told.contains("4.0 attempts of each"), "{told}");
        anonymous.seen.identified = [0, 960, 40];
        assert_eq!(Finding::of(&anonymous), Finding::Unbounded);

        let mut own_ids = outcome(1, 1, 1);
        for bucket in &mut own_ids.seen.buckets[100..300] {
            (bucket.calls, bucket.attempts) = (4, 4);
        }
        let recording = watched::recording(&own_ids.seen, own_ids.setup.length());
        own_ids.contender =
            Contender::new(variant(), recording, &Latencies::default(), &own_ids.setup);
        assert_eq!(Finding::of(&own_ids), Finding::Unidentified);
        let told = conclusion(&own_ids);
        assert!(told.contains("4.0 times as many began"), "{told}");

        for silence in [1..100, 100..300, 300..1_000] {
            let mut idle = outcome(1, 1, 1);
            for bucket in &mut idle.seen.buckets[silence.clone()] {
                *bucket = Bucket::default();
            }
            let recording = watched::recording(&idle.seen, idle.setup.length());
            idle.contender =
                Contender::new(variant(), recording, &Latencies::default(), &idle.setup);
            idle.retried = Retried::default();
            assert_eq!(Finding::of(&idle), Finding::Idle, "{silence:?}");
            assert!(conclusion(&idle).contains("Too few calls"));
        }
    }

    #[test]
    fn a_client_that_ceases_to_call_is_bounded_and_not_idle() {
        let mut breaker = outcome(1, 3, 1);
        for bucket in &mut breaker.seen.buckets[103..300] {
            *bucket = Bucket::default();
        }
        let recording = watched::recording(&breaker.seen, breaker.setup.length());
        breaker.contender =
            Contender::new(variant(), recording, &Latencies::default(), &breaker.setup);
        let begun = Tries::default();
        let lifted = Tries {
            attempts: 5,
            retries: 2,
            ended: 5,
            failed: 5,
        };
        breaker.retried = Moments {
            begun,
            middle: lifted,
            lifted,
            over: lifted,
        }
        .into();
        assert_eq!(Finding::of(&breaker), Finding::Bounded);
        let told = conclusion(&breaker);
        assert!(told.contains("in its last second none"), "{told}");
    }

    #[test]
    fn names_in_the_document_are_stable() {
        let all = [
            (Finding::Unwell, "unwell"),
            (Finding::Void, "void"),
            (Finding::Unidentified, "unidentified"),
            (Finding::Idle, "idle"),
            (Finding::TooShort, "too-short"),
            (Finding::Storm, "storm"),
            (Finding::Unseen, "unseen"),
            (Finding::Unbounded, "unbounded"),
            (Finding::Bounded, "bounded"),
            (Finding::Single, "single"),
        ];
        for (finding, name) in all {
            assert_eq!(serde_json::to_value(finding).unwrap(), name);
        }
    }
}
