//! Is there a retry around this one, and what has it decided?
//!
//! A [`Scope`] is an explicit value. The sans-IO [`Call`](crate::Call) takes it as an argument;
//! only the engines keep the current one per thread while they run or poll the operation, so that
//! a retry inside a retry is seen across `.await` points and joined futures of one task, and does
//! not leak to other tasks.

use core::fmt;
use core::str::FromStr;

use crate::time::Instant;

/// What a retry inside another retry of the same task or thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Nested {
    /// The inner one runs once and leaves the repetition to the outer one. The default: 4 x 4 x 4
    /// attempts are 64.
    #[default]
    Suppress,
    /// The inner one retries as if it stood alone.
    Allow,
    /// The inner one retries, and its retries are paid from the outer one's budget (from its own
    /// where the two are on different clocks).
    ShareBudget,
}

impl fmt::Display for Nested {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Suppress => "suppress",
            Self::Allow => "allow",
            Self::ShareBudget => "share-budget",
        })
    }
}

/// The text names no way with nested retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownNested;

impl fmt::Display for UnknownNested {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the way with nested retries is not one of suppress, allow, share-budget")
    }
}

impl core::error::Error for UnknownNested {}

impl FromStr for Nested {
    type Err = UnknownNested;

    fn from_str(text: &str) -> Result<Self, UnknownNested> {
        Ok(match text {
            "suppress" => Self::Suppress,
            "allow" => Self::Allow,
            "share-budget" => Self::ShareBudget,
            _ => return Err(UnknownNested),
        })
    }
}

/// Which clock an [`Instant`] belongs to: deadlines of different clocks are not compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockId(u16);

impl ClockId {
    /// A clock that equals no other, not even itself: deadlines are not handed down.
    pub const UNKNOWN: Self = Self(0);
    /// The process's own monotonic clock.
    pub const PROCESS: Self = Self(1);

    /// An identity that no other clock of this process has (the last of 65 000 are unknown).
    #[cfg(feature = "std")]
    pub fn unique() -> Self {
        use crate::atomic::{AtomicU64, Ordering};
        use std::sync::LazyLock;
        static NEXT: LazyLock<AtomicU64> = LazyLock::new(|| AtomicU64::new(2));
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        u16::try_from(id).map_or(Self::UNKNOWN, Self)
    }

    /// Whether instants of both clocks compare.
    pub const fn is(self, other: Self) -> bool {
        self.0 == other.0 && self.0 != Self::UNKNOWN.0
    }
}

/// What a call knows of the retries around it.
///
/// Two words, so that entering and leaving one costs an operation nothing that can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scope {
    deadline: Instant,
    /// From the top: the retrier's number (32 bits), its clock (16), flags (8). 0 means nothing
    /// above.
    meta: u64,
}

/// A retry above may still repeat this work.
const REPEATED: u64 = 1;
/// Some layer above is past its first attempt.
const RETRYING: u64 = 2;
/// A layer below has learnt that more attempts harm.
const FORBIDDEN: u64 = 4;

impl Scope {
    /// Nothing above: what a call at the top has.
    pub const NONE: Self = Self {
        deadline: Instant::NEVER,
        meta: 0,
    };

    /// Whether a retry above may still repeat this work.
    pub const fn is_repeated_above(self) -> bool {
        self.meta & REPEATED != 0
    }

    /// Whether every layer above is at its first attempt: only then does a call count as a first
    /// try and deposit into its budget.
    pub const fn is_first_try(self) -> bool {
        self.meta & RETRYING == 0
    }

    /// Whether a layer below has learnt that more attempts harm (its budget is spent, its breaker
    /// is open, the server said so).
    pub const fn is_retry_forbidden(self) -> bool {
        self.meta & FORBIDDEN != 0
    }

    /// The earliest deadline above, if it is on this clock.
    pub fn deadline(self, clock: ClockId) -> Option<Instant> {
        (self.deadline != Instant::NEVER && self.clock().is(clock)).then_some(self.deadline)
    }

    /// The same, with word that nobody above may retry.
    #[must_use]
    pub const fn forbidding_retry(mut self) -> Self {
        self.meta |= FORBIDDEN;
        self
    }

    /// Whether there is nothing above.
    #[cfg(feature = "std")]
    pub(crate) const fn is_none(self) -> bool {
        self.meta == 0
    }

