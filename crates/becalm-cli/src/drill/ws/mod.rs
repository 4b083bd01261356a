//! Do ten thousand sockets come back when their server dies? Real clients of becalm-ws and a real server, killed, on this machine.

pub(super) mod child;
pub(super) mod clock;
mod course;
mod document;
mod figures;
mod fleet;
mod ground;
mod journal;
mod judgement;
mod live;
mod member;
mod numbered;
mod outcome;
mod page;
mod picture;
mod recording;
mod schedule;
mod servers;
mod service;
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
use super::{descriptors, ended_by, watch_for_signals};
use crate::again;
use course::Broken;
use judgement::{Contender, judge};
use live::Display;
use setup::{COURSE, Setup};

/// Kill a server of WebSockets under its clients, and see which of them come back
///
/// A server process has many clients of becalm-ws, each with a socket of its own. It is killed, and started again a
/// moment later. Each handshake costs the time of a worker that does one after the other, as a login that asks a database
/// does.
///
/// Eight times, each with another way to come back. Where the server lets everybody in: a fixed delay, exponential backoff
/// without jitter, full jitter. Behind becalm's admission: clients that hear no more than 503, and clients that come
/// at the time that it names; a drain in place of a kill; a listening socket that outlives the kill; and connections that
/// are cut while the server, and with it every session, goes on.
///
/// Throughout, each client and the server exchange numbered messages. Behind admission they keep sessions. A server that is killed
/// forgets these, and its successor never had them: then both sides go on from what the server's application has stored, by the
/// numbers. So none may be lost, and none may come twice.
///
/// It takes about five minutes. Everything is measured; nothing is scripted.
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    #[command(flatten)]
    setup: Setup,

    /// Holds these variants only
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = variant::NAMES, help_heading = COURSE)]
    only: Vec<String>,

    /// Where the draws come from; without it each drill has another, which it tells
    #[arg(long, value_name = "NUMBER", help_heading = COURSE)]
    seed: Option<u64>,

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
A server and its clients are two processes of becalm. Where there are many clients, or where the hard limit on open files \
(ulimit -Hn) is low, there are several such pairs: 8 for 100,000 clients. Each server then has as many clients as any other, a port, and its share \
of the capacity behind an admission of its own, as servers have behind a load balancer that knows whose client is whose. What cannot \
be had is refused before it begins.

The JSON document: schema, becalm (version), command, seed, setup, as_expected, conclusion, and for each of \
the variants: name, title, description, verdict (back or down), missed (what it should have shown and did not, in \
sentences), back_after_ms (from the moment at which the server listens again until all clients are connected; or \
null), open (clients connected at the end), least_open (the fewest since the fault), most_active \
(connections of the servers at once), dials and most_dials (since the server listens again: of all clients, and of the one \
that dialled most), peak_dials_per_bucket, unconnected (nobody listened), refused (status 503), \
timed_out (the client lost its patience), broken, handshakes (the costly work, since the server listens again), for_nobody (those of \
them whose client had left), gave_up, resumed and cold (sessions since the fault that went on, and that began anew), messages, lost, doubled, two_live (times a client had two connections \
or dials at once), fault_ms and up_ms (from the begin of the arrays) and per_bucket (arrays with one number for every setup.bucket_ms). \
Names and units are stable; new ones may be added.

Exit code: 0 when the drill was held; 1 with --strict when it did not show what it should; 2 when \
it could not be held; 128 + n when signal n ended it.";

/// If these are the arguments of one of the drill's processes, does its work; the result is its exit code.
pub fn stand_in(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut arguments = arguments.into_iter();
    // A shell that starts it cannot give it another name: then that is its first argument.
    let name = arguments.next()?;
    let name = if name == service::NAME || name == fleet::NAME {
        name
    } else {
        arguments.next()?
    };
    match name.to_str()? {
        service::NAME => Some(child::execute(arguments.next(), service::serve)),
        fleet::NAME => Some(child::execute(arguments.next(), |brief| {
            fleet::dial(&brief)
        })),
        _ => None,
    }
}

/// Holds the drill.
pub fn hold(args: &Args) -> Result<ExitCode, String> {
    let mut setup = args.setup.clone();
    setup.validate().map_err(|invalid| invalid.to_string())?;
    // What it starts has the limit of this process.
    let servers = servers::needed(setup.clients, descriptors::raise_all());
    setup.servers = servers.map_err(|too_few| too_few.to_string())?;
    let setup = &setup;
    let reports = Reports::open(&args.reports)?;
    for note in setup.notes() {
        eprintln!("note: {note}");
    }
    let stream = args.reports.stream();
    let (seed, command) = again::seeded(args.seed, std::env::args().skip(1));
    let signal = Arc::new(AtomicUsize::new(0));
    watch_for_signals(&signal).map_err(|error| format!("cannot handle signals: {error}"))?;
    let mut display = Display::on(stream, args.quiet);
    let mut contenders = Vec::new();
    for variant in variant::all(setup) {
        if !args.only.is_empty() && !args.only.iter().any(|it| it == variant.name) {
            continue;
        }
        match course::hold(setup, &variant, seed, &signal, &mut display) {
            Ok(held) => {
                let contender = Contender::new(variant, held);
                display.finished(&outcome::line(&contender, setup));
                contenders.push(contender);
            }
            Err(Broken::Sentence(sentence)) => return Err(sentence),
            Err(Broken::Signal) => {
                drop(display);
                return Ok(ended_by(signal.load(Ordering::Relaxed)));
            }
        }
    }
    drop(display);
    let judgement = judge(&contenders, setup);
    let table = outcome::table(&contenders, setup).to_terminal(stream.painter());
    super::tell(stream, &table, outcome::LEGEND, &judgement.conclusion);
    let document = document::document(setup, seed, &command, &contenders, &judgement)?;
    let page = page::page(setup, seed, &command, &contenders, &judgement);
    reports.write(&page, &document)?;
    stream.write(&format!("again:  {command}\n"));
    let failed = args.strict && !judgement.as_expected;
    Ok(ExitCode::from(u8::from(failed)))
}
