//! Did the drill show what it is there to show? Decided by the measured figures alone.

use std::fmt::Write as _;
use std::time::Duration;

use becalm::bulkhead::Limit;
use becalm::support::Human;
use becalm_report::Colour;
use becalm_report::format::plain;
use becalm_sim::study::Verdict;

use super::judged::{Judged, back};
use super::latencies::Latencies;
use super::ledger::{Count, Recording};
use super::setup::Setup;
use super::statistics::{Measured, Phase, count};
use super::variant::{Role, Variant};
use super::void::{Machine, Void};
use super::wire::Wire;

/// Within which time the service must be back.
pub const BACK_WITHIN: Duration = Duration::from_secs(2);

/// Below which the amplification of each phase must stay, under a budget of up to 10 % with what it
/// holds after the second before the fault, in a drill of the usual size.
const AMPLIFICATION: f64 = 1.15;

/// Below which share of the calls a breaker must keep the attempts of the fault's last second.
const QUIET: f64 = 0.1;

/// The delay of the load generator from which the figures are blurred.
const LATE: Duration = Duration::from_millis(100);

/// One policy with its figures and what happened to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Contender {
    pub variant: Variant,
    pub recording: Recording,
    pub measured: Measured,
    /// The latency that 99 % of the calls that succeed do not exceed, by the phase they begin in.
    pub p99: [Option<Duration>; 3],
    pub judged: Judged,
    /// What this machine did meanwhile, where it hides what the policy does.
    pub blurred: Option<Machine>,
}

impl Contender {
    /// Measures and judges one policy.
    pub fn new(
        variant: Variant,
        recording: Recording,
        latencies: &Latencies,
        setup: &Setup,
    ) -> Self {
        let measured = Measured::of(&recording, setup);
        let judged = Judged::measured(&recording, setup, &variant.policy, setup.length());
        Self {
            variant,
            recording,
            measured,
            p99: Phase::ALL.map(|phase| latencies.of(phase.time(setup)).quantile(0.99)),
            judged,
            blurred: None,
        }
    }

    /// On a machine that was so late, at worst and for 99 of 100 calls: there is no verdict where that hides what the policy does.
    pub fn on(mut self, setup: &Setup, late: [Duration; 2]) -> Self {
        let patience = self.variant.policy.attempt_timeout;
        let patience = patience.unwrap_or(setup.client_timeout);
        let machine = Machine::of(&self.recording, setup, patience, late);
        if let Some(void) = machine.void() {
            self.judged.verdict = Err(void);
            self.blurred = Some(machine);
        }
        self
    }

    /// Its colour: none that is down is green, and none that is back is red.
    pub fn colour(&self) -> Colour {
        match (self.variant.colour, self.judged.back_after()) {
            (Colour::Green, None) | (Colour::Red, Some(_)) => Colour::Ink,
            (colour, _) => colour,
        }
    }

    fn is_as_expected(&self, wire: Wire) -> bool {
        match self.variant.role {
            Role::Storm => self.judged.is_storm(),
            _ => self.is_back_in_time() && self.keeps_its_promise(wire),
        }
    }

    fn is_back_in_time(&self) -> bool {
        let time = self.judged.back_after();
        time.is_some_and(|time| time <= BACK_WITHIN)
    }

    /// Whether what protects the policy bounded what it is there to bound.
    fn keeps_its_promise(&self, wire: Wire) -> bool {
        let measured = &self.measured;
        match self.variant.role {
            Role::Storm | Role::Asked => true,
            Role::Breaker => measured.quiet.is_some_and(|share| share < QUIET),
            Role::Bulkhead => {
                let most = places(&self.variant).map(|places| places + wire.seen_twice());
                most.is_none_or(|most| measured.most_in_flight <= most)
            }
            Role::Recovery => {
                let bound = amplification_bound(&self.variant, measured);
                let worst = measured.worst_amplification();
                worst.is_none_or(|worst| worst < bound)
            }
        }
    }
}

/// What a phase's amplification must stay below: [`AMPLIFICATION`], or what the budget itself
/// allows in the shortest phase if that is more.
fn amplification_bound(variant: &Variant, measured: &Measured) -> f64 {
    let mut budget = variant.policy.budget;
    let Some(budget) = budget.ratio_mut() else {
        return f64::INFINITY;
    };
    let allowed = measured.phases.iter().map(|phase| {
        let rate = count(phase.first_tries) / phase.length.as_secs_f64();
        let extra = budget.held_at(rate) + budget.floor_per_second * phase.length.as_secs_f64();
        1.0 + budget.ratio + extra / count(phase.first_tries.max(1))
    });
    allowed.fold(AMPLIFICATION, f64::max)
}

