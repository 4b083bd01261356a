//! What is shown of a fleet that lost its connections?

use std::time::Duration;

use becalm::support::{Human, Lone};

use super::runs::{figure, left_out, seeds};
use super::{Candidate, Entry, InvalidParameter, Parameter, Parameters};
use crate::engine::each_in_order;
pub(super) use crate::engine::float;
use crate::engine::nanos;
use crate::herd::{self, Decides, Herd, Reconnects};
use crate::study::{Chart, ChartKind, Contender, Plan, Study};
use crate::verdict::Brief;

/// What a fleet did under one policy, in each run.
pub(super) struct Fleet {
    pub name: String,
    pub policy: String,
    pub evidence: String,
    pub records: Vec<Reconnects>,
}

/// Runs of each fleet where none are asked for.
pub(super) const RUNS: u32 = 3;

pub(super) const CLIENTS: Parameter = parameter!("clients": Count = "10000",
    "how many clients lose their connection");
pub(super) const SPREAD: Parameter = parameter!("spread": Duration = "0s",
    "over which time the connections are lost; 0s is all at once");
pub(super) const ACCEPTS: Parameter = parameter!("accepts": Number = "0",
    "connections that the server accepts in a second; 0 is no limit");
pub(super) const BUCKET: Parameter = parameter!("bucket": Duration = "100ms",
    "the step in which attempts are counted");

/// The herd that the parameters describe.
pub(super) fn asked(parameters: &Parameters) -> Result<Herd, InvalidParameter> {
    let clients = u32::try_from(parameters.count("clients"))
        .map_err(|_| InvalidParameter::new("clients", "a herd has at most 4294967295 clients"))?;
    let mut herd = Herd::of(clients);
    herd.outage = parameters.duration("outage");
    herd.spread = parameters.duration("spread");
    herd.horizon = parameters.duration("horizon");
    herd.bucket = parameters.duration("bucket");
    let accepts = parameters.number("accepts").ceil();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates
    if accepts > 0.0 {
        herd.accepts_per_second = Some(accepts as u64);
    }
    herd.most_attempts = u64::from(clients).saturating_mul(1000).max(100_000_000);
    herd.validate()?;
    Ok(herd)
}

/// Runs a herd as often as the plan says, on as many threads.
pub(super) fn records(
    herd: &Herd,
    decides: &(impl Decides + Sync),
    plan: &Plan<'_>,
) -> Result<Vec<Reconnects>, InvalidParameter> {
    let seeds: Vec<u64> = seeds(plan, plan.runs.unwrap_or(RUNS).max(1)).collect();
    let each = |seed: &u64| herd::run(herd, decides, *seed);
    each_in_order(&seeds, plan.threads, each)
        .into_iter()
        .collect()
}

/// Runs a fleet of each candidate, and adds it to those that have been run.
pub(super) fn of_each(
    herd: &Herd,
    candidates: &[Candidate],
    plan: &Plan<'_>,
    mut fleets: Vec<Fleet>,
) -> Result<Vec<Fleet>, InvalidParameter> {
    let all = (fleets.len() + candidates.len()) as u64;
    for candidate in candidates {
        let lone = Lone::new(candidate.policy.clone(), Duration::ZERO)?;
        fleets.push(Fleet {
            name: candidate.name.clone(),
            policy: candidate.policy.to_string(),
            evidence: left_out(&candidate.policy),
            records: records(herd, &lone, plan)?,
        });
        if let Some(progress) = plan.progress {
            progress(fleets.len() as u64, all);
        }
    }
    Ok(fleets)
}

impl Fleet {
    /// Its figures.
    pub fn contender(&self, herd: &Herd) -> Contender {
        let clients = f64::from(herd.clients);
        let of = |value: &dyn Fn(&Reconnects) -> Option<f64>| -> Vec<Option<f64>> {
            self.records.iter().map(value).collect()
        };
        let seconds = |nanos: u64| Duration::from_nanos(nanos).as_secs_f64();
        let peak = of(&|record| Some(f64::from(record.peak_from(Duration::ZERO).1)));
        let share =
            of(&|record| Some(100.0 * f64::from(record.peak_from(Duration::ZERO).1) / clients));
        let late = of(&|record| Some(f64::from(record.peak_from(herd.outage / 2).1)));
        let attempts = of(&|record| Some(float(record.attempts()) / clients));
        let connected = of(&|record| Some(100.0 * float(record.downtime.len()) / clients));
        let within = |share: f64| of(&|record| of_fleet(record, share, clients).map(seconds));
        let last = of(&|record| {
            let all = record.downtime.len() == u64::from(herd.clients);
            all.then(|| seconds(record.last.saturating_sub(nanos(herd.outage))))
        });
        let unfinished = self.records.iter().any(|it| it.is_cut_short);
        let mut evidence = self.evidence.clone();
        if unfinished {
            evidence.push_str(" The run was ended early, after ");
            evidence.push_str(&herd.most_attempts.to_string());
            evidence.push_str(" attempts: with so little delay there is no end of them.");
        }
        Contender {
            name: self.name.clone(),
            policy: self.policy.clone(),
            evidence: evidence.trim().to_owned(),
            figures: vec![
                figure("peak", "Most attempts in a bucket", "", &peak),
                figure("peak_share", "The same, of all clients", "%", &share),
                over_runs!("late_peak": "Most in a bucket, from half of the outage on", "" = &late),
                figure("attempts_per_client", "Attempts of a client", "", &attempts),
                figure("connected", "Connected at the end", "%", &connected),
                over_runs!("reconnect_p50_s": "Connected after the outage: half", "s" = &within(0.5)),
                over_runs!("reconnect_p99_s": "Connected after the outage: 99 %", "s" = &within(0.99)),
                over_runs!("reconnect_last_s": "Connected after the outage: the last", "s" = &last),
            ],
            ..Contender::default()
        }
    }
}

