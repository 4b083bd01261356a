//! Which policy do the flags describe? The same flags everywhere.
//!
//! A later source wins over an earlier one, field by field: the defaults, then the preset, then the
//! policy file, then the flags.

mod file;
mod preset_name;
mod told_default;
mod unused;
mod values;

use std::path::PathBuf;
use std::time::Duration;

use becalm::{
    Backoff, Breaker, Budget, Bulkhead, Hedge, Jitter, Policy, Throttle, hint::HintMode,
    policy::InvalidPolicy, preset::Preset, rate::AdaptiveRate,
};

pub use preset_name::PresetName;
pub use told_default::told_default;
pub use values::seed;
use values::{
    OrNone, attempts, backoff, count_or_none, duration, duration_or_none, factor, hint, or_none,
};

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
    #[arg(long, value_name = "DURATION", value_parser = duration_or_none, help_heading = LIMITS)]
    deadline: Option<OrNone<Duration>>,

    /// The longest time of one attempt; or "none" [default: none]
    #[arg(long, value_name = "DURATION", value_parser = duration_or_none, help_heading = LIMITS)]
    attempt_timeout: Option<OrNone<Duration>>,

    /// What bounds the retries of all calls together [default: ratio:0.1,burst:10,floor:10/h]
    ///
    /// "ratio:0.1" keeps retries to a tenth of the calls that succeed. "ratio:0.1,burst:10,floor:10/h"
    /// also sets how many a full budget allows at once, and how many each hour adds ("/m" for each
    /// minute; a number alone for each second). "first-tries:0.1" keeps them to a tenth of first tries.
    /// "tokens:500,cost:14,throttled:5,refund:last,clean:1": the quota of the AWS SDKs.
    /// "grpc:10,ratio:0.1": gRPC's. "window:0.2,ttl:10s,floor:10": Finagle's.
    /// "concurrency:0.2,floor:3": Envoy's. "per-minute:60": at most 60 in any minute. "+" joins
    /// two, which then both must agree: "ratio:0.1 + per-minute:60". "none" sets no bound.
    #[arg(long, value_name = "BUDGET", help_heading = LIMITS)]
    budget: Option<Budget>,

    /// How many calls may wait at once; or "none" [default: none]
    #[arg(long, value_name = "COUNT", value_parser = count_or_none, help_heading = LIMITS)]
    max_waiting: Option<OrNone<u32>>,

    /// When calls stop because the dependency is down; or "none" [default: none]
    ///
    /// "consecutive:5,open:30s": after 5 failures in a row, for up to 30 s.
    /// "share:0.5,within:10s,min:20": when half of at least 20 calls of the last 10 s have failed;
    /// "calls:100" in place of "within:10s" looks at the last 100. Also "slow:1s" (counts as a
    /// failure), "open-max:2m", "jitter:0.5", "probes:1", "successes:2", and "refuses:retries" (first tries
    /// pass while it is open).
    #[arg(long, value_name = "BREAKER", value_parser = or_none::<Breaker>, help_heading = PROTECTION)]
    breaker: Option<OrNone<Breaker>>,

    /// When a second copy is sent beside a slow attempt; or "none" [default: none]
    ///
    /// "after:50ms": after a fixed time. "p95": when the attempt takes longer than 95 of 100 do just
    /// now. Also "copies:2" and, with a quantile, "min:10ms", "max:2s", "samples:100", "window:30s".
    #[arg(long, value_name = "HEDGE", value_parser = or_none::<Hedge>, help_heading = PROTECTION)]
    hedge: Option<OrNone<Hedge>>,

    /// How many attempts may be running at once; or "none" [default: none]
    ///
    /// "calls:50,waiting:10": 50, and 10 that wait for a place; also "max-wait:1s", "order:lifo".
    /// "gradient:20,min:1,max:200" and "aimd:20,min:1,max:200" find the number themselves: the first
    /// from latency, the second from failures.
    #[arg(long, value_name = "BULKHEAD", value_parser = or_none::<Bulkhead>,
          help_heading = PROTECTION)]
    bulkhead: Option<OrNone<Bulkhead>>,

    /// How many first tries are sent for each that is accepted; or "none" [default: none]
    ///
    /// "accepts:2,within:2m": twice as many as were accepted in the last 2 minutes; also
    /// "max:0.9", the largest share that is shed.
    #[arg(long, value_name = "THROTTLE", value_parser = or_none::<Throttle>,
          help_heading = PROTECTION)]
    throttle: Option<OrNone<Throttle>>,

    /// How attempts keep to the rate that a throttling server leaves; or "none" [default: none]
    ///
    /// "cubic" does as the AWS SDKs' adaptive mode. "cubic,max-wait:5s" refuses a call that would have
    /// to wait longer.
    #[arg(long, value_name = "RATE", value_parser = or_none::<AdaptiveRate>,
          help_heading = PROTECTION)]
    rate: Option<OrNone<AdaptiveRate>>,

    /// How the ceiling of the delay grows from retry to retry [default: exponential]
    #[arg(long, value_name = "GROWTH", value_parser = backoff(), help_heading = DELAYS)]
    backoff: Option<Backoff>,

    /// The first ceiling, such as 250ms, 1.5s or 2m [default: 100ms]
    #[arg(long, value_name = "DURATION", value_parser = duration, help_heading = DELAYS)]
    base: Option<Duration>,

    /// The base after a throttled failure; or "none" for the same base [default: none]
    #[arg(long, value_name = "DURATION", value_parser = duration_or_none, help_heading = DELAYS)]
    throttled_base: Option<OrNone<Duration>>,

    /// The factor of the exponential growth, from 1 up [default: 2]
    #[arg(long, value_name = "FACTOR", value_parser = factor, help_heading = DELAYS)]
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
    /// "decorrelated": from the base to three times the last delay. "decorrelated-clamped": as
    /// before, but clamped after the draw; for comparison. "proportional:0.25": the ceiling, a
    /// quarter more or less. "additive:1s": up to a second on top.
    #[arg(long, value_name = "JITTER", help_heading = DELAYS)]
    jitter: Option<Jitter>,

    /// What is done with a delay that the server names [default: honor]
    ///
    /// "honor" waits at least that long; "clamp" shortens it to the cap; "ignore" pays no attention.
    #[arg(long, value_name = "MODE", value_parser = hint(), help_heading = DELAYS)]
    hint: Option<HintMode>,

    /// The longest delay that a server may ask for; a longer one ends the call [default: 60s]
    #[arg(long, value_name = "DURATION", value_parser = duration, help_heading = DELAYS)]
    max_hint: Option<Duration>,

    /// Makes the delays reproducible
    ///
    /// Without it each run draws its own delays, as it must in production: processes that share a
    /// seed retry in step.
    #[arg(long, value_name = "NUMBER", value_parser = seed, help_heading = DELAYS)]
    seed: Option<u64>,
}

