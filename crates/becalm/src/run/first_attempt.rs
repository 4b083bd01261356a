//! What does a call need that succeeds at once? As little as possible: the one fast path.
//!
//! A first attempt that is ready at its first poll never makes an [`Engine`], nor does one of a plain
//! call that fails for good, or that succeeds at its second attempt. Whatever else happens (it fails, it
//! pends beside a time limit, it is dropped) is handed over to one.

use core::task::Waker;
use core::time::Duration;

use super::core::{Attached, Core, Identity, Stream};
use super::engine::Engine;
use super::gave_up::{Stopped, Story};
use crate::attempt::Attempt;
use crate::call::{CallOptions, FirstTry};
use crate::classify::{Class, Failure};
use crate::guard::{Admission, Asking, Ended, Gate, Pass, Refused};
use crate::observe::Event;
use crate::scope::{Entered, Scope, tell_current};
use crate::stop::StopReason;
use crate::throttle::Priority;
use crate::time::{Cancel, Instant};

/// A [plain](FirstTry) call, of which there is nothing to note: at the top, it sets nothing for
/// itself, and there is nothing to look after but the ratio budget.
pub(super) mod plain {
    use super::{
        Begun, Class, Core, Engine, Entered, Failure, FirstTry, Instant, Refused, Scope, Settings,
        StopReason, Stopped, Story, tell_current,
    };

    /// Enters the scope of its first attempt, if this call is plain.
    #[inline]
    pub fn enter(core: &Core) -> Option<Entered> {
        if !Entered::is_nothing() {
            return None;
        }
        FirstTry::begin_plain(&core.shared).map(Entered::from_top)
    }

    /// Enters that scope again.
    pub fn enter_again(core: &Core) -> Entered {
        Entered::new(scope(core))
    }

    /// Whether a call is plain that begins here and sets nothing for itself.
    #[inline]
    pub fn begins(core: &Core) -> bool {
        Scope::current().is_none() && FirstTry::begin_plain(&core.shared).is_some()
    }

    /// The scope of its first attempt.
    pub fn scope(core: &Core) -> Scope {
        FirstTry::plain(&core.shared).inside(&core.shared, 1)
    }

    /// Its first attempt has succeeded.
    #[inline]
    pub fn succeeded(core: &Core) {
        core.shared.deposit_plain();
    }

    /// Its first attempt has failed so: the end, where no policy lets another follow. It held nothing,
    /// and nobody looks at the time, so that a 404 costs no more than its record.
    pub fn stopped(core: &Core, failure: &Failure, inside: Scope) -> Option<Stopped> {
        let says_more = failure.hint.is_some() || inside.has_news();
        let class = failure.class;
        let is_permanent = class == Class::Permanent && core.shared.class_of(failure) == class;
        if !is_permanent || says_more || core.shared.plain().is_none() {
            return None;
        }
        core.shared.heard().untold();
        let story = Story::of_first(*failure, Instant::ZERO);
        Some(stop(core, story, StopReason::Permanent.into(), None))
    }

    /// The end after its first attempt, which has failed now, if anybody looked at the time.
    pub fn stop(core: &Core, story: Story, refused: Refused, now: Option<Instant>) -> Stopped {
        let Refused { reason, until } = refused;
        core.shared.count_stop(reason);
        tell_current(reason);
        story.end(reason, 1, until, now)
    }

    /// The engine of what follows its first attempt.
    #[cold]
    pub fn hand_over<H: AsRef<Core> + Clone>(core: H) -> Engine<H> {
        let first = FirstTry::plain(&core.as_ref().shared);
        let begun = Begun::new(first, Settings::default());
        Engine::of_begun(core, begun)
    }
}

/// A quick call, which needs nothing but its [`FirstTry`]: like a plain one, its first attempt holds
/// nothing.
pub(super) mod quick {
    use super::{Begun, Core, Engine, Entered, FirstTry, Scope, Settings};

