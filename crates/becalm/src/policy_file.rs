//! How is a policy written to a file, and read back?
//!
//! In any self-describing format of serde (TOML, JSON, YAML) as a table whose keys are the names
//! of [`Policy`]'s fields. Nothing is lost on the way, and nothing is guessed: an unknown key, a
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

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;
use core::time::Duration;

use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde::ser::{Error as _, Serialize, SerializeStruct, Serializer};

use crate::backoff::Backoff;
use crate::breaker::Breaker;
use crate::budget::Budget;
use crate::bulkhead::Bulkhead;
use crate::duration::{self, Human, nanos};
use crate::hedge::Hedge;
use crate::hint::HintMode;
use crate::jitter::Jitter;
use crate::policy::Policy;
use crate::preset::Preset;
use crate::rate::AdaptiveRate;
use crate::scope::Nested;
use crate::suggest;
use crate::throttle::Throttle;

/// A policy that would be refused on reading is not written: one that does not validate, and one
/// with a custom backoff.
impl Serialize for Policy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.validate().map_err(S::Error::custom)?;
        if matches!(self.backoff, Backoff::Custom(_)) {
            return Err(S::Error::custom(
                "a custom backoff is code and cannot be written; use fixed, linear, exponential \
                 or fibonacci",
            ));
        }
        let mut table = serializer.serialize_struct("Policy", KEYS.len())?;
        table.serialize_field("backoff", &self.backoff.to_string())?;
        table.serialize_field("base", &text(self.base))?;
        serialize_option(&mut table, "throttled_base", self.throttled_base.map(text))?;
        table.serialize_field("multiplier", &self.multiplier)?;
        table.serialize_field("cap", &text(self.cap))?;
        table.serialize_field("floor", &text(self.floor))?;
        table.serialize_field("jitter", &self.jitter.to_string())?;
        match self.attempts {
            Policy::UNLIMITED => table.serialize_field("attempts", UNLIMITED)?,
            attempts => table.serialize_field("attempts", &attempts)?,
        }
        serialize_option(&mut table, "deadline", self.deadline.map(text))?;
        serialize_option(
            &mut table,
            "attempt_timeout",
            self.attempt_timeout.map(text),
        )?;
        table.serialize_field("hint", &self.hint.to_string())?;
        table.serialize_field("max_hint", &text(self.max_hint))?;
        table.serialize_field("budget", &self.budget.to_string())?;
        serialize_option(&mut table, "max_waiting", self.max_waiting)?;
        table.serialize_field("nested", &self.nested.to_string())?;
        serialize_option(&mut table, "throttle", self.throttle.map(shown))?;
        serialize_option(&mut table, "rate", self.rate.map(shown))?;
        serialize_option(&mut table, "hedge", self.hedge.map(shown))?;
        serialize_option(&mut table, "bulkhead", self.bulkhead.map(shown))?;
        serialize_option(&mut table, "breaker", self.breaker.map(shown))?;
        table.end()
    }
}

impl<'de> Deserialize<'de> for Policy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Table)
    }
}

/// `attempts` without a bound.
const UNLIMITED: &str = "unlimited";
/// A key that is switched off although the preset has it.
const NONE: &str = "none";

/// A duration as it counts: beyond 584 years a decision cannot tell the difference.
fn text(duration: Duration) -> String {
    Human(Duration::from_nanos(nanos(duration))).to_string()
}

fn shown(value: impl fmt::Display) -> String {
    value.to_string()
}

fn serialize_option<T: SerializeStruct>(
    table: &mut T,
    key: &'static str,
    value: Option<impl Serialize>,
) -> Result<(), T::Error> {
    match value {
        Some(value) => table.serialize_field(key, &value),
        None => table.skip_field(key),
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
            fn set(&mut self, key: &str, raw: Raw) -> Result<(), String> {
                match key {
                    "preset" => set(&mut self.preset, key, raw),
                    $(stringify!($key) => set(&mut self.$key, key, raw),)*
                    _ => Err(unknown(key)),
                }
            }

            /// The preset, or the default policy, with what the other keys say.
            fn policy(self) -> Policy {
                let mut policy = self.preset.map_or_else(Policy::default, Preset::policy);
                $(if let Some(value) = self.$key {
                    policy.$key = value.into();
                })*
                policy
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
    max_waiting: Option<u32>,
    nested: Nested,
    throttle: Option<Throttle>,
    rate: Option<AdaptiveRate>,
    hedge: Option<Hedge>,
    bulkhead: Option<Bulkhead>,
    breaker: Option<Breaker>,
}

fn set<T: Value>(slot: &mut Option<T>, key: &str, raw: Raw) -> Result<(), String> {
    if slot.is_some() {
        return Err(format!("key `{key}` is given twice; keep one of them"));
    }
    *slot = Some(T::read(raw).map_err(|reason| format!("{key}: {reason}"))?);
    Ok(())
}

fn unknown(key: &str) -> String {
    match suggest::nearest(key, KEYS.iter().copied()) {
        Some(nearest) => format!("unknown key `{key}`; did you mean `{nearest}`?"),
        None => format!("unknown key `{key}`; the keys are {}", KEYS.join(", ")),
    }
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
            let raw = table.next_value_seed(RawOf(&key))?;
            draft.set(&key, raw).map_err(de::Error::custom)?;
        }
        let policy = draft.policy();
        policy.validate().map_err(de::Error::custom)?;
        Ok(policy)
    }
}

