//! Which figures does a contender have?

use crate::engine::float;
use crate::record::{Endings, Histogram};
use crate::scenario::Scenario;
use crate::search::{Error, Mean, ends_of_quantile};
use crate::study::{Figure, Verdict, figure};

use super::by_phase::ByPhase;
use super::capacity::hidden_capacity;
use super::examined::Examined;
use super::numbers::{millis, quantile};
use super::outcome::{Outcome, recovery_times};
use super::ruling::Ruling;
use super::searched::Found;
use super::survival::Survived;

/// What was measured of one policy. What a run has one of is the mean over the runs; what is computed of the calls of all runs
/// together has its interval by leaving out one run after the other.
pub(super) fn figures(examined: &Examined) -> Vec<Figure> {
    let Examined {
        scenario, ruling, ..
    } = examined;
    let mut figures = counts(ruling, scenario.services.len() > 1);
    figures.extend(recovery(ruling));
    figures.extend(client(ruling));
    figures.extend(by_phase(scenario, ruling));
    figures.extend(limits(examined));
    if scenario.triggers.is_empty() {
        // There is no time during it, and none before it.
        for figure in &mut figures {
            if OF_TRIGGERS.contains(&figure.id) {
                figure.value = None;
            }
        }
    }
    if ruling.outcomes.iter().all(|it| it.during.length.is_zero()) {
        // A trigger without a length leaves nothing to count.
        for figure in &mut figures {
            if figure.id == "amplification_during" {
                figure.value = None;
            }
        }
    }
    figures
}

/// What has no value without a trigger.
const OF_TRIGGERS: [&str; 8] = [
    "amplification_during",
    "amplification_after",
    "recovery_p50_s",
    "recovery_p90_s",
    "first_answer_p50_s",
    "goodput_before",
    "added_latency_p50_ms",
    "added_latency_p99_ms",
];

const OF_ALL: [&str; 3] = [
    "Amplification",
    "Amplification, during the trigger",
    "Amplification, after the trigger",
];
const OF_CLIENTS: [&str; 3] = [
    "Amplification by clients",
    "Amplification by clients, during the trigger",
    "Amplification by clients, after the trigger",
];

fn counts(ruling: &Ruling, of_several: bool) -> Vec<Figure> {
    // Of several services the clients' attempts are not all that there are.
    let titles = if of_several { OF_CLIENTS } else { OF_ALL };
    let [whole, during, after] = titles;
    let of =
        |id, title, value: &dyn Fn(&Outcome) -> f64| over(&ruling.outcomes, id, title, "", value);
    vec![
        of("amplification", whole, &|it| it.whole.amplification()),
        of("amplification_during", during, &|it| {
            it.during.amplification()
        }),
        of("amplification_after", after, &|it| it.after.amplification()),
        of("peak_per_bucket", "Most attempts in a bucket", &|it| {
            float(it.whole.peak)
        }),
        of(
            "pressure_after",
            "Attempts over the capacity, at the end",
            &|it| it.pressure,
        ),
    ]
}

fn recovery(ruling: &Ruling) -> Vec<Figure> {
    // One number of runs that came back and of runs that did not is none: the share stands above.
    let times = recovery_times(&ruling.outcomes);
    let times: Vec<f64> = times.into_iter().filter(|it| it.is_finite()).collect();
    let answers: Vec<f64> = ruling
        .outcomes
        .iter()
        .filter(|it| it.holds())
        .filter_map(|it| Some(it.first_answer?.as_secs_f64()))
        .collect();
    let at = |values: &[f64], share, id, title| {
        Figure::new(id, title, "s", quantile(values.to_vec(), share))
            .within(ends_of_quantile(values, share))
    };
    let back = ruling.back();
    let (low, high) = back.interval();
    let per_second =
        |id, title, of: &dyn Fn(&Outcome) -> f64| over(&ruling.outcomes, id, title, "/s", of);
    vec![
        figure!("recovered_share": "Runs that came back, or held", "%" = percent(back.share()))
            .within(Some((low * 100.0, high * 100.0))),
        at(
            &times,
            0.5,
            "recovery_p50_s",
            "Calls succeed again after, median",
        ),
        at(
            &times,
            0.9,
            "recovery_p90_s",
            "Calls succeed again after, 9 of 10 runs",
        ),
        at(
            &answers,
            0.5,
            "first_answer_p50_s",
            "First of their answers after, median",
        ),
        per_second("goodput_before", "Goodput before the trigger", &|it| {
            it.before.goodput()
        }),
        per_second("goodput_after", "Goodput at the end", &|it| {
            it.tail.goodput()
        }),
    ]
}