    /// Enters the scope of its first attempt, if this call is quick.
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "out of line, what is noted goes through memory: a success takes a quarter more"
    )]
    pub fn enter(core: &Core, settings: Option<&Settings>) -> Option<(Entered, FirstTry)> {
        if !Entered::is_nothing() || settings.is_some_and(|it| it.attached.is_some()) {
            return None;
        }
        let options = settings.map(|settings| &settings.options);
        let now = || core.host.sleeper.now();
        let (inside, first) = FirstTry::begin_quick(&core.shared, options, now)?;
        Some((Entered::from_top(inside), first))
    }

    /// The engine of what follows its first attempt, whose scope has become this.
    #[cold]
    #[inline(never)]
    pub fn hand_over(
        core: &Core,
        first: FirstTry,
        settings: Option<Settings>,
        inside: Scope,
    ) -> Engine<&Core> {
        let begun = Begun::new(first, settings.unwrap_or_default());
        let mut engine = Engine::of_begun(core, begun);
        engine.returned(inside);
        engine
    }
}

/// The first attempt of a call that is neither plain nor quick, while it is executed. Made where it stays, since
/// moving it costs more than the rest of a success.
pub(super) struct Executing<'r> {
    core: &'r Core,
    begun: Begun,
    /// It is neither over nor handed over.
    is_held: bool,
}

impl<'r> Executing<'r> {
    /// Of a call that sets this for itself.
    #[inline]
    pub fn new(core: &'r Core, settings: Option<Settings>) -> Self {
        let mut begun = Begun::new(FirstTry::UNKNOWN, Settings::default());
        // Moved only where there are some, and nowhere but here: most calls set nothing.
        if let Some(settings) = settings {
            begun.settings = settings;
        }
        Self {
            core,
            begun,
            is_held: false,
        }
    }

    /// Begins the call. The engine, where its first [attempt](Self::attempt) has to wait or may not be.
    #[inline(never)] // keeps a plain call small
    pub fn begin(&mut self) -> Option<Engine<&'r Core>> {
        if let Err(halted) = self.begun.begin(self.core) {
            return Some(Engine::of_halted(self.core, self.take(), halted));
        }
        self.is_held = true;
        self.begun.announce(self.core);
        None
    }

    /// The first attempt, once the call has begun. Made where it is needed: brought along through
    /// memory, it costs each success a stall of the processor's store buffer.
    #[inline]
    pub fn attempt(&self) -> Attempt {
        self.begun.attempt()
    }

    /// Enters the scope of the attempt.
    #[inline]
    pub fn enter(&self) -> Entered {
        Entered::new(self.begun.first.inside(&self.core.shared, 1))
    }

    /// It has succeeded.
    #[inline]
    pub fn succeeded(&mut self) {
        self.is_held = false;
        self.begun.succeeded(self.core);
    }

    /// It has failed, or pends, and its scope has become this: the engine of what follows.
    #[cold]
    pub fn hand_over(&mut self, inside: Scope) -> Engine<&'r Core> {
        let mut engine = Engine::of_begun(self.core, self.take());
        engine.returned(inside);
        engine
    }

    #[cold]
    #[inline(never)]
    fn dropped(&mut self) {
        drop(Engine::of_begun(self.core, self.take()));
    }

    fn take(&mut self) -> Begun {
        self.is_held = false;
        let none = Begun::new(FirstTry::UNKNOWN, Settings::default());
        core::mem::replace(&mut self.begun, none)
    }
}

/// Dropped in its middle, it has panicked.
impl Drop for Executing<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.is_held {
            self.dropped();
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

/// A first attempt, from the moment that its call is made.
pub(super) struct Begun {
    pub settings: Settings,
    pub first: FirstTry,
    pub pass: Pass,
    /// The budget is to be told of the call's end.
    pub is_enrolled: bool,
    pub identity: Option<Identity>,
    /// The operation is being executed: if that unwinds, it has panicked.
    pub is_running: bool,
}

/// Why a first attempt does not start at once.
pub(super) enum Halted {
    /// It has to wait, with what it has gained already.
    Waits(Admission),
    Refused(Refused),
}

impl Begun {
    /// Of a call that sets this for itself.
    #[inline]
    pub fn new(first: FirstTry, settings: Settings) -> Self {
        Self {
            settings,
            first,
            pass: Pass::default(),
            is_enrolled: false,
            identity: None,
            is_running: false,
        }
    }

