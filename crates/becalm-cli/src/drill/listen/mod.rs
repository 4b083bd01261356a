//! Do the retries of a user's own client make a storm? The client calls through the drill, which breaks what it calls.

mod before;
mod document;
mod finding;
mod page;
mod retried;
mod watched;

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use becalm::Policy;
use becalm::duration::parse as duration;
use becalm::support::Human;
use becalm_report::Colour;
use becalm_sim::scenario::Service;

use super::fault::allowed::{self, Pinned};
use super::fault::{Fault, Faults, Place, Plan, Seen, Speaks, Upstream};
use super::judgement::Contender;
use super::latencies::Latencies;
use super::ledger::BUCKET;
use super::live::{Display, View};
use super::parts::FRAME;
use super::reports::{REPORTS, ReportFlags, Reports};
use super::setup::Setup;
use super::variant::{Role, Variant};
use super::wire::Wire;
use super::{ended_by, outcome, tell, watch_for_signals};
use crate::again;
use before::Before;
use finding::Finding;
use retried::{Moments, Retried, Tries};
use watched::Watched;

const PLACE: &str = "The place";
const FAULT: &str = "The fault";
const COURSE: &str = "The course";

/// How much longer than it should the fault may last, if nobody can lift it.
const SLACK: Duration = Duration::from_secs(2);

/// From this share of the fault's time on, a fault that was begun or lifted too late was another one.
const LATE: u32 = 10;

/// The longest course: what the proxy tells of it is read again and again.
const LONGEST: Duration = Duration::from_secs(300);

/// Break what your own client calls, and see what its retries do
///
/// The drill listens, and passes on what your client sends to the service that it would call. From the first request on
/// it counts; after a while it begins a fault, lifts it again, and watches what comes. It makes no calls: the load is your
/// own program's, in any language, with its own policy.
///
/// Attempts of one call are told by X-Request-Id, or by the trace of traceparent, together with method and path. Of a client that says
/// neither the drill tells how many more requests it makes during the fault, and gives no verdict.
///
/// It breaks nothing but this machine, unless --i-own repeats the name of another host. If it is killed, a process of its own goes on
/// listening and passes everything on, for as long as anybody is connected and ten minutes more (ten seconds on a port that it chose: --listen :0).
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    /// Where your client is to call: :8081 is a port of this machine alone
    #[arg(value_name = "ADDRESS", help_heading = PLACE)]
    listen: String,

    /// What it would call: http://HOST:PORT
    #[arg(long, value_name = "URL", help_heading = PLACE)]
    upstream: String,

    /// Says that a host is yours to break, spelled as in the URL, as far as it is not this machine
    #[arg(long, value_name = "HOST", help_heading = PLACE)]
    i_own: Vec<String>,

    /// What goes wrong: "hold", "hold:forward", "delay:400ms", "reset", "status:503", "loss:0.3", "slow:10k", "bandwidth:1M"
    ///
    /// "hold": requests get no answer, and go when their client goes. "slow" is bytes a second of each connection, "bandwidth" of
    /// all together.
    #[arg(long, value_name = "FAULT", default_value_t = Fault::Hold, help_heading = FAULT)]
    fault: Fault,

    /// How long it waits for the first request
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = duration, help_heading = COURSE)]
    wait: Duration,

    /// Time from the first request to the fault
    #[arg(long, value_name = "DURATION", default_value = "3s", value_parser = duration, help_heading = COURSE)]
    before: Duration,

    /// How long the fault lasts
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = duration, help_heading = COURSE)]
    trigger: Duration,

    /// Time after the fault
    #[arg(long, value_name = "DURATION", default_value = "8s", value_parser = duration, help_heading = COURSE)]
    after: Duration,

    #[command(flatten)]
    reports: ReportFlags,

    /// Shows nothing while the drill runs
    #[arg(long, short, help_heading = REPORTS)]
    quiet: bool,

    /// Exits with 1 unless calls succeed again after the fault, and something bounds the client's retries
    #[arg(long, help_heading = REPORTS)]
    strict: bool,
}

const AFTER_HELP: &str = "\
The JSON document: schema, becalm (version), command, setup (upstream, fault, before_ms, trigger_ms, after_ms, bucket_ms), \
finding (unwell: fewer than 95 % of the calls were good before the fault, and nothing was broken; void: the fault was begun or lifted too late; \
unidentified: attempts cannot be told from calls; idle: too few calls came before, during or after the fault; storm: calls did not succeed again; \
unseen: they did, and too little failed for retries to be judged; unbounded: they did, and nothing but a number of attempts bounds the retries; bounded; \
single: no call was tried twice), conclusion, lateness_ms (of the fault, at worst), good_before (share of calls), verdict (by the rule of \"becalm storm\"), \
recovered_after_ms (from the end of the fault; or null), calls, attempts, succeeded, amplification, quiet (attempts per call in the \
last second of the fault), retried (fault and second_half: attempts that came, retries among them, attempts that ended, and those of them that failed; late: \
retries after the fault beyond the attempts that failed there; running: attempts of which nothing had come at its end), \
calls_by_attempts (calls of one attempt, of two and so on; the last of 32 and more), identified \
(requests that said by request_id, by traceparent, by nothing which call they are of), phases (as of \"becalm drill\"), per_bucket \
(calls, attempts, succeeded), and proxy (connections, requests, forwarded, answered, held, broken, left, unreachable, \
pouring, open). Names and units are stable; new ones may be added.

