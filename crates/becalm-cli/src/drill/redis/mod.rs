//! What runs twice when a Redis is cut off and killed, and who comes back when? Real processes and a real server, on this machine.

mod course;
mod document;
mod figures;
mod judgement;
mod outcome;
mod page;
mod picture;
mod proxy;
mod server;
mod setup;
mod tally;
mod told;
mod variant;
mod worker;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::reports::{REPORTS, ReportFlags, Reports};
use super::ws::child;
use super::{ended_by, tell, watch_for_signals};
use crate::again;
use course::Broken;
use judgement::{Contender, judge};
use setup::{COURSE, Setup};

/// Cut a Redis off, kill it, and see which increments ran twice
///
/// Several processes with many tasks each increment fields of a redis-server over one connection per process. A proxy swallows
/// answers and cuts; the server throws its clients out; it is killed, and started again. At the end every field is read back: each
/// was to be incremented once.
///
/// Three times, each with another client: the connection manager of the crate redis; becalm-redis without its gate, which sends
/// everything again that has failed; and becalm-redis as it is, which sends again what cannot run twice.
///
/// It needs redis-server in the path, and takes about a minute and a half. Everything is measured; nothing is scripted.
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    #[command(flatten)]
    setup: Setup,

    /// Holds these variants only
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = variant::NAMES, help_heading = COURSE)]
    only: Vec<String>,

    #[command(flatten)]
    reports: ReportFlags,

    /// Shows nothing while the drill runs
    #[arg(long, short, help_heading = REPORTS)]
    quiet: bool,

    /// Exits with 1 if a variant does not show what it should
    #[arg(long, help_heading = REPORTS)]
    strict: bool,
}

const AFTER_HELP: &str = "\
The JSON document: schema, becalm (version), command, setup, as_expected, conclusion, and for each of the variants: name, title, \
description, missed (what it should have shown and did not, in sentences), increments, failed (came back as errors), failed_applied \
(those of them that took effect), twice (ran twice or more), lost (answered, and did not run), again (sent again), thrown_out_again and \
thrown_out_failed (those two while CLIENT KILL went on), longest_ms (of one increment), most_dials_per_s (of a process while the server \
was down), back_ms (from the server's first answer after the long outage to each process's, in order), apart_ms (from the first process \
to the last, for each outage), second_dials_apart_ms (the same of their second dials), killed_ms and up_ms (from the begin of the arrays) and per_bucket (arrays with one number for every \
setup.bucket_ms). Names and units are stable; new ones may be added.

Exit code: 0 when the drill was held; 1 with --strict when it did not show what it should; 2 when \
it could not be held; 128 + n when signal n ended it.";

/// If these are the arguments of one of the drill's processes, does its work; the result is its exit code.
pub fn stand_in(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut arguments = arguments.into_iter();
    let is_it = arguments.next()? == worker::NAME;
    is_it.then(|| child::execute(arguments.next(), |brief| worker::work(&brief)))
}

/// Holds the drill.
pub fn hold(args: &Args) -> Result<ExitCode, String> {
    let setup = &args.setup;
    setup.validate().map_err(|invalid| invalid.to_string())?;
    let reports = Reports::open(&args.reports)?;
    let stream = args.reports.stream();
    let command = again::line(std::env::args().skip(1));
    let signal = Arc::new(AtomicUsize::new(0));
    watch_for_signals(&signal).map_err(|error| format!("cannot handle signals: {error}"))?;
    let say = |words: &str| {
        if !args.quiet {
            stream.write(&format!("{words}\n"));
        }
    };
    let mut contenders = Vec::new();
    for variant in variant::ALL {
        if !args.only.is_empty() && !args.only.iter().any(|it| it == variant.name) {
            continue;
        }
        let mut befalls = |words: &str| say(&format!("  {}: {words}", variant.title));
        match course::hold(setup, &variant, &signal, &mut befalls) {
            Ok(held) => {
                let contender = Contender::new(variant, held);
                say(&outcome::line(&contender));
                contenders.push(contender);
            }
            Err(Broken::Sentence(sentence)) => return Err(sentence),
            Err(Broken::Signal) => return Ok(ended_by(signal.load(Ordering::Relaxed))),
        }
    }
    let judgement = judge(&contenders, setup);
    let table = outcome::table(&contenders).to_terminal(stream.painter());
    tell(stream, &table, outcome::LEGEND, &judgement.conclusion);
    let document = document::document(setup, &command, &contenders, &judgement)?;
    let page = page::page(setup, &command, &contenders, &judgement);
    reports.write(&page, &document)?;
    stream.write(&format!("again:  {command}\n"));
    let failed = args.strict && !judgement.as_expected;
    Ok(ExitCode::from(u8::from(failed)))
}