fn client(ruling: &Ruling) -> Vec<Figure> {
    let (outcomes, calm) = (&ruling.outcomes, &ruling.calm);
    let share = |id, title, of: &dyn Fn(&Outcome) -> f64| {
        over(outcomes, id, title, "%", &|it| of(it) * 100.0)
    };
    let (all, all_calm) = (merged(outcomes), merged(calm));
    let at = |of: &Histogram, share| of.quantile(share).map(millis);
    let error = |all: &Histogram, of: &[Outcome], share| {
        Error::of(of.len(), |run| {
            let mut others = all.clone();
            others.take_out(&of.get(run)?.latency);
            at(&others, share)
        })
    };
    let latency = |id, title, share| {
        let figure = Figure::new(id, title, "ms", at(&all, share));
        bounded(figure, outcomes.len(), error(&all, outcomes, share))
    };
    let added = |id, title, share| {
        let value = at(&all, share).zip(at(&all_calm, share));
        let value = value.map(|(with, without)| with - without);
        let error = error(&all, outcomes, share).zip(error(&all_calm, calm, share));
        let ends = value
            .zip(error)
            .map(|(value, (of, without))| of.and(without).around(value));
        Figure::new(id, title, "ms", value).within(ends)
    };
    vec![
        share("success_share", "Calls that succeed", &|it| {
            it.whole.success()
        }),
        share("given_up_share", "Calls that give up", &|it| it.given_up),
        latency("latency_p50_ms", "Latency of successful calls, median", 0.5),
        latency("latency_p99_ms", "Latency of successful calls, p99", 0.99),
        added(
            "added_latency_p50_ms",
            "Latency that the trigger adds, median",
            0.5,
        ),
        added(
            "added_latency_p99_ms",
            "Latency that the trigger adds, p99",
            0.99,
        ),
    ]
}

/// The mean over the runs, with its interval.
fn over(
    outcomes: &[Outcome],
    id: &'static str,
    title: &'static str,
    unit: &'static str,
    of: &dyn Fn(&Outcome) -> f64,
) -> Figure {
    let values: Vec<f64> = outcomes.iter().map(of).collect();
    mean_of(id, title, unit, &values)
}

/// Their mean, with its interval.
pub(super) fn mean_of(
    id: &'static str,
    title: &'static str,
    unit: &'static str,
    values: &[f64],
) -> Figure {
    let mean = Mean::of(values);
    let figure = Figure::new(id, title, unit, mean.map(|it| it.value));
    within_bounds(figure, mean.and_then(|it| it.interval))
}

/// With the interval that this error makes. What one of several runs alone has is no figure of them.
fn bounded(mut figure: Figure, runs: usize, error: Option<Error>) -> Figure {
    figure.value = figure.value.filter(|_| runs < 2 || error.is_some());
    let ends = figure.value.zip(error);
    within_bounds(figure, ends.map(|(value, error)| error.around(value)))
}

/// What is counted is not below 0, and a share not above 100 %.
fn within_bounds(figure: Figure, ends: Option<(f64, f64)>) -> Figure {
    let most = if figure.unit == "%" {
        100.0
    } else {
        f64::INFINITY
    };
    figure.within(ends.map(|(low, high)| (low.max(0.0), high.min(most))))
}

