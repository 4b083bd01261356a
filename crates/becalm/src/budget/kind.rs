//! Which kinds of budget are there, and why is one refused?

use alloc::boxed::Box;
use core::fmt;

use super::account::Account;
use super::concurrency::{self, Concurrency, ConcurrencyBudget};
use super::grpc::{self, Grpc, GrpcBudget};
use super::per_minute::{self, PerMinute};
use super::ratio::{self, Ratio, RatioBudget};
use super::tokens::{self, TokenBudget, Tokens};
use super::window::{self, Window, WindowBudget};
use crate::grammar::Kind as Text;
use crate::reasons::reasons;

/// A row for each kind: its parameters, its place among several, how it is written, what it wants
/// to be told, and its state, closed.
macro_rules! kinds {
    (
        $(#[$about:meta])*
        $name:ident;
        $(
            $(#[$doc:meta])*
            $kind:ident($parameters:ty) $place:ident:
                $text:expr, $wants:expr, $closed:expr;
        )*
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq)]
        #[non_exhaustive]
        pub enum $name {
            /// No bound across calls. A call's attempts are its only limit; linted.
            None,
            $($(#[$doc])* $kind($parameters),)*
            /// Several of these, each at most once, each of which must agree: made by
            /// [`and`](Self::and).
            AllOf(AllOf),
        }

        /// A kind of budget.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Kind {
            $(#[doc = concat!("[`Budget::", stringify!($kind), "`].")] $kind,)*
        }

        /// Several kinds.
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub struct AllOf {
            $(pub(super) $place: Option<$parameters>,)*
            /// Some kind was named twice, which is refused rather than lost.
            is_twice: bool,
        }

        impl Kind {
            /// All kinds, in the order in which they are written and asked: what is cheap to ask and
            /// to return comes first.
            pub const ALL: [Self; [$($text),*].len()] = [$(Self::$kind),*];

            /// The name in events and metrics, as in the text of a budget: one of a closed set.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$kind => $text.name,)*
                }
            }

            const fn wants(self) -> u8 {
                match self {
                    $(Self::$kind => $wants,)*
                }
            }

            /// Its state, closed.
            pub(super) fn closed(self) -> Box<dyn Account> {
                match self {
                    $(Self::$kind => Box::new($closed),)*
                }
            }
        }

        impl AllOf {
            /// Of these places nothing is taken yet.
            const EMPTY: Self = Self {
                $($place: None,)*
                is_twice: false,
            };

            /// These kinds and those.
            const fn with(mut self, other: Budget) -> Self {
                self.is_twice |= match other {
                    Budget::None => false,
                    $(Budget::$kind(kind) => self.$place.replace(kind).is_some(),)*
                    Budget::AllOf(all) => {
                        let mut is_twice = all.is_twice;
                        $(if let Some(kind) = all.$place {
                            is_twice |= self.$place.replace(kind).is_some();
                        })*
                        is_twice
                    }
                };
                self
            }

            const fn part(&self, kind: Kind) -> Option<Budget> {
                match kind {
                    $(Kind::$kind => match self.$place {
                        Some(kind) => Some(Budget::$kind(kind)),
                        None => None,
                    },)*
                }
            }
        }

        impl Budget {
            pub(crate) const TEXTS: &'static [Text<Self>] = &[$($text),*];

            /// Refuses a value that is out of range, naming the parameter and the remedy.
            ///
            /// # Errors
            ///
            /// [`InvalidBudget`] names the kind and the parameter.
            pub fn validate(self) -> Result<(), InvalidBudget> {
                match self {
                    Self::None => Ok(()),
                    $(Self::$kind(kind) => kind.validate(),)*
                    Self::AllOf(all) if all.is_twice => Err(InvalidBudget::Twice),
                    Self::AllOf(_) => self.kinds().try_for_each(Self::validate),
                }
            }
        }
    };
}

