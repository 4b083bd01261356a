//! `becalm plan`: what will a policy do, and for how long at worst?

mod json;
mod picture;
mod protection;
mod sample;
mod text;
mod told;

use std::path::PathBuf;
use std::process::ExitCode;

use becalm_sim::forecast::{Forecast, Longest, Protection, Reserve, rows};
use clap::value_parser;

use crate::policy_flags::PolicyFlags;
use crate::stream::Stream;
use crate::usage;
pub use json::preset;
use told::Plan;

/// Show what a policy does: every delay, and for how long at worst
///
/// Per retry the ceiling and the least, mean and longest delay, computed and not sampled, for a
/// call that fails every time without a hint from the server; then the totals.
#[derive(Debug, clap::Args)]
#[command(after_long_help = LONG_HELP)]
pub struct Args {
    #[command(flatten)]
    policy: PolicyFlags,

    /// Plan a call that is throttled every time, with the base for that
    #[arg(long)]
    throttled: bool,

    /// List at most this many retries [default: 20 if attempts are unlimited, else 1000]
    #[arg(long, value_name = "COUNT", value_parser = value_parser!(u32).range(1..=100_000))]
    rows: Option<u32>,

    /// Calls of this client that succeed in a second, for what its budget holds then
    #[arg(long, value_name = "CALLS", default_value = "1000", value_parser = calls_per_second)]
    load: f64,

    /// Print the plan as one line of JSON (--help shows its shape)
    #[arg(long)]
    json: bool,

    /// Print this many sampled sequences of delays instead, each a JSON array of milliseconds
    ///
    /// One line per call; --seed makes them reproducible. A sequence ends where the next wait would
    /// reach the deadline, and after --rows delays. At most 100000.
    #[arg(long, value_name = "COUNT", conflicts_with_all = ["json", "svg"])]
    #[arg(value_parser = value_parser!(u32).range(1..=100_000))]
    sample: Option<u32>,

    /// Also write the plan as a picture
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

const LONG_HELP: &str = "\
The figures are those of the waits alone: an attempt's own time, a server's
hint and a refusal of the budget come on top. With a deadline, \"?\" marks a
retry that may not start because its wait can pass the deadline, and \"x\" one
that never starts.

The shape of --json, stable; times are milliseconds, with a fraction where
needed:
  {\"preset\":null,
   \"policy\":\"retry (2 attempts, exponential from 100ms x 2, cap 20s, full
    jitter, budget ratio:0.1,burst:5s,min:10,floor:10/h), then the operation\",
   \"retries\":[{\"retry\":1,\"starts\":\"yes\",\"ceiling_ms\":100,\"min_ms\":0,
    \"mean_ms\":50,\"max_ms\":100,\"cumulative_min_ms\":0,
    \"cumulative_mean_ms\":50,\"cumulative_max_ms\":100}],
   \"waits\":{\"min_ms\":0,\"mean_ms\":50,\"max_ms\":100},
   \"longest\":{\"waits_ms\":100,\"call_ms\":null},
   \"protection\":{\"throttle\":null,\"rate\":null,
    \"budget\":[{\"kind\":\"ratio\",\"text\":\"ratio:0.1,burst:5s,min:10,floor:10/h\",
     \"burst\":10.0,\"burst_seconds\":5.0,\"share\":0.1,
    \"of\":\"successes\",\"per_minute\":0.1667,
     \"throttled\":null}],
    \"hedge\":null,\"bulkhead\":null,\"breaker\":null},
   \"reserve\":{\"calls_per_second\":1000.0,\"retries\":500.0,
    \"late\":[{\"load\":0.7,\"late_ms\":1166.666667},{\"load\":0.9,\"late_ms\":4500},
     {\"load\":0.95,\"late_ms\":9500}]},
   \"lints\":[{\"code\":\"no-budget\",\"message\":\"...\"}]}
\"retries\" holds every listed retry, also those that a deadline stops, and \"waits\"
is their sum; \"starts\" is \"no\" or \"maybe\" where the text has \"x\" or \"?\".
\"preset\" is where the policy starts, by a flag or in the file: name, source, and
differs, what its system does otherwise; null where no preset is named.
\"longest\" is the longest that all waits, and the whole call with every attempt at
its timeout, can take; null where nothing bounds it.
What \"protection\" has is, with its \"text\" as a flag:
  throttle  sent_per_accepted, most_shed, window_ms
  rate      max_wait_ms
  budget    an entry for each kind: kind, burst (retries at once, at any rate),
            burst_seconds (of what earns them, where that is more), share of what
            earns them (\"of\": first_tries, successes, clean_successes,
            calls_under_way, time), per_minute, and throttled: burst and share
            after throttled failures, where they differ
  hedge     copies, load_on_top (copies for each call at most)
  bulkhead  calls, waiting, worst_per_second (every attempt at its timeout)
  breaker   after_failures and after_ms of a plain outage, at a steady rate;
            open_least_ms, open_most_ms, open_again_most_ms, probes, successes
\"reserve\" is what the budget holds at --load calls a second, and how much later
than without retries a service is back for it on average, by its load over its
capacity; null where no success feeds the budget.

Examples:
  becalm plan --attempts 6 --base 500ms --cap 30s --jitter equal
  becalm plan --jitter decorrelated --attempts unlimited --deadline 1m
  becalm plan --attempts 5 --attempt-timeout 2s --json | jq .longest.call_ms
  becalm plan --preset command          what \"becalm run\" does without flags
  becalm plan --sample 3 --seed 7";

/// A number above 0.
fn calls_per_second(text: &str) -> Result<f64, String> {
    let calls = text
        .parse()
        .ok()
        .filter(|calls: &f64| *calls > 0.0 && calls.is_finite());
    calls.ok_or_else(|| "calls a second are a number above 0, such as 1000".into())
}

/// `becalm plan`
pub fn execute(args: &Args) -> ExitCode {
    let (mut policy, preset) = match args.policy.with_preset() {
        Ok(read) => read,
        Err(refusal) => return usage::refuse(&refusal),
    };
    let lints = policy.lints();
    if args.throttled {
        let base = policy.throttled_base.take();
        policy.base = base.unwrap_or(policy.base);
    }
    let forecast = Forecast::of(&policy, args.rows);
    let protection = Protection::of(&policy);
    let plan = Plan {
        longest: Longest::of(&policy, &forecast),
        forecast,
        reserve: Reserve::of(&protection.budget, args.load),
        protection,
        preset,
        policy,
        lints,
    };
    if let Some(file) = &args.svg {
        if let Err(error) = std::fs::write(file, picture::svg(&plan.forecast)) {
            let sentence = format!("cannot write {}: {error}", file.display());
            eprintln!("error: {}", usage::shown(&sentence));
            return ExitCode::FAILURE;
        }
    }
    if let Some(sequences) = args.sample {
        let longest = rows(&plan.policy, args.rows);
        let seed = args.policy.seed();
        return usage::print(sample::lines(&plan.policy, sequences, longest, seed));
    }
    usage::print([if args.json {
        json::document(&plan)
    } else {
        usage::rendered(Stream::Stdout.painter(), |it| text::document(&plan, it))
    }])
}
