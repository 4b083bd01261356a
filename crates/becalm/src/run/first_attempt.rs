//! What does a call need that succeeds at once? As little as possible: the one fast path.
//!
//! A first attempt that is ready at its first poll never makes an [`Engine`]. Whatever else happens
//! (it fails, it pends beside a time limit, it is dropped) is handed over to one.

use core::task::Waker;

use super::core::{Attached, Core, Identity, Stream};
use super::engine::Engine;
use crate::call::{Attempt, CallOptions, FirstTry, Flight};
use crate::guard::{Admission, Asking, Ended, Gate, Pass, Refused};
use crate::observe::Event;
use crate::scope::{Entered, Scope};
use crate::stop::StopReason;
use crate::time::Cancel;

/// The first attempt of a call while it runs.
pub(super) struct FirstAttempt<'r> {
    core: &'r Core,
    /// `None` for a [plain](FirstTry) call, of which there is nothing to note.
    begun: Option<Begun>,
}

/// How a call begins.
pub(super) enum Beginning<'r> {
    /// The first attempt runs, in its scope.
    Runs(FirstAttempt<'r>, Entered, Attempt),
    /// It has to wait, or may not be.
    Halts(Box<Engine<&'r Core>>),
}

impl<'r> FirstAttempt<'r> {
    /// Begins a call that sets this for itself.
    #[inline]
    pub fn begin(core: &'r Core, settings: Option<Settings>) -> Beginning<'r> {
        if settings.is_none() {
            if let Some(entered) = Entered::from_top(|| FirstTry::begin_plain(&core.shared)) {
                let first = Self { core, begun: None };
                return Beginning::Runs(first, entered, FirstTry::plain_attempt());
            }
        }
        Self::begin_in_full(core, settings.unwrap_or_default())
    }

    #[inline(never)] // keeps a plain call small
    fn begin_in_full(core: &'r Core, settings: Settings) -> Beginning<'r> {
        match Begun::new(core, settings) {
            Ok((begun, attempt)) => {
                let inside = begun.first.inside(&core.shared, 1);
                let mut first = Self {
                    core,
                    begun: Some(begun),
                };
                if let Some(begun) = &mut first.begun {
                    begun.announce(core);
                }
                Beginning::Runs(first, Entered::new(inside), attempt)
            }
            Err(halted) => Beginning::Halts(Box::new(Engine::of_halted(core, halted))),
        }
    }

    /// Enters the scope of the attempt again.
    pub fn enter(&mut self) -> Entered {
        let shared = &self.core.shared;
        Entered::new(match &mut self.begun {
            Some(begun) => {
                begun.is_running = true;
                begun.first.inside(shared, 1)
            }
            None => FirstTry::plain(shared).inside(shared, 1),
        })
    }

    /// The attempt pends, and its scope has become this. Whether nothing can happen meanwhile, so
    /// that no engine is needed.
    pub fn pends(&mut self, inside: Scope) -> bool {
        let is_untimed = self.begun.as_mut().is_none_or(|begun| {
            begun.is_running = false;
            begun.first.is_untimed() && begun.settings.cancel().is_none()
        });
        is_untimed && !inside.has_news()
    }

    /// The attempt has succeeded.
    #[inline]
    pub fn succeeded(mut self) {
        match self.begun.take() {
            None => self.core.shared.deposit_plain(),
            Some(begun) => begun.succeeded(self.core),
        }
    }

    /// The engine of what follows.
    pub fn hand_over(mut self) -> Engine<&'r Core> {
        match self.begun.take() {
            Some(begun) => Engine::of_begun(self.core, begun),
            None => Engine::of_begun(self.core, Begun::plain(self.core)),
        }
    }
}

/// Dropped in its middle, the engine tells that it was cancelled, or has panicked.
impl Drop for FirstAttempt<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(begun) = self.begun.take() {
            drop(Engine::of_begun(self.core, begun));
        }
    }
}

/// What a call sets for itself.
#[derive(Debug, Default)]
pub(super) struct Settings {
    pub options: CallOptions,
    pub attached: Option<Box<Attached>>,
}

impl Settings {
    pub fn attached(&mut self) -> &mut Attached {
        self.attached.get_or_insert_default()
    }

    pub fn cancel(&self) -> Option<&Cancel> {
        self.attached.as_ref()?.cancel.as_ref()
    }
}

