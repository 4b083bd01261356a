//! What runs twice when a Redis is cut off and killed, and who comes back when? Real processes and a real server, on this machine.

#![forbid(unsafe_code)]

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
mod units;
mod variant;
mod worker;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use becalm_drill::ws::child;
use becalm_drill::{Broken, Console, Drill, Report, Section, Show};
use becalm_report::Page;
use clap::Parser as _;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use judgement::{Contender, Judgement, judge};
use setup::{COURSE, Setup};

const REPORTS: &str = "Display and reports";

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
#[derive(Debug, clap::Parser)]
#[command(name = "redis-cuts", after_long_help = AFTER_HELP)]
struct Args {
    #[command(flatten)]
    setup: Setup,

    /// Holds these variants only
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = variant::NAMES, help_heading = COURSE)]
    only: Vec<String>,

    /// Where the report goes: one HTML file that needs no other
    #[arg(long, value_name = "FILE", default_value = "redis-cuts.html", help_heading = REPORTS)]
    html: PathBuf,

    /// Also prints the figures as JSON; the rest then goes to stderr
    #[arg(long, help_heading = REPORTS)]
    json: bool,

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

/// The drill, ready to be held.
struct Plan {
    setup: Setup,
    only: Vec<String>,
    command: String,
}

/// What it came to.
struct Outcome {
    setup: Setup,
    contenders: Vec<Contender>,
    judgement: Judgement,
    command: String,
}

impl Drill for Plan {
    type Held = Vec<Contender>;
    type Outcome = Outcome;

    fn hold(&self, show: &Show<'_>, signal: &AtomicUsize) -> Result<Vec<Contender>, Broken> {
        let mut contenders = Vec::new();
        for variant in variant::ALL {
            if !self.only.is_empty() && !self.only.iter().any(|it| it == variant.name) {
                continue;
            }
            let mut befalls = |words: &str| show.say(&format!("  {}: {words}\n", variant.title));
            let held = course::hold(&self.setup, &variant, signal, &mut befalls)?;
            let contender = Contender::new(variant, held);
            show.say(&format!("{}\n", outcome::line(&contender)));
            contenders.push(contender);
        }
        Ok(contenders)
    }

    fn judge(self, contenders: Vec<Contender>) -> Outcome {
        Outcome {
            judgement: judge(&contenders, &self.setup),
            setup: self.setup,
            contenders,
            command: self.command,
        }
    }
}

impl Report for Outcome {
    fn sections(&self) -> Vec<Section> {
        vec![Section {
            table: outcome::table(&self.contenders),
            legend: outcome::LEGEND,
            conclusion: self.judgement.conclusion.clone(),
            more: "what the words mean, the report",
        }]
    }

    fn page(&self) -> Page {
        page::page(
            &self.setup,
            &self.command,
            &self.contenders,
            &self.judgement,
        )
    }

    fn is_as_expected(&self) -> bool {
        self.judgement.as_expected
    }
}

/// Where people read: standard output, or standard error while the figures go there.
#[derive(Debug)]
struct Lines {
    to_stderr: bool,
}

impl Console for Lines {
    fn write(&self, text: &str) {
        if self.to_stderr {
            eprint!("{text}");
        } else {
            print!("{text}");
        }
    }
}

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    if arguments.next().is_some_and(|it| it == worker::NAME) {
        return child::execute(arguments.next(), |brief| worker::work(&brief));
    }
    if let Some(code) = becalm_drill::stand_in(std::env::args_os()) {
        return code;
    }
    hold(Args::parse()).unwrap_or_else(|sentence| {
        eprintln!("error: {sentence}");
        ExitCode::from(2)
    })
}

fn hold(args: Args) -> Result<ExitCode, String> {
    args.setup
        .validate()
        .map_err(|invalid| invalid.to_string())?;
    let signal = Arc::new(AtomicUsize::new(0));
    for number in [SIGINT, SIGTERM, SIGHUP] {
        let value = usize::try_from(number).unwrap_or(1);
        signal_hook::flag::register_usize(number, signal.clone(), value)
            .map_err(|error| format!("cannot handle signals: {error}"))?;
    }
    let lines = Lines {
        to_stderr: args.json,
    };
    let show = Show {
        quiet: args.quiet,
        ..Show::on(&lines)
    };
    let plan = Plan {
        setup: args.setup,
        only: args.only,
        command: std::env::args().collect::<Vec<_>>().join(" "),
    };
    let outcome = match plan.run(&show, &signal) {
        Ok(outcome) => outcome,
        Err(Broken::Signal) => {
            let signal = u8::try_from(signal.load(Ordering::Relaxed)).unwrap_or(0);
            return Ok(ExitCode::from(128 + signal));
        }
        Err(Broken::Sentence(sentence)) => return Err(sentence),
    };
    let page = outcome.page().to_html();
    fs::write(&args.html, page)
        .map_err(|error| format!("cannot write {}: {error}", args.html.display()))?;
    lines.write(&format!("report: {}\n", args.html.display()));
    if args.json {
        print!("{}", outcome.document()?);
    }
    let failed = args.strict && !outcome.is_as_expected();
    Ok(ExitCode::from(u8::from(failed)))
}
