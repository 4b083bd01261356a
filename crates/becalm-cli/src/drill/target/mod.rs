//! Will a short fault of a service of one's own become a long storm? Real clients against it, in staging.

mod canary;
mod capacity;
mod document;
mod finding;
mod flags;
mod growth;
mod load;
mod order;
mod outcome;
mod page;
mod plan;
mod policies;
mod request;
mod round;
mod simulated;
mod trouble;

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;

use super::ask::drill_name;
use super::client::Connections;
use super::descriptors;
use super::fault::Faults;
use super::fault::allowed::{self, Pinned};
use super::live::Display;
use super::outcome::Room;
use super::parts::Stage;
use super::reports::Reports;
use super::twin;
use super::variant::Variant;
use super::{SIMULATED, ended_by, tell, watch_for_signals};
use crate::again;
use canary::Calm;
pub use flags::Args;
pub use order::in_order;
pub use outcome::LEGEND;
use outcome::Outcome;
use plan::Plan;
pub use round::{ENOUGH, GOOD};

const AFTER_HELP: &str = "\
The policy flags shape your policy. An attempt timeout replaces the client timeout. The seed sets the arrivals, too.

Calls are marked: User-Agent: becalm-drill, X-Becalm-Drill: the drill, X-Request-Id: the call, equal in all of its \
attempts. Redirects are not followed. --max-rate bounds first tries; a policy may make as many attempts of each as it \
says.

