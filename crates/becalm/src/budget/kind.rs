//! Which kinds of budget are there, and which of them does a budget have?

use core::fmt;

use super::config::{Concurrency, Grpc, PerMinute, Ratio, Tokens, Window};
use super::invalid::InvalidBudget;

/// A row for each kind: its parameters, its place among several, its name, and what it wants to be
/// told.
macro_rules! kinds {
    (
        $(#[$about:meta])*
        $name:ident;
        $(
            $(#[$doc:meta])*
            $kind:ident($parameters:ty) $place:ident: $text:literal, $wants:expr;
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
                    $(Self::$kind => $text,)*
                }
            }

            const fn wants(self) -> u8 {
                match self {
                    $(Self::$kind => $wants,)*
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
    /// | [`Ratio`] | each call that succeeds deposits `ratio` | a retry that never starts | `ratio:0.1,burst:5s,min:10,floor:10/h` |
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
    Ratio(Ratio) ratio: "ratio", NOTHING;
    /// Retries are a share of first tries, however they end: the Google SRE book.
    FirstTries(Ratio) first_tries: "first-tries", FIRST_TRIES;
    /// Retries cost tokens, and success earns them: the AWS SDKs.
    Tokens(Tokens) tokens: "tokens", OUTCOMES;
    /// No retries while failures have outweighed successes: gRPC's `retryThrottling`.
    Grpc(Grpc) grpc: "grpc", OUTCOMES | IS_FREE;
    /// Retries in progress are a share of the calls in progress: Envoy, failsafe-go.
    Concurrency(Concurrency) concurrency: "concurrency", OUTCOMES | CALLS;
    /// So many retries a minute, whatever the traffic: Google SRE.
    PerMinute(PerMinute) per_minute: "per-minute", NOTHING;
    /// Retries are a share of the first tries of the last seconds: Finagle, Linkerd, tower.
    Window(Window) window: "window", FIRST_TRIES | TIMES;
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
    /// assert_eq!(budget.to_string(), "ratio:0.1,burst:5s,min:10,floor:10/h + per-minute:60");
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
        Kind::ALL.iter().filter_map(move |kind| all.part(*kind))
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
}

const fn bit(kind: Kind) -> u8 {
    1 << kind as u8
}

/// `None` as other settings take it.
impl From<Option<Budget>> for Budget {
    fn from(budget: Option<Budget>) -> Self {
        budget.unwrap_or(Self::None)
    }
}
