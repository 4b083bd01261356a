//! What may be written of a part of a policy? Its kinds, their parameters, and what each sets.
//!
//! The part declares it; `policy/text` reads and writes by it.

mod given;

pub(crate) use given::{Amount, Given};

use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use core::time::Duration;

use crate::human::Human;
use given::{of_percentile, of_rate};

/// One of the kinds: the word that the text begins with.
pub(crate) struct Kind<T: 'static> {
    pub name: &'static str,
    /// Its shortest text, with a usual value.
    pub example: &'static str,
    /// What it is before anything is set.
    pub start: fn() -> T,
    /// The value right behind the name, which must be there; a word alone has none.
    pub first: Option<Slot<T>>,
    /// They are set in this order, whatever the order in which they are written.
    pub parameters: &'static [&'static [Parameter<T>]],
}

pub(crate) type Parameter<T> = (&'static str, Slot<T>);

/// The type of a value, what it sets, and what is written of it: nothing where it need not be, or
/// where it is another kind.
pub(crate) enum Slot<T: 'static> {
    Whole(fn(&mut T, u32), fn(&T) -> Option<u32>),
    Number(fn(&mut T, f64), fn(&T) -> Option<f64>),
    /// So many a second, written for a second, a minute or an hour: `10/h`.
    Rate(fn(&mut T, f64), fn(&T) -> Option<f64>),
    /// Written in hundredths, set as a share.
    Percentile(fn(&mut T, f64), fn(&T) -> Option<f64>),
    Duration(fn(&mut T, Duration), fn(&T) -> Option<Duration>),
    Amount(fn(&mut T, Amount), fn(&T) -> Option<Amount>),
    Word(&'static [Word<T>], fn(&T) -> Option<&'static str>),
}

/// One of a few words, and what it sets.
pub(crate) type Word<T> = (&'static str, fn(&mut T));

impl<T> Kind<T> {
    /// A kind that is a word alone.
    pub const fn word(name: &'static str, start: fn() -> T) -> Self {
        Self {
            name,
            example: name,
            start,
            first: None,
            parameters: &[],
        }
    }

    /// What can be set behind the name.
    pub fn parameters(&self) -> impl Iterator<Item = &'static Parameter<T>> {
        self.parameters.iter().copied().flatten()
    }

    /// All that can be set: what stands right behind the name is called as the kind is.
    pub fn slots(&self) -> impl Iterator<Item = (&'static str, &Slot<T>)> {
        let first = self.first.as_ref().map(|slot| (self.name, slot));
        let parameters = self.parameters().map(|(name, slot)| (*name, slot));
        first.into_iter().chain(parameters)
    }
}

impl<T> Slot<T> {
    /// Sets the value; the error says what to write instead.
    pub fn set(&self, it: &mut T, given: &Given) -> Result<(), String> {
        match self {
            Self::Whole(set, _) => set(it, given.whole()?),
            Self::Number(set, _) => set(it, given.number()?),
            Self::Rate(set, _) => set(it, given.rate()?),
            Self::Percentile(set, _) => set(it, given.percentile()?),
            Self::Duration(set, _) => set(it, given.duration()?),
            Self::Amount(set, _) => set(it, given.amount()?),
            Self::Word(words, _) => given.word(words)?(it),
        }
        Ok(())
    }

    /// The value as it is written.
    pub fn shown(&self, it: &T) -> Option<String> {
        match self {
            Self::Whole(_, get) => get(it).map(|whole| whole.to_string()),
            Self::Number(_, get) => get(it).map(|number| number.to_string()),
            Self::Rate(_, get) => get(it).map(of_rate),
            Self::Percentile(_, get) => get(it).map(of_percentile),
            Self::Duration(_, get) => get(it).map(|time| Human(time).to_string()),
            Self::Amount(_, get) => get(it).map(|amount| match amount {
                Amount::Number(number) => number.to_string(),
                Amount::Time(time) => Human(time).to_string(),
            }),
            Self::Word(_, get) => get(it).map(ToOwned::to_owned),
        }
    }
}

/// The value, unless it is what is left out.
#[expect(clippy::needless_pass_by_value, reason = "a constant and a copy")]
pub(crate) fn unless<V: PartialEq>(default: V, value: V) -> Option<V> {
    (value != default).then_some(value)
}

/// The slot of a field: one that is always written, one that is there or not, or one that is written
/// where it is not the default.
macro_rules! field {
    ($slot:ident, $field:ident) => {
        $crate::grammar::Slot::$slot(|it, value| it.$field = value, |it| Some(it.$field))
    };
    ($slot:ident, optional $field:ident) => {
        $crate::grammar::Slot::$slot(|it, value| it.$field = Some(value), |it| it.$field)
    };
    ($slot:ident, $field:ident unless $default:expr) => {
        $crate::grammar::Slot::$slot(
            |it, value| it.$field = value,
            |it| $crate::grammar::unless($default, it.$field),
        )
    };
}

/// The slot of what one variant holds: always written, or where it is not the default.
macro_rules! of {
    ($slot:ident, |$it:ident| $of:expr, $variant:pat => $value:expr $(, unless $default:expr)?) => {
        $crate::grammar::Slot::$slot(
            |$it, value| {
                if let $variant = &mut $of {
                    $value = value.into();
                }
            },
            |$it| match &$of {
                $variant => $crate::grammar::of!(@written $value $(, $default)?),
                _ => None,
            },
        )
    };
    (@written $value:expr) => {
        $value.into()
    };
    (@written $value:expr, $default:expr) => {
        $crate::grammar::unless($default, $value)
    };
}

pub(crate) use {field, of};
