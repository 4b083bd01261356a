//! What does the drill of a target show? Decided by the measured figures alone.

use std::cmp::Reverse;
use std::fmt::Write as _;

use becalm::Budget;
use becalm::support::Human;
use becalm_report::format::plain;
use becalm_sim::study::Verdict;
use serde::Serialize;

use super::canary::Calm;
use super::outcome::Outcome;
use super::round::Round;
use crate::judged::{Judged, back, tenths};
use crate::judgement::{BACK_WITHIN, Contender, list};
use crate::statistics::Phase;
use crate::void::Void;

/// What it all came to; the names in the JSON document are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Finding {
    /// It did not come back, though nobody called any more: nothing else matters then.
    Down,
    /// It was unwell before anything was broken.
    Unwell,
    /// Too few calls began to say anything.
    Idle,
    /// The generator was late, or this machine had too few connections: the figures are its own.
    Void,
    /// The drill ended before it was seen whether the target comes back.
    #[serde(rename = "too-short")]
    TooShort,
    /// The fault became a storm, or did not end with what caused it.
    Storm,
    /// It came back under every policy, but not at once.
    Back,
    /// It came back within two seconds, even under a policy whose retries nothing bounds.
    Harmless,
}

impl Outcome {
    /// What was found, from the worst on: what hides the rest comes first.
    pub fn finding(&self) -> Finding {
        let judged = || self.contenders.iter().map(|it| &it.judged);
        let is_open = |it: &Judged| it.verdict == Ok(Some(Verdict::TooShort));
        if matches!(self.calms.last(), Some(Calm::Unwell(..))) {
            Finding::Down
        } else if let Some(void) = self.rounds.iter().filter_map(Round::void).min() {
            void.into()
        } else if judged().any(|it| it.verdict != Ok(None) && !is_open(it)) {
            Finding::Storm
        } else if judged().any(is_open) {
            Finding::TooShort
        } else if judged().all(|it| it.back_after().is_some_and(|time| time <= BACK_WITHIN))
            && self.contenders.iter().any(is_unbounded)
        {
            Finding::Harmless
        } else {
            Finding::Back
        }
    }

    /// What it came to, in sentences.
    pub fn conclusion(&self) -> String {
        let fault = format!("{} of {}", self.trouble, Human(self.setup.trigger));
        let mut sentences = Vec::new();
        if let Some(Calm::Unwell(time, why)) = self.calms.last() {
            sentences.push(format!(
                "The target is down: {} after the last call it has not recovered, though nobody calls \
                 any more ({why}). Restart it.",
                tenths(*time)
            ));
        }
        sentences.extend(without_verdict(self));
        let finding = self.finding();
        if finding == Finding::Harmless {
            sentences.push(format!(
                "This fault is harmless to you at {} calls a second: the target was back within {} after {fault} under every \
                 policy, even where nothing bounds the retries.",
                plain(self.setup.load),
                Human(BACK_WITHIN)
            ));
        }
        let held = self.contenders.iter().zip(&self.rounds);
        for (contender, round) in held.filter(|(_, round)| round.void().is_none()) {
            sentences.push(said(contender, round, &fault));
        }
        sentences.extend(by_retries(self));
        sentences.join(" ")
    }

    /// Whether the target came back under the last policy.
    pub fn is_back(&self) -> bool {
        let last = self.contenders.last();
        self.finding().is_verdict() && last.is_some_and(|it| it.judged.back_after().is_some())
    }
}

impl Finding {
    /// Whether the drill says something about the policies.
    pub const fn is_verdict(self) -> bool {
        matches!(self, Self::Storm | Self::Back | Self::Harmless)
    }
}

/// Whether nothing but its attempts bounds its retries.
fn is_unbounded(contender: &Contender) -> bool {
    let policy = &contender.variant.policy;
    policy.attempts > 1
        && policy.budget == Budget::None
        && policy.breaker.is_none()
        && policy.bulkhead.is_none()
}

impl From<Void> for Finding {
    fn from(void: Void) -> Self {
        match void {
            Void::Short | Void::Late => Self::Void,
            Void::Unwell => Self::Unwell,
            Void::Idle => Self::Idle,
        }
    }
}

/// Why there is no verdict, by the round that has least of one.
fn without_verdict(outcome: &Outcome) -> Option<String> {
    let held = outcome.contenders.iter().zip(&outcome.rounds);
    let voids = held.filter_map(|(contender, round)| Some((round.void()?, contender, round)));
    let (void, contender, round) =
        voids.min_by_key(|(void, _, round)| (*void, Reverse(round.machine.lateness)))?;
    let machine = &round.machine;
    Some(match void {
        Void::Short => machine.short(),
        Void::Unwell => {
            let title = &contender.variant.title;
            let before = "before anything was broken";
            let ended = match outcome.rounds.len() {
                1 => format!("The drill was ended {before}"),
                _ => format!(
                    "The round under {title} was ended {before} in it, and the drill with it"
                ),
            };
            format!(
                "{ended}: {:.0}% of the calls were good, and a target is well from 95% on. Lower --load, or give \
                 --client-timeout more time.",
                round.good * 100.0
            )
        }
        Void::Late => machine.late(),
        Void::Idle => {
            let idle = machine.idle();
            let unbroken = if round.was_broken {
                ""
            } else {
                "; nothing was broken"
            };
            format!("{idle}{unbroken}. Raise --load, or lengthen --before and --after.")
        }
    })
}

