//! How is a planned drill held for the command, and when is it ended before its time?

use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use becalm_drill::{Broken, Drill, Report, Show};

use super::reports::{ReportFlags, Reports};
use crate::stream::Stream;

/// Holds a drill, and writes its reports. `command` repeats it; with `strict` it fails where it does not show what it should.
///
/// # Errors
///
/// A sentence: it cannot be held, or a report cannot be written.
pub fn hold<D: Drill>(
    plan: D,
    flags: &ReportFlags,
    strict: bool,
    command: &str,
) -> Result<ExitCode, String> {
    hold_and(plan, flags, strict, command, |_, _| Ok(()))
}

/// As [`hold`], with `more` files than every drill leaves.
///
/// # Errors
///
/// A sentence.
pub fn hold_and<D: Drill>(
    plan: D,
    flags: &ReportFlags,
    strict: bool,
    command: &str,
    more: impl FnOnce(&D::Outcome, Stream) -> Result<(), String>,
) -> Result<ExitCode, String> {
    let reports = Reports::open(flags)?;
    let stream = flags.stream();
    for note in plan.notes() {
        eprintln!("note: {note}");
    }
    let signal = Arc::new(AtomicUsize::new(0));
    watch_for_signals(&signal).map_err(|error| format!("cannot handle signals: {error}"))?;
    let show = Show {
        quiet: flags.quiet,
        ..Show::on(&stream)
    };
    let outcome = match plan.run(&show, &signal) {
        Ok(outcome) => outcome,
        Err(Broken::Signal) => return Ok(ended_by(signal.load(Ordering::Relaxed))),
        Err(Broken::Sentence(sentence)) => return Err(sentence),
    };
    reports.write(&outcome.page(), &outcome.document()?)?;
    more(&outcome, stream)?;
    stream.write(&format!("again:  {command}\n"));
    let failed = strict && !outcome.is_as_expected();
    Ok(ExitCode::from(u8::from(failed)))
}

fn ended_by(signal: usize) -> ExitCode {
    // Where the terminal has gone nobody reads it, and that is no reason to end otherwise.
    Stream::Stderr.write(&format!(
        "drill ended by signal {signal} before its time; no report is written\n"
    ));
    ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX))
}

/// A signal that asks to end is stored, and read before each frame.
fn watch_for_signals(signal: &Arc<AtomicUsize>) -> io::Result<()> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    #[cfg(unix)]
    let signals = [SIGINT, SIGTERM, signal_hook::consts::SIGHUP];
    #[cfg(not(unix))]
    let signals = [SIGINT, SIGTERM];
    for number in signals {
        let value = usize::try_from(number).unwrap_or(1);
        signal_hook::flag::register_usize(number, signal.clone(), value)?;
    }
    Ok(())
}
