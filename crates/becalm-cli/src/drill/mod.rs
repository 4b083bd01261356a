//! Will a short fault become a long storm? Real clients against a real service, on this machine.

mod arrivals;
mod ask;
mod client;
mod descriptors;
mod document;
mod fault;
#[cfg(feature = "http")]
mod http_client;
mod judged;
mod judgement;
mod latencies;
mod ledger;
mod listen;
mod live;
mod origin;
mod outcome;
mod page;
mod parts;
mod party;
mod picture;
#[cfg(feature = "redis")]
mod redis;
mod replay;
mod reports;
mod server;
mod setup;
mod slow;
mod statistics;
mod tail;
mod target;
mod twin;
mod unready;
mod variant;
mod wire;
#[cfg(feature = "ws")]
mod ws;

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use becalm::support::Human;
use becalm_report::Figure;

use crate::again;
use crate::output::Output;
use crate::policy_flags::PolicyFlags;
use crate::stream::Stream;
use crate::usage;
use judgement::judge;
use live::Display;
use outcome::{Outcome, Room};
use parts::Stage;
use reports::{REPORTS, ReportFlags, Reports, put};
use setup::Setup;
use tail::TailOutcome;
pub use target::in_order;
use wire::Wire;

/// If these are the arguments of one of a drill's processes, does its work; the result is its exit code.
pub fn stand_in(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let arguments: Vec<_> = arguments.into_iter().take(3).collect();
    if let Some(code) = fault::stand_in(arguments.clone()) {
        return Some(code);
    }
    #[cfg(feature = "redis")]
    if let Some(code) = redis::stand_in(arguments.clone()) {
        return Some(code);
    }
    #[cfg(feature = "ws")]
    if let Some(code) = ws::stand_in(arguments) {
        return Some(code);
    }
    None
}

/// Show on this machine how retries turn a short fault into a long storm, and what prevents it
///
/// Six services listen on 127.0.0.1, each with its own clients: no backoff; exponential backoff
/// without jitter; full jitter; full jitter with a breaker, and with a bulkhead; and the policy of
/// the flags, by default becalm's own, with its 10% budget. All clients make the same calls at the
/// same moments, below the service's capacity. After a second all services hang for two seconds.
/// Then it shows who recovers.
///
/// In the second part a service that is well answers one request in 40 late, to clients without
/// and with a hedge.
///
/// It takes about 20 seconds. Everything is measured; nothing is scripted. "becalm drill http" holds it
/// with the clients of becalm-reqwest.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = AFTER_HELP,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true
)]
pub struct Args {
    #[command(subcommand)]
    through: Option<Through>,

    #[command(flatten)]
    flags: Flags,
}

/// Whose clients make the calls, if not the drill's own.
#[derive(Debug, clap::Subcommand)]
enum Through {
    #[cfg(feature = "http")]
    /// Hold the drill with the HTTP client becalm-reqwest, as an application has it
    ///
    /// The services, the calls, the six policies and the reports are those of "becalm drill", and so
    /// are the flags. The clients are those of the crate becalm-reqwest: reqwest keeps the
    /// connections, and becalm-reqwest repeats the requests.
    #[command(after_long_help = AFTER_HELP)]
    Http(Box<Flags>),

    #[cfg(feature = "ws")]
    Ws(Box<ws::Args>),

    #[command(long_flag = "target")]
    Target(Box<target::Args>),

    #[command(long_flag = "listen")]
    Listen(Box<listen::Args>),

    #[cfg(feature = "redis")]
    Redis(Box<redis::Args>),
}

#[derive(Debug, clap::Args)]
struct Flags {
    #[command(flatten)]
    setup: Setup,

    #[command(flatten)]
    reports: ReportFlags,

    /// Also runs the same calls through the simulator of "becalm storm", and shows both
    #[arg(long, help_heading = REPORTS)]
    simulate: bool,

    /// Also writes when the calls began, as CSV that the trace of a scenario takes
    #[arg(long, value_name = "FILE", help_heading = REPORTS)]
    arrivals: Option<PathBuf>,

    /// Also writes a picture of the drill with and without a budget
    #[arg(long, value_name = "FILE", help_heading = REPORTS)]
    svg: Option<PathBuf>,

    /// Shows nothing while the drill runs
    #[arg(long, short, help_heading = REPORTS)]
    quiet: bool,

    /// Exits with 1 if a storm does not form, protected clients do not recover, or a hedge is in vain
    #[arg(long, help_heading = REPORTS)]
    strict: bool,

    #[command(flatten)]
    policy: PolicyFlags,
}

/// What is said under the figures of the simulator.
const SIMULATED: &str = "The simulator was given the service, the policies and the moments at \
                         which the calls began.";

const AFTER_HELP: &str = "\
The policy flags shape the last of the six policies; the others have its attempts, delays and \
timeouts, but neither its jitter nor what protects it, except that the two of the breaker and of \
the bulkhead take its own if it has one. In the second part both have all of it but the hedge. An \
attempt timeout replaces the client timeout. The seed sets the arrivals, too; without it each drill \
has another, which it tells.

