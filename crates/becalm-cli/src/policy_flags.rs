//! Which policy do the flags describe? The same flags everywhere.
//!
//! A later source wins over an earlier one, field by field: the defaults, then the preset, then the
//! policy file, then the flags.

mod file;
mod preset_name;

use std::path::PathBuf;
use std::time::Duration;

use becalm::{Backoff, Budget, HintMode, InvalidPolicy, Jitter, Policy, Preset};
use clap::builder::{PossibleValuesParser, TypedValueParser};

pub use preset_name::PresetName;

/// The policy flags of every subcommand (`#[command(flatten)]`).
///
/// A flag that was not given changes nothing: it cannot undo what the file or the preset says.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct PolicyFlags {
    /// Start from the defaults of a well-known system ("becalm presets" lists them)
    #[arg(long, value_name = "NAME", value_parser = PresetName, hide_possible_values = true)]
    #[arg(help_heading = SOURCE)]
    preset: Option<&'static Preset>,

    /// Read the policy from a TOML file, on top of the preset and below the flags
    ///
    /// Its keys are the names of these flags, with "_" for "-"; its key "preset" names what it
    /// starts from. It must be valid by itself.
    #[arg(long = "policy", value_name = "FILE", help_heading = SOURCE)]
    policy_file: Option<PathBuf>,

    /// All attempts of a call, the first included; or "unlimited" [default: 4]
    #[arg(long, value_name = "COUNT", value_parser = attempts, help_heading = LIMITS)]
    attempts: Option<u32>,

    /// The longest time of the whole call, waits included; or "none" [default: none]
    #[arg(long, value_name = "DURATION", value_parser = limit, help_heading = LIMITS)]
    deadline: Option<Limit>,

    /// The longest time of one attempt; or "none" [default: none]
    #[arg(long, value_name = "DURATION", value_parser = limit, help_heading = LIMITS)]
    attempt_timeout: Option<Limit>,

    /// What bounds the retries of all calls together [default: ratio:0.1,burst:10]
    ///
    /// "ratio:0.1" keeps retries to a tenth of first tries; "ratio:0.1,burst:10,floor:1" also
    /// sets how many a full budget allows at once, and how many each second adds. "none" sets no
    /// bound. Other kinds: "tokens:500,cost:14" (AWS), "grpc:10,ratio:0.1",
    /// "window:0.2,ttl:10s,floor:10" (Finagle), "concurrency:0.2,floor:3" (Envoy), "per-minute:60"; several are
    /// joined by "+", as in "ratio:0.1 + per-minute:60".
    #[arg(long, value_name = "BUDGET", help_heading = LIMITS)]
    budget: Option<Budget>,

    /// How many calls may wait at once; or "none" [default: none]
    #[arg(long, value_name = "COUNT", value_parser = count_or_none, help_heading = LIMITS)]
    max_waiting: Option<CountOrNone>,

    /// How the ceiling of the delay grows from retry to retry [default: exponential]
    #[arg(long, value_name = "GROWTH", value_parser = backoff(), help_heading = DELAYS)]
    backoff: Option<Backoff>,

    /// The first ceiling, such as 250ms, 1.5s or 2m [default: 100ms]
    #[arg(long, value_name = "DURATION", value_parser = duration, help_heading = DELAYS)]
    base: Option<Duration>,

    /// The base after a throttled failure; or "none" for the same base [default: none]
    #[arg(long, value_name = "DURATION", value_parser = limit, help_heading = DELAYS)]
    throttled_base: Option<Limit>,

    /// The factor of the exponential growth, from 1 up [default: 2]
    #[arg(long, value_name = "FACTOR", help_heading = DELAYS)]
    multiplier: Option<f64>,

    /// The longest computed delay [default: 20s]
    #[arg(long, value_name = "DURATION", value_parser = duration, help_heading = DELAYS)]
    cap: Option<Duration>,

    /// The shortest computed delay, below the cap [default: 0s]
    #[arg(long, value_name = "DURATION", value_parser = duration, help_heading = DELAYS)]
    floor: Option<Duration>,

    /// How delays are drawn below the ceiling [default: full]
    ///
    /// "none": the ceiling itself. "full": from 0 to the ceiling. "equal": its upper half.
    /// "decorrelated": from the base to three times the last delay. "decorrelated-clamped": the
    /// same, clamped after the draw; for comparison. "proportional:0.25": the ceiling, a quarter
    /// more or less. "additive:1s": up to a second on top.
    #[arg(long, value_name = "JITTER", help_heading = DELAYS)]
    jitter: Option<Jitter>,

    /// What is done with a delay that the server names [default: honor]
    ///
    /// "honor" waits at least that long; "clamp" shortens it to the cap; "ignore" does not look.
    #[arg(long, value_name = "MODE", value_parser = hint(), help_heading = DELAYS)]
    hint: Option<HintMode>,

    /// The longest delay of a server that is waited for; a longer one ends the call [default: 60s]
    #[arg(long, value_name = "DURATION", value_parser = duration, help_heading = DELAYS)]
    max_hint: Option<Duration>,

    /// Makes the delays reproducible
    ///
    /// Without it each run is independent of every other, as it must be in production: processes
    /// that share a seed retry in step.
    #[arg(long, value_name = "NUMBER", help_heading = DELAYS)]
    seed: Option<u64>,
}

