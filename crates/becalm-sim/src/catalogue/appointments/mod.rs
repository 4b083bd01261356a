//! `appointments`: what does a herd do to a server whose handshakes take time, and what brings it in?

mod check;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use becalm::reconnect::Reconnect;
use becalm::support::Human;
use becalm::support::Lone;
use becalm::{Budget, Policy};

use super::entry::Studied;
use super::fleet::{self, Fleet, float};
use super::runs::{figure, left_out, seeds};
use super::{Candidate, Entry, InvalidParameter, Parameters};
use crate::admission::{self, Arrivals, Door, Handshakes};
use crate::engine::each_in_order;
use crate::herd::Herd;
use crate::oracle::appointments as oracle;
use crate::study::{Contender, Figure, Plan, Study, figure};

/// The entry.
pub const APPOINTMENTS: Entry = Entry {
    name: "appointments",
    title: "a herd before a server whose handshakes take time",
    question: "When is the last client back, and how much of the work was for clients that had left?",
    answer: "N clients take a server that does C handshakes a second N/C, whatever anybody does. Jitter \
             alone does not bring them in: once the queue is older than the clients' patience, every \
             handshake is for a client that has left, and as long as those who are out dial at more \
             than C it stays so. A server that refuses whom it cannot serve in time needs N/C and half \
             of the clients' cap. One that gives each an appointment needs N/C, and one refusal for \
             each client.",
    sources: &[
        source!("RFC 6455, The WebSocket Protocol, section 7.2.3: Recovering from Abnormal Closure, 2011"
            at "https://www.rfc-editor.org/rfc/rfc6455#section-7.2.3"),
        source!("Fred Hebert: Queues Don't Fix Overload, 2014"
            at "https://ferd.ca/queues-don-t-fix-overload.html"),
        source!("ITU-T I.371: Traffic control and congestion control in B-ISDN, annex A, the generic cell rate algorithm"
            at "https://www.itu.int/rec/T-REC-I.371"),
    ],
    parameters: &[
        parameter!("clients": Count = "1000000", "how many clients lose their connection"),
        parameter!("capacity": Count = "5000", "handshakes that the server can do in a second"),
        parameter!("patience": Duration = "4s",
            "how long a client waits for its handshake before it hangs up"),
        parameter!("backlog": Count = "65536",
            "connections that wait for their handshake where nobody admits"),
        parameter!("ahead": Duration = "5m",
            "how far ahead appointments are given, at most the longest hint that clients take"),
        parameter!("outage": Duration = "3s", "how long the server refuses every attempt"),
        fleet::SPREAD,
        parameter!("horizon": Duration = "4m",
            "when the run ends, even if clients are not connected by then"),
        fleet::BUCKET,
    ],
    contenders: &["full"],
    policy,
    studied: Studied::Alone(study),
    check: check::check,
};

/// Runs of each where none are asked for: a million clients are a large sample.
const RUNS: u32 = 1;

/// The doors from the worst to the best, and what is said of them behind the name of a policy.
const DOORS: [(Door, &str, &str); 3] = [
    (Door::Open, ", no admission", "the server admits everybody"),
    (Door::Plain, ", 503", "admission, its refusals a plain 503"),
    (
        Door::Appointments,
        "",
        "admission, its refusals appointments",
    ),
];

/// The schedule of the reconnect machine.
fn policy() -> Policy {
    Reconnect::default().policy.budget(Budget::None)
}

