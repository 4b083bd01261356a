//! What is a retrier without its classifier? Its shared state, its clock, its observer.

use core::any::Any;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::task::Waker;
use std::sync::Arc;

use crate::breaker::Transition;
use crate::observe::{About, Event, Observer};
use crate::rng::{Random, Seed, SplitMix64};
use crate::shared::Shared;
use crate::time::{Cancel, Cancelled, Sleeper};

/// A retrier without its classifier: what an [`Engine`](super::Engine) stands on.
///
/// Cheap to clone. Every [`Retrier`](super::Retrier) is one by `AsRef`.
#[derive(Debug, Clone)]
pub struct Core {
    pub(super) shared: Arc<Shared>,
    pub(super) host: Arc<Host>,
}

impl AsRef<Core> for Core {
    fn as_ref(&self) -> &Core {
        self
    }
}

/// What the sans-IO state does without: time, randomness, an observer, a name.
#[derive(Debug)]
pub(super) struct Host {
    pub sleeper: Arc<dyn Sleeper>,
    pub observer: Option<Arc<dyn Observer>>,
    pub seed: Seed,
    pub name: String,
    /// It was told that a wait holds up a runtime.
    pub warned: AtomicBool,
}

impl Host {
    /// Tells the observer, if there is one, of something in this call, or in none.
    #[inline]
    pub fn observe(&self, identity: Option<&Identity>, event: Event<'_>) {
        let Some(observer) = &self.observer else {
            return;
        };
        // An observer that panics while another panic unwinds would abort the process.
        if !std::thread::panicking() {
            let about = About {
                retrier: &self.name,
                call: identity.map(|identity| identity.number),
                context: identity.and_then(Identity::context),
            };
            observer.on_event(&about, &event);
        }
    }

    /// Tells that the breaker has changed its state.
    #[cold]
    pub fn tell_transition(&self, identity: Option<&Identity>, transition: Transition) {
        let event = Event::Breaker {
            from: transition.from,
            to: transition.to,
            open_for: transition.open_for,
        };
        self.observe(identity, event);
    }

    /// Tells once that a blocking wait is about to hold up an async runtime.
    pub fn warn_if_in_runtime(&self) {
        #[cfg(feature = "tokio")]
        if self.observer.is_some()
            && tokio::runtime::Handle::try_current().is_ok()
            && !self.warned.swap(true, Ordering::Relaxed)
        {
            self.observe(None, Event::BlocksRuntime);
        }
        #[cfg(not(feature = "tokio"))]
        let _ = self.warned.load(Ordering::Relaxed);
    }
}

/// By what an observer knows a call again. Made only where there is an observer.
#[derive(Debug)]
pub(super) struct Identity {
    number: u64,
    context: Option<Context>,
}

type Context = Arc<dyn Any + Send + Sync>;

impl Identity {
    pub fn new(attached: Option<&Attached>) -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self {
            number: LAST.fetch_add(1, Ordering::Relaxed) + 1,
            context: attached.and_then(|attached| attached.context.clone()),
        }
    }

    fn context(&self) -> Option<&(dyn Any + Send + Sync)> {
        self.context.as_deref()
    }
}

/// What few calls carry.
#[derive(Debug, Default)]
pub(super) struct Attached {
    pub context: Option<Context>,
    pub cancel: Option<Cancel>,
    cancelled: Option<Cancelled>,
}

impl Attached {
    /// Wakes this task, and no other any more, when the call is cancelled.
    pub fn listen(&mut self, waker: &Waker) {
        if let Some(cancel) = &self.cancel {
            let cancelled = self.cancelled.get_or_insert_with(|| cancel.cancelled());
            if cancelled.poll_with(waker).is_ready() {
                waker.wake_by_ref();
            }
        }
    }
}

/// The stream of one failing call, seeded at its first draw: a failure that is final draws none.
pub(super) struct Stream<'a> {
    pub seed: &'a Seed,
    pub stream: &'a mut Option<SplitMix64>,
}

impl Random for Stream<'_> {
    #[inline]
    fn next_u64(&mut self) -> u64 {
        self.seed.draws(self.stream).next_u64()
    }
}