/// A value as the format has it.
enum Raw {
    Text(String),
    Whole(u64),
    Number(f64),
}

/// Reads the raw value of this key.
struct RawOf<'a>(&'a str);

impl<'de> DeserializeSeed<'de> for RawOf<'_> {
    type Value = Raw;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for RawOf<'_> {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a text or a number for `{}`", self.0)
    }

    fn visit_str<E>(self, text: &str) -> Result<Raw, E> {
        Ok(Raw::Text(text.to_owned()))
    }

    fn visit_u64<E>(self, whole: u64) -> Result<Raw, E> {
        Ok(Raw::Whole(whole))
    }

    fn visit_i64<E>(self, whole: i64) -> Result<Raw, E> {
        #[expect(clippy::cast_precision_loss)] // below zero, where every key refuses it
        Ok(u64::try_from(whole).map_or(Raw::Number(whole as f64), Raw::Whole))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Raw, E> {
        Ok(Raw::Number(number))
    }
}

/// A value as the policy has it. The error says what to write instead.
trait Value: Sized {
    fn read(raw: Raw) -> Result<Self, String>;
}

impl Value for Duration {
    fn read(raw: Raw) -> Result<Self, String> {
        match raw {
            Raw::Text(text) => duration::parse(&text).map_err(|reason| reason.to_string()),
            _ => Err("write a duration in quotes, such as \"250ms\"".into()),
        }
    }
}

impl Value for Option<Duration> {
    fn read(raw: Raw) -> Result<Self, String> {
        match raw {
            Raw::Text(text) if text == NONE => Ok(None),
            raw => Duration::read(raw).map(Some),
        }
    }
}

impl Value for f64 {
    fn read(raw: Raw) -> Result<Self, String> {
        match raw {
            #[expect(clippy::cast_precision_loss)] // a multiplier beyond 2^53 passes any cap
            Raw::Whole(whole) => Ok(whole as f64),
            Raw::Number(number) => Ok(number),
            Raw::Text(_) => Err("write a number without quotes, such as 2.0".into()),
        }
    }
}

/// A number of attempts, or none.
struct Attempts(u32);

impl From<Attempts> for u32 {
    fn from(Attempts(attempts): Attempts) -> Self {
        attempts
    }
}

impl Value for Attempts {
    fn read(raw: Raw) -> Result<Self, String> {
        let attempts = match raw {
            Raw::Text(text) if text == UNLIMITED => Some(Policy::UNLIMITED),
            Raw::Whole(whole) => u32::try_from(whole).ok(),
            _ => None,
        };
        attempts
            .map(Self)
            .ok_or_else(|| "write a whole number from 1 to 4294967294, or \"unlimited\"".into())
    }
}

impl Value for Option<u32> {
    fn read(raw: Raw) -> Result<Self, String> {
        match raw {
            Raw::Text(text) if text == NONE => Ok(None),
            Raw::Whole(whole) if u32::try_from(whole).is_ok() => Ok(u32::try_from(whole).ok()),
            _ => Err("write a whole number from 1 to 4294967295, or \"none\"".into()),
        }
    }
}

impl Value for &'static Preset {
    fn read(raw: Raw) -> Result<Self, String> {
        match raw {
            Raw::Text(name) => Preset::by_name(&name).map_err(|reason| reason.to_string()),
            _ => Err("write a name in quotes, such as \"grpc\"".into()),
        }
    }
}

macro_rules! read_as_text {
    ($($type:ty: $example:literal,)*) => {$(
        impl Value for $type {
            fn read(raw: Raw) -> Result<Self, String> {
                match raw {
                    Raw::Text(text) => text.parse::<Self>().map_err(|reason| reason.to_string()),
                    _ => Err(concat!("write it in quotes, such as \"", $example, "\"").into()),
                }
            }
        }
    )*};
}

read_as_text! {
    Backoff: "exponential",
    Jitter: "proportional:0.25",
    HintMode: "honor",
    Budget: "ratio:0.1,burst:10",
    Nested: "nearest",
}

macro_rules! read_as_text_or_none {
    ($($type:ty: $example:literal,)*) => {$(
        impl Value for Option<$type> {
            fn read(raw: Raw) -> Result<Self, String> {
                match raw {
                    Raw::Text(text) if text == NONE => Ok(None),
                    Raw::Text(text) => text.parse().map(Some).map_err(shown),
                    _ => Err(concat!("write it in quotes, such as \"", $example, "\"").into()),
                }
            }
        }
    )*};
}

read_as_text_or_none! {
    Throttle: "accepts:2,within:2m",
    AdaptiveRate: "cubic",
    Hedge: "p95,copies:1",
    Bulkhead: "calls:50,waiting:10",
    Breaker: "consecutive:5,open:30s",
}
