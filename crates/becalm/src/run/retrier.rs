//! What is a policy together with its shared state, clock and observer? A retrier.

use core::fmt;
use core::future::Future;

use super::{Blocking, CallLoop, Core, Engine, EngineBuilder, GaveUp, Retry};
use crate::attempt::Attempt;
use crate::classify::{ByError, ByTrait, Failure, Judge};
use crate::rng::SplitMix64;
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
/// # Ok::<(), becalm::GaveUp<std::io::Error>>(())
/// ```
#[derive(Clone)]
pub struct Retrier<C = ByTrait> {
    pub(super) core: Core,
    classifier: C,
}

impl Retrier {
    pub(super) fn new(core: Core) -> Self {
        Self {
            core,
            classifier: ByTrait,
        }
    }

    /// Makes a retrier that shares all state with this one, and classifies errors of other crates by this
    /// type, whatever its calls return on success.
    ///
    /// ```
    /// use becalm::classify::{Classifier, Failure};
    /// use becalm::{Attempt, Policy, Retrier};
    /// use std::num::ParseIntError;
    /// use std::sync::LazyLock;
    ///
    /// #[derive(Clone)]
    /// struct ByHand;
    ///
    /// impl Classifier<ParseIntError> for ByHand {
    ///     fn classify(&self, _: Attempt, _: &ParseIntError) -> Failure {
    ///         Failure::permanent()
    ///     }
    /// }
    ///
    /// static NUMBERS: LazyLock<Retrier<ByHand>> = LazyLock::new(|| {
    ///     Policy::default().retrier().expect("a valid policy").classify_by(ByHand)
    /// });
    /// assert_eq!(NUMBERS.retry_blocking(|_| "17".parse::<u32>()).ok(), Some(17));
    /// assert_eq!(NUMBERS.retry_blocking(|_| "-9".parse::<i8>()).ok(), Some(-9));
    /// ```
    pub fn classify_by<C>(&self, classifier: C) -> Retrier<C> {
        Retrier {
            core: self.core.clone(),
            classifier,
        }
    }

    /// Makes a retrier that shares all state with this one; the closure says what each error means for a
    /// retry.
    ///
    /// ```
    /// use becalm::{Failure, Policy};
    ///
    /// let parse = Policy::default()
    ///     .retrier()?
    ///     .classify_with(|_, _: &std::num::ParseIntError| Failure::permanent());
    /// assert_eq!(parse.retry_blocking(|_| "17".parse::<u32>()).ok(), Some(17));
    /// # Ok::<(), becalm::policy::InvalidPolicy>(())
    /// ```
    pub fn classify_with<E, C>(&self, classifier: C) -> Retrier<ByError<C>>
    where
        C: Fn(Attempt, &E) -> Failure,
    {
        self.classify_by(ByError(classifier))
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
    pub fn retry<F, Fut, T, E>(&self, operation: F) -> Retry<'_, F, Fut, E, C>
    where
        F: FnMut(Attempt) -> Fut,
        Fut: Future<Output = Result<T, E>>,
        C: Clone,
    {
        Retry::new(&self.core, operation, self.classifier.clone())
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
    pub fn retry_blocking<F, T, E>(&self, operation: F) -> Result<T, GaveUp<C::Error>>
    where
        F: FnMut(Attempt) -> Result<T, E>,
        C: Judge<E> + Clone,
    {
        Blocking::new(&self.core, operation, self.classifier.clone()).call()
    }

    /// Prepares a blocking call, whose options you set before it runs.
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
    /// # Ok::<(), becalm::policy::InvalidPolicy>(())
    /// ```
    pub fn blocking<F, T, E>(&self, operation: F) -> Blocking<'_, F, C>
    where
        F: FnMut(Attempt) -> Result<T, E>,
        C: Clone,
    {
        Blocking::new(&self.core, operation, self.classifier.clone())
    }

    /// Begins a call that your own loop drives, for mutable captures and early exits: see [`CallLoop`].
    pub fn call<E: fmt::Display>(&self) -> CallLoop<&Core, E> {
        CallLoop::new(Engine::builder(&self.core))
    }

    /// A [`call`](Self::call) that owns its retrier, to be kept beside it or sent elsewhere.
    pub fn owned_call<E: fmt::Display>(&self) -> CallLoop<Core, E> {
        CallLoop::new(self.engine())
    }

    /// The engine of one call, for a driver of your own: it owns its retrier, and is `'static`.
    ///
    /// A driver that may borrow makes it by [`Engine::builder`]`(&retrier)`.
    pub fn engine(&self) -> EngineBuilder<Core> {
        Engine::builder(self.core.clone())
    }

    /// The clock and timer of this retrier.
    pub fn sleeper(&self) -> &dyn Sleeper {
        &*self.core.host.sleeper
    }

    /// The stream of random bits for one failing call, for drivers of the sans-IO
    /// [`Call`](crate::call::Call).
    pub fn random(&self) -> SplitMix64 {
        self.core.host.seed.stream()
    }

    /// The classifier, which says what an error means: for a driver of your own.
    pub fn classifier(&self) -> &C {
        &self.classifier
    }

    /// The name of the dependency in events and metrics.
    pub fn name(&self) -> &str {
        &self.core.host.name
    }
}

impl<C> AsRef<Core> for Retrier<C> {
    fn as_ref(&self) -> &Core {
        &self.core
    }
}

impl<C> AsRef<Shared> for Retrier<C> {
    fn as_ref(&self) -> &Shared {
        &self.core.shared
    }
}

/// Its name, if it has one, and its policy as a sentence.
#[cfg(feature = "text")]
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
            .field("name", &self.core.host.name)
            .field("policy", &self.core.shared.policy())
            .finish_non_exhaustive()
    }
}
