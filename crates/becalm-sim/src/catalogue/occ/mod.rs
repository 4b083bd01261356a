//! `occ`: how much work do clients cost each other that update one row?

mod check;

use std::time::Duration;

use becalm::support::Lone;
use becalm::{Budget, Policy};

use super::entry::Studied;
use super::fleet::float;
use super::runs::left_out;
use super::{Candidate, Entry, InvalidParameter, Parameters};
use crate::occ::{self, Contest, Mean, Trials};
use crate::search::student;
use crate::study::{Chart, ChartKind, Contender, Figure, Plan, Study, figure};
use crate::verdict::{Brief, percent};

/// The entry.
pub const OCC: Entry = Entry {
    name: "occ",
    title: "optimistic concurrency on one row (AWS 2015)",
    question: "How many calls does it take until every client has written, and how long?",
    answer: "Without backoff or without jitter the calls grow with the square of the clients; with \
             jitter they grow almost in line with them. Full and equal jitter need about the same \
             calls (equal more than full only up to 160 clients), decorrelated jitter a third more, \
             and full jitter is done sooner than equal. Backoff without jitter is the slowest by far.",
    sources: &[
        source!("Marc Brooker: Exponential Backoff And Jitter, AWS Architecture Blog, 2015"
            at "https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/"),
        source!("Marc Brooker: aws-arch-backoff-simulator, the published simulator"
            at "https://github.com/aws-samples/aws-arch-backoff-simulator"),
    ],
    parameters: &[
        parameter!("clients": Count = "190", "the largest number of clients, at most 10000"),
        parameter!("step": Count = "10",
            "from one number of clients to the next; --quick and a sweep have the largest alone"),
        parameter!("hop": Duration = "10ms", "the mean time of a message, one way"),
        parameter!("deviation": Duration = "2ms", "its standard deviation"),
    ],
    contenders: &[
        "base=0s;jitter=none",
        "none",
        "equal",
        "full",
        "base=5ms;jitter=decorrelated-clamped",
    ],
    policy,
    studied: Studied::Alone(study),
    check: check::check,
};

/// The original's figures: its base of 5 ms is doubled before it is first used.
fn policy() -> Policy {
    Policy::exponential(Duration::from_millis(10))
        .cap(Duration::from_secs(2))
        .attempts(Policy::UNLIMITED)
        .budget(Budget::None)
}

fn study(
    parameters: &Parameters,
    candidates: &[Candidate],
    plan: &Plan<'_>,
) -> Result<Study, InvalidParameter> {
    let sizes = sizes(parameters, plan)?;
    let runs = plan.runs.unwrap_or(check::TRIALS).max(1);
    let mut contenders = Vec::new();
    let (mut calls, mut times, mut events) = (Vec::new(), Vec::new(), 0);
    for (done, candidate) in (1..).zip(candidates) {
        let lone = Lone::new(candidate.policy.clone(), Duration::ZERO)?;
        let each = sizes
            .iter()
            .map(|contest| occ::trials(contest, &lone, plan.seed, runs, plan.threads));
        let each = each.collect::<Result<Vec<_>, _>>()?;
        let by_size = |of: fn(&Trials) -> f64| {
            let points = sizes.iter().zip(&each);
            points
                .map(|(contest, it)| (f64::from(contest.clients), of(it)))
                .collect::<Vec<_>>()
        };
        calls.push((candidate.name.clone(), by_size(|it| it.calls.value)));
        times.push((candidate.name.clone(), by_size(|it| it.time.value)));
        events += each.iter().map(|it| it.events).sum::<u64>();
        if let (Some(contest), Some(last)) = (sizes.last(), each.last()) {
            contenders.push(Contender {
                name: candidate.name.clone(),
                policy: candidate.policy.to_string(),
                evidence: evidence(&candidate.policy, contest, last, runs),
                figures: figures(contest, last, runs),
                ..Contender::default()
            });
        }
        if let Some(progress) = plan.progress {
            progress(done, candidates.len() as u64);
        }
    }
    let chart = |id: &str, title: &str, y: &str, lines| Chart {
        id: id.to_owned(),
        title: title.to_owned(),
        x: "clients".to_owned(),
        y: y.to_owned(),
        kind: ChartKind::Lines(lines),
        ..Chart::default()
    };
    Ok(Study {
        answer: answer(&sizes, &contenders),
        contenders,
        charts: vec![
            chart(
                "calls",
                "Calls until every client has written",
                "calls",
                calls,
            ),
            chart("time", "Time until every client has written", "ms", times),
        ],
        runs,
        events,
        ..Brief::of(&OCC, parameters).study(plan)
    })
}

