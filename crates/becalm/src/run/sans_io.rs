//! What does a driver without futures, such as a binding to another language, hold of a call that
//! succeeds at once? Its first attempt, and an engine only where anything else happens.

use core::fmt;

use super::core::Core;
use super::engine::{Engine, EngineBuilder};
use super::first_attempt::{Begun, Settings, plain};
use super::gave_up::Stopped;
use crate::attempt::Attempt;
use crate::call::FirstTry;
use crate::classify::Failure;
use crate::scope::Scope;
use crate::time::{Instant, Sleeper};

/// The first attempt of a call, which runs: a success ends the call here, and everything else makes it an
/// [`Engine`], with nothing lost.
///
/// For drivers that wait in their own way, such as bindings to other languages. A success makes no
/// engine, allocates nothing, and reads the clock only where the policy wants to know the time. Dropped,
/// it ends the call as cancelled; by a panic, as an operation that has panicked.
///
/// ```
/// use becalm::run::{Engine, Step};
/// use becalm::{Policy, Retrier};
/// use std::io;
/// use std::task::Waker;
///
/// fn call(retrier: &Retrier, operation: impl Fn() -> io::Result<u32>) -> Option<u32> {
///     let mut engine = match Engine::builder(retrier).first_attempt() {
///         Ok(first) => {
///             let (result, inside) = first.scope().enter_with_scope(&operation);
///             let Err(error) = result else {
///                 first.succeeded();
///                 return result.ok();
///             };
///             let attempt = first.attempt();
///             let mut engine = Box::new(first.into_engine(inside));
///             engine.failed_with(attempt, retrier.classifier(), &error);
///             engine
///         }
///         // It has to wait, or the policy refuses it.
///         Err(engine) => engine,
///     };
///     loop {
///         let attempt = match engine.step(Waker::noop(), &mut |_| ()) {
///             Step::Start(attempt) => attempt,
///             Step::Wait(until) => {
///                 std::thread::sleep(until.since(retrier.sleeper().now()));
///                 continue;
///             }
///             Step::Stopped(_) => return None,
///         };
///         match engine.inside(attempt.number(), &operation) {
///             Ok(value) => {
///                 engine.succeeded(attempt.number());
///                 return Some(value);
///             }
///             Err(error) => engine.failed_with(attempt, retrier.classifier(), &error),
///         }
///     }
/// }
/// # let retrier = Policy::fixed(std::time::Duration::from_millis(1)).retrier()?;
/// # let attempts = std::cell::Cell::new(0);
/// # let third = || {
/// #     attempts.set(attempts.get() + 1);
/// #     if attempts.get() < 3 { Err(io::ErrorKind::ConnectionReset.into()) } else { Ok(17) }
/// # };
/// # assert_eq!(call(&retrier, third), Some(17));
/// # assert_eq!(call(&retrier, || Ok(3)), Some(3));
/// # Ok::<(), becalm::policy::InvalidPolicy>(())
/// ```
#[must_use = "dropped, it cancels the call"]
pub struct FirstAttempt<H: AsRef<Core> + Clone> {
    core: H,
    /// `None` for a [plain] call, which has nothing to note.
    begun: Option<Begun>,
    /// It is over, or an engine has taken it.
    is_over: bool,
    /// Its operation is not executed just now: dropped by a panic, it has not panicked itself.
    pub(super) is_parked: bool,
}

impl<H: AsRef<Core> + Clone> EngineBuilder<H> {
    /// Begins the call, and its first attempt: its deadline starts, in the scope that is current here.
    ///
    /// # Errors
    ///
    /// The engine of the call, where the first attempt has to wait or may not be.
    #[inline]
    pub fn first_attempt(self) -> Result<FirstAttempt<H>, Box<Engine<H>>> {
        if self.plain().is_some() {
            return Ok(FirstAttempt {
                core: self.core,
                begun: None,
                is_over: false,
                is_parked: false,
            });
        }
        FirstAttempt::noted(self.core, self.settings.unwrap_or_default())
    }
}

