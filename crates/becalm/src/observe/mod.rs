//! What does a call tell about itself? Events, which cannot change a decision.

#[cfg(feature = "metrics")]
mod metrics;
#[cfg(feature = "tracing")]
mod tracing;
mod would;

#[cfg(feature = "metrics")]
pub use self::metrics::MetricsObserver;
#[cfg(feature = "tracing")]
pub use self::tracing::TracingObserver;
pub use self::would::Would;

use core::any::Any;
use core::fmt;
use core::time::Duration;

use crate::breaker::State;
use crate::classify::{Class, Effect};
use crate::stop::StopReason;

/// Something that happened in a call.
///
/// A failed call emits, in order: `Attempt` 1, `Retry` (before the wait), `Attempt` 2, and so on,
/// and at its end `Recovered` or `Stopped`. A call that succeeds at once emits `Attempt` alone. A
/// slow attempt may be followed by `Hedge`; where one copy then brings the success, `Beaten` tells
/// of each that was cancelled for it, before `Recovered`.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Event<'a> {
    /// An attempt starts.
    Attempt {
        /// The number of the attempt, from 1.
        number: u32,
        /// What was really waited before it, by the sleeper's clock; zero before the first, unless
        /// a guard made that wait.
        waited: Duration,
    },
    /// An attempt failed and another will follow, after a wait that begins now.
    Retry {
        /// The number of the attempt to come, from 2.
        next: u32,
        /// How long will be waited: the decision, rounded to the timer's tick.
        delay: Duration,
        /// What the failure said about trying again, or those of all copies together.
        class: Class,
        /// Whether the failed attempt may have taken effect.
        effect: Effect,
        /// The error, if there was one: a time-out leaves none.
        error: Option<Shown<'a>>,
    },
    /// The budget had no token for the retry that was told last, and the call waits for one
    /// ([`WhenSpent::Wait`](crate::budget::WhenSpent::Wait)): told once for each retry.
    WaitsForToken {
        /// The number of the attempt to come, from 2.
        next: u32,
        /// In how long it asks for the first time: the delay of the retry.
        delay: Duration,
    },
    /// A call succeeded after retries, or with a hedge beside its attempt, whichever won.
    Recovered {
        /// All attempts, the good one included.
        attempts: u32,
        /// Since the start where the clock was read there, otherwise since the first failure.
        elapsed: Duration,
    },
    /// A call ended without success.
    Stopped {
        /// Why.
        reason: StopReason,
        /// All attempts made.
        attempts: u32,
        /// Since the start where the clock was read there, otherwise since the first failure.
        elapsed: Duration,
        /// The error of the attempt that decided it, if there was one.
        error: Option<Shown<'a>>,
    },
    /// A hedge starts: a second copy beside a slow attempt. It is an attempt like any other.
    Hedge {
        /// The number of the attempt.
        number: u32,
        /// How long the first copy had been running.
        after: Duration,
    },
    /// A copy was cancelled because another one brought the success.
    Beaten {
        /// The number of the attempt that was cancelled.
        number: u32,
        /// How long it had been running.
        elapsed: Duration,
    },
    /// The circuit breaker changed its state.
    Breaker {
        /// The state before.
        from: State,
        /// The state from now on.
        to: State,
        /// How long it stays open, if it opened; then it lets a probe through.
        open_for: Option<Duration>,
    },
    /// The policy [observes](crate::policy::Mode::Observe), and enforcing would have done this. Told when
    /// the attempt starts, or when it has ended: before `Stopped`, if it is that.
    Observed {
        /// What enforcing would have done.
        would: Would,
    },
    /// A blocking call is about to wait on a thread that belongs to an async runtime: told once
    /// per retrier. A thread of the runtime's blocking pool cannot be told apart.
    BlocksRuntime,
}

/// The retrier and the call that an event belongs to.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct About<'a> {
    /// The retrier's name.
    pub retrier: &'a str,
    /// The number of the call, from 1, which no other call of the process has. `None` where
    /// something happens outside of any call: a breaker that is opened by hand.
    pub call: Option<u64>,
    /// What the call was [given](crate::run::Retry::context) for its observers, such as the host it
    /// goes to.
    pub context: Option<&'a (dyn Any + Send + Sync)>,
}

impl About<'_> {
    /// The context, if it is of this type.
    pub fn context<T: 'static>(&self) -> Option<&T> {
        self.context?.downcast_ref()
    }
}

impl fmt::Debug for About<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("About")
            .field("retrier", &self.retrier)
            .field("call", &self.call)
            .finish_non_exhaustive()
    }
}

/// An error as an observer sees it: something to show.
#[derive(Clone, Copy)]
pub struct Shown<'a>(pub(crate) &'a dyn fmt::Display);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", alloc::string::ToString::to_string(self.0))
    }
}

/// A receiver of events. becalm calls it in the middle of calls: be quick and do not block.
///
/// It is given a look, not a say. Where it panics, the panic propagates and what the call held is
/// returned.
///
/// ```
/// use becalm::observe::{About, Event, Observer};
/// use becalm::Policy;
///
/// struct CountRetries(std::sync::atomic::AtomicU64);
///
/// impl Observer for CountRetries {
///     fn on_event(&self, _: &About<'_>, event: &Event<'_>) {
///         if let Event::Retry { .. } = event {
///             self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
///         }
///     }
/// }
///
/// let retrier = Policy::default().builder().observer(CountRetries(0.into())).build()?;
/// # let _ = retrier;
/// # Ok::<(), becalm::policy::InvalidPolicy>(())
/// ```
pub trait Observer: Send + Sync {
    /// Something happened, in this call.
    fn on_event(&self, about: &About<'_>, event: &Event<'_>);
}

impl<O: Observer + ?Sized> Observer for alloc::sync::Arc<O> {
    fn on_event(&self, about: &About<'_>, event: &Event<'_>) {
        (**self).on_event(about, event);
    }
}

impl fmt::Debug for dyn Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}