const SOURCE: &str = "Policy: where it starts from";
const LIMITS: &str = "Policy: limits";
const PROTECTION: &str = "Policy: protection of what is called";
const DELAYS: &str = "Policy: delays";

impl PolicyFlags {
    /// The policy, validated; the error is one sentence that names the field and the remedy.
    pub fn policy(&self) -> Result<Policy, String> {
        self.policy_from(Policy::default())
    }

    /// The policy of a command that has a default of its own: the flags start from it if they name
    /// neither a preset nor a file.
    pub fn policy_from(&self, by_default: Policy) -> Result<Policy, String> {
        let mut policy = match (&self.policy_file, self.preset) {
            (Some(file), preset) => file::read(file, preset)?,
            (None, Some(preset)) => preset.policy(),
            (None, None) => by_default,
        };
        self.apply(&mut policy);
        policy.validate().map_err(refusal)?;
        match unused::unused(&policy, |field| self.is_given(field)) {
            Some(unused) => Err(unused.flag()),
            None => Ok(policy),
        }
    }

    /// Whether the flag of a field was given that may have no effect.
    fn is_given(&self, field: &str) -> bool {
        match field {
            "backoff" => self.backoff.is_some(),
            "multiplier" => self.multiplier.is_some(),
            _ => self.max_hint.is_some(),
        }
    }

    /// As if only this policy file were given.
    pub fn of_file(file: PathBuf) -> Self {
        Self {
            policy_file: Some(file),
            ..Self::default()
        }
    }

    /// Whether `--budget` was given: for a command whose one call has little use for a budget that
    /// bounds many.
    pub fn budget_is_given(&self) -> bool {
        self.budget.is_some()
    }