/// The attempts that a fixed bulkhead allows at once.
fn places(variant: &Variant) -> Option<u32> {
    match variant.policy.bulkhead?.limit {
        Limit::Fixed(calls) => Some(calls),
        _ => None,
    }
}

/// What the whole drill shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// Every policy did what it is in the drill to show.
    pub as_expected: bool,
    /// One sentence or two, made of measured figures.
    pub conclusion: String,
}

/// Judges the drill. `lateness` is by how much the load generator was late at worst.
pub fn judge(contenders: &[Contender], setup: &Setup, lateness: Duration) -> Judgement {
    let mut sentences = Vec::new();
    let unconnected = contenders
        .iter()
        .map(|contender| contender.recording.total(Count::Unconnected))
        .sum::<u64>();
    sentences.extend(without_verdict(contenders));
    sentences.extend(storms(contenders, setup));
    sentences.extend(missing_storms(contenders));
    let most = with_role(contenders, Role::Storm).map(|it| it.measured.most_in_flight);
    let most = most.max().unwrap_or(0);
    for contender in contenders {
        if contender.variant.role != Role::Storm && contender.judged.verdict.is_ok() {
            sentences.push(recovery(contender, setup, most));
        }
    }
    let is_clear = contenders.iter().all(|it| it.judged.verdict.is_ok());
    if unconnected > 0 && is_clear {
        sentences.push(format!(
            "{unconnected} attempts got no connection from this system, and are among those that \
             failed: allow more open files (ulimit -n)."
        ));
    }
    if lateness >= LATE && is_clear {
        sentences.push(format!(
            "The load generator was late by up to {} ms, so this machine was too busy for sharp \
             figures.",
            lateness.as_millis()
        ));
    }
    Judgement {
        as_expected: contenders.iter().all(|it| it.is_as_expected(setup.wire)),
        conclusion: sentences.join(" "),
    }
}

/// Why there is no verdict, by the policy that has least of one.
fn without_verdict(contenders: &[Contender]) -> Option<String> {
    let voids = contenders.iter().filter_map(|it| {
        let void = it.judged.verdict.err()?;
        Some((void, it.blurred.as_ref()?))
    });
    let (void, machine) = voids.min_by_key(|it| it.0)?;
    Some(match void {
        Void::Short => machine.short(),
        Void::Idle => format!(
            "{}. Raise --load, or lengthen --before and --after.",
            machine.idle()
        ),
        Void::Late | Void::Unwell => machine.late(),
    })
}

/// What happened where a storm was expected and came.
fn storms(contenders: &[Contender], setup: &Setup) -> Option<String> {
    let (titles, outcomes): (Vec<_>, Vec<_>) = with_role(contenders, Role::Storm)
        .filter(|it| it.judged.is_storm())
        .map(|it| (&*it.variant.title, &it.judged.outcome))
        .unzip();
    let load = outcomes.iter().map(|it| it.offered).reduce(f64::min)?;
    let goodput = outcomes.iter().map(|it| it.tail.goodput());
    let answered = goodput.fold(0.0, f64::max).ceil();
    Some(format!(
        "The fault of {} became a storm under {}: {} after it the service was still down, offered at \
         least {} requests a second against a capacity of {}, and {} of {} calls a second were \
         answered.",
        Human(setup.trigger),
        list(titles.into_iter()),
        Human(setup.after),
        plain(load.floor()),
        plain(setup.capacity()),
        if answered > 0.0 {
            format!("at most {}", plain(answered))
        } else {
            "none".into()
        },
        plain(setup.load),
    ))
}

/// What happened where a storm was expected and was not seen to last.
fn missing_storms(contenders: &[Contender]) -> impl Iterator<Item = String> {
    let (open, calm): (Vec<_>, Vec<_>) = with_role(contenders, Role::Storm)
        .filter(|it| it.judged.verdict.is_ok() && !it.judged.is_storm())
        .partition(|it| it.judged.open().is_some());
    let told = |these: Vec<&Contender>, before: &str, after: &str| {
        let titles = list(these.iter().map(|it| &*it.variant.title));
        (!these.is_empty()).then(|| format!("{before}{titles}{after}."))
    };
    let calm = told(calm, "No storm lasted under ", "");
    let open = told(
        open,
        "The drill ended before it was seen whether a storm lasts under ",
        ": a longer --after shows it",
    );
    calm.into_iter().chain(open)
}

