//! What was found out, in few sentences?

use std::time::Duration;

use crate::study::Verdict;

use super::amplified::Amplified;
use super::evidence::{few_calls, lost_meanwhile};
use super::examined::Examined;
use super::numbers::{
    hundredths, list, mean, median, of_runs, percent, percent_or_none, plain, tenths,
};
use super::outcome::{Outcome, recovery_times};
use super::patient::too_patient;
use super::reserve::too_many;
use super::services::PhaseOf;
use super::stress::Worse;

/// The answer of a study: a sentence for each verdict that was given, the worst first; where there is
/// nothing to rule on, what retries bring and what they cost. `went_on`: how long the runs were, in seconds, where the study
/// made them longer.
pub(super) fn answer(examined: &[Examined], went_on: Option<f64>) -> String {
    let unbounded: Vec<&Examined> = examined.iter().filter(|it| !it.ruling.is_bounded).collect();
    let verdicts = [
        Verdict::Overloaded,
        Verdict::Metastable,
        Verdict::TooShort,
        Verdict::Vulnerable,
        Verdict::Stable,
    ];
    let sentences = verdicts.into_iter().filter_map(|verdict| {
        let these: Vec<&Examined> = examined
            .iter()
            .filter(|it| it.ruling.is_bounded && it.ruling.verdict == verdict)
            .collect();
        (!these.is_empty()).then(|| sentence(verdict, &these))
    });
    let unbounded = (!unbounded.is_empty()).then(|| costs(&unbounded));
    let judged = examined.iter().filter(|it| it.ruling.is_bounded);
    let few = judged.filter_map(|it| few_calls(&it.ruling.outcomes));
    let all = sentences
        .chain(unbounded)
        .chain(few.take(1))
        .chain(went_on.map(|seconds| {
            let seconds = plain(seconds);
            format!("The runs are {seconds} s long, as shorter ones did not show whether the service comes back.")
        }))
        .chain(too_patient(examined))
        .chain(too_many(examined));
    all.collect::<Vec<_>>().join(" ")
}

/// `During the trigger 12 % of the calls succeed with 1.00 attempts for each first try (a), ...`.
fn costs(these: &[&Examined]) -> String {
    let is_triggered = these.iter().any(|it| !it.scenario.triggers.is_empty());
    let each = these.iter().zip(0..).map(|(it, place)| {
        let phase = |outcome: &Outcome| {
            if is_triggered {
                outcome.during
            } else {
                outcome.whole
            }
        };
        let of = |value: &dyn Fn(&Outcome) -> f64| {
            mean(it.ruling.outcomes.iter().map(value)).unwrap_or_default()
        };
        let success = percent(of(&|it| phase(it).success()));
        let seen: PhaseOf = if is_triggered {
            |it| &it.during
        } else {
            |it| &it.whole
        };
        let amplified = Amplified::most(&it.scenario, &it.ruling.outcomes, seen);
        let attempts = match (amplified, place) {
            (Some(amplified), _) => amplified.how_much(),
            (None, 0) => {
                let attempts = hundredths(of(&|it| phase(it).amplification()));
                format!("{attempts} attempts for each first try")
            }
            (None, _) => hundredths(of(&|it| phase(it).amplification())),
        };
        let calls = if place == 0 {
            " of the calls succeed"
        } else {
            ""
        };
        format!("{success}{calls} with {attempts} ({})", it.name)
    });
    let when = if is_triggered {
        "During the trigger "
    } else {
        ""
    };
    format!("{when}{}.", list(&each.collect::<Vec<_>>()))
}

fn sentence(verdict: Verdict, these: &[&Examined]) -> String {
    let names: Vec<&str> = these.iter().map(|it| it.name.as_str()).collect();
    let names = list(&names);
    let over = |of: &dyn Fn(&Outcome) -> f64| extremes(these, of);
    match verdict {
        Verdict::Overloaded => {
            let (_, most) = over(&|it| it.pressure);
            let (_, answered) = over(&|it| it.tail.success());
            let why = if most > 1.0 {
                format!("it is offered up to {} of its capacity", percent(most))
            } else {
                answered_at_the_end(answered)
            };
            format!("Under {names} the service is overloaded without any trigger: {why}.")
        }
        Verdict::Metastable => {
            let (_, answered) = over(&|it| it.tail.success());
            let (_, pressure) = over(&|it| it.pressure);
            let (_, most) = over(&|it| it.offered);
            let answered = answered_at_the_end(answered);
            if let Some(amplified) = amplified(these, |it| &it.tail).filter(|_| pressure > 1.0) {
                format!(
                    "Under {names} {} stays down after the trigger is gone: it gets up to {} \
                     requests for each that first tries bring, and {answered}.",
                    amplified.name,
                    hundredths(amplified.by)
                )
            } else if pressure > 1.0 {
                let most = plain(most);
                format!(
                    "Under {names} the service stays down after the trigger is gone: it is offered \
                     up to {most} attempts a second, and {answered}."
                )
            } else {
                format!(
                    "Under {names} goodput does not come back after the trigger is gone: {answered}."
                )
            }
        }
        Verdict::TooShort => {
            let later = || these.iter().filter_map(|it| it.ruling.later.as_ref());
            let needs: Option<Vec<Duration>> = later().map(|it| it.needs).collect();
            let seconds = |it: Option<Duration>| plain(it.unwrap_or_default().as_secs_f64());
            let remedy = needs.map_or_else(
                || {
                    let tried = seconds(later().map(|it| it.horizon).max());
                    format!("runs of up to {tried} s do not show it")
                },
                |it| {
                    format!(
                        "make the horizon at least {} s",
                        seconds(it.into_iter().max())
                    )
                },
            );
            format!(
                "Under {names} the runs end before it is seen whether the service comes back: {remedy}."
            )
        }
        Verdict::Vulnerable => format!(
            "Under {names} {}, but {}.{}",
            fared(these),
            lost(these),
            survived(these)
        ),
        Verdict::Stable => {
            let most = amplified(these, |it| &it.since).map_or_else(
                || {
                    let (_, most) = over(&Outcome::amplification_since);
                    format!("{} attempts for each first try", hundredths(most))
                },
                |it| it.how_much(),
            );
            format!(
                "Under {names} {}, and after worse too, with at most {most}.{}",
                fared(these),
                survived(these)
            )
        }
    }
}

