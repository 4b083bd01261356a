//! What does the command line of `becalm drill --target` take?

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use becalm::duration::parse as duration;
use becalm_drill::staging::{Breakage, Course, Load, Options, Plan, Trouble, capacity};

use super::hold::hold;
use super::policies;
use super::reports::{REPORTS, ReportFlags};
use crate::again;
use crate::policy_flags::PolicyFlags;

const TARGET: &str = "The target";
const LOAD: &str = "The load";
const FAULT: &str = "The fault";
const COURSE: &str = "The course";
const POLICIES: &str = "The policies";

const AFTER_HELP: &str = "\
The policy flags shape your policy. An attempt timeout replaces the client timeout. The seed sets the arrivals, too.

Calls are marked: User-Agent: becalm-drill, X-Becalm-Drill: the drill, X-Request-Id: the call, equal in all of its \
attempts. Redirects are not followed. --max-rate bounds first tries; a policy may make as many attempts of each as it \
says.

The JSON document: schema, becalm (version), command, seed, drill (its name in X-Becalm-Drill), setup (host, request, fault, rate_per_s, capacity_per_s \
(with --simulate), client_timeout_ms, before_ms, trigger_ms, after_ms, bucket_ms), lateness_ms (of the load generator and of \
the fault, at worst), finding (down: it did not recover even without load; unwell: it was so before the fault under some policy, and \
nothing was broken under that one; idle: too few calls came to say anything; void: the generator was late, or this machine had too few connections; \
too-short: under some policy it was still on its way when the drill ended; storm: under some policy it did not come back; back: it came back under all; harmless: within 2 s, even where nothing bounds the retries), conclusion, and for each of the variants: name, title, \
policy, verdict (by the rule of \"becalm storm\": metastable, overloaded, too-short, or back; or unwell, idle, or void), good_before \
(share of calls), lateness_ms, after_ms (as long as it was watched), calls, first_tries, attempts, succeeded, gave_up \
(by stop reason), refused (503), unconnected (attempts for which this machine had no connection), most_in_flight, peak_attempts_per_bucket, recovered_after_ms (from the end \
of the fault; or null), well_without_load_after_ms (from the end of the calls; or null), amplification (attempts / first tries), \
simulated (null without --simulate; it, too, is watched while more and more calls succeed: after_ms), phases (as of \"becalm drill\") and per_bucket (calls, \
attempts, succeeded); proxy (what went through the proxy of the fault, or null): connections, requests, forwarded, answered, held, broken, \
left, unreachable, pouring, open. Names and units are stable; new ones may be added.

With --capacity the document has setup (host, request, client_timeout_ms, max_rate_per_s), capacity_per_s (or null), \
at_least (whether something else ended the climb), at_once (clients from which on more bring no more), ended (level, failing, \
max-rate, max-time, clients), conclusion, well_without_load_after_ms, and rungs: clients, answers_per_s, good_share, p50_ms, \
p99_ms.

Exit code: 0 when the drill was held; 1 with --strict when the target did not come back under the last policy, or there is no \
verdict; 2 when it could not be held; 128 + n when signal n ended it.";

/// Break a service of your own on purpose, in staging, and see whether it comes back
///
/// Calls arrive at the URL at random moments, however the earlier ones end. After a while a fault begins: by default
/// a proxy of the drill holds all requests. Then the fault is lifted, and the drill watches whether the calls that begin are
/// answered as before. It does so once for each policy, with the same calls at the same moments: by
/// default for your policy without its budget, and for your policy. Between two of them it waits until the target is
/// well again without any load.
///
/// It breaks nothing but this machine, unless --i-own repeats the name of another host. The fault is lifted first on
/// every exit, by a process of its own if need be.
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    /// Where the calls go: http://HOST:PORT/PATH
    #[arg(value_name = "URL", help_heading = TARGET)]
    url: String,

    /// Says that a host is yours to break, spelled as in the URL, as far as it is not this machine
    #[arg(long, value_name = "HOST", help_heading = TARGET)]
    i_own: Vec<String>,

    /// Calls with what a TOML file says (method, path, headers, body) in place of GET
    ///
    /// "{call}" in headers and body is different for each call and equal for its attempts. A method that is neither
    /// GET nor HEAD needs it: Idempotency-Key = "{call}" in its table headers.
    #[arg(long, value_name = "FILE", help_heading = TARGET)]
    request: Option<PathBuf>,

    /// Calls with HEAD in place of GET
    #[arg(long, conflicts_with = "request", help_heading = TARGET)]
    head: bool,

    #[command(flatten)]
    load: LoadFlags,

    #[command(flatten)]
    fault: FaultFlags,

    #[command(flatten)]
    course: CourseFlags,

    /// The policies to hold the drill with, one after the other: a list as "becalm storm --compare" has it
    ///
    /// "attempts=1,yours", "grpc,mine.toml", "budget=none;attempts=3". By default "budget=none", and the policy of
    /// the flags.
    #[arg(long, value_name = "LIST", help_heading = POLICIES)]
    compare: Vec<String>,

    #[command(flatten)]
    reports: ReportFlags,

    /// Also runs the same calls through the simulator, with the service of a scenario file, and shows both
    #[arg(long, value_name = "FILE", help_heading = REPORTS)]
    simulate: Option<PathBuf>,

    /// Exits with 1 unless the target comes back under the last policy
    #[arg(long, help_heading = REPORTS)]
    strict: bool,

    #[command(flatten)]
    policy: PolicyFlags,
}

