//! How is a target held? One policy after the other, as long as the target is well before each.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;

use super::canary::{self, Calm};
use super::plan::Plan;
use super::round::{self, Round};
use crate::ask::drill_name;
use crate::client::Connections;
use crate::drill::Broken;
use crate::fault::allowed::{self, Pinned};
use crate::fault::{Counts, Faults};
use crate::judgement::Contender;
use crate::live::Display;
use crate::show::Show;
use crate::stage::Stage;

/// How long the target may take to accept a connection before the drill.
const CONNECT: Duration = Duration::from_secs(5);

/// How often a round is held again that found the target unwell before its fault, though it had been well with these calls:
/// a worker that still waits for a client of the round before is not seen without load.
const AGAIN: u32 = 2;

/// What was measured of a target.
#[derive(Debug)]
pub struct Held {
    /// Its name in the requests: that of no other drill.
    pub(crate) name: String,
    /// Those that were held, in the order in which they were.
    pub(crate) contenders: Vec<Contender>,
    pub(crate) rounds: Vec<Round>,
    /// How the target fared after each, without load.
    pub(crate) calms: Vec<Calm>,
    /// What went through the proxy of the fault, if there was one.
    pub(crate) seen: Option<Counts>,
}

/// Breaks the target, and makes it whole again.
///
/// # Errors
///
/// A signal has ended it, or it could not be held. Nothing is broken then.
pub fn hold(plan: &Plan, show: &Show<'_>, signal: &AtomicUsize) -> Result<Held, Broken> {
    let stage = Stage::new(signal, plan.seed)?;
    let faults = plan.faults()?;
    let mut held = rounds(&stage, plan, faults.as_ref(), show)?;
    if let Some(faults) = faults {
        held.seen = faults
            .seen()
            .ok()
            .filter(|_| faults.address().is_some())
            .map(|it| it.counts);
        // What was measured stands.
        if let Err(left) = faults.stop() {
            show.console.note(&left);
        }
    }
    Ok(held)
}

/// Holds a round under every policy, as long as the target is well before each.
fn rounds(
    stage: &Stage<'_>,
    plan: &Plan,
    faults: Option<&Faults>,
    show: &Show<'_>,
) -> Result<Held, Broken> {
    let name = drill_name();
    let ask = plan.ask.clone().marked(&name);
    let address = match faults
        .and_then(Faults::address)
        .filter(|_| plan.is_in_front)
    {
        Some(proxy) => proxy,
        None => stage.awaited(reached(&plan.target))??,
    };
    // Each time fresh ones, for calls of their own.
    let parts = AtomicU32::new(0);
    let connections = || {
        let part = parts.fetch_add(1, Ordering::Relaxed);
        Connections::to(address, ask.part(part))
    };
    // As long as the most patient of its clients.
    let patience = plan.variants.iter();
    let patience = patience.filter_map(|it| it.policy.attempt_timeout).max();
    let patience = patience.unwrap_or(plan.setup.client_timeout);
    let calm = || {
        let connections = connections();
        let asked = canary::wait(&plan.target, &connections, patience, plan.settle, || {
            faults.is_some_and(Faults::is_pouring)
        });
        stage.awaited(asked)
    };
    let lead = match calm()? {
        Calm::Well { takes, .. } => round::lead(plan.setup.before, takes)?,
        Calm::Unwell(_, why) => return Err(unwell(&why).into()),
    };
    let mut all = Held {
        name,
        contenders: Vec::new(),
        rounds: Vec::new(),
        calms: Vec::new(),
        seen: None,
    };
    let policies = u32::try_from(plan.variants.len()).unwrap_or(u32::MAX);
    let show = &Show { policies, ..*show };
    for variant in &plan.variants {
        plan.target
            .still(&allowed::system)
            .map_err(|changed| changed.to_string())?;
        let mut again = AGAIN;
        let (contender, round, calm) = loop {
            let display = Display::on(show);
            let (contender, round) =
                round::hold(stage, plan, lead, variant, connections(), faults, display)?;
            let calm = calm()?;
            let is_first = all.rounds.is_empty();
            if is_first || round.was_well() || again == 0 || calm.well_after().is_none() {
                break (contender, round, calm);
            }
            again -= 1;
        };
        let was_well = round.was_well();
        all.contenders.push(contender);
        all.rounds.push(round);
        let is_well = matches!(calm, Calm::Well { .. });
        all.calms.push(calm);
        if !was_well || !is_well {
            break;
        }
    }
    Ok(all)
}

/// Why nothing is asked of a target that is not well.
pub fn unwell(why: &str) -> String {
    format!(
        "the target is unwell before any load: {why}; name a URL that answers with a status from 200 to 299 within \
         --client-timeout, or the attempt timeout of a policy"
    )
}

/// The first of its addresses that takes a connection.
pub async fn reached(target: &Pinned) -> Result<SocketAddr, String> {
    let mut why = String::new();
    for address in &target.addresses {
        match timeout(CONNECT, TcpStream::connect(address)).await {
            Ok(Ok(_)) => return Ok(*address),
            Ok(Err(error)) => why = error.to_string(),
            Err(_) => why = "it does not answer".into(),
        }
    }
    Err(format!(
        "cannot connect to {}: {why}; start the target, or name another port",
        target.named()
    ))
}