kinds! {
    /// The configuration of a budget: plain data.
    ///
    /// | kind | what earns a retry | what comes back | written |
    /// |---|---|---|---|
    /// | [`Ratio`] | each call that succeeds deposits `ratio` | a retry that never starts | `ratio:0.1,burst:10,floor:10/h` |
    /// | [`Ratio`] of first tries | each call that begins deposits `ratio` | a retry that never starts | `first-tries:0.1,burst:10,floor:1` |
    /// | [`Tokens`] | each clean success deposits `clean` | that, and a success's own last cost | `tokens:500,cost:14,throttled:5,refund:last,clean:1` |
    /// | [`Grpc`] | each success deposits `ratio`, each failure takes 1 | nothing: a retry itself is free | `grpc:10,ratio:0.1` |
    /// | [`Concurrency`] | the calls in progress | each retry, when it ends | `concurrency:0.2,floor:3` |
    /// | [`PerMinute`] | time | a retry that never starts | `per-minute:60` |
    /// | [`Window`] | each first try, for as long as it is in the window | a retry that never starts | `window:0.2,ttl:10s,floor:10` |
    ///
    /// Kinds are joined by `+`: `ratio:0.1 + per-minute:60` grants what both grant. Parameters that are
    /// left out have the defaults of their kind. The floor of a ratio is tokens a second; `/m` and `/h`
    /// behind it make it tokens a minute and an hour. `none` bounds nothing.
    Budget;
    /// Retries are a share of the calls that succeed: in an outage nothing earns them.
    Ratio(Ratio) ratio: ratio::TEXT, NOTHING, RatioBudget::new(Budget::None);
    /// Retries are a share of first tries, however they end: the Google SRE book.
    FirstTries(Ratio) first_tries:
        ratio::FIRST_TRIES, FIRST_TRIES, RatioBudget::new(Budget::None);
    /// Retries cost tokens, and success earns them: the AWS SDKs.
    Tokens(Tokens) tokens: tokens::TEXT, OUTCOMES, TokenBudget::default();
    /// No retries while failures have outweighed successes: gRPC's `retryThrottling`.
    Grpc(Grpc) grpc: grpc::TEXT, OUTCOMES | IS_FREE, GrpcBudget::default();
    /// Retries in progress are a share of the calls in progress: Envoy, failsafe-go.
    Concurrency(Concurrency) concurrency:
        concurrency::TEXT, OUTCOMES | CALLS, ConcurrencyBudget::default();
    /// So many retries a minute, whatever the traffic: Google SRE.
    PerMinute(PerMinute) per_minute:
        per_minute::TEXT, NOTHING, WindowBudget::<{ per_minute::LIVE }>::default();
    /// Retries are a share of the first tries of the last seconds: Finagle, Linkerd, tower.
    Window(Window) window:
        window::TEXT, FIRST_TRIES | TIMES, WindowBudget::<{ window::LIVE }>::default();
}

/// What a kind wants to be told beside the retries.
const NOTHING: u8 = 0;
/// How attempts and calls end, and retries that it has granted.
const OUTCOMES: u8 = 1;
/// Which calls are in progress.
const CALLS: u8 = 2;
const FIRST_TRIES: u8 = 4;
/// When a first try begins.
const TIMES: u8 = 8;
/// A retry takes nothing from it.
const IS_FREE: u8 = 16;