Exit code: 0 when the drill was held; 1 with --strict when calls did not succeed again or nothing bounds the retries, or there is no \
verdict; 2 when it could not be held; 128 + n when signal n ended it.";

/// A drill of somebody's client that is over.
struct Outcome {
    setup: Setup,
    fault: Fault,
    upstream: String,
    contender: Contender,
    /// What the proxy saw, from its own beginning.
    seen: Seen,
    before: Before,
    retried: Retried,
    /// By how much the fault was begun or lifted too late, at worst.
    lateness: Duration,
    command: String,
}

impl Outcome {
    fn is_late(&self) -> bool {
        self.lateness > self.setup.trigger / LATE
    }
}

/// What was seen of a course that has come to its end.
#[derive(Default)]
struct Course {
    seen: Seen,
    before: Before,
    moments: Moments,
    lateness: Duration,
}

/// Holds the drill.
///
/// # Errors
///
/// A sentence: it may not, or could not, be held. Nothing is broken then.
pub fn hold(args: &Args) -> Result<ExitCode, String> {
    let setup = args.setup()?;
    let plan = args.plan()?;
    let reports = Reports::open(&args.reports)?;
    let stream = args.reports.stream();
    let signal = Arc::new(AtomicUsize::new(0));
    watch_for_signals(&signal).map_err(|error| format!("cannot handle signals: {error}"))?;
    let faults = Faults::start(&plan)?;
    let address = faults
        .address()
        .map_or_else(String::new, |it| it.to_string());
    stream.write(&format!(
        "listens at {address}: let your client call there in place of {}\n",
        args.upstream
    ));
    let display = || Display::on(stream, args.quiet);
    let watched = watch(args, &setup, &faults, &signal, display);
    // Whatever happened, before anything else.
    let lifted = faults.lift();
    let Some(course) = watched? else {
        drop(faults);
        return Ok(ended_by(signal.load(Ordering::Relaxed)));
    };
    // Nothing is broken any more, and what was measured stands.
    if let Err(why) = lifted.and_then(|()| faults.stop()) {
        eprintln!("note: {why}");
    }
    let recording = Watched::of(&course.seen, setup.length()).recording;
    let outcome = Outcome {
        contender: Contender::new(variant(), recording, &Latencies::default(), &setup),
        setup,
        fault: args.fault,
        upstream: args.upstream.clone(),
        seen: course.seen,
        before: course.before,
        retried: course.moments.into(),
        lateness: course.lateness,
        command: again::line(std::env::args().skip(1)),
    };
    let finding = Finding::of(&outcome);
    let conclusion = finding::conclusion(&outcome);
    let contenders = std::slice::from_ref(&outcome.contender);
    let table = outcome::table(contenders, outcome::Room::Terminal);
    let table = table.to_terminal(stream.painter());
    tell(stream, &table, super::target::LEGEND, &conclusion);
    reports.write(&page::page(&outcome), &document::document(&outcome)?)?;
    stream.write(&format!("again:  {}\n", outcome.command));
    Ok(ExitCode::from(u8::from(args.strict && !finding.is_good())))
}