fn limits(examined: &Examined) -> Vec<Figure> {
    let ruling = &examined.ruling;
    let hidden = hidden_capacity(&examined.scenario).filter(|it| it.is_finite());
    let open = ruling.verdict == Verdict::TooShort;
    let needs = ruling.later.as_ref().filter(|_| open);
    let value = |it: &Option<Survived>| it.as_ref().and_then(Survived::value);
    let interval = |it: &Option<Survived>| it.as_ref().and_then(Survived::interval);
    let Found {
        load,
        outage,
        clients,
        ..
    } = &examined.found;
    let mut limits = vec![
        figure!("hidden_capacity": "Hidden capacity: safe if all attempts fail", "/s" = hidden),
        figure!("largest_load": "Largest load that survives this trigger", "/s" = value(load))
            .within(interval(load)),
        figure!("longest_outage_s": "Longest outage that is survived", "s" = value(outage))
            .within(interval(outage)),
    ];
    if let Some(later) = needs {
        limits.push(
            figure!("needed_horizon_s": "Horizon that is long enough to say", "s" =
            later.needs.map(|it| it.as_secs_f64())),
        );
    }
    // A closed loop alone has it, and no largest load.
    if clients.is_some() {
        let most = figure!("most_clients": "Most clients that are survived", "" = value(clients));
        limits.push(most.within(interval(clients)));
    }
    limits
}

/// The latencies of all runs.
fn merged(outcomes: &[Outcome]) -> Histogram {
    let mut merged = Histogram::default();
    for outcome in outcomes {
        merged.merge(&outcome.latency);
    }
    merged
}

fn percent(share: f64) -> Option<f64> {
    share.is_finite().then_some(share * 100.0)
}

/// What is measured of each phase, over the calls of all runs. No value without a trigger: then
/// nothing is before it.
///
/// After the triggers it is over the runs that end as most do: of those that come back and those that do not there is no one figure.
fn by_phase(scenario: &Scenario, ruling: &Ruling) -> Vec<Figure> {
    let are_back = ruling.back().is_mostly();
    let all = ruling.outcomes.iter();
    let all: Vec<&Outcome> = all.filter(|_| !scenario.triggers.is_empty()).collect();
    let alike = all.iter().copied().filter(|it| it.holds() == are_back);
    let alike: Vec<&Outcome> = alike.collect();
    let figure = |outcomes: &[&Outcome],
                  id,
                  title,
                  unit,
                  phase: fn(&ByPhase) -> &Endings,
                  value: &dyn Fn(&Endings) -> Option<f64>| {
        let mut together = Endings::default();
        for outcome in outcomes {
            together.merge(phase(&outcome.by_phase));
        }
        // Without one run, in time that grows with the runs and not with their square.
        let error = Error::of(outcomes.len(), |run| {
            let mut others = together.clone();
            others.take_out(phase(&outcomes.get(run)?.by_phase));
            value(&others)
        });
        bounded(
            Figure::new(id, title, unit, value(&together)),
            all.len(),
            error,
        )
    };
    let at = |share| move |of: &Endings| of.latency.quantile(share).map(millis);
    macro_rules! of_phase {
        ($outcomes:ident, $field:ident, $id:literal, $when:literal) => {{
            let phase: fn(&ByPhase) -> &Endings = |it| &it.$field;
            [
                figure(
                    &$outcomes,
                    concat!("latency_", $id, "_p50_ms"),
                    concat!("Latency ", $when, ", median"),
                    "ms",
                    phase,
                    &at(0.5),
                ),
                figure(
                    &$outcomes,
                    concat!("latency_", $id, "_p99_ms"),
                    concat!("Latency ", $when, ", p99"),
                    "ms",
                    phase,
                    &at(0.99),
                ),
                figure(
                    &$outcomes,
                    concat!("given_up_", $id, "_share"),
                    concat!("Calls that give up, ", $when),
                    "%",
                    phase,
                    &|of| of.given_up().map(|it| it * 100.0),
                ),
            ]
        }};
    }
    let phases = [
        of_phase!(all, before, "before", "before the trigger"),
        of_phase!(all, during, "during", "during the trigger"),
        of_phase!(alike, recovering, "recovering", "until it is back"),
        of_phase!(alike, recovered, "recovered", "once it is back"),
    ];
    phases.into_iter().flatten().collect()
}