/// What happened to a protected policy. `most` is what was in flight at once in a storm.
fn recovery(contender: &Contender, setup: &Setup, most: u32) -> String {
    let (variant, judged) = (&contender.variant, &contender.judged);
    let mut sentence = format!(
        "Under {} ({}) the service ",
        variant.title, variant.description
    );
    let _ = match judged.back_after() {
        Some(time) => write!(
            sentence,
            "was {}{}",
            back(time),
            if time > BACK_WITHIN {
                format!(", later than the {} expected", Human(BACK_WITHIN))
            } else {
                String::new()
            }
        ),
        None if judged.is_storm() => write!(sentence, "was kept down by a storm too"),
        None if judged.verdict == Ok(Some(Verdict::Overloaded)) => {
            write!(sentence, "was overloaded")
        }
        None => write!(
            sentence,
            "was not back {} after the fault, {}",
            Human(setup.after),
            judged.open().unwrap_or_default()
        ),
    };
    sentence.push_str(&promise(contender, most));
    sentence
}

/// What a protection bounds, in measured figures.
fn promise(contender: &Contender, most: u32) -> String {
    let measured = &contender.measured;
    match contender.variant.role {
        Role::Breaker => format!(
            ", with {:.1} attempts for 100 calls in the last second of the fault.",
            measured.quiet.unwrap_or(0.0) * 100.0
        ),
        Role::Bulkhead => format!(
            ", with at most {} attempts in flight at once, of up to {} in a storm.",
            plain(measured.most_in_flight.into()),
            plain(most.into())
        ),
        Role::Storm | Role::Recovery | Role::Asked => {
            let worst = measured.worst_amplification().unwrap_or(1.0);
            let bound = amplification_bound(&contender.variant, measured);
            if worst < bound {
                format!(", with at most {worst:.2} attempts for each first try in any phase.")
            } else {
                format!(
                    ", with {worst:.2} attempts for each first try in the worst phase, above the {bound:.2} \
                     expected."
                )
            }
        }
    }
}

fn with_role(contenders: &[Contender], role: Role) -> impl Iterator<Item = &Contender> {
    contenders
        .iter()
        .filter(move |contender| contender.variant.role == role)
}

/// `a, b and c`.
pub fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        Some((last, _)) => (*last).into(),
        None => String::new(),
    }
}

#[cfg(test)]
pub mod tests {
    use super::super::setup::tests::usual;
    use super::super::statistics::tests::{bounded, late, open, protected, recording, stormy};
    use super::super::variant;
    use super::*;
    use becalm::Policy;

    /// The usual drill: a storm under the first three policies; under the last, `last`.
    pub fn contenders(last: &Recording) -> Vec<Contender> {
        let setup = usual();
        variant::all(&Policy::default(), setup.client_timeout)
            .into_iter()
            .map(|variant| {
                let recording = match variant.role {
                    Role::Storm => stormy(),
                    Role::Breaker => open(),
                    Role::Bulkhead => bounded(16),
                    Role::Recovery | Role::Asked => last.clone(),
                };
                contender(variant, recording)
            })
            .collect()
    }

    fn contender(variant: Variant, recording: Recording) -> Contender {
        let mut latencies = Latencies::default();
        latencies.add(Duration::from_millis(500), Duration::from_millis(12));
        Contender::new(variant, recording, &latencies, &usual())
    }

    #[test]
    fn the_usual_drill_is_as_expected_and_says_so_in_figures() {
        let judgement = judge(&contenders(&protected()), &usual(), Duration::ZERO);
        assert!(judgement.as_expected);
        for words in [
            "no backoff, exponential and full jitter",
            "7s after it the service was still down",
            "1 040 requests a second",
            "capacity of 400",
            "1.12 attempts for each first try",
            "0.8 attempts for 100 calls",
            "at most 16 attempts in flight at once",
        ] {
            assert!(
                judgement.conclusion.contains(words),
                "{}",
                judgement.conclusion
            );
        }
    }

