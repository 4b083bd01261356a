//! Which sentence do the figures of a verdict make?

use std::fmt::Write as _;
use std::time::Duration;

use crate::engine::float;
use crate::scenario::Scenario;
use crate::search::Proportion;
use crate::study::Verdict;

use super::amplified::Amplified;
use super::capacity::open_calls;
use super::numbers::{
    hundredths, list, mean, median, of_runs, percent, percent_or_none, plain, tenths,
};
use super::outcome::{Outcome, Phase};
use super::ruling::Ruling;
use super::services::PhaseOf;
use super::stress::Worse;

/// The evidence of a ruling.
pub(super) fn sentence(scenario: &Scenario, ruling: &Ruling) -> String {
    if !ruling.is_bounded {
        return unbounded(scenario, ruling);
    }
    let sentence = match ruling.verdict {
        Verdict::Overloaded => overloaded(scenario, ruling),
        Verdict::TooShort => too_short(scenario, ruling),
        Verdict::Metastable => metastable(scenario, ruling),
        Verdict::Vulnerable => vulnerable(scenario, ruling),
        Verdict::Stable => stable(scenario, ruling),
    };
    let amplified = amplified(scenario, ruling);
    let few = few_calls(&ruling.outcomes);
    let all = [Some(sentence), amplified, few].into_iter().flatten();
    all.collect::<Vec<_>>().join(" ")
}

/// Of several services, how much the one gets that retries load most, and whose retries they are: in
/// the storm, or from the trigger on, or without any.
fn amplified(scenario: &Scenario, ruling: &Ruling) -> Option<String> {
    let most = |outcomes, phase| Amplified::most(scenario, outcomes, phase);
    let amplified = match ruling.verdict {
        Verdict::Stable | Verdict::Vulnerable | Verdict::TooShort => {
            most(&ruling.outcomes, |it| &it.since)
        }
        Verdict::Metastable => most(&ruling.outcomes, |it| &it.tail),
        Verdict::Overloaded => most(&ruling.calm, |it| &it.tail),
    };
    amplified?.whose()
}

/// Such as `1.10 attempts for each first try`; of several services `1.21 requests at database for each
/// that first tries bring`.
pub(super) fn attempts(
    scenario: &Scenario,
    outcomes: &[Outcome],
    (of_clients, phase): (impl Fn(&Outcome) -> f64, PhaseOf),
) -> String {
    Amplified::most(scenario, outcomes, phase).map_or_else(
        || {
            let typical = typical(outcomes, of_clients);
            format!("{} attempts for each first try", hundredths(typical))
        },
        |it| it.how_much(),
    )
}

/// Calls after the trigger up to which a verdict says that it stands on few: of a hundred, the share
/// that succeeds is known to ten percentage points (two standard deviations, where it is one half).
const FEW_CALLS: f64 = 100.0;

/// What is to be said where hardly anybody calls.
pub(super) fn few_calls(outcomes: &[Outcome]) -> Option<String> {
    // Without triggers all of a run lies after them.
    let calls = typical(outcomes, |it| float(it.after.calls));
    let when = if outcomes.iter().all(|it| it.during.length.is_zero()) {
        "in a run"
    } else {
        "after the trigger in a run"
    };
    let calls_begin = match calls {
        calls if calls >= FEW_CALLS => return None,
        calls if calls < 1.0 => "No call begins".into(),
        calls if calls < 2.0 => "One call begins".into(),
        calls => format!("Only {} calls begin", plain(calls)),
    };
    Some(format!(
        "{calls_begin} {when}, which says little: give it a longer horizon or more load."
    ))
}

fn unbounded(scenario: &Scenario, ruling: &Ruling) -> String {
    let outcomes = &ruling.outcomes;
    let of = |phase: fn(&Outcome) -> &Phase, seen: PhaseOf| {
        let success = typical(outcomes, |it| phase(it).success());
        let of_clients = |it: &Outcome| phase(it).amplification();
        format!(
            "{} of the calls succeed, with {}",
            percent(success),
            attempts(scenario, outcomes, (of_clients, seen))
        )
    };
    let whole = of(|it| &it.whole, |it| &it.whole);
    if scenario.triggers.is_empty() {
        return format!("{whole}; nothing bounds a service here, so that none can be kept down.");
    }
    let during = of(|it| &it.during, |it| &it.during);
    format!(
        "During the trigger {during}; in the whole run {whole}. Nothing bounds a service here, so \
         that none can be kept down."
    )
}