    /// The flag of a protection that was given and is none of the budgets: for a command whose one
    /// call has no use for what protects from many.
    #[cfg_attr(not(unix), expect(dead_code, reason = "for a run"))]
    pub fn protection_given(&self) -> Option<&'static str> {
        fn given<T>(flag: &'static str, value: Option<OrNone<T>>) -> Option<&'static str> {
            value.and_then(|OrNone(value)| value).map(|_| flag)
        }
        given("--breaker", self.breaker)
            .or_else(|| given("--hedge", self.hedge))
            .or_else(|| given("--bulkhead", self.bulkhead))
            .or_else(|| given("--throttle", self.throttle))
            .or_else(|| given("--rate", self.rate))
            .or_else(|| given("--max-waiting", self.max_waiting))
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
        set_or_none(&mut policy.deadline, self.deadline);
        set_or_none(&mut policy.attempt_timeout, self.attempt_timeout);
        set(&mut policy.budget, self.budget);
        set_or_none(&mut policy.max_waiting, self.max_waiting);
        set_or_none(&mut policy.breaker, self.breaker);
        set_or_none(&mut policy.hedge, self.hedge);
        set_or_none(&mut policy.bulkhead, self.bulkhead);
        set_or_none(&mut policy.throttle, self.throttle);
        set_or_none(&mut policy.rate, self.rate);
        set(&mut policy.backoff, self.backoff.clone());
        set(&mut policy.base, self.base);
        set_or_none(&mut policy.throttled_base, self.throttled_base);
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

fn set_or_none<T>(field: &mut Option<T>, given: Option<OrNone<T>>) {
    set(field, given.map(|OrNone(value)| value));
}

/// The library's sentence, with the flag that heals it.
fn refusal(invalid: InvalidPolicy) -> String {
    format!("{invalid} (--{})", invalid.field().replace('_', "-"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{CommandFactory as _, Parser};

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
    fn the_help_explains_every_jitter() {
        let command = Probe::command();
        let mut all = command.get_arguments();
        let jitter = all.find(|it| it.get_long() == Some("jitter")).unwrap();
        let help = jitter.get_long_help().unwrap().to_string();
        for text in Jitter::SAMPLES.iter().map(Jitter::to_string) {
            let quoted = match text.split_once(':') {
                Some((kind, _)) => format!("\"{kind}:"),
                None => format!("\"{text}\""),
            };
            assert!(help.contains(&quoted), "{text}");
        }
    }

    #[test]
    fn another_default_gives_way_to_a_preset_and_to_no_other_flag() {
        let by_default = Policy::default().attempts(9);
        let given = |arguments: &[&str]| {
            let arguments = std::iter::once(&"probe").chain(arguments);
            let flags = Probe::try_parse_from(arguments).unwrap().flags;
            flags.policy_from(by_default.clone()).unwrap()
        };
        assert_eq!(given(&[]), by_default);
        let base = Duration::from_millis(7);
        assert_eq!(given(&["--base", "7ms"]), by_default.clone().base(base));
        let grpc = Preset::by_name("grpc").unwrap().policy();
        assert_eq!(given(&["--preset", "grpc"]), grpc);
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
    fn none_lifts_what_the_file_protects() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("policy.toml");
        let text = "breaker = \"consecutive:5\"\nhedge = \"p95\"\nbulkhead = \"calls:5\"\n\
                    throttle = \"accepts:2\"\nrate = \"cubic\"";
        std::fs::write(&file, text).unwrap();
        let file = file.to_str().unwrap();
        let flags =
            ["breaker", "hedge", "bulkhead", "throttle", "rate"].map(|it| format!("--{it}=none"));
        let mut arguments = vec!["--policy", file];
        let protected = policy(&arguments).unwrap();
        assert!(protected.breaker.is_some() && protected.rate.is_some());
        arguments.extend(flags.iter().map(String::as_str));
        assert_eq!(policy(&arguments), Ok(Policy::default()));
    }

    #[test]
    fn every_flag_sets_its_field_and_no_other() {
        let by_default = Policy::default;
        let second = Duration::from_secs(1);
        for (arguments, expected) in vec![
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
            (
                ["--budget", "ratio:0.2+per-minute:60"],
                by_default().budget(Budget::ratio(0.2).and(Budget::per_minute(60))),
            ),
            (
                ["--budget", "tokens:500"],
                by_default().budget(Budget::tokens()),
            ),
            (["--max-waiting", "3"], by_default().max_waiting(3)),
            (
                ["--breaker", "consecutive:5,open:30s"],
                by_default().breaker(Breaker::consecutive(5).open(Duration::from_secs(30))),
            ),
            (
                ["--hedge", "p95"],
                by_default().hedge(Hedge::at_quantile(0.95)),
            ),
            (
                ["--bulkhead", "calls:50,waiting:10"],
                by_default().bulkhead(Bulkhead::calls(50).waiting(10)),
            ),
            (
                ["--throttle", "accepts:2,within:2m"],
                by_default().throttle(Throttle::default()),
            ),
            (
                ["--rate", "cubic"],
                by_default().rate(AdaptiveRate::cubic()),
            ),
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

    /// Each section of the page has the same policy as flags and as a file.
    #[test]
    fn the_flags_of_the_page_which_protection_when_are_its_files() {
        // Read when the test runs: no page is in the package.
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../docs/which-protection.md"
        );
        let page = std::fs::read_to_string(path).unwrap();
        let sections = page.split("\n## ").skip(1);
        let mut compared = 0;
        for section in sections {
            let block = |start: &str| Some(section.split_once(start)?.1.split_once("\n```")?.0);
            let (Some(file), Some(line)) = (block("```toml\n"), block("$ becalm plan")) else {
                continue;
            };
            let flags = line.split('#').next().unwrap_or_default();
            let flags: Vec<_> = flags.split_whitespace().collect();
            let file: Policy = toml::from_str(file).unwrap();
            assert_eq!(policy(&flags), Ok(file), "{line}");
            compared += 1;
        }
        assert_eq!(compared, 12, "sections with a file and flags");
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
            (&["--budget", "ratio:0.1+ratio:0.2"], "--budget"),
            (&["--budget", "tokens:0"], "--budget"),
            (&["--breaker", "consecutive:0"], "--breaker"),
            (&["--breaker", "sometimes"], "--breaker"),
            (&["--hedge", "p100"], "--hedge"),
            (&["--hedge", "50ms"], "--hedge"),
            (&["--bulkhead", "calls:0"], "--bulkhead"),
            (&["--bulkhead", "50"], "--bulkhead"),
            (&["--throttle", "accepts:0.5"], "--throttle"),
            (&["--rate", "reno"], "--rate"),
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
