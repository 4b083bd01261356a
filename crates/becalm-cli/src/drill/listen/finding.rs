//! What does the drill show of a client? Decided by what was counted alone.

use std::fmt::Write as _;

use becalm::duration::Human;
use becalm_report::format::plain;

use super::Outcome;
use crate::drill::judged::back;
use crate::drill::ledger::Count;
use crate::drill::statistics::{Phase, count, per_second};
use crate::drill::target::ENOUGH;

/// Up to so many attempts per call, in the fault's last second, something other than a number of attempts bounds them: a budget
/// of 10 % has 1.1, and what it had saved is spent by then.
const BOUNDED: f64 = 1.25;

/// Above this share of requests that say no id, attempts are not told from calls.
const UNIDENTIFIED: f64 = 0.05;

/// So many times as many calls as before, and no retries: then the attempts have ids of their own, or none.
const TOO_MANY: f64 = 1.5;

/// What it all came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    /// Calls failed before anything was broken.
    Unwell,
    /// Requests did not say which call they are of.
    Unidentified,
    /// Too few calls came before the fault, during it or after it to say anything.
    Idle,
    /// Calls that began after the fault did not succeed as before it.
    Storm,
    /// They did, and every call is tried as often as a number says.
    Unbounded,
    /// They did, and something bounds the retries of all calls together.
    Bounded,
    /// They did, and no call was tried twice.
    Single,
}

impl Finding {
    /// The name in the JSON document: stable.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unwell => "unwell",
            Self::Unidentified => "unidentified",
            Self::Idle => "idle",
            Self::Storm => "storm",
            Self::Unbounded => "unbounded",
            Self::Bounded => "bounded",
            Self::Single => "single",
        }
    }

    pub fn of(outcome: &Outcome) -> Self {
        let measured = &outcome.contender.measured;
        if !outcome.was_well {
            Self::Unwell
        } else if unidentified(outcome).is_some_and(|it| it > UNIDENTIFIED) {
            Self::Unidentified
        } else if measured.phases.iter().any(|it| it.calls < ENOUGH) {
            Self::Idle
        } else if outcome.contender.judged.back_after().is_none() {
            Self::Storm
        } else if outcome.seen.calls_by_attempts.len() <= 1 {
            Self::Single
        } else if measured.quiet.is_some_and(|it| it <= BOUNDED) {
            Self::Bounded
        } else {
            Self::Unbounded
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
            contender.judged.outcome.usual * 100.0
        ),
        Finding::Unidentified => {
            let rate = |phase: Phase| {
                let figures = &contender.measured.phases[phase as usize];
                per_second(figures.arrived, figures.length)
            };
            let (before, during) = (rate(Phase::Before), rate(Phase::Trigger));
            format!(
                "Attempts cannot be told from calls: {:.0}% of the requests said neither by X-Request-Id nor by traceparent which call \
                 they are of. {} of them came in a second before, and {} during {fault}: if calls came as before, {:.1} attempts \
                 of each. Let the attempts of a call have the same X-Request-Id.",
                unidentified(outcome).unwrap_or(1.0) * 100.0,
                plain(before.round()),
                plain(during.round()),
                during / before.max(1.0),
            )
        }
        Finding::Idle => {
            let [before, during, after] =
                Phase::ALL.map(|it| contender.measured.phases[it as usize].calls);
            format!(
                "Too few calls came to say anything: {before} before {fault}, {during} during it and {after} after it, and it \
                 takes {ENOUGH} of each. Let your client go on calling, or lengthen --before, --trigger and --after."
            )
        }
        Finding::Storm => format!(
            "Calls did not succeed again: {} after {fault}, {} of {} calls a second were answered.",
            Human(setup.after),
            plain(contender.judged.outcome.tail.goodput().round()),
            plain(contender.judged.outcome.before.goodput().round()),
        ),
        Finding::Unbounded => format!(
            "{} Nothing but a number of attempts bounds the retries: a service that serves less than {:.1} times its usual load \
             is kept down by them. Give the client a budget.",
            recovered(outcome, &fault),
            contender.measured.quiet.unwrap_or(1.0)
        ),
        Finding::Bounded => format!(
            "{} Something bounds the retries of all calls together.",
            recovered(outcome, &fault)
        ),
        Finding::Single => format!("{} No call was tried twice.", recovered(outcome, &fault)),
    };
    if !matches!(finding, Finding::Unwell | Finding::Unidentified) && during.calls > 0 {
        let most = outcome.seen.calls_by_attempts.len();
        let _ = write!(
            text,
            " During the fault the client made {:.2} attempts per call, in its last second {:.2}, and at most {most} of one call.",
            during.amplification().unwrap_or(1.0),
            contender.measured.quiet.unwrap_or(1.0),
        );
    }
    text.extend(doubt(outcome));
    text
}

