//! What does a run do that nobody gave a policy? What the library's preset for commands says.

use becalm::policy::Unreadable;
use becalm::preset::Preset;
use becalm::support::Human;
use becalm::{Budget, Policy};
use clap::Arg;

use crate::policy_flags::{PolicyFlags, told_default};

/// The preset from which a run starts.
const PRESET: &str = "command";

/// The policy of a run; the error is one sentence.
///
/// A run is one call. A budget of its own would grant it no more than the burst, however many attempts
/// were asked for; it bounds something once many runs share it. Those that do have the library's, unless
/// a flag, a preset or a file gives them another.
pub fn policy(flags: &PolicyFlags, is_shared: bool) -> Result<Policy, String> {
    let by_default = by_default().map_err(|unreadable| unreadable.to_string())?;
    let mut policy = flags.policy_from(by_default)?;
    if !flags.budget_is_given() {
        policy.budget = match policy.budget {
            _ if !is_shared => Budget::None,
            Budget::None => Policy::default().budget,
            own => own,
        };
    }
    if policy.budget == Budget::None && flags.waits_for_tokens() {
        return Err(NO_TOKENS.into());
    }
    Ok(policy)
}

const NO_TOKENS: &str = "--when-spent wait has no effect: a run has no budget of its own; leave it out, or add --budget-file";

fn by_default() -> Result<Policy, Unreadable> {
    Preset::by_name(PRESET).map(Preset::policy)
}

/// The flag, with the default that it has here.
pub fn told(flag: Arg) -> Arg {
    let default: fn(&Policy) -> String = match flag.get_id().as_str() {
        "attempts" => |it| it.attempts.to_string(),
        "base" => |it| Human(it.base).to_string(),
        "cap" => |it| Human(it.cap).to_string(),
        "jitter" => |it| it.jitter.to_string(),
        "budget" => |it| {
            let shared = Policy::default().budget;
            format!("{}; with --budget-file {shared}", it.budget)
        },
        // These bound many calls, and a run is one: it refuses them.
        "breaker" | "hedge" | "bulkhead" | "throttle" | "rate" | "max_waiting" => {
            return flag.hide(true);
        }
        _ => return flag,
    };
    match by_default() {
        Ok(policy) => told_default(flag, Some(&default(&policy))),
        Err(_) => flag,
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, Command, FromArgMatches as _};

    use super::*;
    use crate::run::Args;

    /// What another preset than the default sets, its flag must tell: here, flag by flag.
    #[test]
    fn r14_the_help_names_the_defaults_of_commands() {
        let (mut ours, library) = (by_default().unwrap(), Policy::default());
        let command = Args::augment_args(Command::new("run")).mut_args(told);
        let told = |id: &str| {
            let flag = command
                .get_arguments()
                .find(|it| it.get_id() == id)
                .unwrap();
            let help = flag.get_help().unwrap().to_string();
            help.split_once("[default: ").unwrap().1.replace(']', "")
        };
        assert_eq!(told("attempts"), ours.attempts.to_string());
        assert_eq!(told("base"), Human(ours.base).to_string());
        assert_eq!(told("cap"), Human(ours.cap).to_string());
        assert_eq!(told("jitter"), ours.jitter.to_string());
        assert!(told("budget").starts_with("none; "));
        assert_eq!(told("multiplier"), library.multiplier.to_string());
        (ours.attempts, ours.base, ours.cap) = (library.attempts, library.base, library.cap);
        (ours.jitter, ours.budget) = (library.jitter, library.budget);
        assert_eq!(ours, library, "the help of every other flag tells this");
    }

    #[test]
    fn a_run_waits_for_tokens_of_a_budget_alone_and_within_a_deadline() {
        let waits = |more: &[&str], is_shared| {
            let command = Args::augment_args(Command::new("run").no_binary_name(true));
            let given = ["--when-spent", "wait"]
                .iter()
                .chain(more)
                .chain(&["--", "true"]);
            let matches = command.try_get_matches_from(given).unwrap();
            let args = Args::from_arg_matches(&matches).unwrap();
            policy(&args.policy, is_shared)
        };
        assert_eq!(waits(&["--deadline", "9s"], false), Err(NO_TOKENS.into()));
        assert!(waits(&["--deadline", "9s"], true).is_ok());
        assert!(waits(&["--deadline", "9s", "--budget", "per-minute:9"], false).is_ok());
        let without = waits(&[], true).unwrap_err();
        assert!(without.contains("set a deadline"), "{without}");
    }

    #[test]
    fn r14_runs_that_share_a_budget_have_the_librarys_and_a_single_one_has_none() {
        let flags = PolicyFlags::default();
        let mut command = Preset::by_name("command").unwrap().policy();
        assert_eq!(policy(&flags, false), Ok(command.clone()));
        assert_eq!(command.budget, Budget::None);
        command.budget = Policy::default().budget;
        assert_eq!(policy(&flags, true), Ok(command));
    }
}