/// What happened under one policy.
fn said(contender: &Contender, round: &Round, fault: &str) -> String {
    let title = &contender.variant.title;
    let after = &contender.measured.phases[Phase::After as usize];
    let mut text = match (contender.judged.back_after(), contender.judged.verdict) {
        (Some(time), _) => format!("Under {title} it was {}", back(time)),
        (None, Ok(Some(Verdict::Overloaded))) => {
            format!("Under {title} it was overloaded: first tries alone are more than it can serve")
        }
        (None, _) => match contender.judged.open() {
            Some(open) => format!(
                "Under {title} it was not back {} after {fault}, {open}",
                Human(round.setup.after)
            ),
            None => format!(
                "Under {title} it stayed down: {} after {fault}, {} of {} calls a second were answered",
                Human(round.setup.after),
                plain(contender.judged.outcome.tail.goodput().round()),
                plain(contender.judged.outcome.before.goodput().round()),
            ),
        },
    };
    let worst = contender.measured.worst_amplification().unwrap_or(1.0);
    let _ = write!(
        text,
        ", with at most {worst:.2} attempts for each first try in any phase"
    );
    if contender.judged.verdict != Ok(None) {
        let _ = write!(
            text,
            " and {:.2} after it",
            after.amplification().unwrap_or(1.0)
        );
    }
    text + "."
}

/// That it is the retries: other policies on the same calls, or no load at all, ended it.
fn by_retries(outcome: &Outcome) -> Option<String> {
    let of = |is_back: bool| {
        let contenders = outcome.contenders.iter();
        contenders.filter(move |it| it.judged.back_after().is_some() == is_back)
    };
    if outcome.finding() != Finding::Storm {
        return None;
    }
    let down = list(of(false).map(|it| &*it.variant.title));
    let mut words = Vec::new();
    if of(true).next().is_some() {
        let back = list(of(true).map(|it| &*it.variant.title));
        words.push(format!("came back under {back} with the same calls"));
    }
    let held = outcome.contenders.iter().zip(&outcome.calms);
    let calm = held.filter(|(it, _)| it.judged.back_after().is_none());
    let calm = calm.filter_map(|(_, calm)| calm.well_after()).max();
    if let Some(calm) = calm {
        words.push(format!("was well {} after the last call", tenths(calm)));
    }
    (!words.is_empty()).then(|| {
        format!(
            "What kept it down under {down} was the load, and not the fault: it {}.",
            words.join(", and ")
        )
    })
}

#[cfg(test)]
pub mod tests {
    use std::time::Duration;

    use becalm::Policy;

    use super::*;
    use crate::fault::Fault;
    use crate::latencies::Latencies;
    use crate::ledger::Recording;
    use crate::setup::tests::usual;
    use crate::staging::trouble::Trouble;
    use crate::statistics::tests::{late, protected, rising, stormy};
    use crate::variant;
    use crate::void::Machine;

    const MS: Duration = Duration::from_millis(1);

    /// The usual drill of a policy that nothing bounds, and of becalm's own, with these counts.
    pub fn outcome(without: &Recording, with: &Recording) -> Outcome {
        let setup = usual();
        let variants = variant::all(&Policy::default(), setup.client_timeout);
        let [first, .., last] = &variants[..] else {
            panic!("six policies")
        };
        let held = [(first, without), (last, with)];
        let round = Round {
            setup: setup.clone(),
            began: vec![MS],
            machine: Machine {
                lateness: 30 * MS,
                usual_lateness: 2 * MS,
                patience: 250 * MS,
                shortage: 0.01,
                calls: [260, 1_820],
            },
            good: 0.99,
            was_broken: true,
            lead: 1_000 * MS,
        };
        Outcome {
            contenders: held
                .map(|(variant, recording)| {
                    let latencies = Latencies::default();
                    Contender::new(variant.clone(), recording.clone(), &latencies, &setup)
                })
                .into(),
            setup,
            seed: 7,
            name: "7f3a".into(),
            host: "localhost:80".into(),
            request: "GET /".into(),
            trouble: Trouble::Fault(Fault::Hold),
            rounds: vec![round; 2],
            calms: vec![
                Calm::Well {
                    after: 400 * MS,
                    takes: MS
                };
                2
            ],
            twins: Vec::new(),
            seen: None,
            command: "becalm drill --target http://localhost".into(),
        }
    }