#[derive(Debug, clap::Args)]
struct LoadFlags {
    /// First tries per second, at random times (Poisson), however the earlier ones end
    #[arg(long, value_name = "PER SECOND", required_unless_present_any = ["arrivals", "capacity"], help_heading = LOAD)]
    load: Option<f64>,

    /// Calls at the moments of a file in place of random ones: a CSV of "becalm drill --arrivals", or a scenario
    #[arg(long, value_name = "FILE", conflicts_with = "load", help_heading = LOAD)]
    arrivals: Option<PathBuf>,

    /// Measures what the target can serve, in place of a fault: more and more clients that call without a pause, until
    /// more of them bring no more answers
    #[arg(long, conflicts_with_all = ["load", "arrivals", "simulate", "compare", "strict"], help_heading = LOAD)]
    capacity: bool,

    /// Time after which a client drops an attempt and its connection, unless the policy has an attempt timeout
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = duration, help_heading = LOAD)]
    client_timeout: Duration,

    /// The most first tries per second: on average with --load, and in any second with --arrivals
    #[arg(long, value_name = "PER SECOND", default_value_t = 500, help_heading = LOAD)]
    max_rate: u32,
}

#[derive(Debug, clap::Args)]
struct FaultFlags {
    /// What goes wrong [default: hold; with --pid: stop]
    ///
    /// "hold": requests get no answer, and go when their client goes. "hold:forward" keeps them and pours them in
    /// afterwards. "delay:400ms", "reset", "status:503", "loss:0.3", "slow:10k" (bytes per second and connection),
    /// "bandwidth:1M" (of all together). "load:2": twice as many calls, and nothing is broken. "stop", "stop:children",
    /// "stop:group": the process of --pid stands still, with what it started, with its group.
    #[arg(long, value_name = "FAULT", help_heading = FAULT)]
    fault: Option<Trouble>,

    /// Breaks what the target calls in place of the target: listens here, and passes on to there
    ///
    /// ":5433=127.0.0.1:5432": the target is to call port 5433. An address with "http://" is broken by the request, any
    /// other by the connection.
    #[arg(long, value_name = "LISTEN=ADDRESS", conflicts_with = "pid", help_heading = FAULT)]
    dependency: Option<String>,

    /// The process to stop, on this machine
    #[arg(long, value_name = "PID", help_heading = FAULT)]
    pid: Option<i32>,
}

#[derive(Debug, clap::Args)]
struct CourseFlags {
    /// Time before the fault
    #[arg(long, value_name = "DURATION", default_value = "3s", value_parser = duration, help_heading = COURSE)]
    before: Duration,

    /// How long the fault lasts
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = duration, help_heading = COURSE)]
    trigger: Duration,

    /// Time after the fault; it goes on while more and more calls succeed, or while too little was seen to say that they do not
    #[arg(long, value_name = "DURATION", default_value = "8s", value_parser = duration, help_heading = COURSE)]
    after: Duration,

    /// The most time under one policy
    #[arg(long, value_name = "DURATION", default_value = "2m", value_parser = duration, help_heading = COURSE)]
    max_time: Duration,

    /// How long the target may take, without load, until it is well again
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = duration, help_heading = COURSE)]
    settle: Duration,
}

impl Args {
    /// Holds the drill, or measures the capacity.
    ///
    /// # Errors
    ///
    /// A sentence: it may not, or could not, be held. Nothing is broken then.
    pub fn hold(&self) -> Result<ExitCode, String> {
        let policy = self.policy.enforced()?;
        let (seed, command) = again::seeded(self.policy.seed(), std::env::args().skip(1));
        let mut options = self.options(seed, command.clone());
        if self.load.capacity {
            let plan = capacity::Plan::new(options, &policy)?;
            return hold(plan, &self.reports, self.strict, &command);
        }
        options.candidates = policies::candidates(&self.compare, &policy)?;
        hold(Plan::new(options)?, &self.reports, self.strict, &command)
    }

    fn options(&self, seed: u64, command: String) -> Options {
        let (load, fault, course) = (&self.load, &self.fault, &self.course);
        Options {
            url: self.url.clone(),
            owned: self.i_own.clone(),
            request: self.request.clone(),
            head: self.head,
            load: Load {
                rate: load.load,
                arrivals: load.arrivals.clone(),
                client_timeout: load.client_timeout,
                max_rate: load.max_rate,
            },
            fault: Breakage {
                fault: fault.fault,
                dependency: fault.dependency.clone(),
                pid: fault.pid,
            },
            course: Course {
                before: course.before,
                trigger: course.trigger,
                after: course.after,
                max_time: course.max_time,
                settle: course.settle,
            },
            candidates: Vec::new(),
            simulate: self.simulate.clone(),
            seed,
            command,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Probe {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn the_defaults_of_the_flags_are_those_of_the_drill() {
        let probe = Probe::parse_from(["probe", "http://a", "--load", "1"]);
        let options = probe.args.options(7, String::new());
        let by_default = Load {
            rate: Some(1.0),
            ..Load::default()
        };
        assert_eq!(options.load, by_default);
        assert_eq!(options.fault, Breakage::default());
        assert_eq!(options.course, Course::default());
    }
}
