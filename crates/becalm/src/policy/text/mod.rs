//! How is `kind:first,name:value` read, and the table that says the same?
//!
//! Each part of a policy that is written so declares its grammar: its kinds, their parameters, and
//! what each sets. One reader serves them all; it refuses what is unknown, repeated, missing or of
//! another type, and suggests what was probably meant. One writer displays them all.

mod breaker;
mod budget;
mod budget_kinds;
mod bulkhead;
mod hedge;
mod rate;
mod reader;
mod statuses;
#[cfg(feature = "serde")]
mod table;
mod throttle;
mod unreadable;
mod words;
mod writer;

#[cfg(all(test, feature = "serde"))]
pub(crate) use table::KIND;
pub use unreadable::Unreadable;
#[cfg(feature = "serde")]
pub(crate) use {
    statuses::add as add_statuses,
    table::{has_tables, read_table},
};

use core::fmt;

use super::InvalidPolicy;
use crate::grammar::{Given, Kind, Parameter, Slot};

/// A part of a policy that is written as a text, and most of them as a table too.
pub(crate) trait Written: fmt::Display + PartialEq + Sized + 'static {
    /// What the part is called in a sentence.
    const NOUN: &'static str;

    const KINDS: &'static [Kind<Self>];

    /// Parameters of which only one may be written.
    const APART: &'static [&'static str] = &[];

    /// Makes one of two, where a file may list several.
    #[cfg_attr(not(feature = "serde"), expect(dead_code))]
    const JOIN: Option<fn(Self, Self) -> Self> = None;

    fn of_text(text: &str) -> Result<Self, Unreadable> {
        reader::read_text(text)
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writer::write(self, f)
    }

    /// Whether a file leaves it out.
    #[cfg_attr(not(feature = "serde"), expect(dead_code))]
    fn is_left_out(&self) -> bool {
        false
    }

    /// Refuses what cannot be kept.
    fn check(&self) -> Result<(), InvalidPolicy> {
        Ok(())
    }
}

macro_rules! texts {
    ($($part:ty,)*) => {$(
        impl fmt::Display for $part {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.write(f)
            }
        }

        impl core::str::FromStr for $part {
            type Err = Unreadable;

            fn from_str(text: &str) -> Result<Self, Unreadable> {
                let part = Self::of_text(text)?;
                part.check()?;
                Ok(part)
            }
        }
    )*};
}

texts! {
    crate::Backoff,
    crate::Breaker,
    crate::Budget,
    crate::budget::WhenSpent,
    crate::Bulkhead,
    crate::Hedge,
    crate::hint::HintMode,
    crate::Jitter,
    crate::policy::Mode,
    crate::rate::AdaptiveRate,
    crate::scope::Nested,
    crate::Throttle,
}