The JSON document: schema, becalm (version), command, seed, setup (clients: own or becalm-reqwest), lateness_ms (of the load \
generator, at worst), as_expected, conclusion, and for each of the variants: name, title, policy, \
verdict (of one run, by the rule of \"becalm storm\": metastable, overloaded, or back, which is \
stable or vulnerable there), calls, first_tries, attempts, succeeded, gave_up (by stop \
reason), arrived, refused, served, served_nobody, unconnected, most_in_flight (attempts at once), \
peak_arrivals_per_bucket, recovered_after_ms (from the end of the fault until calls that begin are \
answered as before it; or null), pressure_after (requests at the end over the capacity), quiet (attempts \
per call in the last second of the fault), amplification and retries_per_first_try (of the whole \
drill), simulated (the simulator's figures under the same names; null without --simulate), \
phases (before, trigger, after: length_ms, calls, first_tries, attempts, arrived, succeeded, goodput_per_s, amplification, p99_ms) and \
per_bucket (arrays with one number for every setup.bucket_ms); tail, the second part (or null): \
length_ms, warm_up_ms, rate_per_s, slow_one_in, slow_ms, lateness_ms, as_expected, conclusion, \
and for each of the variants: name, title, policy, calls, first_tries, retries, hedges, attempts, \
succeeded, amplification, p50_ms, p95_ms, p99_ms, worst_ms. Names and units are stable; new ones may be added.

Exit code: 0 when the drill was held; 1 with --strict when it did not show what it should; 2 when \
it could not be held; 128 + n when signal n ended it.";

/// Holds the drill.
pub fn execute(args: Args) -> ExitCode {
    let held = match args.through {
        #[cfg(feature = "http")]
        Some(Through::Http(flags)) => hold(*flags, Wire::Reqwest),
        #[cfg(feature = "ws")]
        Some(Through::Ws(args)) => ws::hold(&args),
        Some(Through::Target(args)) => target::hold(&args),
        Some(Through::Listen(args)) => listen::hold(&args),
        #[cfg(feature = "redis")]
        Some(Through::Redis(args)) => redis::hold(&args),
        None => hold(args.flags, Wire::Own),
    };
    held.unwrap_or_else(|sentence| usage::refuse(&sentence))
}

fn hold(mut args: Flags, wire: Wire) -> Result<ExitCode, String> {
    args.setup.wire = wire;
    let policy = args.policy.policy()?;
    let setup = &args.setup;
    setup
        .validate(&policy)
        .map_err(|invalid| invalid.to_string())?;
    let stream = args.reports.stream();
    let variants = variant::all(&policy, setup.client_timeout);
    let connections = variants
        .iter()
        .map(|variant| setup.most_connections(&variant.policy))
        .sum();
    let warning = descriptors::raise(connections).map_err(|too_few| too_few.to_string())?;
    let reports = Reports::open(&args.reports)?;
    let open = |path: &Option<PathBuf>| path.as_deref().map(Output::open).transpose();
    let (svg, times) = (open(&args.svg)?, open(&args.arrivals)?);
    for note in warning.into_iter().chain(setup.notes(&policy)) {
        eprintln!("note: {note}");
    }
    let (seed, command) = again::seeded(args.policy.seed(), std::env::args().skip(1));
    let signal = Arc::new(AtomicUsize::new(0));
    watch_for_signals(&signal).map_err(|error| format!("cannot handle signals: {error}"))?;

    let stage = Stage::new(&signal, seed)?;
    let ended = || ended_by(signal.load(Ordering::Relaxed));
    let display = Display::on(stream, args.quiet);
    let Some((contenders, played)) = stage.storm(setup, variants, display)? else {
        return Ok(ended());
    };
    let judgement = judge(&contenders, setup, played.lateness);
    let table = outcome::table(&contenders, Room::Terminal).to_terminal(stream.painter());
    tell(stream, &table, outcome::LEGEND, &judgement.conclusion);
    let mut twins = Vec::new();
    if args.simulate {
        twins = twin::all(setup, &contenders, &played.began, seed);
        let table = twin::table(&contenders, &twins).to_terminal(stream.painter());
        tell(stream, &table, twin::LEGEND, SIMULATED);
    }

    let mut tail = None;
    if let Some(part) = setup.tail() {
        if !args.quiet {
            let length = Human(part.length);
            stream.write(&format!(
                "The second part: some answers are slow, for {length}.\n\n"
            ));
        }
        let Some((racers, played)) = stage.tail(&part, tail::variants(&policy))? else {
            return Ok(ended());
        };
        let outcome = TailOutcome::new(racers, played.lateness);
        let (table, legend) = outcome.table();
        tell(
            stream,
            &table.to_terminal(stream.painter()),
            legend,
            &outcome.conclusion,
        );
        tail = Some(outcome);
    }
    let outcome = Outcome {
        setup: args.setup,
        seed,
        contenders,
        judgement,
        began: played.began,
        lateness: played.lateness,
        twins,
        tail,
        command,
    };
    let document = document::document(&outcome)?;
    reports.write(&page::page(&outcome), &document)?;
    let picture = picture::side_by_side(&outcome).to_svg();
    put("picture", svg, &picture, stream)?;
    put("arrivals", times, &arrivals::csv(&outcome.began), stream)?;
    stream.write(&format!("again:  {}\n", outcome.command));
    let failed = args.strict && !outcome.as_expected();
    Ok(ExitCode::from(u8::from(failed)))
}

/// The figures of a part, what their words mean, and what they say.
fn tell(stream: Stream, table: &str, legend: &str, conclusion: &str) {
    let (legend, conclusion) = (stream.wrapped(legend), stream.wrapped(conclusion));
    stream.write(&format!("{table}\n{legend}\n\n{conclusion}\n\n"));
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
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    for number in [SIGINT, SIGTERM, SIGHUP] {
        let value = usize::try_from(number).unwrap_or(1);
        signal_hook::flag::register_usize(number, signal.clone(), value)?;
    }
    Ok(())
}