const SOURCE: &str = "Policy: where it starts from";
const LIMITS: &str = "Policy: limits";
const DELAYS: &str = "Policy: delays";

impl PolicyFlags {
    /// The policy, validated; the error is one sentence that names the field and the remedy.
    pub fn policy(&self) -> Result<Policy, String> {
        let mut policy = match (&self.policy_file, self.preset) {
            (Some(file), preset) => file::read(file, preset)?,
            (None, Some(preset)) => preset.policy(),
            (None, None) => Policy::default(),
        };
        self.apply(&mut policy);
        match policy.validate() {
            Ok(()) => Ok(policy),
            Err(invalid) => Err(refusal(invalid)),
        }
    }

    /// Whether `--budget` was given: for a command whose one call has little use for a budget that
    /// bounds many.
    pub fn budget_is_given(&self) -> bool {
        self.budget.is_some()
    }

    /// The seed of reproducible delays, if one was given.
    pub fn seed(&self) -> Option<u64> {
        self.seed
    }

    /// The preset that was named on the command line.
    pub fn preset(&self) -> Option<&'static Preset> {
        self.preset
    }

    fn apply(&self, policy: &mut Policy) {
        set(&mut policy.attempts, self.attempts);
        set(&mut policy.deadline, self.deadline.map(|Limit(it)| it));
        set(
            &mut policy.attempt_timeout,
            self.attempt_timeout.map(|Limit(it)| it),
        );
        set(&mut policy.budget, self.budget);
        set(
            &mut policy.max_waiting,
            self.max_waiting.map(|CountOrNone(it)| it),
        );
        set(&mut policy.backoff, self.backoff);
        set(&mut policy.base, self.base);
        set(
            &mut policy.throttled_base,
            self.throttled_base.map(|Limit(it)| it),
        );
        set(&mut policy.multiplier, self.multiplier);
        set(&mut policy.cap, self.cap);
        set(&mut policy.floor, self.floor);
        set(&mut policy.jitter, self.jitter);
        set(&mut policy.hint, self.hint);
        set(&mut policy.max_hint, self.max_hint);
    }
}

fn set<T>(field: &mut T, given: Option<T>) {
    if let Some(value) = given {
        *field = value;
    }
}

/// The library's sentence, with the flag that heals it.
fn refusal(invalid: InvalidPolicy) -> String {
    format!("{invalid} (--{})", invalid.field().replace('_', "-"))
}

/// A duration, or explicitly none: lifts what the file or the preset sets.
#[derive(Debug, Clone, Copy)]
struct Limit(Option<Duration>);

/// A count, or explicitly none: lifts what the file or the preset sets.
#[derive(Debug, Clone, Copy)]
struct CountOrNone(Option<u32>);

fn attempts(text: &str) -> Result<u32, String> {
    if text == "unlimited" {
        return Ok(Policy::UNLIMITED);
    }
    text.parse()
        .map_err(|_| "write a whole number from 1, or \"unlimited\"".to_owned())
}

fn duration(text: &str) -> Result<Duration, becalm::duration::InvalidDuration> {
    becalm::duration::parse(text)
}

fn limit(text: &str) -> Result<Limit, becalm::duration::InvalidDuration> {
    match text {
        "none" => Ok(Limit(None)),
        _ => duration(text).map(|it| Limit(Some(it))),
    }
}

fn count_or_none(text: &str) -> Result<CountOrNone, String> {
    match text {
        "none" => Ok(CountOrNone(None)),
        _ => text
            .parse()
            .map(|count| CountOrNone(Some(count)))
            .map_err(|_| "write a whole number from 1, or \"none\"".to_owned()),
    }
}

fn backoff() -> impl TypedValueParser<Value = Backoff> {
    PossibleValuesParser::new(["exponential", "linear", "fibonacci", "fixed"])
        .try_map(|text| text.parse::<Backoff>())
}

