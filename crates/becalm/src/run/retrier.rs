//! What is a policy together with its shared state, clock and observer? A retrier.

use core::fmt;
use core::future::Future;
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use super::progress::Progress;
use super::{Blocking, CallLoop, GaveUp, Retry};
use crate::breaker::Transition;
use crate::call::{Attempt, CallOptions};
use crate::classify::{ByTrait, Classifier, Verdict};
use crate::observe::{Event, Observer};
use crate::rng::{Seed, SplitMix64};
use crate::shared::Shared;
use crate::time::Sleeper;

/// A policy with its shared state: cheap to clone, shared by all calls to one dependency.
///
/// Make one for each dependency, not one for each call: the budget bounds the retries of all its
/// calls together.
///
/// ```
/// use becalm::{Policy, Retrier};
/// use std::sync::LazyLock;
/// use std::time::Duration;
///
/// static ORDERS: LazyLock<Retrier> = LazyLock::new(|| {
///     Policy::exponential(Duration::from_millis(100))
///         .deadline(Duration::from_secs(30))
///         .retrier()
///         .expect("a valid policy")
/// });
///
/// fn query() -> std::io::Result<u32> {
///     Ok(17)
/// }
/// let rows = ORDERS.retry_blocking(|_| query())?;
/// # assert_eq!(rows, 17);
/// # Ok::<(), becalm::GaveUp<std::io::Error, u32>>(())
/// ```
#[derive(Clone)]
pub struct Retrier<C = ByTrait> {
    pub(super) parts: Parts,
    classifier: C,
}

/// What a retrier is made of, but for its classifier.
#[derive(Clone)]
pub(crate) struct Parts {
    pub shared: Arc<Shared>,
    pub engine: Arc<Engine>,
}

/// What an engine needs and the sans-IO state does not.
#[derive(Debug)]
pub(crate) struct Engine {
    pub sleeper: Arc<dyn Sleeper>,
    pub observer: Option<Arc<dyn Observer>>,
    pub seed: Seed,
    pub name: String,
    warned: AtomicBool,
}

impl Engine {
    pub fn new(
        sleeper: Arc<dyn Sleeper>,
        observer: Option<Arc<dyn Observer>>,
        seed: Seed,
        name: String,
    ) -> Self {
        Self {
            sleeper,
            observer,
            seed,
            name,
            warned: AtomicBool::new(false),
        }
    }

    #[inline]
    pub fn observe<'a>(&'a self, event: impl FnOnce(&'a str) -> Event<'a>) {
        if let Some(observer) = &self.observer {
            observer.on_event(&event(&self.name));
        }
    }

    /// Tells that the breaker has changed its state.
    #[cold]
    pub fn tell_transition(&self, transition: Transition) {
        self.observe(|retrier| Event::Breaker {
            retrier,
            from: transition.from,
            to: transition.to,
            open_for: transition.open_for,
        });
    }

    /// Tells it as well, if it is still to be told.
    pub fn tell_taken(&self, transition: &mut Option<Transition>) {
        if let Some(transition) = transition.take() {
            self.tell_transition(transition);
        }
    }

    /// Tells once that a blocking wait is about to hold up an async runtime.
    pub fn warn_if_in_runtime(&self) {
        #[cfg(feature = "tokio")]
        if self.observer.is_some()
            && tokio::runtime::Handle::try_current().is_ok()
            && !self.warned.swap(true, Ordering::Relaxed)
        {
            self.observe(|retrier| Event::BlocksRuntime { retrier });
        }
        #[cfg(not(feature = "tokio"))]
        let _ = self.warned.load(Ordering::Relaxed);
    }
}

impl Retrier {
    pub(super) fn new(parts: Parts) -> Self {
        Self {
            parts,
            classifier: ByTrait,
        }
    }

    /// The same retrier, sharing all state, with a classifier for errors that are not
    /// [`Classify`](crate::Classify): those of other crates, and `Ok` values that mean failure.
    ///
    /// ```
    /// use becalm::{Failure, Policy, Verdict};
    ///
    /// let parse = Policy::default().retrier()?.classify_with(
    ///     |result: Result<&u32, &std::num::ParseIntError>| match result {
    ///         Ok(0) => Failure::transient().into(), // an Ok that means "not yet"
    ///         Ok(_) => Verdict::Success,
    ///         Err(_) => Failure::permanent().into(),
    ///     },
    /// );
    /// assert_eq!(parse.retry_blocking(|_| "17".parse()).ok(), Some(17));
    /// # Ok::<(), becalm::InvalidPolicy>(())
    /// ```
    pub fn classify_with<T, E, C>(&self, classifier: C) -> Retrier<C>
    where
        C: Fn(Result<&T, &E>) -> Verdict,
    {
        Retrier {
            parts: self.parts.clone(),
            classifier,
        }
    }
}

