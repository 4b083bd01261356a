//! Will a short fault become a long storm? Real clients against a real service, on this machine.

mod again;
mod arrivals;
mod client;
mod descriptors;
mod document;
mod judgement;
mod ledger;
mod live;
mod outcome;
mod output;
mod page;
mod picture;
mod replay;
mod reports;
mod server;
mod setup;
mod statistics;
mod variant;

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::policy_flags::PolicyFlags;
use crate::usage;
use judgement::{Contender, judge};
use ledger::Recording;
use live::{Display, Stream, View};
use outcome::Outcome;
use replay::Replay;
use reports::Reports;
use setup::Setup;
use variant::Variant;

/// Show on this machine how retries turn a short fault into a long storm, and what prevents it
///
/// Four services listen on 127.0.0.1, each with its own clients: no backoff; exponential backoff
/// without jitter; full jitter; and the policy of the flags, by default becalm's own, with its
/// 10% budget. All clients make the same calls at the same moments, below the service's capacity.
/// After a second all services hang for two seconds. Then it shows who recovers.
///
/// It takes about 12 seconds. Everything is measured; nothing is scripted.
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    #[command(flatten)]
    setup: Setup,

    /// Where the report goes: one HTML file that needs no other
    #[arg(long, value_name = "FILE", default_value = "becalm-drill.html", help_heading = REPORTS)]
    html: PathBuf,

    /// Writes no HTML report
    #[arg(long, conflicts_with = "html", help_heading = REPORTS)]
    no_html: bool,

    /// Also writes the figures as JSON; "-", or no file, is stdout, and the rest then goes to stderr
    #[arg(
        long,
        value_name = "FILE",
        num_args = 0..=1,
        default_missing_value = "-",
        help_heading = REPORTS
    )]
    json: Option<PathBuf>,

    /// Also writes a picture of the drill with and without a budget
    #[arg(long, value_name = "FILE", help_heading = REPORTS)]
    svg: Option<PathBuf>,

    /// Shows nothing while the drill runs
    #[arg(long, short, help_heading = REPORTS)]
    quiet: bool,

    /// Exits with 1 if a storm does not form or the protected clients do not recover
    #[arg(long, help_heading = REPORTS)]
    strict: bool,

    #[command(flatten)]
    policy: PolicyFlags,
}

const REPORTS: &str = "Display and reports";

const AFTER_HELP: &str = "\
The policy flags shape the last of the four policies; the others have its attempts, delays and \
timeouts, but neither its jitter nor its budget. An attempt timeout replaces the client timeout. \
The seed sets the arrivals, too; without it each drill has another, which it tells.

The JSON document: schema, becalm (version), command, seed, setup, lateness_ms (of the load \
generator, at worst), as_expected, conclusion, and for each of the variants: name, title, policy, \
verdict (storm, recovered or neither), first_tries, attempts, succeeded, gave_up (by stop reason), \
arrived, refused, served, served_nobody, unconnected, peak_arrivals_per_bucket, storm_ms, storm_outlives_drill, \
recovered_after_ms (or null), phases (before, trigger, after: length_ms, first_tries, attempts, \
arrived, succeeded, goodput_per_s, amplification) and per_bucket (arrays with one number for every \
setup.bucket_ms). Names and units are stable; new ones may be added.

Exit code: 0 when the drill was held; 1 with --strict when it did not show what it should; 2 when \
it could not be held; 128 + n when signal n ended it.";

/// Holds the drill.
pub fn execute(args: Args) -> ExitCode {
    hold(args).unwrap_or_else(|sentence| usage::refuse(&sentence))
}

fn hold(args: Args) -> Result<ExitCode, String> {
    let policy = args.policy.policy()?;
    let setup = &args.setup;
    setup
        .validate(&policy)
        .map_err(|invalid| invalid.to_string())?;
    let stream = if args.json.as_deref() == Some(Path::new("-")) {
        Stream::Stderr
    } else {
        Stream::Stdout
    };
    let variants = variant::all(&policy, setup.client_timeout);
    let connections = variants
        .iter()
        .map(|variant| setup.most_connections(&variant.policy))
        .sum();
    let warning = descriptors::raise(connections).map_err(|too_few| too_few.to_string())?;
    let reports = Reports::open(&args)?;
    for note in warning.into_iter().chain(setup.notes(&policy)) {
        eprintln!("note: {note}");
    }
    let (seed, command) = again::seeded(args.policy.seed(), std::env::args().skip(1));
    let signal = Arc::new(AtomicUsize::new(0));
    watch_for_signals(&signal).map_err(|error| format!("cannot handle signals: {error}"))?;

    let display = Display::on(stream, args.quiet);
    let held = run(setup, variants, seed, display, &signal)?;
    let Some((contenders, lateness)) = held else {
        let signal = signal.load(Ordering::Relaxed);
        eprintln!("drill ended by signal {signal} before its time; no report is written");
        return Ok(ExitCode::from(
            u8::try_from(128 + signal).unwrap_or(u8::MAX),
        ));
    };
    let outcome = Outcome {
        judgement: judge(&contenders, setup, lateness),
        setup: args.setup,
        seed,
        contenders,
        lateness,
        command,
    };
    let table = outcome.table().to_terminal(stream.painter());
    let legend = stream.wrapped(outcome::LEGEND);
    let conclusion = stream.wrapped(&outcome.judgement.conclusion);
    stream.write(&format!("{table}\n{legend}\n\n{conclusion}\n\n"));
    reports.write(&outcome, stream)?;
    let failed = args.strict && !outcome.judgement.as_expected;
    Ok(ExitCode::from(u8::from(failed)))
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

/// How often the display is redrawn, and a signal is looked for.
const FRAME: Duration = Duration::from_millis(125);

/// Runs the drill to its end; nothing if a signal ended it.
fn run(
    setup: &Setup,
    variants: Vec<Variant>,
    seed: u64,
    mut display: Display,
    signal: &AtomicUsize,
) -> Result<Option<(Vec<Contender>, Duration)>, String> {
    // Two threads carry services and clients; the one that is here draws.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start threads: {error}"))?;
    let replay = runtime
        .block_on(Replay::prepare(setup, &variants, seed))
        .map_err(|unready| unready.to_string())?;
    let (start, ledgers) = (replay.start(), replay.ledgers());
    let recordings = || {
        ledgers
            .iter()
            .map(|ledger| ledger.recording())
            .collect::<Vec<_>>()
    };
    let arrivals = arrivals::poisson(setup.rate, setup.length(), seed);
    let running = runtime.spawn(replay.run(arrivals));
    while !running.is_finished() {
        if signal.load(Ordering::Relaxed) != 0 {
            drop(display);
            runtime.shutdown_background();
            return Ok(None);
        }
        show(
            &mut display,
            setup,
            &variants,
            &recordings(),
            start.elapsed(),
        );
        std::thread::sleep(FRAME);
    }
    let lateness = runtime
        .block_on(running)
        .map_err(|error| format!("the drill broke off: {error}"))?;
    runtime.shutdown_background();
    let recordings = recordings();
    display.finish(&View {
        setup,
        variants: &variants,
        recordings: &recordings,
        elapsed: start.elapsed(),
    });
    let contenders = variants.into_iter().zip(recordings);
    let contenders = contenders
        .map(|(variant, it)| Contender::new(variant, it, setup))
        .collect();
    Ok(Some((contenders, lateness)))
}

fn show(
    display: &mut Display,
    setup: &Setup,
    variants: &[Variant],
    recordings: &[Recording],
    elapsed: Duration,
) {
    display.show(&View {
        setup,
        variants,
        recordings,
        elapsed,
    });
}
