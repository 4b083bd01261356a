//! `layers`: what happens to one failing call below several layers that retry?

use std::time::Duration;

use becalm::{Budget, Policy};

use super::asked::{Asked, Range, World, count};
use super::entry::Studied;
use super::measure::{DEVIATIONS, attempts_deviation, compare, float, with_quiet_end};
use super::parts::unbounded;
use super::{Entry, Parameters, usual};
use crate::record::{Recording, total};
use crate::scenario::{Arrivals, Downstream, Effect, Population, Scenario, Trigger};
use crate::study::{Chart, ChartKind, Comparison, Plan, Study, Tolerance};
use crate::verdict::list;
use crate::{oracle, world};

/// The entry.
pub const LAYERS: Entry = Entry {
    name: "layers",
    title: "retries that multiply from layer to layer",
    question: "How many requests reach the bottom for one call of a user, if every layer retries?",
    answer: "A^L: four attempts in three layers make 64 of one call, three in five layers 243, and \
             a fan-out of k multiplies that by k^L. It is less where some requests succeed, \
             (1 - p^(A^L))/(1 - p), which is why nobody sees it before the outage. If the layers \
             tell each other (propagates=yes), the one nearest to the failure retries until one \
             above repeats, and they add: L (A - 1) + 1, which is 10; a 10 % budget in each makes \
             1.1^L.",
    sources: &[
        source!("Amazon Builders' Library: Timeouts, retries, and backoff with jitter"
            at "https://aws.amazon.com/builders-library/timeouts-retries-and-backoff-with-jitter/"),
        source!("Google SRE book, ch. 22: Addressing Cascading Failures"
            at "https://sre.google/sre-book/addressing-cascading-failures/"),
    ],
    parameters: &[
        parameter!("load": Number = "20", "calls of users per second, who never retry"),
        parameter!("layers": Count = "3", "layers above the bottom, each of which retries"),
        parameter!("fan-out": Count = "1", "calls that a layer makes for each it gets"),
        parameter!("propagates": Choice(&["no", "yes"]) = "no",
            "whether a layer knows of the retries above it"),
        parameter!("failures": Share = "1", "the share that fails at the bottom"),
        parameter!("outage": Duration = "20s", "for how long they fail, from 10 s on"),
        usual::horizon("60s"),
    ],
    contenders: &["attempts=1", "budget=none", "yours"],
    policy: Policy::default,
    studied: Studied::In(World::new(scenario).within(RANGES).telling(tell)),
    check,
};

/// Users, L services that call the next with the policy, and the bottom.
pub(crate) fn scenario(parameters: &Parameters, policy: &Policy) -> Scenario {
    let layers = count(parameters, "layers");
    let time = Duration::from_millis(1);
    let name = |layer: u32| {
        if layer == layers {
            "bottom".to_owned()
        } else {
            format!("layer {}", layer + 1)
        }
    };
    let arrivals = Arrivals::Poisson(parameters.number("load"));
    let users = Population::new("users", name(0), arrivals, Policy::default().attempts(1));
    let mut scenario = Scenario::new("layers", parameters.duration("horizon")).population(users);
    for layer in 0..layers {
        let mut call = Downstream::new(name(layer + 1), policy.clone());
        call.fan_out = count(parameters, "fan-out");
        call.at_once = true;
        call.propagates = parameters.text("propagates") == "yes";
        scenario = scenario.service(unbounded(name(layer), time).calls(call));
    }
    let effect = Effect::Failures {
        service: name(layers),
        share: parameters.number("failures"),
    };
    let from = Duration::from_secs(10);
    scenario
        .service(unbounded(name(layers), time))
        .trigger(Trigger::new(from, parameters.duration("outage"), effect))
}

const RANGES: &[Range] = &[
    Range::new("layers", 1.0, 20.0),
    Range::new("fan-out", 1.0, 100.0),
];

fn tell(asked: &Asked<'_>, study: &mut Study) {
    let from = Duration::from_secs(10);
    let to = from + asked.parameters.duration("outage");
    let (mut lines, mut answers) = (Vec::new(), Vec::new());
    let measure = |it: &Recording| (at_bottom(it, from, to), course_at_bottom(it));
    for (contender, runs) in asked.runs(&mut study.contenders, study.runs, measure) {
        let reached: Vec<_> = runs.iter().map(|it| it.0).collect();
        let figure = over_runs!("at_bottom": "Requests at the bottom for a call of a user, in the outage", "" =
            &reached);
        let reached = figure.value;
        contender.figures.push(figure);
        if let Some(reached) = reached {
            contender.evidence = format!(
                "{reached:.2} requests reach the bottom for each call of a user while it fails."
            );
            answers.push(format!("{reached:.1} ({})", contender.name));
        }
        let first = runs.into_iter().next().map(|it| it.1);
        lines.push((contender.name.clone(), first.unwrap_or_default()));
    }
    study.answer = format!(
        "While the bottom fails, so many requests reach it for each call of a user: {}.",
        list(&answers)
    );
    study.charts.push(Chart {
        id: "bottom".to_owned(),
        title: "Requests that reach the bottom".to_owned(),
        x: "time, s".to_owned(),
        y: "requests per second".to_owned(),
        kind: ChartKind::Lines(lines),
        bands: vec![(
            from.as_secs_f64(),
            to.as_secs_f64(),
            "the bottom fails".to_owned(),
        )],
        ..Chart::default()
    });
}

