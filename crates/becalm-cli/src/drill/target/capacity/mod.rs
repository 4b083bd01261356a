//! How much can the target serve? Measured, without breaking anything.

mod ladder;
mod report;
mod rung;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Instant;

use super::canary::{self, Calm};
use super::{plan, reached};
use crate::again;
use crate::drill::ask::drill_name;
use crate::drill::client::Connections;
use crate::drill::descriptors;
use crate::drill::parts::Stage;
use crate::drill::reports::Reports;
use crate::drill::target::flags::Args;
use crate::drill::{ended_by, tell, watch_for_signals};
use report::Measured;
use rung::Pace;

/// Measures it.
///
/// # Errors
///
/// A sentence: the target may not be asked, or is unwell.
pub fn measure(args: &Args) -> Result<ExitCode, String> {
    let policy = args.policy.policy()?;
    let (seed, command) = again::seeded(args.policy.seed(), std::env::args().skip(1));
    plan::bounds(&args.load, &args.course)?;
    let fault = &args.fault;
    if fault.fault.is_some() || fault.pid.is_some() || fault.dependency.is_some() {
        return Err("--capacity breaks nothing; leave out --fault, --pid and --dependency".into());
    }
    let target = plan::target(args)?;
    let ask = plan::ask(args, &target)?.marked(&drill_name());
    let patience = policy.attempt_timeout.unwrap_or(args.load.client_timeout);
    let warning = descriptors::raise(f64::from(ladder::MOST)).map_err(|it| it.to_string())?;
    let reports = Reports::open(&args.reports)?;
    let stream = args.reports.stream();
    if let Some(note) = warning {
        eprintln!("note: {note}");
    }
    let signal = Arc::new(AtomicUsize::new(0));
    watch_for_signals(&signal).map_err(|error| format!("cannot handle signals: {error}"))?;
    let stage = Stage::new(&signal, seed)?;
    let ended = || Ok(ended_by(signal.load(Ordering::Relaxed)));
    let Some(address) = stage.awaited(reached(&target)) else {
        return ended();
    };
    let address = address?;
    let parts = AtomicU32::new(0);
    let connections = || {
        let part = parts.fetch_add(1, Ordering::Relaxed);
        Connections::to(address, ask.part(part))
    };
    let calm = || {
        let connections = connections();
        let asked = canary::wait(&target, &connections, patience, args.course.settle, || {
            false
        });
        stage.awaited(asked)
    };
    let counted = match calm() {
        None => return ended(),
        Some(Calm::Unwell(_, why)) => return Err(super::unwell(&why)),
        Some(Calm::Well { takes, .. }) => rung::counted(takes),
    };
    let rate = f64::from(args.load.max_rate);
    let pace = Pace::of(rate);
    let began = Instant::now();
    let mut rungs = Vec::new();
    let why = loop {
        let left = args.course.max_time.saturating_sub(began.elapsed());
        let clients = match ladder::next(&rungs, rate, left, rung::length(counted)) {
            Ok(clients) => clients,
            Err(why) => break why,
        };
        let climbed = stage.awaited(rung::climb(clients, &connections, patience, &pace, counted));
        let Some(rung) = climbed else { return ended() };
        if !args.quiet {
            stream.write(&report::line(&rung));
        }
        rungs.push(rung);
    };
    let Some(calm) = calm() else { return ended() };
    let measured = Measured {
        host: format!("{}:{}", target.host, target.port),
        request: format!("{} {}", ask.method, ask.path),
        patience,
        most_rate: rate,
        rungs,
        ended: why,
        calm,
        seed,
        command,
    };
    tell(
        stream,
        &measured.table().to_terminal(stream.painter()),
        report::LEGEND,
        &measured.conclusion(),
    );
    reports.write(&measured.page(), &measured.document()?)?;
    stream.write(&format!("again:  {}\n", measured.command));
    Ok(ExitCode::SUCCESS)
}