fn overloaded(scenario: &Scenario, ruling: &Ruling) -> String {
    let answered = percent(typical(&ruling.calm, |it| it.tail.success()));
    let Some(bottleneck) = ruling.bottleneck else {
        return format!(
            "Without any trigger goodput holds in {}: {} of the calls are answered at first, {} at \
             the end.",
            of_runs(held(&ruling.calm)),
            percent(typical(&ruling.calm, |it| it.usual)),
            percent(typical(&ruling.calm, |it| it.tail.success()))
        );
    };
    let name = service(scenario, bottleneck.service);
    let first_tries = format!(
        "{}/s, {} of what {name} can serve ({}/s)",
        plain(bottleneck.load),
        percent(bottleneck.utilisation()),
        plain(bottleneck.capacity)
    );
    if bottleneck.utilisation() > 1.0 {
        format!("First tries alone are {first_tries}; {answered} of the calls are answered.")
    } else {
        format!(
            "First tries are {first_tries}, yet without any trigger goodput holds in {}: attempts \
             come to {} of the capacity, and {answered} of the calls are answered.",
            of_runs(held(&ruling.calm)),
            percent(typical(&ruling.calm, |it| it.pressure))
        )
    }
}

fn metastable(scenario: &Scenario, ruling: &Ruling) -> String {
    let back = ruling.back();
    let down: Vec<Outcome> = ruling
        .outcomes
        .iter()
        .filter(|it| !it.holds())
        .cloned()
        .collect();
    let after = scenario.horizon.saturating_sub(scenario.triggers_end());
    let pressure = typical(&down, |it| it.pressure);
    let fate = if pressure > 1.0 {
        "the service is still down"
    } else {
        "goodput has not come back"
    };
    let mut sentence = format!(
        "In {} {fate} {} s after the trigger, with {} of the calls answered",
        of_runs(Proportion {
            successes: back.runs - back.successes,
            runs: back.runs,
        }),
        tenths(after.as_secs_f64()),
        percent_or_none(typical(&down, |it| it.tail.success()))
    );
    if pressure > 1.0 {
        let _ = write!(
            sentence,
            ": {} is offered {}/s, {} of its capacity, by {} first tries a second",
            most_pressed(scenario, &down),
            plain(typical(&down, |it| it.offered)),
            percent(pressure),
            plain(open_calls(scenario).max(typical(&down, first_tries)))
        );
    }
    let _ = write!(
        sentence,
        "; without the trigger {} of the same calls are answered.",
        percent(typical(&ruling.calm, |it| it.tail.success()))
    );
    if pressure <= 1.0 {
        sentence.push_str(" It is offered no more than it can serve");
        if let Some(later) = ruling.later.as_ref().filter(|it| it.went_on.runs > 0) {
            let seconds = plain(later.horizon.as_secs_f64());
            let _ = write!(
                sentence,
                ", and runs that go on to {seconds} s do not bring it back either"
            );
        }
        sentence.push('.');
    }
    sentence
}

/// `The runs end too soon to say: in 10 of 10 runs the service is not back 3.0 s after the trigger, and ...`.
fn too_short(scenario: &Scenario, ruling: &Ruling) -> String {
    let Some(later) = &ruling.later else {
        return String::new();
    };
    let back = ruling.back();
    let after = scenario.horizon.saturating_sub(scenario.triggers_end());
    let mut sentence = String::from("The runs end too soon to say: ");
    let _ = if back.is_all() {
        write!(
            sentence,
            "the service comes back in {}, and in {} that go on it is down again",
            of_runs(back),
            of_runs(Proportion {
                successes: later.went_on.runs - later.went_on.successes,
                runs: later.went_on.runs,
            })
        )
    } else {
        write!(
            sentence,
            "in {} the service is not back {} s after the trigger",
            of_runs(Proportion {
                successes: back.runs - back.successes,
                runs: back.runs,
            }),
            tenths(after.as_secs_f64())
        )
    };
    if let Some(time) = median(later.times.iter().copied()) {
        let went_on = of_runs(later.went_on);
        let time = tenths(time);
        let _ = write!(
            sentence,
            ", and in {went_on} that go on it comes back, typically {time} s after it"
        );
    }
    if later.settling > 0 {
        sentence.push_str(", and at the end it is still on its way");
    }
    let seconds = |it: Duration| plain(it.as_secs_f64());
    let _ = match later.needs.map(seconds) {
        Some(needs) => write!(sentence, ". Make the horizon at least {needs} s."),
        None if later.horizon <= scenario.horizon => {
            write!(
                sentence,
                ". No longer run was made: a lower load may show it."
            )
        }
        None => write!(
            sentence,
            ". Runs of up to {} s do not show it: a much longer horizon may, and so may a lower load.",
            seconds(later.horizon)
        ),
    };
    sentence
}