/// A first attempt that runs.
pub(super) struct Begun {
    pub settings: Settings,
    pub first: FirstTry,
    pub flight: Flight,
    /// The budget is to be told of the call's end.
    pub is_enrolled: bool,
    pub identity: Option<Identity>,
    /// The operation is being executed: if that unwinds, it has panicked.
    pub is_running: bool,
}

/// A first attempt that has to wait, with what it has gained already, or may not be.
pub(super) struct Halted {
    pub settings: Settings,
    pub first: FirstTry,
    pub identity: Option<Identity>,
    pub admission: Result<Admission, Refused>,
}

impl Begun {
    /// Of a plain call.
    #[cold]
    fn plain(core: &Core) -> Self {
        Self {
            settings: Settings::default(),
            first: FirstTry::plain(&core.shared),
            flight: Flight::first(None, Pass::default()),
            is_enrolled: false,
            identity: None,
            is_running: false,
        }
    }

    /// Asks the guards, and begins the first attempt.
    pub fn new(core: &Core, settings: Settings) -> Result<(Self, Attempt), Halted> {
        let Core { shared, host } = core;
        let above = Scope::current();
        let first = FirstTry::begin(shared, &settings.options, above, || host.sleeper.now());
        let identity = || {
            let attached = settings.attached.as_deref();
            let is_observed = host.observer.is_some();
            is_observed.then(|| Identity::new(attached))
        };
        let is_cancelled = settings.cancel().is_some_and(Cancel::is_cancelled);
        let attempt = match first.attempt(&settings.options) {
            _ if is_cancelled => Err(StopReason::Cancelled),
            attempt => attempt,
        };
        let mut admission = Admission::default();
        let gate = attempt
            .map_err(Refused::from)
            .and_then(|attempt| Ok((attempt, ask(core, &settings, &first, &mut admission)?)));
        let (attempt, flight) = match gate {
            Ok((attempt, Gate::Open(pass))) => (attempt, Flight::first(first.started, pass)),
            halted => {
                return Err(Halted {
                    identity: identity(),
                    settings,
                    first,
                    admission: halted.map(|_| admission),
                });
            }
        };
        let is_probe = flight.pass.is_probe();
        let begun = Self {
            is_enrolled: shared.first_attempt(is_probe, first.start()),
            identity: identity(),
            settings,
            first,
            flight,
            is_running: false,
        };
        Ok((begun, attempt))
    }

    /// Tells the observer of the attempt that starts, and of the breaker that is half-open with it.
    #[inline]
    pub fn announce(&mut self, core: &Core) {
        if let Some(identity) = &self.identity {
            if let Some(transition) = self.flight.pass.transition() {
                core.host.tell_transition(Some(identity), transition);
            }
            // Told first: should that panic, the attempt never starts.
            let waited = core::time::Duration::ZERO;
            core.host.observe(Some(identity), Event::Attempt { number: 1, waited });
        }
        self.is_running = true;
    }

    #[inline(never)] // keeps a plain call small
    fn succeeded(self, core: &Core) {
        let Core { shared, host } = core;
        Scope::handled();
        let known = shared.reads_clock_at_end().then(|| host.sleeper.now());
        shared.succeeded(self.flight.pass.is_probe(), known);
        if self.is_enrolled {
            shared.call_ended();
        }
        let mut stream = None;
        let mut random = Stream {
            seed: &host.seed,
            stream: &mut stream,
        };
        let now = || known.unwrap_or_else(|| host.sleeper.now());
        let draw = || crate::rng::Random::next_u64(&mut random);
        let pass = self.flight.pass;
        if let Some(transition) = shared.guards().finish(pass, Ended::Success, now, draw) {
            host.tell_transition(self.identity.as_ref(), transition);
        }
    }
}

/// What the guards say to a first attempt.
#[inline]
fn ask(
    core: &Core,
    settings: &Settings,
    first: &FirstTry,
    admission: &mut Admission,
) -> Result<Gate, Refused> {
    let Core { shared, host } = core;
    let guards = shared.guards();
    if guards.are_idle() {
        return Ok(Gate::Open(Pass::default()));
    }
    let asking = Asking {
        priority: settings.options.priority,
        is_first_try: true,
        deadline: first.deadline,
        waker: Some(Waker::noop()), // asked again where it has to wait
    };
    let now = || first.started.unwrap_or_else(|| host.sleeper.now());
    let mut stream = None;
    let mut random = Stream {
        seed: &host.seed,
        stream: &mut stream,
    };
    guards.admit(admission, asking, now, &mut random)
}
