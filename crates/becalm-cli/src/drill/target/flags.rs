//! What does the command line of `becalm drill --target` take?

use std::path::PathBuf;
use std::time::Duration;

use becalm::duration::parse as duration;

use super::trouble::Trouble;
use crate::drill::reports::{REPORTS, ReportFlags};
use crate::policy_flags::PolicyFlags;

const TARGET: &str = "The target";
const LOAD: &str = "The load";
const FAULT: &str = "The fault";
const COURSE: &str = "The course";
const POLICIES: &str = "The policies";

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
#[command(after_long_help = super::AFTER_HELP)]
pub struct Args {
    /// Where the calls go: http://HOST:PORT/PATH
    #[arg(value_name = "URL", help_heading = TARGET)]
    pub url: String,

    /// Says that a host is yours to break, spelled as in the URL, as far as it is not this machine
    #[arg(long, value_name = "HOST", help_heading = TARGET)]
    pub i_own: Vec<String>,

    /// Calls with what a TOML file says (method, path, headers, body) in place of GET
    ///
    /// "{call}" in headers and body is different for each call and equal for its attempts. A method that is neither
    /// GET nor HEAD needs it: Idempotency-Key = "{call}" in its table headers.
    #[arg(long, value_name = "FILE", help_heading = TARGET)]
    pub request: Option<PathBuf>,

    /// Calls with HEAD in place of GET
    #[arg(long, conflicts_with = "request", help_heading = TARGET)]
    pub head: bool,

    #[command(flatten)]
    pub load: LoadFlags,

    #[command(flatten)]
    pub fault: FaultFlags,

    #[command(flatten)]
    pub course: CourseFlags,

    /// The policies to hold the drill with, one after the other: a list as "becalm storm --compare" has it
    ///
    /// "attempts=1,yours", "grpc,mine.toml", "budget=none;attempts=3". By default "budget=none", and the policy of
    /// the flags.
    #[arg(long, value_name = "LIST", help_heading = POLICIES)]
    pub compare: Vec<String>,

    #[command(flatten)]
    pub reports: ReportFlags,

    /// Also runs the same calls through the simulator, with the service of a scenario file, and shows both
    #[arg(long, value_name = "FILE", help_heading = REPORTS)]
    pub simulate: Option<PathBuf>,

    /// Shows nothing while the drill runs
    #[arg(long, short, help_heading = REPORTS)]
    pub quiet: bool,

    /// Exits with 1 unless the target comes back under the last policy
    #[arg(long, help_heading = REPORTS)]
    pub strict: bool,

    #[command(flatten)]
    pub policy: PolicyFlags,
}

#[derive(Debug, clap::Args)]
pub struct LoadFlags {
    /// First tries per second, at random times (Poisson), however the earlier ones end
    #[arg(long, value_name = "PER SECOND", required_unless_present_any = ["arrivals", "capacity"], help_heading = LOAD)]
    pub load: Option<f64>,

    /// Calls at the moments of a file in place of random ones: a CSV of "becalm drill --arrivals", or a scenario
    #[arg(long, value_name = "FILE", conflicts_with = "load", help_heading = LOAD)]
    pub arrivals: Option<PathBuf>,

    /// Measures what the target can serve, in place of a fault: more and more clients that call without a pause, until
    /// more of them bring no more answers
    #[arg(long, conflicts_with_all = ["load", "arrivals", "simulate", "compare", "strict"], help_heading = LOAD)]
    pub capacity: bool,

    /// Time after which a client drops an attempt and its connection, unless the policy has an attempt timeout
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = duration, help_heading = LOAD)]
    pub client_timeout: Duration,

    /// The most first tries per second: on average with --load, and in any second with --arrivals
    #[arg(long, value_name = "PER SECOND", default_value_t = 500, help_heading = LOAD)]
    pub max_rate: u32,
}

#[derive(Debug, clap::Args)]
pub struct FaultFlags {
    /// What goes wrong [default: hold; with --pid: stop]
    ///
    /// "hold": requests get no answer, and go when their client goes. "hold:forward" keeps them and pours them in
    /// afterwards. "delay:400ms", "reset", "status:503", "loss:0.3", "slow:10k" (bytes per second and connection),
    /// "bandwidth:1M" (of all together). "load:2": twice as many calls, and nothing is broken. "stop", "stop:children",
    /// "stop:group": the process of --pid stands still, with what it started, with its group.
    #[arg(long, value_name = "FAULT", help_heading = FAULT)]
    pub fault: Option<Trouble>,

    /// Breaks what the target calls in place of the target: listens here, and passes on to there
    ///
    /// ":5433=127.0.0.1:5432": the target is to call port 5433. An address with "http://" is broken by the request, any
    /// other by the connection.
    #[arg(long, value_name = "LISTEN=ADDRESS", conflicts_with = "pid", help_heading = FAULT)]
    pub dependency: Option<String>,

    /// The process to stop, on this machine
    #[arg(long, value_name = "PID", help_heading = FAULT)]
    pub pid: Option<i32>,
}

#[derive(Debug, clap::Args)]
pub struct CourseFlags {
    /// Time before the fault
    #[arg(long, value_name = "DURATION", default_value = "3s", value_parser = duration, help_heading = COURSE)]
    pub before: Duration,

    /// How long the fault lasts
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = duration, help_heading = COURSE)]
    pub trigger: Duration,

    /// Time after the fault; it goes on while more and more calls succeed, or while too little was seen to say that they do not
    #[arg(long, value_name = "DURATION", default_value = "8s", value_parser = duration, help_heading = COURSE)]
    pub after: Duration,

    /// The most time under one policy
    #[arg(long, value_name = "DURATION", default_value = "2m", value_parser = duration, help_heading = COURSE)]
    pub max_time: Duration,

    /// How long the target may take, without load, until it is well again
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = duration, help_heading = COURSE)]
    pub settle: Duration,
}