impl<C> Retrier<C> {
    /// Runs the operation until it succeeds or becalm stops; declares the operation idempotent.
    ///
    /// Say so if it is not: [`Retry::not_idempotent`], [`Retry::keyed`]. Dropping the future
    /// cancels the call and returns what it held. The deadline starts when the future is first
    /// polled. Works in any runtime, in `tokio::spawn`, and for futures that are not `Send`.
    ///
    /// # Errors
    ///
    /// [`GaveUp`] keeps the last error, the reason and the record of the attempts.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// use becalm::Policy;
    /// async fn fetch(id: u32) -> std::io::Result<u32> {
    ///     Ok(id)
    /// }
    /// let orders = Policy::default().retrier().expect("a valid policy");
    /// let order = orders.retry(|_| fetch(17)).await.expect("an order");
    /// # assert_eq!(order, 17);
    /// # }
    /// ```
    #[inline]
    pub fn retry<F, Fut, T, E>(&self, operation: F) -> Retry<'_, F, Fut, T, E, C>
    where
        F: FnMut(Attempt) -> Fut,
        Fut: Future<Output = Result<T, E>>,
        C: Clone,
    {
        Retry::new(
            Progress::new(&self.parts),
            operation,
            self.classifier.clone(),
        )
    }

    /// Runs a blocking operation until it succeeds or becalm stops; declares the operation
    /// idempotent.
    ///
    /// For options, [`Retrier::blocking`]. The deadline refuses new attempts; it cannot cut one
    /// that runs. Nothing runs beside an attempt: a [hedge](crate::Hedge) is not made.
    ///
    /// # Errors
    ///
    /// [`GaveUp`] keeps the last error, the reason and the record of the attempts.
    #[inline]
    pub fn retry_blocking<F, T, E>(&self, operation: F) -> Result<T, GaveUp<E, T>>
    where
        F: FnMut(Attempt) -> Result<T, E>,
        C: Classifier<T, E> + Clone,
    {
        Blocking::new(
            Progress::new(&self.parts),
            operation,
            self.classifier.clone(),
        )
        .call()
    }

    /// A blocking call whose options are set before it runs.
    ///
    /// ```
    /// use becalm::{Cancel, Policy};
    /// let orders = Policy::default().retrier()?;
    /// let cancel = Cancel::new(); // another thread may end the waits
    /// let paid = orders
    ///     .blocking(|attempt| {
    ///         let key = attempt.key().expect("a keyed call");
    ///         Ok::<_, std::io::Error>(format!("Idempotency-Key: \"{key}\""))
    ///     })
    ///     .keyed()
    ///     .cancel(&cancel)
    ///     .call();
    /// assert!(paid.is_ok());
    /// # Ok::<(), becalm::InvalidPolicy>(())
    /// ```
    pub fn blocking<F, T, E>(&self, operation: F) -> Blocking<'_, F, T, E, C>
    where
        F: FnMut(Attempt) -> Result<T, E>,
        C: Clone,
    {
        Blocking::new(
            Progress::new(&self.parts),
            operation,
            self.classifier.clone(),
        )
    }

    /// A call driven by your own loop, for mutable captures and early exits: see [`CallLoop`].
    pub fn call<E>(&self) -> CallLoop<'_, E> {
        CallLoop::new(Progress::new(&self.parts))
    }

    /// A [`call`](Self::call) with options of its own.
    pub fn call_with<E>(&self, options: CallOptions) -> CallLoop<'_, E> {
        CallLoop::new(Progress::with_options(&self.parts, options))
    }

    /// Clock and timer.
    pub fn sleeper(&self) -> &dyn Sleeper {
        &*self.parts.engine.sleeper
    }

    /// The stream of random bits for one failing call, for drivers of the sans-IO
    /// [`Call`](crate::Call).
    pub fn random(&self) -> SplitMix64 {
        self.parts.engine.seed.stream()
    }

    /// The name of the dependency in events and metrics.
    pub fn name(&self) -> &str {
        &self.parts.engine.name
    }
}

impl<C> AsRef<Shared> for Retrier<C> {
    fn as_ref(&self) -> &Shared {
        &self.parts.shared
    }
}

/// Its name, if it has one, and its policy as a sentence.
impl<C> fmt::Display for Retrier<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.name().is_empty() {
            write!(f, "{}: ", self.name())?;
        }
        self.policy().fmt(f)
    }
}

impl<C> fmt::Debug for Retrier<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retrier")
            .field("name", &self.parts.engine.name)
            .field("policy", &self.parts.shared.policy())
            .finish_non_exhaustive()
    }
}
