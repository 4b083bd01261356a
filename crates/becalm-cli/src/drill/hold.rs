//! How is a planned drill held for the command, and when is it ended before its time?

use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use becalm_drill::{Broken, Drill, Report, Show};

use super::reports::{ReportFlags, Reports};
use crate::stream::Stream;
use crate::usage;

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
        eprintln!("note: {}", usage::shown(note));
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
    stream.write(&usage::shown(&format!("again:  {command}\n")));
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

#[cfg(test)]
mod tests {
    use becalm_drill::Section;
    use becalm_report::Page;
    use clap::Parser as _;
    use serde::Serialize;

    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Probe {
        #[command(flatten)]
        reports: ReportFlags,
    }

    /// A drill that is over as it begins: whether it showed what it should, or what broke it.
    struct Over(Result<bool, Broken>);

    #[derive(Serialize)]
    struct Shown(bool);

    impl Report for Shown {
        fn sections(&self) -> Vec<Section> {
            Vec::new()
        }

        fn page(&self) -> Page {
            Page::new("")
        }

        fn is_as_expected(&self) -> bool {
            self.0
        }
    }

    impl Drill for Over {
        type Held = bool;
        type Outcome = Shown;

        fn hold(&self, _: &Show<'_>, signal: &AtomicUsize) -> Result<bool, Broken> {
            signal.store(15, Ordering::Relaxed);
            self.0.clone()
        }

        fn judge(self, held: bool) -> Shown {
            Shown(held)
        }
    }

    #[test]
    fn s1_a_drill_fails_exactly_where_it_was_strict_and_did_not_show_what_it_should() {
        let flags = Probe::parse_from(["probe", "--no-html", "--quiet"]).reports;
        let code = |held, strict| {
            let code = hold(Over(held), &flags, strict, "becalm drill");
            code.map(|it| format!("{it:?}"))
        };
        let ended = |code: u8| Ok(format!("{:?}", ExitCode::from(code)));
        for (is_as_expected, strict, failed) in [
            (true, true, 0),
            (true, false, 0),
            (false, false, 0),
            (false, true, 1),
        ] {
            let told = format!("{is_as_expected} {strict}");
            assert_eq!(code(Ok(is_as_expected), strict), ended(failed), "{told}");
        }
        for strict in [true, false] {
            assert_eq!(code(Err(Broken::Signal), strict), ended(128 + 15));
            let refused = Err("no".to_owned());
            assert_eq!(code(Err(Broken::Sentence("no".into())), strict), refused);
        }
    }
}
