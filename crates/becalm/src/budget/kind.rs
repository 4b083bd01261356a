//! Which kinds of budget are there, and how much has each left?

use alloc::boxed::Box;
use core::fmt;

use super::account::Account;
use super::concurrency::ConcurrencyBudget;
use super::config::{AllOf, Budget};
use super::first_tries::FirstTriesBudget;
use super::grpc::GrpcBudget;
use super::per_minute::MinuteBudget;
use super::ratio::RatioBudget;
use super::tokens::TokenBudget;
use super::window::WindowBudget;

/// A row for each kind: its name in events, metrics and texts, its part of a configuration, and its
/// state, closed.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident: $name:literal, $part:ident, $closed:expr;)*) => {
        /// A kind of budget.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Kind {
            $($(#[$doc])* $kind,)*
        }

        impl Kind {
            /// All kinds, in the order in which they are asked: what is cheap to ask and to return
            /// comes first.
            pub const ALL: [Self; 7] = [$(Self::$kind),*];

            /// The name in events and metrics, as in the text of a budget: one of a closed set.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }

            /// Whether this configuration has it.
            pub(super) const fn is_in(self, all: &AllOf) -> bool {
                match self {
                    $(Self::$kind => all.$part.is_some(),)*
                }
            }

            /// Its state, closed.
            pub(super) fn closed(self) -> Box<dyn Account> {
                match self {
                    $(Self::$kind => Box::new($closed),)*
                }
            }
        }
    };
}

kinds! {
    /// [`Grpc`](super::Grpc).
    Grpc: "grpc", grpc, GrpcBudget::closed();
    /// [`Concurrency`](super::Concurrency).
    Concurrency: "concurrency", concurrency, ConcurrencyBudget::closed();
    /// [`Ratio`](super::Ratio).
    Ratio: "ratio", ratio, RatioBudget::new(Budget::None);
    /// [`Ratio`](super::Ratio) of first tries.
    FirstTries: "first-tries", first_tries, FirstTriesBudget::closed();
    /// [`Tokens`](super::Tokens).
    Tokens: "tokens", tokens, TokenBudget::closed();
    /// [`PerMinute`](super::PerMinute).
    PerMinute: "per-minute", per_minute, MinuteBudget::closed();
    /// [`Window`](super::Window).
    Window: "window", window, WindowBudget::closed();
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How much one kind has left.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Gauge {
    /// The kind.
    pub kind: Kind,
    /// What is left: tokens of a ratio, of first tries, of tokens and of gRPC (which grants down to half
    /// of them), retries of a window and of a minute, free slots of a concurrency.
    pub left: f64,
    /// What there is when nothing has been used. Of a window and of a concurrency it depends on the
    /// traffic.
    pub most: f64,
    /// How full it is, from 0 (nothing is granted) to 1.
    pub fill: f64,
    /// Retries that this kind has denied since the budget was made.
    pub denied: u64,
}

/// A set of kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Kinds(u8);

impl Kinds {
    pub const NONE: Self = Self(0);
    /// The default.
    pub const RATIO: Self = Self::NONE.with(Kind::Ratio, true);
    /// Those that look at outcomes, or at what is in progress.
    pub const HEARING: Self = Self::NONE
        .with(Kind::Grpc, true)
        .with(Kind::Concurrency, true)
        .with(Kind::Tokens, true);
    /// Those that count the running calls.
    pub const COUNTING: Self = Self::NONE.with(Kind::Concurrency, true);
    /// Those that look at first tries.
    pub const FED_BY_FIRST_TRIES: Self = Self::NONE
        .with(Kind::FirstTries, true)
        .with(Kind::Window, true);
    /// Those that look at the time of a first try.
    pub const TIMING: Self = Self::NONE.with(Kind::Window, true);
    /// Those from which a retry takes nothing.
    pub const FREE: Self = Self::NONE.with(Kind::Grpc, true);

    /// The set that this byte stands for.
    pub const fn of_bits(bits: u8) -> Self {
        Self(bits)
    }

    pub const fn bits(self) -> u8 {
        self.0
    }

    #[must_use]
    pub const fn with(self, kind: Kind, there: bool) -> Self {
        if there {
            Self(self.0 | bit(kind))
        } else {
            self
        }
    }

    pub const fn has(self, kind: Kind) -> bool {
        self.0 & bit(kind) != 0
    }

    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Those in both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether any kind is in both.
    pub const fn meets(self, other: Self) -> bool {
        !self.and(other).is_none()
    }

    pub fn iter(self) -> impl Iterator<Item = Kind> {
        Kind::ALL.into_iter().filter(move |kind| self.has(*kind))
    }
}

const fn bit(kind: Kind) -> u8 {
    1 << kind as u8
}
