//! How is a policy written to a file, and read back?
//!
//! In any self-describing format of serde (TOML, JSON, YAML) as a table whose keys are the names
//! of [`Policy`]'s fields; what is written as `kind:first,name:value` may be a table as well. Nothing is lost on the way, and nothing is guessed: an unknown key, a
//! value out of range and a policy that does not [validate](Policy::validate) are refused with a
//! sentence.
//!
//! ```
//! # #[cfg(feature = "serde")] {
//! let text = r#"
//!     preset = "grpc"          # where the other keys start from; otherwise the default policy
//!     base = "250ms"
//!     jitter = "proportional:0.25"
//!     budget = "ratio:0.1,burst:10"
//!     attempts = 5             # or "unlimited"
//!     deadline = "30s"         # or "none"
//! "#;
//! let policy: becalm::Policy = toml::from_str(text)?;
//! assert_eq!(policy.attempts, 5);
//!
//! let slip = toml::from_str::<becalm::Policy>("atempts = 5").unwrap_err();
//! assert!(slip.message().contains("did you mean `attempts`?"));
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod lists;
#[cfg(test)]
mod schema;
mod set;
mod value;
mod write;

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use core::time::Duration;

use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};

use crate::backoff::Backoff;
use crate::breaker::Breaker;
use crate::budget::{Budget, WhenSpent};
use crate::bulkhead::Bulkhead;
use crate::grammar::Given;
use crate::hedge::Hedge;
use crate::hint::HintMode;
use crate::jitter::Jitter;
use crate::policy::{Mode, Policy};
use crate::preset::Preset;
use crate::rate::AdaptiveRate;
use crate::retry_on::RetryOn;
use crate::scope::Nested;
use crate::suggest::remedy;
use crate::throttle::Throttle;
use value::{Attempts, Value, ValueOf};

impl<'de> Deserialize<'de> for Policy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Table)
    }
}

macro_rules! keys {
    ($($key:ident: $value:ty,)*) => {
        const KEYS: &[&str] = &["preset", $(stringify!($key)),*];

        /// What a file says: each key at most once, in any order.
        #[derive(Default)]
        struct Draft {
            preset: Option<&'static Preset>,
            $($key: Option<$value>,)*
        }

        impl Draft {
            /// Takes the value of this key; the error is a sentence.
            fn set(&mut self, key: &str, given: Given) -> Result<(), String> {
                match key {
                    "preset" => set(&mut self.preset, key, given),
                    $(stringify!($key) => set(&mut self.$key, key, given),)*
                    _ => Err(unknown(key)),
                }
            }

            /// Sets one key of a policy; the error is a sentence.
            fn set_in(policy: &mut Policy, key: &str, given: Given) -> Result<(), String> {
                match key {
                    "preset" => *policy = read::<&Preset>(key, given)?.policy(),
                    $(stringify!($key) => policy.$key = read::<$value>(key, given)?.into(),)*
                    _ => return Err(unknown(key)),
                }
                Ok(())
            }

            /// What a file may say of each key.
            #[cfg(test)]
            fn schemas() -> impl Iterator<Item = (&'static str, serde_json::Value)> {
                use schema::Schema;

                let preset = ("preset", <&'static Preset>::schema("preset"));
                let others = [$((stringify!($key), <$value>::schema(stringify!($key)))),*];
                core::iter::once(preset).chain(others)
            }

            /// The preset, or the default policy, with what the other keys say.
            fn policy(self) -> Policy {
                let mut policy = self.preset.map_or_else(Policy::default, Preset::policy);
                $(if let Some(value) = self.$key {
                    policy.$key = value.into();
                })*
                policy
            }

            /// What is written of each key.
            fn written(policy: Policy) -> impl Iterator<Item = (&'static str, Option<Given>)> {
                let keys = [$((stringify!($key), <$value>::from(policy.$key).write())),*];
                keys.into_iter()
            }
        }
    };
}

keys! {
    backoff: Backoff,
    base: Duration,
    throttled_base: Option<Duration>,
    multiplier: f64,
    cap: Duration,
    floor: Duration,
    jitter: Jitter,
    attempts: Attempts,
    deadline: Option<Duration>,
    attempt_timeout: Option<Duration>,
    hint: HintMode,
    max_hint: Duration,
    budget: Budget,
    when_spent: WhenSpent,
    max_waiting: Option<u32>,
    nested: Nested,
    retry_on: Option<Arc<RetryOn>>,
    throttle: Option<Throttle>,
    rate: Option<AdaptiveRate>,
    hedge: Option<Hedge>,
    bulkhead: Option<Bulkhead>,
    breaker: Option<Breaker>,
    mode: Mode,
}

fn set<T: Value>(slot: &mut Option<T>, key: &str, given: Given) -> Result<(), String> {
    if slot.is_some() {
        return Err(format!("key `{key}` is given twice; keep one of them"));
    }
    *slot = Some(read(key, given)?);
    Ok(())
}

fn read<T: Value>(key: &str, given: Given) -> Result<T, String> {
    T::read(given).map_err(|refusal| match refusal.parameter() {
        Some(parameter) => format!("{key}.{parameter}: {refusal}"),
        None => format!("{key}: {refusal}"),
    })
}

fn unknown(key: &str) -> String {
    let all = || format!("the keys are {}", KEYS.join(", "));
    let remedy = remedy(key, KEYS.iter().copied(), all);
    format!("unknown key `{key}`; {remedy}")
}

struct Table;

impl<'de> Visitor<'de> for Table {
    type Value = Policy;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of policy keys, such as attempts = 4")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<Policy, A::Error> {
        let mut draft = Draft::default();
        while let Some(key) = table.next_key::<String>()? {
            // Before the value, which of an unknown key may be anything.
            if !KEYS.contains(&key.as_str()) {
                return Err(de::Error::custom(unknown(&key)));
            }
            let given = table.next_value_seed(ValueOf(&key))?;
            draft.set(&key, given).map_err(de::Error::custom)?;
        }
        let policy = draft.policy();
        policy.validate().map_err(de::Error::custom)?;
        Ok(policy)
    }
}
