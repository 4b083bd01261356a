//! What may be written of a part of a policy?

use alloc::string::String;
use core::time::Duration;

use super::Given;

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

/// The type of a value, and what it sets.
pub(crate) enum Slot<T: 'static> {
    Whole(fn(&mut T, u32)),
    Number(fn(&mut T, f64)),
    /// So many a second, written for a second, a minute or an hour: `10/h`.
    Rate(fn(&mut T, f64)),
    /// Written in hundredths, set as a share.
    Percentile(fn(&mut T, f64)),
    Duration(fn(&mut T, Duration)),
    Word(&'static [Word<T>]),
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
            Self::Whole(set) => set(it, given.whole()?),
            Self::Number(set) => set(it, given.number()?),
            Self::Rate(set) => set(it, given.rate()?),
            Self::Percentile(set) => set(it, given.percentile()?),
            Self::Duration(set) => set(it, given.duration()?),
            Self::Word(words) => given.word(words)?(it),
        }
        Ok(())
    }
}
