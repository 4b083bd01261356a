//! What does the command line of `becalm drill --listen` take?

use std::process::ExitCode;
use std::time::Duration;

use becalm::duration::parse as duration;
use becalm_drill::Fault;
use becalm_drill::listen::{Options, Plan};

use super::hold::hold;
use super::reports::{REPORTS, ReportFlags};
use crate::again;

const PLACE: &str = "The place";
const FAULT: &str = "The fault";
const COURSE: &str = "The course";

const AFTER_HELP: &str = "\
The JSON document: schema, becalm (version), command, setup (upstream, fault, before_ms, trigger_ms, after_ms, bucket_ms), \
finding (unwell: fewer than 95 % of the calls were good before the fault, and nothing was broken; void: the fault was begun or lifted too late; \
unidentified: attempts cannot be told from calls; idle: too few calls came before, during or after the fault; too-short: more and more calls succeeded when it ended; storm: calls did not succeed again; \
unseen: they did, and too little failed for retries to be judged; unbounded: they did, and nothing but a number of attempts bounds the retries; bounded; \
single: no call was tried twice), conclusion, lateness_ms (of the fault, at worst), good_before (share of calls), verdict (by the rule of \"becalm storm\"), \
recovered_after_ms (from the end of the fault; or null), calls, attempts, succeeded, amplification (attempts / first tries), quiet (attempts per call in the \
last second of the fault), retried (fault and second_half: attempts that came, retries among them, attempts that ended, and those of them that failed; late: \
retries after the fault beyond the attempts that failed there; running: attempts of which nothing had come at its end), \
calls_by_attempts (calls of one attempt, of two and so on; the last of 32 and more), identified \
(requests that said by request_id, by traceparent, by nothing which call they are of), phases (as of \"becalm drill\"), per_bucket \
(calls, attempts, succeeded), and proxy (connections, requests, forwarded, answered, held, broken, left, unreachable, \
pouring, open). Names and units are stable; new ones may be added.

Exit code: 0 when the drill was held; 1 with --strict when calls did not succeed again or nothing bounds the retries, or there is no \
verdict; 2 when it could not be held; 128 + n when signal n ended it.";

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

    /// Exits with 1 unless calls succeed again after the fault, and something bounds the client's retries
    #[arg(long, help_heading = REPORTS)]
    strict: bool,
}

impl Args {
    /// Holds the drill.
    ///
    /// # Errors
    ///
    /// A sentence: it may not, or could not, be held. Nothing is broken then.
    pub fn hold(&self) -> Result<ExitCode, String> {
        let command = again::line(std::env::args().skip(1));
        let plan = Plan::new(self.options(command.clone()))?;
        hold(plan, &self.reports, self.strict, &command)
    }

    fn options(&self, command: String) -> Options {
        Options {
            listen: self.listen.clone(),
            upstream: self.upstream.clone(),
            owned: self.i_own.clone(),
            fault: self.fault,
            wait: self.wait,
            before: self.before,
            trigger: self.trigger,
            after: self.after,
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
        let probe = Probe::parse_from(["probe", ":0", "--upstream", "http://a"]);
        let by_default = Options {
            upstream: "http://a".into(),
            ..Options::default()
        };
        assert_eq!(probe.args.options(String::new()), by_default);
    }
}
