//! Which policy do the flags describe? The same flags everywhere.
//!
//! A later source wins over an earlier one, field by field: the defaults, then the preset, then the
//! policy file, then the flags.

mod file;
mod told_default;
mod unused;
mod values;

use std::path::PathBuf;
use std::time::Duration;

use becalm::{
    Backoff, Breaker, Budget, Bulkhead, Hedge, Jitter, Policy, Throttle,
    budget::WhenSpent,
    hint::HintMode,
    policy::{InvalidPolicy, Mode},
    preset::Preset,
    rate::AdaptiveRate,
};

pub use told_default::told_default;
use values::{
    OrNone, attempts, backoff, count_or_none, duration, duration_or_none, factor, hint, mode,
    or_none, when_spent,
};
pub use values::{preset, seed};

/// The policy flags of every subcommand (`#[command(flatten)]`).
///
/// A flag that was not given changes nothing: it cannot undo what the file or the preset says.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct PolicyFlags {
    /// Start from the defaults of a well-known system ("becalm presets" lists them)
    #[arg(long, value_name = "NAME", value_parser = preset(), hide_possible_values = true)]
    #[arg(help_heading = SOURCE)]
    preset: Option<&'static Preset>,

    /// Read the policy from a TOML file, on top of the preset and below the flags
    ///
    /// Its keys are the names of these flags, with "_" for "-"; its key "preset" names what it
    /// starts from. It must be valid by itself.
    #[arg(long = "policy", value_name = "FILE", help_heading = SOURCE)]
    policy_file: Option<PathBuf>,

    /// Whether calls are repeated and refused, or only told what would be done [default: enforce]
    ///
    /// "observe": each call runs once. A run prints what enforcing would have done.
    #[arg(long, value_name = "MODE", value_parser = mode(), help_heading = LIMITS)]
    mode: Option<Mode>,

    /// All attempts of a call, the first included; or "unlimited" [default: 4]
    #[arg(long, value_name = "COUNT", value_parser = attempts, help_heading = LIMITS)]
    attempts: Option<u32>,

    /// The longest time of the whole call, waits included; or "none" [default: none]
    #[arg(long, value_name = "DURATION", value_parser = duration_or_none, help_heading = LIMITS)]
    deadline: Option<OrNone<Duration>>,

    /// The longest time of one attempt; or "none" [default: none]
    #[arg(long, value_name = "DURATION", value_parser = duration_or_none, help_heading = LIMITS)]
    attempt_timeout: Option<OrNone<Duration>>,

    /// What bounds the retries of all calls together [default: ratio:0.1,burst:5s,min:10,floor:10/h]
    ///
    /// "ratio:0.1" keeps retries to a tenth of the calls that succeed. "ratio:0.1,burst:10,floor:10/h"
    /// also sets how many a full budget allows at once, and how many each hour adds ("/m" for each
    /// minute; a number alone for each second). "burst:5s,min:10" allows at once what the successes of
    /// 5 s earn, and at least 10. "first-tries:0.1" keeps them to a tenth of first tries.
    /// "tokens:500,cost:14,throttled:5,refund:last,clean:1": the quota of the AWS SDKs.
    /// "grpc:10,ratio:0.1": gRPC's. "window:0.2,ttl:10s,floor:10": Finagle's.
    /// "concurrency:0.2,floor:3": Envoy's. "per-minute:60": at most 60 in any minute. "+" joins
    /// two, which then both must agree: "ratio:0.1 + per-minute:60". "none" sets no bound.
    #[arg(long, value_name = "BUDGET", help_heading = LIMITS)]
    budget: Option<Budget>,

    /// What a call does that finds no token in the budget [default: stop]
    ///
    /// "stop": it gives up at once. "wait": it asks again, without an attempt, until there is a token or the deadline
    /// leaves no time; it needs --deadline. For background work.
    #[arg(long, value_name = "WHAT", value_parser = when_spent(), help_heading = LIMITS)]
    when_spent: Option<WhenSpent>,

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

    /// The policy of calls that are really made or simulated to see what it does: one that only observes is
    /// refused.
    pub fn enforced(&self) -> Result<Policy, String> {
        let policy = self.policy()?;
        match policy.mode {
            Mode::Enforce => Ok(policy),
            _ => Err(refusal(InvalidPolicy::Observes)),
        }
    }

    /// The policy of a command that has a default of its own: the flags start from it if they name
    /// neither a preset nor a file.
    pub fn policy_from(&self, by_default: Policy) -> Result<Policy, String> {
        self.with_preset_from(by_default).map(|(policy, _)| policy)
    }

    /// The policy, and the preset from which it starts, named by a flag or in the file.
    pub fn with_preset(&self) -> Result<(Policy, Option<&'static Preset>), String> {
        self.with_preset_from(Policy::default())
    }

    fn with_preset_from(
        &self,
        by_default: Policy,
    ) -> Result<(Policy, Option<&'static Preset>), String> {
        let (mut policy, preset) = match (&self.policy_file, self.preset) {
            (Some(file), preset) => file::read(file, preset)?,
            (None, Some(preset)) => (preset.policy(), Some(preset)),
            (None, None) => (by_default, None),
        };
        self.apply(&mut policy);
        policy.validate().map_err(refusal)?;
        match unused::unused(&policy, |field| self.is_given(field)) {
            Some(unused) => Err(unused.flag()),
            None => Ok((policy, preset)),
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

    /// Whether `--when-spent wait` was given.
    pub fn waits_for_tokens(&self) -> bool {
        self.when_spent == Some(WhenSpent::Wait)
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

    fn apply(&self, policy: &mut Policy) {
        set(&mut policy.mode, self.mode);
        set(&mut policy.attempts, self.attempts);
        set_or_none(&mut policy.deadline, self.deadline);
        set_or_none(&mut policy.attempt_timeout, self.attempt_timeout);
        set(&mut policy.budget, self.budget);
        set(&mut policy.when_spent, self.when_spent);
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
mod tests;