/// Requests at the bottom per call of a user; none where nobody called.
fn at_bottom(recording: &Recording, from: Duration, to: Duration) -> Option<f64> {
    let within = |counts: &[u32]| super::measure::between(counts, recording.bucket, from, to);
    let arrived = within(&recording.services.last()?.arrived);
    let calls = within(&recording.populations.first()?.calls);
    (calls > 0.0).then(|| arrived / calls)
}

/// Points of the picture at most: each is the mean of as many buckets as that takes.
const POINTS: usize = 600;

/// Requests per second at the bottom, over the time.
fn course_at_bottom(recording: &Recording) -> Vec<(f64, f64)> {
    let Some(bottom) = recording.services.last() else {
        return Vec::new();
    };
    let group = bottom.arrived.len().div_ceil(POINTS).max(1);
    let bucket = recording.bucket.as_secs_f64();
    let begins = (0_u32..).map(|at| f64::from(at) * float(group as u64) * bucket);
    let rates = bottom
        .arrived
        .chunks(group)
        .map(|it| float(total(it)) / (bucket * float(it.len() as u64)));
    begins.zip(rates).collect()
}

/// A case of the check.
struct Case {
    failures: f64,
    attempts: u32,
    layers: u32,
    fan_out: u32,
}

fn check(plan: &Plan<'_>, quick: bool) -> Vec<Comparison> {
    let case = |failures, attempts, layers, fan_out| Case {
        failures,
        attempts,
        layers,
        fan_out,
    };
    let cases = [
        case(1.0, 4, 3, 1),
        case(1.0, 3, 5, 1),
        case(0.5, 4, 3, 1),
        case(0.9, 4, 2, 1),
        case(1.0, 3, 2, 2),
        case(1.0, 2, 2, 3),
    ];
    let seconds = if quick { 12 } else { 202 };
    let mut comparisons: Vec<Comparison> = cases
        .iter()
        .map(|case| multiplied(case, plan, seconds))
        .collect();
    comparisons.push(added(plan, seconds));
    comparisons.push(budgeted(plan, seconds));
    comparisons
}

/// The scenario of a case: the bottom fails from the beginning, and the last second is quiet.
fn built(case: &Case, policy: &Policy, propagates: &str, seconds: u32) -> Scenario {
    let parameters = LAYERS.given(&[
        // What fails always has no spread, and needs few calls.
        (
            "load",
            if case.failures < 1.0 { "500" } else { "20" }.to_owned(),
        ),
        ("layers", case.layers.to_string()),
        ("fan-out", case.fan_out.to_string()),
        ("propagates", propagates.to_owned()),
        ("horizon", format!("{seconds}s")),
    ]);
    let mut scenario = scenario(&parameters, policy);
    scenario.triggers.clear();
    if let Some(bottom) = scenario.services.last_mut() {
        bottom.failures = case.failures;
    }
    with_quiet_end(scenario)
}

/// All attempts of all layers at once: 243 of them are over within the last second.
fn hasty(attempts: u32) -> Policy {
    Policy::fixed(Duration::ZERO).attempts(attempts)
}

fn measured(scenario: &Scenario, seed: u64) -> (f64, f64) {
    let recording = world::run(scenario, seed);
    let calls = recording.populations.first();
    let calls = calls.map_or(0.0, |users| float(total(&users.calls)));
    let arrived = recording.services.last();
    let arrived = arrived.map_or(0.0, |bottom| float(total(&bottom.arrived)));
    (arrived / calls, calls)
}

fn multiplied(case: &Case, plan: &Plan<'_>, seconds: u32) -> Comparison {
    let policy = hasty(case.attempts).budget(Budget::None);
    let (got, calls) = measured(&built(case, &policy, "no", seconds), plan.seed);
    let Case {
        failures,
        attempts,
        layers,
        fan_out,
    } = *case;
    let expected = oracle::layers::with_fan_out(failures, attempts, layers, fan_out);
    // Without a fan-out the attempts are those of one call. With one, only what has no spread is
    // asked: everything fails.
    let deviation = if fan_out == 1 {
        attempts_deviation(failures, attempts.saturating_pow(layers))
    } else {
        0.0
    };
    compare(
        format!(
            "requests at the bottom, {layers} layers of {attempts}, fan-out {fan_out}, {failures} \
             fail"
        ),
        expected,
        got,
        Tolerance::Absolute(DEVIATIONS * deviation / calls.sqrt()),
    )
}

/// Three layers that know of each other.
fn added(plan: &Plan<'_>, seconds: u32) -> Comparison {
    let case = Case {
        failures: 1.0,
        attempts: 4,
        layers: 3,
        fan_out: 1,
    };
    let policy = hasty(4).budget(Budget::None);
    let (got, _) = measured(&built(&case, &policy, "yes", seconds), plan.seed);
    compare(
        "requests at the bottom, 3 layers of 4 that know of each other",
        oracle::layers::added(1.0, 4, 3),
        got,
        Tolerance::Absolute(0.0),
    )
}

/// Three layers with a 10 % budget each, whose bursts of one token are soon spent.
fn budgeted(plan: &Plan<'_>, seconds: u32) -> Comparison {
    let case = Case {
        failures: 1.0,
        attempts: 4,
        layers: 3,
        fan_out: 1,
    };
    let policy = hasty(4).budget(Budget::ratio(0.1).burst(1.0));
    let (got, calls) = measured(&built(&case, &policy, "no", seconds), plan.seed);
    let (bursts, ratio) = (3.0 * 1.331 / calls, 0.1);
    compare(
        "requests at the bottom, 3 layers of 4 with a budget of 0.1 each",
        oracle::layers::budgeted(ratio, 3) + bursts,
        got,
        Tolerance::AtMost,
    )
}
