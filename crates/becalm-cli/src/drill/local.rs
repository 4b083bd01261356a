//! What does the command line of `becalm drill` and `becalm drill http` take?

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use becalm::duration::parse as duration;
use becalm_drill::local::{Options, Plan, Setup, Wire};

use super::hold::hold_and;
use super::reports::{REPORTS, ReportFlags, put};
use crate::again;
use crate::output::Output;
use crate::policy_flags::PolicyFlags;

const SERVICE: &str = "The service";
const LOAD: &str = "The load";
const COURSE: &str = "The course";

pub const AFTER_HELP: &str = "\
The policy flags shape the last of the six policies; the others have its attempts, delays and \
timeouts, but neither its jitter nor what protects it, except that the two of the breaker and of \
the bulkhead take its own if it has one. In the second part both have all of it but the hedge; in the \
third one has all of it but the attempts, and one all but the budget. An attempt timeout replaces the client timeout. The seed \
sets the arrivals, too; without it each drill has another, which it tells.

The JSON document: schema, becalm (version), command, seed, setup (clients: own or becalm-reqwest), lateness_ms (of the load \
generator, at worst), as_expected, conclusion, and for each of the variants: name, title, policy, \
verdict (of one run, by the rule of \"becalm storm\": metastable, overloaded, too-short, back, which is \
stable or vulnerable there, or void or idle), calls, first_tries, attempts, succeeded, gave_up (by stop \
reason), arrived, refused, served, served_nobody, unconnected, most_in_flight (attempts at once), \
peak_arrivals_per_bucket, recovered_after_ms (from the end of the fault until calls that begin are \
answered as before it; or null), pressure_after (requests at the end over the capacity), quiet (attempts \
per call in the last second of the fault), amplification (attempts / first tries, of the whole \
drill), simulated (the simulator's figures under the same names; null without --simulate), \
phases (before, trigger, after: length_ms, calls, first_tries, attempts, arrived, succeeded, goodput_per_s, amplification, p99_ms) and \
per_bucket (arrays with one number for every setup.bucket_ms); tail, the second part (or null): \
length_ms, warm_up_ms, rate_per_s, slow_one_in, slow_ms, lateness_ms, as_expected, conclusion, \
and for each of the variants: name, title, policy, calls, first_tries, retries, hedges, attempts, \
succeeded, amplification, p50_ms, p95_ms, p99_ms, worst_ms; blip, the third part (or null): before_ms, blip_ms, after_ms, \
rate_per_s, lateness_ms, as_expected, conclusion, and for each of the variants: name, title, policy, calls, first_tries, attempts, \
succeeded, refused, calls_in_blip, failed_in_blip, amplification. Names and units are stable; new ones may be added.

Exit code: 0 when the drill was held; 1 with --strict when it did not show what it should; 2 when \
it could not be held; 128 + n when signal n ended it.";

#[derive(Debug, clap::Args)]
pub struct Flags {
    #[command(flatten)]
    setup: SetupFlags,

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

    /// Exits with 1 if a storm does not form, protected clients do not recover, or a hedge or a budget is in vain
    #[arg(long, help_heading = REPORTS)]
    strict: bool,

    #[command(flatten)]
    policy: PolicyFlags,
}

/// The service, the load and the fault. The defaults were found to make a storm that lasts, with
/// a service that two cores can play four times over.
#[derive(Debug, clap::Args)]
struct SetupFlags {
    /// Requests that the service works on at once
    #[arg(long, value_name = "COUNT", default_value_t = 4, help_heading = SERVICE)]
    workers: u32,

    /// Time that a worker spends on one request
    #[arg(long, value_name = "DURATION", default_value = "10ms", value_parser = duration,
          help_heading = SERVICE)]
    service_time: Duration,

    /// Requests that wait for a worker; one more is refused with status 503
    #[arg(long, value_name = "COUNT", default_value_t = 200, help_heading = SERVICE)]
    queue: u32,

    /// First tries per second, at random times (Poisson), however the earlier ones end
    #[arg(long, value_name = "PER SECOND", default_value_t = 260.0, help_heading = LOAD)]
    load: f64,

    /// Time after which a client drops an attempt and its connection, unless the policy has an
    /// attempt timeout
    #[arg(long, value_name = "DURATION", default_value = "250ms", value_parser = duration,
          help_heading = LOAD)]
    client_timeout: Duration,

    /// Time before the fault
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = duration,
          help_heading = COURSE)]
    before: Duration,

    /// How long the service's workers hang; it still accepts requests
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = duration,
          help_heading = COURSE)]
    trigger: Duration,

    /// Time after the fault
    #[arg(long, value_name = "DURATION", default_value = "7s", value_parser = duration,
          help_heading = COURSE)]
    after: Duration,

    /// Time of the second part, in which some answers are slow; 0s leaves it out
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = duration,
          help_heading = COURSE)]
    tail: Duration,

    /// How long the service of the third part refuses everything; 0s leaves it out
    #[arg(long, value_name = "DURATION", default_value = "200ms", value_parser = duration,
          help_heading = COURSE)]
    blip: Duration,
}

impl Flags {
    /// Holds the drill, whose calls go through these clients.
    ///
    /// # Errors
    ///
    /// A sentence that names the flag and the remedy.
    pub fn hold(&self, wire: Wire) -> Result<ExitCode, String> {
        let policy = self.policy.enforced()?;
        let (seed, command) = again::seeded(self.policy.seed(), std::env::args().skip(1));
        let plan = Plan::new(Options {
            setup: self.setup.setup(wire),
            policy,
            seed,
            simulate: self.simulate,
            command: command.clone(),
        })?;
        let open = |path: &Option<PathBuf>| path.as_deref().map(Output::open).transpose();
        let (svg, times) = (open(&self.svg)?, open(&self.arrivals)?);
        hold_and(
            plan,
            &self.reports,
            self.strict,
            &command,
            |outcome, stream| {
                put("picture", svg, &outcome.picture(), stream)?;
                put("arrivals", times, &outcome.arrivals(), stream)
            },
        )
    }
}

impl SetupFlags {
    fn setup(&self, wire: Wire) -> Setup {
        Setup {
            workers: self.workers,
            service_time: self.service_time,
            queue: self.queue,
            load: self.load,
            client_timeout: self.client_timeout,
            before: self.before,
            trigger: self.trigger,
            after: self.after,
            tail: self.tail,
            blip: self.blip,
            wire,
            ..Setup::default()
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
        setup: SetupFlags,
    }

    #[test]
    fn the_defaults_of_the_flags_are_those_of_the_drill() {
        let probe = Probe::parse_from(["probe"]);
        assert_eq!(probe.setup.setup(Wire::Own), Setup::default());
    }
}