impl<H: AsRef<Core> + Clone> FirstAttempt<H> {
    #[inline(never)] // keeps a plain call small
    fn noted(core: H, settings: Settings) -> Result<Self, Box<Engine<H>>> {
        let mut begun = Begun::new(FirstTry::UNKNOWN, settings);
        if let Err(halted) = begun.begin(core.as_ref()) {
            return Err(Box::new(Engine::of_halted(core, begun, halted)));
        }
        // Made first: should an observer panic, it returns what the attempt holds.
        let mut first = Self {
            core,
            begun: Some(begun),
            is_over: false,
            is_parked: false,
        };
        if let Some(begun) = &mut first.begun {
            begun.announce(first.core.as_ref());
        }
        Ok(first)
    }

    /// What the operation may know of it.
    #[inline]
    pub fn attempt(&self) -> Attempt {
        let noted = self.begun.as_ref();
        noted.map_or_else(FirstTry::plain_attempt, Begun::attempt)
    }

    /// The scope of what runs inside it: layers below that run in it know of this call.
    pub fn scope(&self) -> Scope {
        let core = self.core.as_ref();
        match &self.begun {
            None => plain::scope(core),
            Some(begun) => begun.first.inside(&core.shared, 1),
        }
    }

    /// Tells that it has succeeded, and with it the call.
    #[inline]
    pub fn succeeded(mut self) {
        self.succeed();
    }

    #[inline]
    pub(super) fn succeed(&mut self) {
        self.is_over = true;
        let core = self.core.as_ref();
        match &mut self.begun {
            None => {
                Scope::handled();
                plain::succeeded(core);
            }
            Some(begun) => begun.succeeded(core),
        }
    }

    /// The engine of the call, whose attempt 1 runs: for whatever is no success at once. `inside` is what
    /// its [scope](Self::scope) has become, if anything ran in it.
    ///
    /// A driver does this as soon as a layer below has [told](Scope::told_below) something, and where
    /// an attempt that lasts is to be cut or hedged.
    #[cold]
    pub fn into_engine(mut self, inside: Scope) -> Engine<H> {
        let mut engine = self.take();
        engine.returned(inside);
        engine
    }

    /// Whether an engine has to look after it while it pends, since its scope has become this.
    #[inline]
    pub(super) fn is_watched(&self, inside: Scope) -> bool {
        inside.has_news() || self.begun.as_ref().is_some_and(Begun::is_watched)
    }

    /// When it is cut; `NEVER` for no time limit.
    #[inline]
    pub(super) fn ends(&self) -> Instant {
        self.begun.as_ref().map_or(Instant::NEVER, Begun::ends)
    }

    /// Its operation is executed again.
    #[inline]
    pub(super) fn resumed(mut self) -> Self {
        self.is_parked = false;
        self
    }

    pub(super) fn sleeper(&self) -> &dyn Sleeper {
        &*self.core.as_ref().host.sleeper
    }

    /// It has failed so: the end, where no policy lets another follow.
    pub(super) fn stops(&mut self, failure: &Failure, inside: Scope) -> Option<Stopped> {
        if self.begun.is_some() {
            return None;
        }
        let stopped = plain::stopped(self.core.as_ref(), failure, inside);
        self.is_over = stopped.is_some();
        stopped
    }

    fn take(&mut self) -> Engine<H> {
        self.is_over = true;
        let core = self.core.clone();
        match self.begun.take() {
            None => plain::hand_over(core),
            Some(begun) => Engine::of_begun(core, begun),
        }
    }

    #[cold]
    fn dropped(&mut self) {
        let is_plain = self.begun.is_none();
        let mut engine = self.take();
        if self.is_parked || !std::thread::panicking() {
            engine.returned(engine.scope_of(1));
        } else if is_plain {
            engine.unwinds(1);
        }
    }
}

impl<H: AsRef<Core> + Clone> Drop for FirstAttempt<H> {
    #[inline]
    fn drop(&mut self) {
        if !self.is_over {
            self.dropped();
        }
    }
}

impl<H: AsRef<Core> + Clone> fmt::Debug for FirstAttempt<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FirstAttempt")
            .field("attempt", &self.attempt())
            .finish_non_exhaustive()
    }
}
