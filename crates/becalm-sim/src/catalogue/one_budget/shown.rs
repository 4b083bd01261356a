//! What is shown of a fleet's retries?

use std::time::Duration;

use super::{BUDGETS, Records};
use crate::catalogue::Candidate;
use crate::catalogue::runs::{figure, left_out};
use crate::leases::{Processes, Retries, Trouble};
use crate::oracle::fleet as oracle;
use crate::study::{Chart, ChartKind, Contender, Figure, Plan, Study};
use crate::verdict::Brief;

pub(super) fn study(
    brief: &Brief,
    processes: &Processes,
    candidates: &[Candidate],
    records: &[Records],
    plan: &Plan<'_>,
) -> Study {
    let mut contenders = Vec::new();
    let mut lines = Vec::new();
    // A sweep has the policies alone.
    let shown = if plan.is_quick { 1 } else { BUDGETS.len() };
    for (candidate, records) in candidates.iter().zip(records) {
        for ((_, suffix, words), runs) in BUDGETS.iter().zip(records).take(shown) {
            let name = format!("{}{suffix}", candidate.name);
            if let Some(first) = runs.first() {
                lines.push((name.clone(), retries_per_second(first)));
            }
            contenders.push(Contender {
                name,
                policy: format!("{}; {words}", candidate.policy),
                evidence: left_out(&candidate.policy),
                figures: figures(processes, runs, &records[1]),
                ..Contender::default()
            });
        }
    }
    let all = records.iter().flatten().flatten();
    Study {
        answer: answer(processes, &contenders),
        charts: vec![chart(processes, lines)],
        contenders,
        events: all.map(|record| record.events).sum(),
        ..brief.study(plan)
    }
}

/// The time between two exchanges at most, where none is lost.
pub(super) fn between(processes: &Processes) -> Duration {
    processes.fleet.period.mul_f64(1.1) + processes.round_trip
}

/// What the law allows this run beyond the ratio.
pub(super) fn bound(processes: &Processes, record: &Retries) -> f64 {
    let ratio = processes.fleet.ratio();
    let share = record.share_of(ratio.ratio, between(processes));
    oracle::excess(ratio.held(), processes.processes.into(), share)
}

/// The most exchanges of the processes in any second, over their number.
pub(super) fn exchanges(processes: &Processes, record: &Retries) -> f64 {
    let second = |at: u64| {
        let from = Duration::from_secs(at);
        record.exchanges_per_second(from, from + Duration::from_secs(1))
    };
    let seconds = 0..processes.horizon.as_secs();
    seconds.map(second).fold(0.0, f64::max) / f64::from(processes.processes)
}

fn figures(processes: &Processes, runs: &[Retries], ideal: &[Retries]) -> Vec<Figure> {
    let (from, to) = (processes.fails_from, processes.horizon);
    let ratio = processes.ratio();
    let of = |value: &dyn Fn(&Retries) -> f64| -> Vec<Option<f64>> {
        runs.iter().map(|run| Some(value(run))).collect()
    };
    let fills: Vec<Option<f64>> = runs
        .iter()
        .zip(ideal)
        .map(|(run, ideal)| {
            let most = ideal.granted_between(from, to);
            (most > 0.0).then(|| 100.0 * run.granted_between(from, to) / most)
        })
        .collect();
    let seconds = to.saturating_sub(from).as_secs_f64();
    let per_second = of(&|run| run.granted_between(from, to) / seconds.max(0.1));
    let alone = of(&|run| 100.0 * f64::from(run.alone) / f64::from(processes.processes));
    vec![
        figure("retries_per_s", "Retries", "/s", &per_second),
        figure("of_ideal", "Of what one ideal bucket grants", "%", &fills),
        over_runs!("excess": "Most retries above the ratio, over any window", "" =
            &of(&|run| run.excess(ratio))),
        over_runs!("excess_bound": "Its bound by the law of the leased budget", "" =
            &of(&|run| bound(processes, run))),
        over_runs!("worst_10s": "Amplification, in the worst 10 s", "" =
            &of(&Retries::worst_ten_seconds)),
        over_runs!("exchanges_per_process": "Exchanges of a process, in the second with most", "/s" =
            &of(&|run| exchanges(processes, run))),
        over_runs!("alone_share": "Processes that were without the store", "%" = &alone),
    ]
}

fn retries_per_second(record: &Retries) -> Vec<(f64, f64)> {
    let seconds = record.granted.chunks(10).zip(0_u32..);
    let sum = |granted: &[u32]| granted.iter().copied().map(f64::from).sum();
    // The last may be a part of a second.
    seconds
        .filter(|(granted, _)| granted.len() == 10)
        .map(|(granted, at)| (f64::from(at), sum(granted)))
        .collect()
}

fn chart(processes: &Processes, lines: Vec<(String, Vec<(f64, f64)>)>) -> Chart {
    let (from, until) = processes.during;
    let bands = match processes.trouble {
        Trouble::None => Vec::new(),
        Trouble::Flushed | Trouble::Turned => vec![(from, from)],
        _ => vec![(from, until)],
    };
    let seconds = |(from, until): (Duration, Duration)| {
        (
            from.as_secs_f64(),
            until.as_secs_f64(),
            "trouble".to_owned(),
        )
    };
    Chart {
        id: "retries".to_owned(),
        title: "Retries that are granted, in each second".to_owned(),
        x: "seconds".to_owned(),
        y: "retries".to_owned(),
        kind: ChartKind::Lines(lines),
        bands: bands.into_iter().map(seconds).collect(),
        ..Chart::default()
    }
}

fn answer(processes: &Processes, contenders: &[Contender]) -> String {
    let each = contenders.iter().map(|contender| {
        let value = |id| contender.value(id).unwrap_or(0.0);
        format!(
            "{:.0} a second, at most {:.0} above the ratio ({})",
            value("retries_per_s"),
            value("excess"),
            contender.name
        )
    });
    let each: Vec<String> = each.collect();
    format!(
        "{} processes with {:.0} calls a second retry {}.",
        processes.processes,
        processes.load,
        each.join("; ")
    )
}