    /// Begins the call, asks the guards, and begins the first attempt.
    #[inline]
    pub fn begin(&mut self, core: &Core) -> Result<(), Halted> {
        let Core { shared, host } = core;
        let options = &self.settings.options;
        self.first = FirstTry::begin(shared, options, Scope::current(), || host.sleeper.now());
        if host.observer.is_some() {
            self.identity = Some(Identity::new(self.settings.attached.as_deref()));
        }
        if self.settings.cancel().is_some_and(Cancel::is_cancelled) {
            return Err(Halted::Refused(StopReason::Cancelled.into()));
        }
        if self.first.is_watched(shared) {
            return Err(Halted::Waits(Admission::default())); // what enforcing would do is the engine's to tell
        }
        let remaining = self.first.remaining();
        remaining.map_err(|reason| Halted::Refused(reason.into()))?;
        if !shared.guards().are_idle() {
            self.pass = ask(core, options.priority, &self.first)?;
        }
        self.is_enrolled = shared.first_attempt(self.pass.is_probe(), self.first.start());
        Ok(())
    }

    /// The first attempt, once the call has begun.
    #[inline]
    pub fn attempt(&self) -> Attempt {
        self.first.attempt(Some(&self.settings.options))
    }

    /// Whether something else than its end or a time limit may want it to wake.
    #[inline]
    pub fn is_watched(&self) -> bool {
        self.first.may_hedge || self.settings.cancel().is_some()
    }

    /// When a time limit cuts it; `NEVER` for none.
    #[inline]
    pub fn ends(&self) -> Instant {
        let FirstTry {
            deadline,
            attempt_timeout,
            observes,
            ..
        } = self.first;
        if observes {
            return Instant::NEVER;
        }
        if attempt_timeout == u64::MAX {
            return deadline;
        }
        let limit = Duration::from_nanos(attempt_timeout);
        deadline.min(self.first.start().after(limit))
    }

    /// Tells the observer of the attempt that starts, and of the breaker that is half-open with it.
    #[inline]
    pub fn announce(&mut self, core: &Core) {
        if let Some(identity) = &self.identity {
            if let Some(transition) = self.pass.transition() {
                core.host.tell_transition(Some(identity), transition);
            }
            // Told first: should that panic, the attempt never starts.
            let waited = Duration::ZERO;
            core.host
                .observe(Some(identity), Event::Attempt { number: 1, waited });
        }
        self.is_running = true;
    }

    #[inline(never)]
    pub fn succeeded(&mut self, core: &Core) {
        let Core { shared, host } = core;
        Scope::handled();
        let known = shared.reads_clock_at_end().then(|| host.sleeper.now());
        shared.succeeded(self.pass.is_probe(), known);
        if self.is_enrolled {
            shared.call_ended();
        }
        let now = || known.unwrap_or_else(|| host.sleeper.now());
        let draw = || host.seed.draw();
        let guards = shared.guards();
        if let Some(transition) = guards.finish(&mut self.pass, Ended::Success, now, draw) {
            host.tell_transition(self.identity.as_ref(), transition);
        }
    }
}

/// What the guards say to a first attempt.
#[inline]
fn ask(core: &Core, priority: Priority, first: &FirstTry) -> Result<Pass, Halted> {
    let Core { shared, host } = core;
    let asking = Asking {
        priority,
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
    let mut admission = Admission::default();
    let guards = shared.guards();
    match guards.admit(&mut admission, asking, now, &mut random) {
        Ok(Gate::Open(pass)) => Ok(pass),
        Ok(_) => Err(Halted::Waits(admission)),
        Err(refused) => Err(Halted::Refused(refused)),
    }
}