reasons! {
    /// Why a budget is refused.
    InvalidBudget;
    /// A kind is there twice.
    Twice: "the budget names a kind twice; keep one of them";
    /// The ratio is out of range.
    Ratio: "the budget's ratio must be from 0.000001 to 1000; use none for no bound";
    /// The burst is out of range.
    Burst: "the budget's burst must be from 1 to 1000000 tokens";
    /// The floor of a ratio or of a window is out of range.
    Floor: "the budget's floor must be from 0 to 10000 tokens per second";
    /// The capacity of tokens is out of range.
    Capacity: "the budget's capacity must be from 1 to 1000000 tokens";
    /// The cost of a retry in tokens is out of range.
    Cost: "the budget's cost must be a whole number from 1 to its capacity";
    /// The cost of a retry after a throttled failure is out of range.
    ThrottledCost: "the budget's throttled cost must be a whole number from 1 to its capacity";
    /// The deposit of a clean success is out of range.
    CleanSuccess: "the budget's clean success must be a whole number from 0 to its capacity";
    /// gRPC's `maxTokens` is out of range.
    MaxTokens: "the budget's maximum of gRPC tokens must be from 1 to 1000";
    /// gRPC's `tokenRatio` is out of range.
    TokenRatio: "the budget's ratio of gRPC tokens must be from 0.001 to 1000";
    /// The share of a window is out of range.
    Share: "the budget's share of a window must be from 0.000001 to 1000, or 0 beside a floor";
    /// The length of a window is out of range.
    Ttl: "the budget's ttl must be a duration from 1s to 60s, such as 10s";
    /// The share of the calls in progress is out of range.
    ConcurrencyShare:
        "the budget's share of the calls in progress must be from 0.000001 to 1, or 0 beside a floor";
    /// The number of retries in progress is out of range.
    ConcurrencyFloor:
        "the budget's floor of retries in progress must be from 0 to 1000000, and from 1 where \
         the share is 0";
    /// The number of retries a minute is out of range.
    PerMinute: "the budget's retries a minute must be from 1 to 1000000";
}

/// The slot of a field of a kind.
macro_rules! part {
    ($kind:ident, $slot:ident, $field:ident $(, unless $default:expr)?) => {
        $crate::grammar::of!($slot, |it| *it, Budget::$kind(kind) => kind.$field $(, unless $default)?)
    };
}

pub(super) use part;

/// The kinds that a budget has, one by one.
impl Budget {
    /// Joins two budgets, which both must agree to a retry.
    ///
    /// A kind can be there once; [`validate`](Self::validate) refuses a second.
    ///
    /// ```
    /// use becalm::Budget;
    ///
    /// let budget = Budget::ratio(0.1).and(Budget::per_minute(60));
    /// assert_eq!(budget.to_string(), "ratio:0.1,burst:10,floor:10/h + per-minute:60");
    /// assert!(budget.validate().is_ok());
    /// assert!(budget.and(Budget::per_minute(30)).validate().is_err());
    /// ```
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::None, budget) | (budget, Self::None) => budget,
            (one, other) => Self::AllOf(AllOf::EMPTY.with(one).with(other)),
        }
    }

    /// The kinds that must agree, each as a budget of its own: none for [`Budget::None`].
    pub fn kinds(self) -> impl Iterator<Item = Self> {
        let all = AllOf::EMPTY.with(self);
        Kind::ALL.into_iter().filter_map(move |kind| all.part(kind))
    }

    /// The part of this kind, as a budget of its own.
    pub const fn part(self, kind: Kind) -> Option<Self> {
        AllOf::EMPTY.with(self).part(kind)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A set of kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Kinds(pub u8);

impl Kinds {
    pub const NONE: Self = Self(0);
    /// The default.
    pub const RATIO: Self = Self(bit(Kind::Ratio));
    /// Those that look at outcomes, or at what is in progress.
    pub const HEARING: Self = Self::wanting(OUTCOMES);
    /// Those that count the running calls.
    pub const COUNTING: Self = Self::wanting(CALLS);
    /// Those that look at first tries.
    pub const FED_BY_FIRST_TRIES: Self = Self::wanting(FIRST_TRIES);
    /// Those that look at the time of a first try.
    pub const TIMING: Self = Self::wanting(TIMES);
    /// Those from which a retry takes nothing.
    pub const FREE: Self = Self::wanting(IS_FREE);

    const fn wanting(what: u8) -> Self {
        let (mut kinds, mut at) = (Self::NONE, 0);
        while at < Kind::ALL.len() {
            let kind = Kind::ALL[at];
            kinds = kinds.with(kind, kind.wants() & what != 0);
            at += 1;
        }
        kinds
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