/// The service that retries load most under any of these policies; `None` where there is one service.
fn amplified<'a>(these: &[&'a Examined], phase: PhaseOf) -> Option<Amplified<'a>> {
    let each = these
        .iter()
        .filter_map(|it| Amplified::most(&it.scenario, &it.ruling.outcomes, phase));
    each.max_by(|a, b| a.by.total_cmp(&b.by))
}

/// `at most 3 % of the calls are answered at the end`.
fn answered_at_the_end(share: f64) -> String {
    if share > 0.0 {
        format!(
            "at most {} of the calls are answered at the end",
            percent(share)
        )
    } else {
        format!(
            "{} of the calls is answered at the end",
            percent_or_none(share)
        )
    }
}

/// `it comes back within 0.4 s`: the slowest of the medians.
fn fared(these: &[&Examined]) -> String {
    if these.iter().all(|it| it.scenario.triggers.is_empty()) {
        return "goodput holds".into();
    }
    let medians = these
        .iter()
        .filter_map(|it| median(recovery_times(&it.ruling.outcomes)));
    match medians.max_by(f64::total_cmp) {
        Some(time) if time < 0.05 => "it comes back at once".into(),
        Some(time) if time.is_finite() => {
            let lost = these
                .iter()
                .filter_map(|it| lost_meanwhile(&it.ruling.outcomes));
            let lost = lost
                .max_by(f64::total_cmp)
                .map_or_else(String::new, |share| {
                    format!(" ({} of the calls give up until then)", percent(share))
                });
            format!("it comes back within {} s{lost}", tenths(time))
        }
        _ => "it comes back".into(),
    }
}

/// Which of the worse cases are lost, and how often: `not with triggers twice as long`.
fn lost(these: &[&Examined]) -> String {
    let mut lost: Vec<Worse> = Vec::new();
    for worse in these.iter().flat_map(|it| &it.ruling.worse) {
        if worse.back.is_all() {
            continue;
        }
        match lost.iter_mut().find(|it| it.what == worse.what) {
            Some(most) if worse.back.share() < most.back.share() => *most = worse.clone(),
            Some(_) => (),
            None => lost.push(worse.clone()),
        }
    }
    let each = lost.iter().map(|it| match it.back.successes {
        0 => format!("not with {}", it.what),
        _ => format!("only in {} with {}", of_runs(it.back), it.what),
    });
    let mut each: Vec<String> = each.collect();
    if these.iter().any(|it| !it.ruling.back().is_all()) {
        each.insert(0, "not in every run".into());
    }
    list(&each)
}

/// ` It survives an outage of 3.1 s, and not of 3.6 s.`: of the policies the one that survives least, by
/// the outages that were tried and of which runs leave no doubt.
fn survived(these: &[&Examined]) -> String {
    let outages = these.iter().filter_map(|it| {
        let survived = it.found.outage.as_ref()?;
        Some((survived.value()?, survived))
    });
    let Some((value, least)) = outages.min_by(|a, b| a.0.total_cmp(&b.0)) else {
        return String::new();
    };
    let value = plain(value);
    match least.interval() {
        _ if least.threshold.is_above => {
            format!(" It survives an outage of {value} s, the longest tried.")
        }
        Some((survived, lost)) if survived > 0.0 => format!(
            " It survives an outage of {} s, and not one of {} s.",
            plain(survived),
            plain(lost)
        ),
        _ => format!(" Half of the runs survive an outage of up to {value} s."),
    }
}

/// The lowest and the highest of the contenders' means.
fn extremes(these: &[&Examined], of: &dyn Fn(&Outcome) -> f64) -> (f64, f64) {
    let means = these
        .iter()
        .filter_map(|it| mean(it.ruling.outcomes.iter().map(of)));
    means.fold((f64::INFINITY, 0.0), |(low, high), it| {
        (f64::min(low, it), f64::max(high, it))
    })
}