fn hint() -> impl TypedValueParser<Value = HintMode> {
    PossibleValuesParser::new(["honor", "clamp", "ignore"]).try_map(|text| text.parse::<HintMode>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Probe {
        #[command(flatten)]
        flags: PolicyFlags,
    }

    fn policy(arguments: &[&str]) -> Result<Policy, String> {
        let arguments = std::iter::once(&"probe").chain(arguments);
        Probe::try_parse_from(arguments)
            .map_err(|error| error.to_string())?
            .flags
            .policy()
    }

    #[test]
    fn no_flag_is_the_default_policy() {
        assert_eq!(policy(&[]), Ok(Policy::default()));
    }

    #[test]
    fn a_flag_wins_over_the_preset_and_none_lifts_its_limit() {
        let preset = Preset::by_name("aws-standard-2026-11").unwrap().policy();
        let from_preset = |flags: &[&str]| {
            let flags = [&["--preset", "aws-standard-2026-11"], flags].concat();
            policy(&flags)
        };
        assert!(preset.throttled_base.is_some());
        assert_eq!(from_preset(&[]), Ok(preset.clone()));
        assert_eq!(
            from_preset(&["--attempts", "8"]),
            Ok(preset.clone().attempts(8))
        );
        let mut lifted = preset;
        lifted.throttled_base = None;
        assert_eq!(from_preset(&["--throttled-base", "none"]), Ok(lifted));
    }

    #[test]
    fn every_flag_sets_its_field_and_no_other() {
        let by_default = Policy::default;
        let second = Duration::from_secs(1);
        for (arguments, expected) in [
            (["--attempts", "7"], by_default().attempts(7)),
            (
                ["--attempts", "unlimited"],
                by_default().attempts(Policy::UNLIMITED),
            ),
            (["--deadline", "1s"], by_default().deadline(second)),
            (
                ["--attempt-timeout", "1s"],
                by_default().attempt_timeout(second),
            ),
            (["--budget", "none"], by_default().budget(Budget::None)),
            (
                ["--budget", "ratio:0.2,burst:5"],
                by_default().budget(Budget::ratio(0.2).burst(5.0)),
            ),
            (["--max-waiting", "3"], by_default().max_waiting(3)),
            (
                ["--backoff", "fibonacci"],
                by_default().backoff(Backoff::Fibonacci),
            ),
            (["--base", "1s"], by_default().base(second)),
            (
                ["--throttled-base", "1s"],
                by_default().throttled_base(second),
            ),
            (["--multiplier", "1.5"], by_default().multiplier(1.5)),
            (["--cap", "1s"], by_default().cap(second)),
            (["--floor", "1s"], by_default().floor(second)),
            (
                ["--jitter", "proportional:0.25"],
                by_default().jitter(Jitter::Proportional(0.25)),
            ),
            (
                ["--jitter", "additive:1s"],
                by_default().jitter(Jitter::Additive(second)),
            ),
            (["--hint", "clamp"], by_default().hint(HintMode::Clamp)),
            (["--max-hint", "1s"], by_default().max_hint(second)),
            (["--seed", "1"], by_default()),
        ] {
            assert_eq!(policy(&arguments), Ok(expected), "{arguments:?}");
        }
    }

    #[test]
    fn what_cannot_be_kept_is_refused_with_its_flag() {
        for (arguments, flag) in [
            (&["--attempts", "0"][..], "--attempts"),
            (&["--attempts", "many"], "--attempts"),
            (&["--attempts=-1"], "--attempts"),
            (&["--deadline", "0"], "--deadline"),
            (&["--deadline", "soon"], "--deadline"),
            (&["--attempt-timeout", "0"], "--attempt-timeout"),
            (&["--budget", "ratio:0"], "--budget"),
            (&["--budget", "10%"], "--budget"),
            (&["--max-waiting", "0"], "--max-waiting"),
            (&["--max-waiting", "few"], "--max-waiting"),
            (&["--backoff", "cubic"], "--backoff"),
            (&["--base", "90"], "--base"),
            (&["--base", "30s"], "--base"),
            (&["--throttled-base", "x"], "--throttled-base"),
            (&["--multiplier", "0.5"], "--multiplier"),
            (&["--multiplier=-2"], "--multiplier"),
            (&["--multiplier", "nan"], "--multiplier"),
            (&["--multiplier", "two"], "--multiplier"),
            (&["--cap", "0"], "--cap"),
            (&["--cap", "99999999999999999999s"], "--cap"),
            (&["--floor", "20s"], "--floor"),
            (&["--jitter", "half"], "--jitter"),
            (&["--jitter", "proportional:2"], "--jitter"),
            (&["--jitter", "proportional"], "--jitter"),
            (&["--jitter", "additive:21s"], "--jitter"),
            (&["--jitter", "decorrelated", "--base", "0"], "--base"),
            (&["--hint", "obey"], "--hint"),
            (&["--max-hint=-1s"], "--max-hint"),
            (&["--seed=-1"], "--seed"),
            (&["--preset", "grcp"], "did you mean `grpc`"),
            (&["--preset", "x"], "becalm presets"),
            (&["--policy", "/nonexistent"], "--policy"),
        ] {
            let refusal = policy(arguments).expect_err(&format!("{arguments:?} is accepted"));
            assert!(refusal.contains(flag), "{arguments:?}: {refusal}");
        }
    }
}
