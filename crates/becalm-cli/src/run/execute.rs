//! How is a run set up from its flags?

use std::process::ExitCode;
use std::sync::Arc;

use becalm::rng::Seed;
use becalm::time::{Sleeper, StdSleeper};
use becalm::{Budget, Policy, Retrier, policy};

use super::above::refuse_above;
use super::args::Args;
use super::course::error::RunError;
use super::course::exit_code::OWN_ERROR;
use super::course::exit_rules::ExitRules;
use super::course::layers::Above;
use super::course::observed::Observed;
use super::course::output_rules::OutputRules;
use super::course::progress::{Progress, complain};
use super::course::replay::Replay;
use super::course::report::Report;
use super::course::retry::Run;
use super::defaults;
use super::stdin::Mode;
use super::unix::attempt::Execution;
use super::unix::budget_file::{BudgetFile, Earner};
use super::unix::farewell::Farewell;
use super::unix::hooks::Hooks;
use super::unix::host::Host;
use super::unix::inbox::{self, Inbox};
use super::unix::orphans;
use super::unix::output::Handling;
use crate::wording::protection;

/// Runs the command as the arguments say; the result is becalm's exit code, unless it ends by a signal.
pub fn execute(args: Args) -> ExitCode {
    inbox::outlive_full_files();
    let done = try_execute(args);
    orphans::bury_orphans(&[]);
    match done {
        Ok(farewell) => farewell.say(),
        Err(error) => {
            complain(&error.to_string());
            refuse_above();
            ExitCode::from(OWN_ERROR)
        }
    }
}

fn try_execute(args: Args) -> Result<Farewell, RunError> {
    if let Some(flag) = args.policy.protection_given() {
        return Err(RunError::ForManyCalls(flag));
    }
    let policy = policy(&args)?;
    let rules = OutputRules::new(&args.retry_on_output, &args.stop_on_output);
    let handling = Handling {
        rules: rules.map_err(RunError::Pattern)?,
        hold: args.hold_output,
    };
    let budget_file = match &args.budget_file {
        Some(path) => Some(Arc::new(shared_budget(path, &policy)?)),
        None => None,
    };
    let mut report = match &args.report {
        Some(path) => Report::onto(path),
        None => Report::default(),
    };
    let observed = (policy.mode == policy::Mode::Observe).then(Observed::default);
    let attempts = observed.as_ref().map_or(policy.attempts, |_| 1);
    // What is only observed cuts nothing.
    let stall = policy.attempt_timeout.filter(|_| observed.is_none());
    let seed = args.policy.seed();
    let retrier = retrier(policy, seed, budget_file.clone(), observed.clone())?;
    orphans::adopt_orphans();
    // First, as nobody tries that again where signals took the room for it.
    let replay = match args.stdin {
        Mode::Replay => Some(Replay::of_stdin().map_err(RunError::Stdin)?),
        Mode::Inherit | Mode::Null => None,
    };
    let mut inbox = Inbox::default();
    // Where there is no room for that now, no attempt starts; each tries again.
    let _ = inbox.hear_signals();
    let clock = Box::new(|| StdSleeper::new().now());
    let above = Above::of_environment();
    let is_inside = above.is_there();
    let mut host = Host::new(inbox, clock, args.kill_after, stall, above);
    let run = run(args, handling, attempts, observed, replay, is_inside);
    let exit = run.retry(&retrier, &mut host, &mut report);
    if let Some(fault) = budget_file.and_then(|file| file.take_fault()) {
        complain(&format!("{fault}; without it no retry is granted"));
    }
    exit
}

/// The policy of one call; what it cannot have is told, unless becalm is to be quiet.
fn policy(args: &Args) -> Result<Policy, RunError> {
    let is_shared = args.budget_file.is_some();
    let mut policy = defaults::policy(&args.policy, is_shared).map_err(RunError::Policy)?;
    let lists = policy.retry_on.take();
    if let Some(lists) = lists.filter(|_| !args.quiet) {
        complain(&format!(
            "--retry-on says which exits of a command are retried, so this is left out: retry_on {lists}"
        ));
    }
    let left_out = protection(&policy);
    if left_out.is_empty() {
        return Ok(policy);
    }
    if !args.quiet {
        complain(&format!(
            "one run is one call, so this is left out: {left_out}"
        ));
    }
    Ok(for_one_call(policy))
}

fn run(
    args: Args,
    handling: Handling,
    attempts: u32,
    observed: Option<Observed>,
    replay: Option<Arc<Replay>>,
    is_inside: bool,
) -> Run {
    let progress = Progress::new(args.quiet, attempts, &args.command, is_inside);
    Run {
        execution: Execution {
            command: args.command,
            stdin: args.stdin,
            replay,
            handling,
        },
        exit_rules: ExitRules {
            retry_on: args.retry_on,
            stop_on: args.stop_on,
        },
        hooks: Hooks {
            on_retry: args.on_retry,
            on_give_up: args.on_give_up,
            timeout: args.hook_timeout,
        },
        // With `replay` becalm reads the terminal itself.
        foreground: args.stdin != Mode::Replay,
        attempts,
        progress,
        observed,
    }
}

/// The policy without what bounds many calls: a file may be that of a service as well.
fn for_one_call(mut policy: Policy) -> Policy {
    policy.throttle = None;
    policy.rate = None;
    policy.hedge = None;
    policy.bulkhead = None;
    policy.breaker = None;
    policy
}

fn shared_budget(path: &std::path::Path, policy: &Policy) -> Result<BudgetFile, RunError> {
    let (parameters, earner) = match policy.budget {
        Budget::Ratio(parameters) => (parameters, Earner::Successes),
        Budget::FirstTries(parameters) => (parameters, Earner::FirstTries),
        Budget::None => return Err(RunError::NoBudgetToShare),
        other => return Err(RunError::OtherBudget(other.to_string())),
    };
    Ok(BudgetFile::of(path, &parameters, earner))
}

fn retrier(
    policy: Policy,
    seed: Option<u64>,
    budget: Option<Arc<BudgetFile>>,
    observed: Option<Observed>,
) -> Result<Retrier, RunError> {
    let mut builder = policy.builder().sleeper(StdSleeper::new()).name("run");
    if let Some(seed) = seed {
        builder = builder.seed(Seed::fixed(seed));
    }
    if let Some(observed) = observed {
        builder = builder.observer(observed);
    }
    if let Some(budget) = budget {
        builder = builder.retry_budget(budget);
    }
    builder
        .build()
        .map_err(|invalid| RunError::Policy(invalid.to_string()))
}