/// Waits for the client, breaks what it calls, lifts it, and watches; nothing is left where a signal ends it.
fn watch(
    args: &Args,
    setup: &Setup,
    faults: &Faults,
    signal: &AtomicUsize,
    display: impl FnOnce() -> Display,
) -> Result<Option<Course>, String> {
    let ended = || signal.load(Ordering::Relaxed) != 0;
    let since = Instant::now();
    let began = loop {
        if ended() {
            return Ok(None);
        }
        // What has come meanwhile is placed in time by the proxy, so that a long look costs nothing.
        let (asked, seen) = (Instant::now(), faults.seen()?);
        if let Some(first) = watched::first(&seen) {
            break asked
                .checked_sub(seen.since.saturating_sub(first))
                .unwrap_or(asked);
        }
        if since.elapsed() > args.wait {
            return Err(format!(
                "no request came within {}: let your client call {} while the drill runs, or give --wait more time",
                Human(args.wait),
                faults
                    .address()
                    .map_or_else(String::new, |it| it.to_string()),
            ));
        }
        std::thread::sleep(BUCKET);
    };
    let mut display = display();
    let variants = [variant()];
    let mut course = Course::default();
    let (mut part, mut grace) = (Part::Before, Duration::ZERO);
    loop {
        if ended() {
            return Ok(None);
        }
        let elapsed = began.elapsed();
        course.seen = faults.seen()?;
        if elapsed >= part.until(setup, grace) {
            let tries = Tries::of(&course.seen);
            let late = |due: Duration| began.elapsed().saturating_sub(due);
            part = match part {
                Part::Before => {
                    course.before = Before::of(&course.seen);
                    grace = course.before.grace(setup.before);
                    if course.before.is_enough() && course.before.is_well() {
                        faults.begin()?;
                        course.lateness = late(setup.before);
                        course.moments.begun = tries;
                        Part::FirstHalf
                    } else {
                        Part::Over
                    }
                }
                Part::FirstHalf => {
                    course.moments.middle = tries;
                    Part::SecondHalf
                }
                Part::SecondHalf => {
                    faults.lift()?;
                    course.lateness = course.lateness.max(late(setup.trigger_end()));
                    course.moments.lifted = tries;
                    Part::After
                }
                Part::After => {
                    course.moments.over = tries;
                    Part::Over
                }
                Part::Over => Part::Over,
            };
        }
        let watched = Watched::of(&course.seen, setup.length());
        let view = View {
            setup,
            variants: &variants,
            recordings: std::slice::from_ref(&watched.recording),
            elapsed: elapsed.min(setup.length()),
        };
        if part == Part::Over {
            display.finish(&view);
            return Ok(Some(course));
        }
        display.show(&view);
        let due = part.until(setup, grace).saturating_sub(began.elapsed());
        std::thread::sleep(due.min(FRAME));
    }
}

/// How far a course has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Before,
    FirstHalf,
    SecondHalf,
    After,
    Over,
}

impl Part {
    /// The calls of the end have the `grace` of being answered.
    fn until(self, setup: &Setup, grace: Duration) -> Duration {
        match self {
            Self::Before => setup.before,
            Self::FirstHalf => setup.before + setup.trigger / 2,
            Self::SecondHalf => setup.trigger_end(),
            Self::After | Self::Over => setup.length() + grace,
        }
    }
}

/// The client, of whose policy nobody here knows.
fn variant() -> Variant {
    Variant {
        name: "client".into(),
        title: "your client".into(),
        detail: "as it is".into(),
        description: "as it is".into(),
        colour: Colour::Blue,
        policy: Policy::default(),
        role: Role::Asked,
    }
}

impl Args {
    fn setup(&self) -> Result<Setup, String> {
        let Self {
            before,
            trigger,
            after,
            ..
        } = *self;
        let whole = |time: Duration| time.as_nanos() % BUCKET.as_nanos() == 0 && !time.is_zero();
        let length = before.saturating_add(trigger).saturating_add(after);
        if ![before, trigger, after].into_iter().all(whole) {
            return Err(
                "--before, --trigger and --after are counted in steps of 10ms: give each a multiple of that, and at \
                 least one"
                    .into(),
            );
        }
        if before < Duration::from_secs(1) || after < Duration::from_secs(3) {
            return Err(
                "--before must be at least 1s, which says what is usual, and --after at least 3s: a recovery is judged by whole \
                 seconds"
                    .into(),
            );
        }
        if length > LONGEST || self.wait > LONGEST {
            return Err(format!(
                "the drill, and --wait, may last {} at most; shorten --before, --trigger or --after",
                Human(LONGEST)
            ));
        }
        Ok(Setup {
            workers: Service::UNLIMITED,
            service_time: Duration::ZERO,
            queue: u32::MAX,
            load: 0.0,
            client_timeout: Duration::from_secs(1),
            before,
            trigger,
            after,
            tail: Duration::ZERO,
            wire: Wire::Own,
            fault: self.fault.to_string().into(),
        })
    }

    fn plan(&self) -> Result<Plan, String> {
        let refused =
            |flag: &str, named: &str, why: &dyn std::fmt::Display| format!("{flag} {named}: {why}");
        let listen: SocketAddr = allowed::listen(&self.listen, &self.i_own, &allowed::system)
            .map_err(|why| refused("--listen", &self.listen, &why))?;
        let upstream = Pinned::url(&self.upstream, &self.i_own, &allowed::system)
            .and_then(|it| it.behind(listen))
            .map_err(|why| refused("--upstream", &self.upstream, &why))?;
        if upstream.tls {
            let why = "attempts are counted by what requests say, which TLS hides; name the port behind what ends TLS, as \
                       http://HOST:PORT";
            return Err(refused("--upstream", &self.upstream, &why));
        }
        if matches!(self.fault, Fault::Stop(_)) {
            return Err(format!(
                "--fault {}: nothing but what the client calls is broken here; write hold, or take becalm drill --target with --pid",
                self.fault
            ));
        }
        Ok(Plan {
            fault: self.fault,
            place: Place::Proxy {
                listen,
                upstream: Upstream {
                    addresses: upstream.addresses,
                    speaks: Speaks::Http,
                },
            },
            at_most: self.trigger + SLACK,
            seed: 0,
        })
    }
}