    #[test]
    fn a_storm_under_the_protected_policy_is_said_plainly() {
        let judgement = judge(&contenders(&stormy()), &usual(), Duration::ZERO);
        assert!(!judgement.as_expected);
        assert!(
            judgement.conclusion.contains("kept down by a storm too"),
            "{}",
            judgement.conclusion
        );
    }

    #[test]
    fn a_recovery_that_comes_late_fails_the_drill() {
        let contenders = contenders(&late());
        assert!(contenders[5].judged.back_after() > Some(BACK_WITHIN));
        let judgement = judge(&contenders, &usual(), Duration::ZERO);
        assert!(!judgement.as_expected, "{}", judgement.conclusion);
    }

    #[test]
    fn a_protection_that_does_not_keep_its_bound_fails_the_drill() {
        let mut retried = protected();
        (100..300).for_each(|bucket| retried.set(Count::Retry, bucket, 2));
        for (index, recording) in [(3, protected()), (4, bounded(17)), (5, retried)] {
            let mut contenders = contenders(&protected());
            contenders[index] = contender(contenders[index].variant.clone(), recording);
            assert!(contenders[index].is_back_in_time());
            let judgement = judge(&contenders, &usual(), Duration::ZERO);
            assert!(!judgement.as_expected, "{}", judgement.conclusion);
        }
    }

    #[test]
    fn s4_a_machine_that_stood_still_gives_no_verdict_on_the_drills_own_services_either() {
        let [ms, second] = [1, 1_000].map(Duration::from_millis);
        let setup = usual();
        let on = |late: [Duration; 2]| -> Vec<Contender> {
            let contenders = contenders(&protected()).into_iter();
            contenders.map(|it| it.on(&setup, late)).collect()
        };
        let names =
            |contenders: &[Contender]| contenders.iter().all(|it| it.judged.name() == "void");
        let sharp = on([200 * ms, 2 * ms]);
        assert!(judge(&sharp, &setup, 200 * ms).as_expected);
        for late in [[3 * second, 2 * ms], [200 * ms, 26 * ms]] {
            let stalled = on(late);
            assert!(names(&stalled));
            let judgement = judge(&stalled, &setup, late[0]);
            assert!(!judgement.as_expected);
            let said = &judgement.conclusion;
            assert!(
                said.starts_with("This run is void: the load generator was late"),
                "{said}"
            );
            assert!(
                !said.contains("storm") && !said.contains("Under "),
                "{said}"
            );
        }
        let silent = contender(
            contenders(&protected())[5].variant.clone(),
            Recording::empty(1_200),
        );
        let judgement = judge(&[silent.on(&setup, [ms, ms])], &setup, ms);
        let said = judgement.conclusion;
        assert!(
            said.starts_with("Too few calls came to say anything: 0 before"),
            "{said}"
        );
    }

    #[test]
    fn s4_a_drill_that_ended_too_soon_says_so_and_not_that_a_storm_came_or_stayed_away() {
        let mut seconds = [(260, 0, 260, 0); 10];
        seconds[0] = (260, 0, 260, 260);
        let down = recording(seconds);
        let mut contenders = contenders(&down);
        contenders[1] = contender(contenders[1].variant.clone(), down);
        let judgement = judge(&contenders, &usual(), Duration::ZERO);
        assert!(!judgement.as_expected);
        let said = judgement.conclusion;
        for words in [
            "The drill ended before it was seen whether a storm lasts under exponential: a longer --after shows it.",
            "the service was not back 7s after the fault, though it was offered no more than it can serve: a longer --after shows \
             whether it comes back later",
        ] {
            assert!(said.contains(words), "{words}: {said}");
        }
        assert!(!said.contains("No storm lasted"), "{said}");
    }

    #[test]
    fn a_storm_that_did_not_form_is_said_plainly() {
        let setup = usual();
        let mut contenders = contenders(&protected());
        contenders[1] = contender(contenders[1].variant.clone(), protected());
        let judgement = judge(&contenders, &setup, Duration::from_millis(300));
        assert!(!judgement.as_expected);
        let conclusion = judgement.conclusion;
        assert!(
            conclusion.contains("No storm lasted under exponential."),
            "{conclusion}"
        );
        assert!(
            conclusion.contains("under no backoff and full jitter"),
            "{conclusion}"
        );
        assert!(conclusion.contains("late by up to 300 ms"), "{conclusion}");
    }
}