/// The nanoseconds after the outage within which this share of the whole fleet is connected; `None`
/// if so many never are.
fn of_fleet(record: &Reconnects, share: f64, clients: f64) -> Option<u64> {
    let connected = float(record.after_outage.len());
    let wanted = (share * clients).ceil();
    let is_reached = wanted <= connected;
    // Half a rank lower: the quotient is rounded, and the rank of the quantile is not to be.
    is_reached.then(|| record.after_outage.quantile((wanted - 0.5) / connected))?
}

/// Attempts and connections over time, of the first run of each fleet.
pub(super) fn charts(fleets: &[Fleet], herd: &Herd) -> Vec<Chart> {
    let lines = |points: &dyn Fn(&Reconnects) -> Vec<(f64, f64)>| {
        let line = |fleet: &Fleet| Some((fleet.name.clone(), points(fleet.records.first()?)));
        ChartKind::Lines(fleets.iter().filter_map(line).collect())
    };
    let outage = (0.0, herd.outage.as_secs_f64(), "outage".to_owned());
    let chart = |id: &str, title: String, y: &str, kind| Chart {
        id: id.to_owned(),
        title,
        x: "seconds since the loss".to_owned(),
        y: y.to_owned(),
        kind,
        bands: vec![outage.clone()],
        ..Chart::default()
    };
    let bucket = Human(herd.bucket);
    vec![
        chart(
            "attempts",
            format!("Attempts to connect, in each {bucket}"),
            "attempts",
            lines(&|record| peaks(&record.attempts, record.bucket)),
        ),
        chart(
            "connected",
            "Clients that are connected".to_owned(),
            "% of all clients",
            lines(&|record| connected(record, herd.clients)),
        ),
    ]
}

/// Points that a chart can show, and a page can hold.
const POINTS: usize = 600;

/// The counts, each point the largest of those that it stands for: a peak is never left out.
fn peaks(counts: &[u32], bucket: Duration) -> Vec<(f64, f64)> {
    let group = counts.len().div_ceil(POINTS).max(1);
    let step = bucket.as_secs_f64() * index(group);
    let points = counts.chunks(group).zip(0_u32..);
    points
        .map(|(counts, at)| {
            let most = counts.iter().copied().max().unwrap_or(0);
            (step * f64::from(at), f64::from(most))
        })
        .collect()
}

fn connected(record: &Reconnects, clients: u32) -> Vec<(f64, f64)> {
    let group = record.connected.len().div_ceil(POINTS).max(1);
    let step = record.bucket.as_secs_f64() * index(group);
    let mut all = 0;
    let points = record.connected.chunks(group).zip(1_u32..);
    let points = points.map(|(counts, at)| {
        all += crate::record::total(counts);
        (
            step * f64::from(at),
            100.0 * float(all) / f64::from(clients),
        )
    });
    std::iter::once((0.0, 0.0)).chain(points).collect()
}

/// The study of these fleets, with an answer made of their peaks.
pub(super) fn study(
    entry: &Entry,
    parameters: &Parameters,
    fleets: &[Fleet],
    herd: &Herd,
    plan: &Plan<'_>,
) -> Study {
    let peaks = fleets.iter().filter(|fleet| !fleet.records.is_empty());
    let peaks = peaks.map(|fleet| {
        let of_each = fleet
            .records
            .iter()
            .map(|it| it.peak_from(Duration::ZERO).1);
        let mean = of_each.map(f64::from).sum::<f64>() / float(fleet.records.len() as u64);
        format!("{mean:.0} ({})", fleet.name)
    });
    let peaks = peaks.collect::<Vec<_>>().join(", ");
    let answer = format!(
        "Of {} clients, the most that try to connect within one {}, in the mean of the runs, are: \
         {peaks}.",
        herd.clients,
        Human(herd.bucket)
    );
    let records = fleets.iter().flat_map(|fleet| &fleet.records);
    Study {
        answer,
        contenders: fleets.iter().map(|fleet| fleet.contender(herd)).collect(),
        charts: charts(fleets, herd),
        runs: plan.runs.unwrap_or(RUNS).max(1),
        events: records.map(|record| record.events).sum(),
        ..Brief::of(entry, parameters).study(plan)
    }
}

fn index(group: usize) -> f64 {
    float(group as u64)
}