    fn said(outcome: &Outcome, finding: Finding, words: &[&str]) {
        let conclusion = outcome.conclusion();
        assert_eq!(outcome.finding(), finding, "{conclusion}");
        for words in words {
            assert!(conclusion.contains(words), "{words}: {conclusion}");
        }
    }

    #[test]
    fn a_storm_is_told_with_what_ended_it() {
        let storm = outcome(&stormy(), &protected());
        let words = [
            "Under no backoff it stayed down: 7s after hold of 2s, 2 of 260 calls a second",
            "Under becalm's default it was back in 0.9 s",
            "kept it down under no backoff was the load, and not the fault",
            "well 0.4 s after the last call",
        ];
        said(&storm, Finding::Storm, &words);
        assert!(storm.is_back());
        assert!(!outcome(&stormy(), &stormy()).is_back());
    }

    #[test]
    fn a_fault_is_harmless_only_where_nothing_bounds_the_retries() {
        let mut harmless = outcome(&protected(), &protected());
        said(
            &harmless,
            Finding::Harmless,
            &[
                "This fault is harmless to you",
                "back within 2s after hold of 2s",
            ],
        );
        harmless.contenders.remove(0);
        said(&harmless, Finding::Back, &["back in 0.9 s"]);
        let late = outcome(&late(), &protected());
        said(&late, Finding::Back, &["back in 0.9 s"]);
    }

    #[test]
    fn what_was_not_seen_is_neither_a_storm_nor_a_recovery() {
        let words = ["Under no backoff it was not back 7s after hold of 2s, and still on its way"];
        let open = outcome(&rising(), &protected());
        said(&open, Finding::TooShort, &words);
        assert!(!open.is_back(), "though it came back under the last policy");
        said(&outcome(&rising(), &stormy()), Finding::Storm, &words);
    }

    #[test]
    fn of_a_few_calls_nothing_is_said() {
        for calls in [[0, 0], [9, 500], [500, 9]] {
            let mut idle = outcome(&protected(), &protected());
            idle.rounds[1].machine.calls = calls;
            let told = format!("{} before the fault and {} after it", calls[0], calls[1]);
            said(&idle, Finding::Idle, &["Too few calls", &told, "--load"]);
            assert!(!idle.is_back());
        }
    }

    #[test]
    fn what_was_broken_under_one_policy_is_not_denied_for_another() {
        let mut unwell = outcome(&stormy(), &protected());
        unwell.rounds[1].good = 0.5;
        let words = [
            "The round under becalm's default was ended before anything was broken in it",
            "Under no backoff it stayed down",
        ];
        said(&unwell, Finding::Unwell, &words);
        unwell.contenders.remove(0);
        unwell.rounds.remove(0);
        let words = ["The drill was ended before anything was broken: 50%"];
        said(&unwell, Finding::Unwell, &words);
    }

    #[test]
    fn what_this_machine_could_not_send_is_no_failure_of_the_target() {
        let mut short = outcome(&stormy(), &protected());
        short.rounds[0].machine.shortage = 0.04;
        // Unwell, and idle, by that alone.
        (short.rounds[0].good, short.rounds[1].machine.calls) = (0.5, [9, 9]);
        said(
            &short,
            Finding::Void,
            &["no connection to give for 4% of the attempts", "ulimit -n"],
        );
        assert!(!short.is_back());
    }

    #[test]
    fn what_hides_the_rest_comes_first_and_is_no_verdict() {
        let mut late = outcome(&stormy(), &protected());
        late.rounds[1].machine.usual_lateness = 26 * MS;
        said(
            &late,
            Finding::Void,
            &["void: the load generator was late by up to 30 ms"],
        );
        let mut blip = outcome(&stormy(), &protected());
        blip.rounds[1].machine.lateness = 249 * MS;
        said(&blip, Finding::Storm, &[]);
        blip.rounds[1].machine.lateness = 251 * MS;
        said(&blip, Finding::Void, &[]);
        // Calls that a drill which stood still has not made.
        blip.rounds[1].machine.calls = [260, 0];
        said(&blip, Finding::Void, &["late by up to 251 ms"]);
        late.rounds[0].good = 0.94;
        said(&late, Finding::Unwell, &["94% of the calls were good"]);
        late.calms[1] = Calm::Unwell(30_000 * MS, "it answers 503".into());
        said(
            &late,
            Finding::Down,
            &["The target is down: 30.0 s after the last call"],
        );
        assert!(late.conclusion().starts_with("The target is down"));
        assert!(!late.is_back() && !Finding::Down.is_verdict());
    }

    #[test]
    fn names_in_the_document_are_stable() {
        let all = [
            (Finding::Down, "down"),
            (Finding::Unwell, "unwell"),
            (Finding::Idle, "idle"),
            (Finding::Void, "void"),
            (Finding::Storm, "storm"),
            (Finding::Back, "back"),
            (Finding::Harmless, "harmless"),
        ];
        for (finding, name) in all {
            assert_eq!(serde_json::to_value(finding).unwrap(), name);
        }
    }
}
