//! How is a policy written to a file?

use alloc::string::{String, ToString};
use core::fmt;
use core::time::Duration;

use serde::ser::{Error as _, Serialize, SerializeStruct, Serializer};

use super::KEYS;
use super::value::UNLIMITED;
use crate::backoff::Backoff;
use crate::duration::{Human, nanos};
use crate::policy::Policy;

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
