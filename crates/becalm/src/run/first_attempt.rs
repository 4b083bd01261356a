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

/// A [plain](FirstTry) call, of which there is nothing to note: at the top, it sets nothing for
/// itself, and there is nothing to look after but the ratio budget.
pub(super) mod plain {
    use super::{Begun, Core, Engine, Entered, FirstTry};

    /// Enters the scope of its first attempt, if this call is plain.
    #[inline]
    pub fn enter(core: &Core) -> Option<Entered> {
        Entered::from_top(|| FirstTry::begin_plain(&core.shared))
    }

    /// Enters that scope again.
    pub fn enter_again(core: &Core) -> Entered {
        Entered::new(FirstTry::plain(&core.shared).inside(&core.shared, 1))
    }

    /// Its first attempt has succeeded.
    #[inline]
    pub fn succeeded(core: &Core) {
        core.shared.deposit_plain();
    }

    /// The engine of what follows its first attempt.
    pub fn hand_over(core: &Core) -> Engine<&Core> {
        Engine::of_begun(core, Begun::plain(core))
    }
}

/// The first attempt of a call that is not plain, while it is executed.
pub(super) struct FirstAttempt<'r> {
    core: &'r Core,
    /// Taken when it is handed over.
    begun: Option<Begun>,
}

impl<'r> FirstAttempt<'r> {
    /// Begins a call that sets this for itself, in the scope of its first attempt. The engine, where
    /// that has to wait or may not be.
    #[inline]
    pub fn begin(
        core: &'r Core,
        settings: Settings,
    ) -> Result<(Self, Entered, Attempt), Box<Engine<&'r Core>>> {
        let (begun, attempt) = Begun::new(core, settings)
            .map_err(|halted| Box::new(Engine::of_halted(core, *halted)))?;
        let inside = begun.first.inside(&core.shared, 1);
        let mut first = Self {
            core,
            begun: Some(begun),
        };
        if let Some(begun) = &mut first.begun {
            begun.announce(core);
        }
        Ok((first, Entered::new(inside), attempt))
    }

    /// It has succeeded.
    #[inline]
    pub fn succeeded(mut self) {
        if let Some(begun) = &mut self.begun {
            begun.succeeded(self.core);
        }
        self.begun = None;
    }

    /// It has failed, or pends, and its scope has become this: the engine of what follows.
    pub fn hand_over(mut self, inside: Scope) -> Engine<&'r Core> {
        let mut engine = match self.begun.take() {
            Some(begun) => Engine::of_begun(self.core, begun),
            None => plain::hand_over(self.core),
        };
        engine.returned(inside);
        engine
    }
}

/// Dropped in its middle, it has panicked.
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
    #[inline]
    pub fn new(core: &Core, settings: Settings) -> Result<(Self, Attempt), Box<Halted>> {
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
                return Err(Box::new(Halted {
                    identity: identity(),
                    settings,
                    first,
                    admission: halted.map(|_| admission),
                }));
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
            core.host
                .observe(Some(identity), Event::Attempt { number: 1, waited });
        }
        self.is_running = true;
    }

    #[inline(never)] // keeps a plain call small
    fn succeeded(&mut self, core: &Core) {
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
        let pass = std::mem::take(&mut self.flight.pass);
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