/// The contests from one step of clients to the most; the most alone where only the figures are
/// wanted, which are those of it.
fn sizes(parameters: &Parameters, plan: &Plan<'_>) -> Result<Vec<Contest>, InvalidParameter> {
    let most = u32::try_from(parameters.count("clients")).unwrap_or(u32::MAX);
    let step = u32::try_from(parameters.count("step"))
        .unwrap_or(u32::MAX)
        .max(1);
    let of = |clients| {
        let mut contest = Contest::of(clients);
        contest.hop = parameters.duration("hop");
        contest.deviation = parameters.duration("deviation");
        contest
    };
    let largest = of(most);
    largest.validate()?;
    if plan.is_quick {
        return Ok(vec![largest]);
    }
    let below = (1..).map(|at: u32| at.saturating_mul(step));
    let mut contests: Vec<Contest> = below
        .take_while(|clients| *clients < most)
        .map(of)
        .collect();
    contests.push(largest);
    Ok(contests)
}

/// What plays no part, and who has not written.
fn evidence(policy: &Policy, contest: &Contest, trials: &Trials, runs: u32) -> String {
    let left_out = left_out(policy);
    if trials.gave_up == 0 {
        return left_out;
    }
    let gave_up = percent(1.0 - written(contest, trials, runs));
    format!("{gave_up} of the clients give up before they have written. {left_out}")
        .trim_end()
        .to_owned()
}

/// The share of all clients of all trials that have written.
fn written(contest: &Contest, trials: &Trials, runs: u32) -> f64 {
    let clients = float(u64::from(contest.clients) * u64::from(runs));
    1.0 - float(trials.gave_up) / clients
}

/// What it takes until every client has written has no value where one never does.
fn figures(contest: &Contest, trials: &Trials, runs: u32) -> Vec<Figure> {
    let freedom = usize::try_from(runs).unwrap_or(usize::MAX) - 1;
    let figure = |id, title, unit, mean: Mean, over: f64| {
        let value = (trials.gave_up == 0).then_some(mean.value / over);
        let figure = Figure::new(id, title, unit, value);
        // A single trial says nothing of how far it is off.
        if freedom == 0 || value.is_none() {
            return figure;
        }
        let half = student(freedom) * mean.error;
        figure.within(Some((
            (mean.value - half) / over,
            (mean.value + half) / over,
        )))
    };
    let clients = f64::from(contest.clients);
    vec![
        figure(
            "calls",
            "Calls until every client has written",
            "",
            trials.calls,
            1.0,
        ),
        figure(
            "calls_per_client",
            "Calls of a client",
            "",
            trials.calls,
            clients,
        ),
        figure(
            "time_ms",
            "Time until every client has written",
            "ms",
            trials.time,
            1.0,
        ),
        figure!("written_share": "Clients that have written", "%" =
            Some(100.0 * written(contest, trials, runs)))
        .within((freedom > 0).then(|| {
            let half = student(freedom) * trials.lost.error;
            let share = |lost: f64| (100.0 * (1.0 - lost / clients)).clamp(0.0, 100.0);
            (
                share(trials.lost.value + half),
                share(trials.lost.value - half),
            )
        })),
    ]
}

fn answer(sizes: &[Contest], contenders: &[Contender]) -> String {
    let of = |contender: &Contender| {
        let value = |id| contender.value(id);
        let Some((calls, time)) = value("calls").zip(value("time_ms")) else {
            let written = percent(value("written_share")? / 100.0);
            return Some(format!(
                "more than {} gives: {written} write",
                contender.name
            ));
        };
        Some(format!(
            "{calls:.0} calls in {:.1} s ({})",
            time / 1e3,
            contender.name
        ))
    };
    let each: Vec<String> = contenders.iter().filter_map(of).collect();
    let clients = sizes.last().map_or(0, |contest| contest.clients);
    format!(
        "Until {clients} clients have written it takes {}.",
        each.join(", ")
    )
}
