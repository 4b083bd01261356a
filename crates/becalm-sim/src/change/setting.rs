//! Which settings of a policy can be changed by name, and how is one set?

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use becalm::budget::Burst;
use becalm::{Budget, Policy, duration};

use super::scale::Scale;

/// A setting of a policy by its name, as the flags of the command line have it.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    name: &'static str,
    scale: Scale,
    set: fn(&mut Policy, &str) -> Result<(), String>,
}

macro_rules! settings {
    ($($name:literal $scale:ident $set:expr;)*) => {
        /// All, in the order in which errors name them.
        const SETTINGS: &[Setting] = &[$(Setting {
            name: $name,
            scale: Scale::$scale,
            set: $set,
        }),*];
    };
}

settings! {
    "attempts" Whole |policy, text| match text {
        "unlimited" => put(&mut policy.attempts, Ok(Policy::UNLIMITED)),
        text => put(&mut policy.attempts, whole(text)),
    };
    "base" Time |policy, text| put(&mut policy.base, time(text));
    "cap" Time |policy, text| put(&mut policy.cap, time(text));
    "floor" Time |policy, text| put(&mut policy.floor, time(text));
    "multiplier" Number |policy, text| put(&mut policy.multiplier, number(text));
    "jitter" Word |policy, text| put(&mut policy.jitter, word(text));
    "backoff" Word |policy, text| put(&mut policy.backoff, word(text));
    "throttled-base" Time |policy, text| put(&mut policy.throttled_base, or_none(text, time));
    "deadline" Time |policy, text| put(&mut policy.deadline, or_none(text, time));
    "attempt-timeout" Time |policy, text| put(&mut policy.attempt_timeout, or_none(text, time));
    "ratio" Number |policy, text| {
        let ratio = number(text)?;
        let set = |budget: &mut becalm::budget::Ratio| budget.ratio = ratio;
        policy.budget = with_ratio(policy.budget, Budget::ratio(ratio), set);
        Ok(())
    };
    "burst" Number |policy, text| {
        let burst = burst(text)?;
        let set = |budget: &mut becalm::budget::Ratio| budget.burst = burst;
        policy.budget = with_ratio(policy.budget, Budget::default().burst(burst), set);
        Ok(())
    };
    "budget" Word |policy, text| put(&mut policy.budget, word(text));
    "when-spent" Word |policy, text| put(&mut policy.when_spent, word(text));
    "max-waiting" Whole |policy, text| put(&mut policy.max_waiting, or_none(text, whole));
    "breaker" Word |policy, text| put(&mut policy.breaker, or_none(text, word));
    "hedge" Word |policy, text| put(&mut policy.hedge, or_none(text, word));
    "bulkhead" Word |policy, text| put(&mut policy.bulkhead, or_none(text, word));
    "throttle" Word |policy, text| put(&mut policy.throttle, or_none(text, word));
    "rate" Word |policy, text| put(&mut policy.rate, or_none(text, word));
    "hint" Word |policy, text| put(&mut policy.hint, word(text));
    "max-hint" Time |policy, text| put(&mut policy.max_hint, time(text));
}

impl Setting {
    /// Finds the setting of this name; `_` is as good as `-`.
    pub fn named(name: &str) -> Option<Self> {
        let name = name.replace('_', "-");
        SETTINGS.iter().copied().find(|it| it.name == name)
    }

    /// The names of all settings.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SETTINGS.iter().map(|it| it.name)
    }

    /// The name of the setting.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Sets it. Whether the policy is valid then is not asked.
    ///
    /// `ratio` and `burst` change the ratio of the budget that the policy has, or give it one in
    /// place of no budget or one of another kind.
    ///
    /// # Errors
    ///
    /// Says what is wrong with the value and what would be right.
    pub fn set(&self, policy: &mut Policy, value: &str) -> Result<(), String> {
        (self.set)(policy, value)
    }

    pub(crate) const fn scale(&self) -> Scale {
        self.scale
    }
}

fn put<T>(field: &mut T, value: Result<T, String>) -> Result<(), String> {
    *field = value?;
    Ok(())
}

fn or_none<T>(text: &str, read: fn(&str) -> Result<T, String>) -> Result<Option<T>, String> {
    match text {
        "none" => Ok(None),
        text => read(text).map(Some),
    }
}

fn time(text: &str) -> Result<Duration, String> {
    duration::parse(text).map_err(|reason| reason.to_string())
}

fn whole(text: &str) -> Result<u32, String> {
    let whole = text.parse().ok().filter(|it| *it > 0);
    whole.ok_or_else(|| "write a whole number from 1 up".into())
}

fn number(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|it: &f64| it.is_finite());
    number.ok_or_else(|| "write a number, such as 0.1".into())
}

/// A number of tokens, or the time that earns them.
fn burst(text: &str) -> Result<Burst, String> {
    let burst = number(text).map(Burst::from);
    burst
        .or_else(|_| time(text).map(Burst::from))
        .map_err(|_| "write a number such as 10, or a duration such as 5s".into())
}

fn word<T: FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|reason: T::Err| reason.to_string())
}

fn with_ratio(mut budget: Budget, or: Budget, set: impl Fn(&mut becalm::budget::Ratio)) -> Budget {
    match budget.ratio_mut() {
        Some(ratio) => {
            set(ratio);
            budget
        }
        None => or,
    }
}
