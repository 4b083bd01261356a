//! How is a closed set of names declared, and read back?

use alloc::string::String;
use core::fmt;

use crate::suggest;

/// A closed set: each member with its name and, where the set is shown to people, its sentence. One
/// that is `shown` as it is named has no sentences.
macro_rules! names {
    (
        $(#[$about:meta])*
        $set:ident: $noun:literal $(, $shown:ident)?;
        $($(#[$doc:meta])* $member:ident = $name:literal $(, $sentence:literal)?;)*
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $set {
            $($(#[$doc])* $member,)*
        }

        impl $set {
            #[doc = concat!("Every ", $noun, ", in order.")]
            pub const ALL: &'static [Self] = &[$(Self::$member,)*];

            /// The name in events, metrics and reports: one of a closed set.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$member => $name,)*
                }
            }
        }

        #[doc = concat!("The name in events, metrics and reports, as [`as_str`](", stringify!($set), "::as_str) gives it.")]
        impl core::str::FromStr for $set {
            type Err = $crate::names::UnknownName;

            fn from_str(name: &str) -> Result<Self, Self::Err> {
                let place = $crate::names::place_of(name, $noun, &[$($name,)*])?;
                Ok(Self::ALL[place])
            }
        }

        $crate::names::names!(@shown $set: $($($member $sentence,)?)*);
        $($crate::names::names!(@$shown $set);)?
    };
    (@shown $set:ident) => {
        impl core::fmt::Display for $set {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
    (@shown $set:ident:) => {};
    (@shown $set:ident: $($member:ident $sentence:literal,)*) => {
        impl core::fmt::Display for $set {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(match self {
                    $(Self::$member => $sentence,)*
                })
            }
        }
    };
}

pub(crate) use names;

/// The text is no name of a closed set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownName {
    name: String,
    set: &'static str,
    nearest: Option<&'static str>,
}

impl UnknownName {
    /// The name that was probably meant.
    pub const fn nearest(&self) -> Option<&'static str> {
        self.nearest
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no {} `{}`", self.set, self.name)?;
        match self.nearest {
            Some(nearest) => write!(f, "; did you mean `{nearest}`?"),
            None => Ok(()),
        }
    }
}

impl core::error::Error for UnknownName {}

/// Where in a closed set this name stands.
pub(crate) fn place_of(
    name: &str,
    set: &'static str,
    names: &[&'static str],
) -> Result<usize, UnknownName> {
    let place = names.iter().position(|known| *known == name);
    place.ok_or_else(|| UnknownName {
        name: name.into(),
        set,
        nearest: suggest::nearest(name, names.iter().copied()),
    })
}