fn recovered(outcome: &Outcome, fault: &str) -> String {
    let time = outcome.contender.judged.back_after().unwrap_or_default();
    format!("After {fault} it was {}.", back(time))
}

/// The share of requests that said nothing of their call; none without a request.
fn unidentified(outcome: &Outcome) -> Option<f64> {
    let [ids, traces, none] = outcome.seen.identified;
    let all = ids + traces + none;
    (all > 0).then(|| count(none) / count(all))
}

/// Why the counts may not be those of calls.
fn doubt(outcome: &Outcome) -> Option<String> {
    let rate = |phase: Phase| {
        let figures = &outcome.contender.measured.phases[phase as usize];
        per_second(figures.calls, figures.length)
    };
    let (before, during) = (rate(Phase::Before), rate(Phase::Trigger));
    let is_retried = outcome.seen.calls_by_attempts.len() > 1;
    (!is_retried && before > 0.0 && during > TOO_MANY * before).then(|| {
        format!(
            " But {:.1} times as many calls began during the fault as before: if each attempt has an id of its own, these were \
             retries. Let the attempts of a call have the same X-Request-Id.",
            during / before
        )
    })
}

/// Attempts per call of the whole drill; none without a call.
pub fn amplification(outcome: &Outcome) -> Option<f64> {
    let recording = &outcome.contender.recording;
    let calls = recording.total(Count::Call);
    (calls > 0).then(|| count(recording.total(Count::Arrived)) / count(calls))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::watched::Watched;
    use super::super::{Outcome, variant};
    use super::*;
    use crate::drill::fault::{Bucket, Fault, Seen};
    use crate::drill::judgement::Contender;
    use crate::drill::latencies::Latencies;
    use crate::drill::setup::Setup;
    use becalm_sim::scenario::Service;

    /// 100 calls a second, for ten seconds, of which the second and the third are broken: so many attempts per call then, and what share
    /// succeeds afterwards.
    fn outcome(attempts: u32, rows: usize, good_after: u32) -> Outcome {
        let setup = Setup {
            before: Duration::from_secs(1),
            trigger: Duration::from_secs(2),
            after: Duration::from_secs(7),
            workers: Service::UNLIMITED,
            service_time: Duration::ZERO,
            fault: "hold".into(),
            ..crate::drill::setup::tests::usual()
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
        let recording = Watched::of(&seen, setup.length()).recording;
        Outcome {
            contender: Contender::new(variant(), recording, &Latencies::default(), &setup),
            setup,
            fault: Fault::Hold,
            upstream: "http://localhost".into(),
            seen,
            was_well: true,
            command: String::new(),
        }
    }

    #[test]
    fn a_client_is_judged_by_its_attempts_and_by_what_follows() {
        for (attempts, rows, good_after, finding, words) in [
            (1, 1, 1, Finding::Single, "No call was tried twice"),
            (1, 4, 1, Finding::Bounded, "Something bounds"),
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
            let said = format!("{attempts}.00 attempts per call");
            assert!(conclusion.contains(&said), "{conclusion}");
        }
    }

    #[test]
    fn what_cannot_be_told_is_said() {
        let mut unwell = outcome(4, 4, 0);
        unwell.was_well = false;
        assert_eq!(Finding::of(&unwell), Finding::Unwell);
        assert!(conclusion(&unwell).contains("Nothing was broken"));

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
        let recording = Watched::of(&own_ids.seen, own_ids.setup.length()).recording;
        own_ids.contender =
            Contender::new(variant(), recording, &Latencies::default(), &own_ids.setup);
        let told = conclusion(&own_ids);
        assert!(told.contains("4.0 times as many calls began"), "{told}");

        for silence in [1..100, 100..300, 300..1_000] {
            let mut idle = outcome(1, 1, 1);
            for bucket in &mut idle.seen.buckets[silence.clone()] {
                *bucket = Bucket::default();
            }
            let recording = Watched::of(&idle.seen, idle.setup.length()).recording;
            idle.contender =
                Contender::new(variant(), recording, &Latencies::default(), &idle.setup);
            assert_eq!(Finding::of(&idle), Finding::Idle, "{silence:?}");
            assert!(conclusion(&idle).contains("Too few calls"));
        }
    }
}