    /// The number of the retrier right above, 0 where there is none.
    #[cfg(feature = "std")]
    pub(crate) const fn retrier(self) -> u32 {
        (self.meta >> 32) as u32
    }

    #[expect(clippy::cast_possible_truncation)] // the middle 16 bits
    const fn clock(self) -> ClockId {
        ClockId((self.meta >> 16) as u16)
    }

    /// The scope of what runs inside an attempt of `retrier`.
    pub(crate) const fn inside(
        self,
        retrier: u32,
        clock: ClockId,
        deadline: Instant,
        may_repeat: bool,
        attempt: u32,
    ) -> Self {
        let mut meta = (retrier as u64) << 32 | (clock.0 as u64) << 16;
        meta |= self.meta & (REPEATED | RETRYING);
        if may_repeat {
            meta |= REPEATED;
        }
        if attempt > 1 {
            meta |= RETRYING;
        }
        Self { deadline, meta }
    }

    /// The word that tells scopes without a deadline apart; 0 for [`Scope::NONE`].
    pub(crate) const fn word(self) -> u64 {
        self.meta
    }

    /// The scope without a deadline that has this word.
    #[cfg(feature = "std")]
    pub(crate) const fn of_word(meta: u64) -> Self {
        Self {
            deadline: Instant::NEVER,
            meta,
        }
    }
}

#[cfg(feature = "std")]
pub use current::Wrapped;
#[cfg(feature = "std")]
pub(crate) use current::{Entered, forbid_retry_in_current};

#[cfg(feature = "std")]
mod current {
    use super::Scope;
    use core::cell::Cell;
    use core::future::Future;
    use core::pin::Pin;
    use core::task::{Context, Poll};

    thread_local! {
        static CURRENT: Cell<Scope> = const { Cell::new(Scope::NONE) };
    }

    /// While it lives, its scope is the thread's current one; dropping it, by a panic too, puts
    /// back the one before.
    pub(crate) struct Entered {
        before: Scope,
    }

    impl Entered {
        #[inline]
        pub fn new(scope: Scope) -> Self {
            Self {
                before: CURRENT.replace(scope),
            }
        }

        /// The same where it is known that there is nothing above: what is put back is then a
        /// constant, and one call does not wait for the one before to have left.
        #[inline]
        pub fn from_top(scope: Scope) -> Self {
            CURRENT.set(scope);
            Self {
                before: Scope::NONE,
            }
        }

        /// Leaves, and tells what the scope has become inside.
        #[inline]
        pub fn leave(self) -> Scope {
            let inside = CURRENT.get();
            drop(self);
            inside
        }
    }

    impl Drop for Entered {
        #[inline]
        fn drop(&mut self) {
            CURRENT.set(self.before);
        }
    }

    /// Tells the layer above, if there is one, that more attempts harm.
    pub(crate) fn forbid_retry_in_current() {
        let above = CURRENT.get();
        if !above.is_none() {
            CURRENT.set(above.forbidding_retry());
        }
    }

    impl Scope {
        /// The scope of the running attempt, [`Scope::NONE`] outside of any.
        ///
        /// It does not follow `spawn`: carry it over with [`Scope::wrap`].
        #[inline]
        pub fn current() -> Self {
            CURRENT.get()
        }

        /// Runs the closure in this scope.
        pub fn enter<R>(self, inside: impl FnOnce() -> R) -> R {
            let entered = Entered::new(self);
            let result = inside();
            drop(entered);
            result
        }

        /// The future in this scope, wherever it is polled: for `spawn`.
        ///
        /// ```no_run
        /// # async fn run() {
        /// use becalm::Scope;
        /// let task = tokio::spawn(Scope::current().wrap(async { /* knows the retries above */ }));
        /// # }
        /// ```
        pub fn wrap<F: Future>(self, future: F) -> Wrapped<F> {
            Wrapped {
                future,
                scope: self,
            }
        }
    }

    pin_project_lite::pin_project! {
        /// A future that carries a scope along: see [`Scope::wrap`].
        #[derive(Debug)]
        #[must_use = "futures do nothing unless polled"]
        pub struct Wrapped<F> {
            #[pin]
            future: F,
            scope: Scope,
        }
    }

    impl<F: Future> Future for Wrapped<F> {
        type Output = F::Output;

        fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
            let this = self.project();
            let entered = Entered::new(*this.scope);
            let polled = this.future.poll(context);
            *this.scope = entered.leave();
            polled
        }
    }
}
