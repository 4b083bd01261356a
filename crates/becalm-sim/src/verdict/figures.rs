//! Which figures does a contender have?

use crate::engine::float;
use crate::record::{Endings, Histogram};
use crate::scenario::Scenario;
use crate::study::{Figure, figure};

use super::by_phase::ByPhase;
use super::capacity::hidden_capacity;
use super::examined::Examined;
use super::numbers::{median, millis, quantile};
use super::outcome::{Outcome, recovery_times};
use super::ruling::Ruling;
use super::survival::Survived;

/// What was measured of one policy. What a run has one of is the median over runs.
pub(super) fn figures(examined: &Examined) -> Vec<Figure> {
    let Examined {
        scenario, ruling, ..
    } = examined;
    let mut figures = counts(ruling, scenario.services.len() > 1);
    figures.extend(recovery(ruling));
    figures.extend(client(ruling));
    figures.extend(by_phase(scenario, &ruling.outcomes));
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
const OF_TRIGGERS: [&str; 7] = [
    "amplification_during",
    "amplification_after",
    "recovery_p50_s",
    "recovery_p90_s",
    "goodput_before",
    "added_latency_p50_ms",
    "added_latency_p99_ms",
];

const OF_ALL: [&str; 3] = [
    "Attempts per first try",
    "Attempts per first try, during the trigger",
    "Attempts per first try, after the trigger",
];
const OF_CLIENTS: [&str; 3] = [
    "Attempts of clients per first try",
    "Attempts of clients, during the trigger",
    "Attempts of clients, after the trigger",
];

fn counts(ruling: &Ruling, of_several: bool) -> Vec<Figure> {
    // Of several services the clients' attempts are not all that there are.
    let titles = if of_several { OF_CLIENTS } else { OF_ALL };
    let [whole, during, after] = titles;
    let of = |id, title, value: &dyn Fn(&Outcome) -> f64| {
        let value = median(ruling.outcomes.iter().map(value));
        Figure::new(id, title, "", value)
    };
    let peak = of("peak_per_bucket", "Most attempts in a bucket", &|it| {
        float(it.whole.peak)
    });
    vec![
        of("amplification", whole, &|it| it.whole.amplification()),
        of("amplification_during", during, &|it| {
            it.during.amplification()
        }),
        of("amplification_after", after, &|it| it.after.amplification()),
        peak,
        of(
            "pressure_after",
            "Attempts over the capacity, at the end",
            &|it| it.pressure,
        ),
    ]
}

fn recovery(ruling: &Ruling) -> Vec<Figure> {
    let times: Vec<f64> = recovery_times(&ruling.outcomes);
    let at = |share| quantile(times.clone(), share).filter(|it| it.is_finite());
    let back = ruling.back();
    let (low, high) = back.interval();
    let per_second = |id, title, of: fn(&Outcome) -> f64| {
        Figure::new(id, title, "/s", median(ruling.outcomes.iter().map(of)))
    };
    vec![
        figure!("recovered_share": "Runs that came back, or held", "%" = percent(back.share()))
            .within(Some((low * 100.0, high * 100.0))),
        figure!("recovery_p50_s": "Time to come back, half of the runs", "s" = at(0.5)),
        figure!("recovery_p90_s": "Time to come back, 9 of 10 runs", "s" = at(0.9)),
        per_second("goodput_before", "Goodput before the trigger", |it| {
            it.before.goodput()
        }),
        per_second("goodput_after", "Goodput at the end", |it| {
            it.tail.goodput()
        }),
    ]
}

fn client(ruling: &Ruling) -> Vec<Figure> {
    let success = median(ruling.outcomes.iter().map(|it| it.whole.success()));
    let given_up = median(ruling.outcomes.iter().map(|it| it.given_up));
    let latency = merged(&ruling.outcomes);
    let calm = merged(&ruling.calm);
    let at = |of: &Histogram, share| of.quantile(share).map(millis);
    let added = |share| Some(at(&latency, share)? - at(&calm, share)?);
    vec![
        figure!("success_share": "Calls that succeed", "%" = success.and_then(percent)),
        figure!("given_up_share": "Calls that give up", "%" = given_up.and_then(percent)),
        figure!("latency_p50_ms": "Latency of successful calls, median", "ms" = at(&latency, 0.5)),
        figure!("latency_p99_ms": "Latency of successful calls, p99", "ms" = at(&latency, 0.99)),
        figure!("added_latency_p50_ms": "Latency that the trigger adds, median", "ms" =
            added(0.5)),
        figure!("added_latency_p99_ms": "Latency that the trigger adds, p99", "ms" = added(0.99)),
    ]
}

fn limits(examined: &Examined) -> Vec<Figure> {
    let hidden = hidden_capacity(&examined.scenario).filter(|it| it.is_finite());
    let value = |it: &Option<Survived>| it.as_ref().and_then(Survived::value);
    let interval = |it: &Option<Survived>| it.as_ref().and_then(Survived::interval);
    let (load, outage, clients) = (&examined.load, &examined.outage, &examined.clients);
    let mut limits = vec![
        figure!("hidden_capacity": "Hidden capacity: safe if all attempts fail", "/s" = hidden),
        figure!("largest_load": "Largest load that survives this trigger", "/s" = value(load))
            .within(interval(load)),
        figure!("longest_outage_s": "Longest outage that is survived", "s" = value(outage))
            .within(interval(outage)),
    ];
    // A closed loop alone has it, and no largest load.
    if clients.is_some() {
        let most = figure!("most_clients": "Most clients that are survived", "" = value(clients));
        limits.push(most.within(interval(clients)));
    }
    limits
}

/// The latencies of all runs.
pub(crate) fn merged(outcomes: &[Outcome]) -> Histogram {
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
fn by_phase(scenario: &Scenario, outcomes: &[Outcome]) -> Vec<Figure> {
    let mut all = ByPhase::default();
    if !scenario.triggers.is_empty() {
        for outcome in outcomes {
            all.merge(&outcome.by_phase);
        }
    }
    macro_rules! of_phase {
        ($field:ident, $id:literal, $when:literal) => {{
            let of: &Endings = &all.$field;
            let quantile = |share| of.latency.quantile(share).map(millis);
            [
                Figure::new(
                    concat!("latency_", $id, "_p50_ms"),
                    concat!("Latency ", $when, ", median"),
                    "ms",
                    quantile(0.5),
                ),
                Figure::new(
                    concat!("latency_", $id, "_p99_ms"),
                    concat!("Latency ", $when, ", p99"),
                    "ms",
                    quantile(0.99),
                ),
                Figure::new(
                    concat!("given_up_", $id, "_share"),
                    concat!("Calls that give up, ", $when),
                    "%",
                    of.given_up().map(|it| it * 100.0),
                ),
            ]
        }};
    }
    let phases = [
        of_phase!(before, "before", "before the trigger"),
        of_phase!(during, "during", "during the trigger"),
        of_phase!(recovering, "recovering", "until it is back"),
        of_phase!(recovered, "recovered", "once it is back"),
    ];
    phases.into_iter().flatten().collect()
}