fn vulnerable(scenario: &Scenario, ruling: &Ruling) -> String {
    let mut sentence = came_back(scenario, ruling);
    let lost: Vec<&Worse> = ruling.worse.iter().filter(|it| !it.back.is_all()).collect();
    if !lost.is_empty() {
        let lost = lost.iter().map(|it| {
            let back = of_runs(it.back);
            format!("with {} in {back}", it.what)
        });
        let _ = write!(sentence, ", but {}", list(&lost.collect::<Vec<_>>()));
    }
    sentence.push('.');
    sentence
}

fn stable(scenario: &Scenario, ruling: &Ruling) -> String {
    let mut sentence = came_back(scenario, ruling);
    let stood = ruling.worse.iter().map(|it| {
        let back = of_runs(it.back);
        format!("with {} in {back}", it.what)
    });
    let stood: Vec<_> = stood.collect();
    if !stood.is_empty() {
        let _ = write!(sentence, "; {} too", list(&stood));
    }
    sentence.push('.');
    sentence
}

/// `It comes back in 10 of 10 runs, 0.4 s after the trigger in half of them, with at most 1.1 ...`.
fn came_back(scenario: &Scenario, ruling: &Ruling) -> String {
    let outcomes = &ruling.outcomes;
    let since = attempts(
        scenario,
        outcomes,
        (Outcome::amplification_since, |it| &it.since),
    );
    if scenario.triggers.is_empty() {
        return format!("Goodput holds in {}, with {since}", of_runs(ruling.back()));
    }
    let back: Vec<Outcome> = outcomes.iter().filter(|it| it.holds()).cloned().collect();
    let of_times = |of: fn(&Outcome) -> Option<Duration>| {
        let times = back.iter().filter_map(of);
        tenths(median(times.map(|it| it.as_secs_f64())).unwrap_or_default())
    };
    let time = of_times(|it| it.recovery.time());
    let answer = of_times(|it| it.first_answer);
    let when = match &time[..] {
        "0.0" => "as the trigger ends".into(),
        _ => format!("{time} s after the trigger"),
    };
    let first = (answer != time).then(|| format!("first answer after {answer} s"));
    let lost = lost_meanwhile(outcomes);
    let lost = lost.map(|share| format!("until then {} of the calls give up", percent(share)));
    let told: Vec<String> = first.into_iter().chain(lost).collect();
    let told = if told.is_empty() {
        String::new()
    } else {
        format!(" ({})", told.join("; "))
    };
    format!(
        "The service comes back in {}, typically {when}{told}, with {since} from the trigger on",
        of_runs(ruling.back()),
    )
}

/// The share of calls that give up of those that begin from the trigger on until the service is back;
/// `None` where that is next to none.
pub(super) fn lost_meanwhile(outcomes: &[Outcome]) -> Option<f64> {
    let shares = outcomes.iter().filter_map(|it| {
        let mut meanwhile = it.by_phase.during.clone();
        meanwhile.merge(&it.by_phase.recovering);
        meanwhile.given_up()
    });
    mean(shares).filter(|share| *share >= 0.005)
}

fn held(outcomes: &[Outcome]) -> Proportion {
    Proportion::of(outcomes.iter().map(Outcome::holds))
}

fn typical(outcomes: &[Outcome], of: impl Fn(&Outcome) -> f64) -> f64 {
    mean(outcomes.iter().map(of)).unwrap_or_default()
}

/// The service that is offered most for its capacity, where there are several to choose from.
fn most_pressed<'a>(scenario: &'a Scenario, outcomes: &[Outcome]) -> &'a str {
    let pressed = outcomes.first().and_then(|it| it.pressed);
    let named = pressed.filter(|_| scenario.services.len() > 1);
    named.map_or("it", |index| service(scenario, index))
}

fn first_tries(outcome: &Outcome) -> f64 {
    let length = outcome.tail.length.as_secs_f64();
    if length > 0.0 {
        float(outcome.tail.first_tries) / length
    } else {
        0.0
    }
}

fn service(scenario: &Scenario, index: usize) -> &str {
    scenario.services.get(index).map_or("", |it| &it.name)
}