The JSON document: schema, becalm (version), command, seed, drill (its name in X-Becalm-Drill), setup (host, request, fault, rate_per_s, capacity_per_s \
(with --simulate), client_timeout_ms, before_ms, trigger_ms, after_ms, bucket_ms), lateness_ms (of the load generator and of \
the fault, at worst), finding (down: it did not recover even without load; unwell: it was so before the fault under some policy, and \
nothing was broken under that one; idle: too few calls came to say anything; void: the generator was late, or this machine had too few connections; \
storm: under some policy it did not come back; back: it came back under all; harmless: within 2 s, even where nothing bounds the retries), conclusion, and for each of the variants: name, title, \
policy, verdict (by the rule of \"becalm storm\": metastable, overloaded, or back; or unwell, idle, or void), good_before \
(share of calls), lateness_ms, after_ms (as long as it was watched), calls, first_tries, attempts, succeeded, gave_up \
(by stop reason), refused (503), unconnected (attempts for which this machine had no connection), most_in_flight, peak_attempts_per_bucket, recovered_after_ms (from the end \
of the fault; or null), well_without_load_after_ms (from the end of the calls; or null), amplification, \
retries_per_first_try, simulated (null without --simulate; it, too, is watched while more and more calls succeed: after_ms), phases (as of \"becalm drill\") and per_bucket (calls, \
attempts, succeeded); proxy (what went through the proxy of the fault, or null): connections, requests, forwarded, answered, held, broken, \
left, unreachable, pouring, open. Names and units are stable; new ones may be added.

With --capacity the document has setup (host, request, client_timeout_ms, max_rate_per_s), capacity_per_s (or null), \
at_least (whether something else ended the climb), at_once (clients from which on more bring no more), ended (level, failing, \
max-rate, max-time, clients), conclusion, well_without_load_after_ms, and rungs: clients, answers_per_s, good_share, p50_ms, \
p99_ms.

Exit code: 0 when the drill was held; 1 with --strict when the target did not come back under the last policy, or there is no \
verdict; 2 when it could not be held; 128 + n when signal n ended it.";

/// How long the target may take to accept a connection before the drill.
const CONNECT: Duration = Duration::from_secs(5);

/// How often a round is held again that found the target unwell before its fault, though it had been well with these calls:
/// a worker that still waits for a client of the round before is not seen without load.
const AGAIN: u32 = 2;

/// Holds the drill.
///
/// # Errors
///
/// A sentence: it may not, or could not, be held. Nothing is broken then.
pub fn hold(args: &Args) -> Result<ExitCode, String> {
    if args.load.capacity {
        return capacity::measure(args);
    }
    let policy = args.policy.policy()?;
    let (seed, command) = again::seeded(args.policy.seed(), std::env::args().skip(1));
    let plan = Plan::of(args, seed)?;
    let variants = policies::variants(args, &policy)?;
    let most = variants
        .iter()
        .map(|it| plan.setup.most_connections(&it.policy));
    let warning = descriptors::raise(most.fold(0.0, f64::max)).map_err(|it| it.to_string())?;
    let reports = Reports::open(&args.reports)?;
    let stream = args.reports.stream();
    if let Some(note) = warning {
        eprintln!("note: {note}");
    }
    let signal = Arc::new(AtomicUsize::new(0));
    watch_for_signals(&signal).map_err(|error| format!("cannot handle signals: {error}"))?;
    let stage = Stage::new(&signal, seed)?;
    let faults = plan.faults(seed)?;
    let Some(mut outcome) = drill(&stage, &plan, variants, faults.as_ref(), command, || {
        Display::on(stream, args.quiet)
    })?
    else {
        drop(faults);
        return Ok(ended_by(signal.load(Ordering::Relaxed)));
    };
    if let Some(faults) = faults {
        outcome.seen = faults
            .seen()
            .ok()
            .filter(|_| faults.address().is_some())
            .map(|it| it.counts);
        // What was measured stands.
        if let Err(left) = faults.stop() {
            eprintln!("note: {left}");
        }
    }
    let conclusion = outcome.conclusion();
    let table = outcome.table(Room::Terminal).to_terminal(stream.painter());
    tell(stream, &table, LEGEND, &conclusion);
    if let Some(file) = plan
        .simulated
        .as_ref()
        .filter(|_| outcome.finding().is_verdict())
    {
        outcome.twins = simulated::all(&outcome, &plan, file);
        let table = twin::table(&outcome.contenders, &outcome.twins).to_terminal(stream.painter());
        tell(stream, &table, twin::LEGEND, SIMULATED);
    }
    reports.write(&page::page(&outcome), &document::document(&outcome)?)?;
    stream.write(&format!("again:  {}\n", outcome.command));
    let failed = args.strict && !outcome.is_back();
    Ok(ExitCode::from(u8::from(failed)))
}

/// Holds a round under every policy, as long as the target is well before each; nothing is left of a
/// drill that a signal ended.
fn drill(
    stage: &Stage<'_>,
    plan: &Plan,
    variants: Vec<Variant>,
    faults: Option<&Faults>,
    command: String,
    display: impl Fn() -> Display,
) -> Result<Option<Outcome>, String> {
    let seed = stage.seed;
    let name = drill_name();
    let ask = plan.ask.clone().marked(&name);
    let address = match faults
        .and_then(Faults::address)
        .filter(|_| plan.is_in_front)
    {
        Some(proxy) => proxy,
        None => match stage.awaited(reached(&plan.target)) {
            Some(address) => address?,
            None => return Ok(None),
        },
    };
    // Each time fresh ones, for calls of their own.
    let parts = AtomicU32::new(0);
    let connections = || {
        let part = parts.fetch_add(1, Ordering::Relaxed);
        Connections::to(address, ask.part(part))
    };
    // As long as the most patient of its clients.
    let patience = variants.iter().filter_map(|it| it.policy.attempt_timeout);
    let patience = patience.max().unwrap_or(plan.setup.client_timeout);
    let calm = || {
        let connections = connections();
        let asked = canary::wait(&plan.target, &connections, patience, plan.settle, || {
            faults.is_some_and(Faults::is_pouring)
        });
        stage.awaited(asked)
    };
    let lead = match calm() {
        None => return Ok(None),
        Some(Calm::Well { takes, .. }) => round::lead(plan.setup.before, takes)?,
        Some(Calm::Unwell(_, why)) => {
            return Err(unwell(&why));
        }
    };
    let mut outcome = Outcome {
        setup: plan.setup.clone(),
        seed,
        name,
        host: format!("{}:{}", plan.target.host, plan.target.port),
        request: format!("{} {}", ask.method, ask.path),
        trouble: plan.trouble,
        contenders: Vec::new(),
        rounds: Vec::new(),
        calms: Vec::new(),
        twins: Vec::new(),
        seen: None,
        command,
    };
    for variant in variants {
        plan.target
            .still(&allowed::system)
            .map_err(|changed| changed.to_string())?;
        let mut again = AGAIN;
        let (held, calm) = loop {
            let held = round::hold(
                stage,
                plan,
                lead,
                &variant,
                connections(),
                faults,
                display(),
            )?;
            let (Some(held), Some(calm)) = (held, calm()) else {
                return Ok(None);
            };
            let is_first = outcome.rounds.is_empty();
            if is_first || held.1.was_well() || again == 0 || calm.well_after().is_none() {
                break (held, calm);
            }
            again -= 1;
        };
        let (contender, round) = held;
        let was_well = round.was_well();
        outcome.contenders.push(contender);
        outcome.rounds.push(round);
        let is_well = matches!(calm, Calm::Well { .. });
        outcome.calms.push(calm);
        if !was_well || !is_well {
            break;
        }
    }
    Ok(Some(outcome))
}

/// Why nothing is asked of a target that is not well.
fn unwell(why: &str) -> String {
    format!(
        "the target is unwell before any load: {why}; name a URL that answers with a status from 200 to 299 within \
         --client-timeout, or the attempt timeout of a policy"
    )
}

/// The first of its addresses that takes a connection.
async fn reached(target: &Pinned) -> Result<SocketAddr, String> {
    let mut why = String::new();
    for address in &target.addresses {
        match timeout(CONNECT, TcpStream::connect(address)).await {
            Ok(Ok(_)) => return Ok(*address),
            Ok(Err(error)) => why = error.to_string(),
            Err(_) => why = "it does not answer".into(),
        }
    }
    Err(format!(
        "cannot connect to {}:{}: {why}; start the target, or name another port",
        target.host, target.port
    ))
}