fn study(
    parameters: &Parameters,
    candidates: &[Candidate],
    plan: &Plan<'_>,
) -> Result<Study, InvalidParameter> {
    let handshakes = asked(parameters)?;
    // A sweep has the policies alone.
    let doors = if plan.is_quick { &DOORS[2..] } else { &DOORS };
    let mut cases = Vec::new();
    for candidate in candidates {
        let lone = Lone::new(candidate.policy.clone(), Duration::ZERO)?;
        let lone = Arc::new(lone);
        cases.extend(
            doors
                .iter()
                .map(|door| (candidate, Arc::clone(&lone), door)),
        );
    }
    let seeds: Vec<u64> = seeds(plan, plan.runs.unwrap_or(RUNS).max(1)).collect();
    let runs: Vec<_> = cases
        .iter()
        .flat_map(|(_, lone, (door, ..))| seeds.iter().map(move |seed| (lone, *door, *seed)))
        .collect();
    let done = AtomicU64::new(0);
    let each = |(lone, door, seed): &(&Arc<Lone>, Door, u64)| {
        let record = admission::run(&handshakes, *door, lone, *seed);
        if let Some(progress) = plan.progress {
            progress(done.fetch_add(1, Relaxed) + 1, runs.len() as u64);
        }
        record
    };
    let records = each_in_order(&runs, plan.threads, each);
    let records: Vec<Arrivals> = records.into_iter().collect::<Result<_, _>>()?;
    let all: Vec<&[Arrivals]> = records.chunks(seeds.len()).collect();
    let fleets = cases
        .iter()
        .zip(&all)
        .map(|((candidate, _, door), records)| {
            let (door, suffix, words) = door;
            Fleet {
                name: format!("{}{suffix}", candidate.name),
                policy: format!("{}; {words}", candidate.policy),
                evidence: evidence(&handshakes, *door, &candidate.policy),
                records: records.iter().map(|it| it.reconnects.clone()).collect(),
            }
        });
    let fleets: Vec<Fleet> = fleets.collect();
    let herd = &handshakes.herd;
    let mut study = fleet::study(&APPOINTMENTS, parameters, &fleets, herd, plan);
    for (contender, records) in study.contenders.iter_mut().zip(all) {
        contender.figures.extend(figures(&handshakes, records));
    }
    study.answer = answer(&handshakes, &study.contenders);
    study.runs = plan.runs.unwrap_or(RUNS).max(1);
    Ok(study)
}

fn asked(parameters: &Parameters) -> Result<Handshakes, InvalidParameter> {
    let of = |name| {
        let most = || InvalidParameter::new(name, "at most 4294967295 can be simulated");
        u32::try_from(parameters.count(name)).map_err(|_| most())
    };
    let mut herd = Herd::of(of("clients")?);
    herd.outage = parameters.duration("outage");
    herd.spread = parameters.duration("spread");
    herd.horizon = parameters.duration("horizon");
    herd.bucket = parameters.duration("bucket");
    herd.most_attempts = u64::from(herd.clients).saturating_mul(100).max(10_000_000);
    let mut handshakes = Handshakes::of(herd, of("capacity")?);
    handshakes.patience = parameters.duration("patience");
    handshakes.backlog = of("backlog")?;
    handshakes.ahead = parameters.duration("ahead");
    handshakes.validate()?;
    Ok(handshakes)
}

/// What plays no part, and who gives up.
fn evidence(handshakes: &Handshakes, door: Door, policy: &Policy) -> String {
    let left_out = left_out(policy);
    if door == Door::Appointments && handshakes.ahead > policy.max_hint {
        let most = Human(policy.max_hint);
        return format!(
            "Clients give up where an appointment is further ahead than {most}, their longest hint. {left_out}"
        );
    }
    left_out
}

fn floor(handshakes: &Handshakes) -> f64 {
    oracle::floor(handshakes.herd.clients.into(), handshakes.capacity.into())
}

/// What there is to say beside the figures of any fleet.
fn figures(handshakes: &Handshakes, records: &[Arrivals]) -> Vec<Figure> {
    let clients = f64::from(handshakes.herd.clients);
    let of = |value: &dyn Fn(&Arrivals) -> Option<f64>| -> Vec<Option<f64>> {
        records.iter().map(value).collect()
    };
    let wasted =
        of(&|it| (it.handshakes > 0).then(|| 100.0 * float(it.wasted) / float(it.handshakes)));
    let refusals = of(&|it| Some(float(it.refusals) / clients));
    let dials = of(&|it| Some(f64::from(it.most_dials)));
    vec![
        figure!("floor_s": "The least time for all", "s" = Some(floor(handshakes))),
        over_runs!("wasted_share": "Handshakes for clients that had left", "%" = &wasted),
        figure("refusals_per_client", "Refusals of a client", "", &refusals),
        over_runs!("most_dials": "Most dials of a client once the server is up", "" = &dials),
    ]
}

fn answer(handshakes: &Handshakes, contenders: &[Contender]) -> String {
    let each = contenders
        .iter()
        .map(|contender| match contender.value("reconnect_last_s") {
            Some(last) => format!("all are back after {last:.1} s ({})", contender.name),
            None => format!(
                "{:.1} % are back at the end ({})",
                contender.value("connected").unwrap_or(0.0),
                contender.name
            ),
        });
    let each: Vec<String> = each.collect();
    format!(
        "{} clients take a server of {} handshakes a second at least {:.1} s: {}.",
        handshakes.herd.clients,
        handshakes.capacity,
        floor(handshakes),
        each.join(", ")
    )
}
