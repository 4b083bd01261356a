//! How is a policy written to a file?

use serde::ser::{Error as _, Serialize, SerializeStruct, Serializer};

use super::{Draft, KEYS};
use crate::backoff::Backoff;
use crate::grammar::Given;
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
        for (key, value) in Draft::written(self.clone()) {
            match value {
                Some(value) => table.serialize_field(key, &value)?,
                None => table.skip_field(key)?,
            }
        }
        table.end()
    }
}

impl Serialize for Given {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Nothing => serializer.serialize_unit(),
            Self::Written(text) | Self::Quoted(text) => serializer.serialize_str(text),
            Self::Whole(whole) => serializer.serialize_u64(*whole),
            Self::Number(number) => serializer.serialize_f64(*number),
            Self::List(items) => items.serialize(serializer),
            Self::Table(entries) => serializer.collect_map(entries.iter().map(|(k, v)| (k, v))),
        }
    }
}
