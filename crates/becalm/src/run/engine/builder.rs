//! How does a call under an engine begin?

use core::time::Duration;

use super::super::core::Core;
use super::super::first_attempt::{Begun, Halted, Settings, plain};
use super::super::gave_up::Story;
use super::super::options::call_options;
use super::{Engine, Held, Stage};
use crate::call::{Call, FirstTry, Repeated};
use crate::classify::Failure;
use crate::guard::Admission;
use crate::observe::Event;
use crate::rng::SplitMix64;
use crate::time::Instant;

/// Builds an engine: see [`Engine::builder`].
#[must_use = "a builder does nothing until `begin`"]
pub struct EngineBuilder<H> {
    pub(in crate::run) core: H,
    pub(in crate::run) settings: Option<Settings>,
}

impl<H: AsRef<Core> + Clone> EngineBuilder<H> {
    call_options!();

    pub(in crate::run) fn set(&mut self, change: impl FnOnce(&mut Settings)) {
        change(self.settings.get_or_insert_default());
    }

    /// Begins the call: its deadline starts, in the scope that is current here.
    pub fn begin(self) -> Engine<H> {
        let Self { core, settings } = self;
        let mut begun = Begun::new(FirstTry::UNKNOWN, settings.unwrap_or_default());
        match begun.begin(core.as_ref()) {
            Ok(()) => {
                // Made first: should an observer panic, it returns what the attempt holds.
                let (attempt, transition) = (begun.attempt(), begun.pass.transition());
                let mut engine = Engine::of_begun(core, begun);
                if let Some(transition) = transition {
                    let identity = engine.identity.as_ref();
                    engine.host().tell_transition(identity, transition);
                }
                let (number, waited) = (attempt.number(), Duration::ZERO);
                engine.observe(Event::Attempt { number, waited });
                engine.stage = Stage::Begun(attempt);
                engine
            }
            Err(halted) => Engine::of_halted(core, begun, halted),
        }
    }

    /// What its [plain] call stands on, if that is what would begin here.
    #[inline]
    pub(in crate::run) fn plain(&self) -> Option<&H> {
        (self.settings.is_none() && plain::begins(self.core.as_ref())).then_some(&self.core)
    }
}

impl<H: AsRef<Core> + Clone> Engine<H> {
    /// An engine of this retrier; set what this call sets for itself, then
    /// [`begin`](EngineBuilder::begin).
    pub fn builder(core: H) -> EngineBuilder<H> {
        EngineBuilder {
            core,
            settings: None,
        }
    }

    /// The first attempt has begun.
    pub(in crate::run) fn of_begun(core: H, begun: Begun) -> Self {
        Self::of(core, begun, None)
    }

    /// The first attempt has to wait, or may not be.
    #[cold]
    pub(in crate::run) fn of_halted(core: H, begun: Begun, halted: Halted) -> Self {
        let (admission, refused) = match halted {
            Halted::Waits(admission) => (admission, None),
            Halted::Refused(refused) => (Admission::default(), Some(refused)),
        };
        let mut engine = Self::of(core, begun, Some(admission));
        engine.stage = Stage::Starting;
        engine.wait_began = engine.started;
        if let Some(refused) = refused {
            engine.call.refused_at_once(refused.until);
            engine.shared().count_stop(refused.reason);
            engine.stop(refused.reason, None, None);
        }
        engine
    }

    /// Its first attempt runs, or waits with what it has gained of the guards.
    #[inline]
    fn of(core: H, begun: Begun, waits: Option<Admission>) -> Self {
        let Begun {
            settings: Settings { options, attached },
            first,
            pass,
            is_enrolled,
            identity,
            is_running,
        } = begun;
        let (held, started) = (Held(core.clone()), first.started);
        let call = match waits {
            None => Call::of_flight(held, options, first, pass, is_enrolled),
            Some(admission) => Call::of_first_try(held, options, first, admission),
        };
        let mut engine = Self::of_call(core, call);
        (engine.started, engine.executing) = (started, is_running.then_some(1));
        (engine.identity, engine.attached) = (identity, attached);
        engine
    }

    /// Makes an engine around this call. Its other fields have their defaults.
    #[inline]
    fn of_call(core: H, call: Call<Held<H>>) -> Self {
        Self {
            call,
            core,
            stage: Stage::Running,
            random: None,
            delay: Duration::ZERO,
            wait_began: None,
            started: None,
            hedge_due: None,
            polled: 0,
            keeps_earlier_error: false,
            executing: None,
            timer: None,
            story: None,
            identity: None,
            attached: None,
        }
    }

    /// Its second attempt is decided, or runs, after the first has failed so; `executing` if that is executed.
    #[cold]
    pub(in crate::run) fn of_repeated(
        core: H,
        repeated: Repeated,
        random: Option<SplitMix64>,
        (failure, now): (Failure, Instant),
        executing: Option<u32>,
    ) -> Self {
        let (delay, is_running) = (repeated.delay(), repeated.is_running());
        let call = repeated.into_call(Held(core.clone()));
        let mut engine = Self::of_call(core, call);
        if !is_running {
            engine.stage = Stage::Starting;
        }
        (engine.random, engine.executing) = (random, executing);
        (engine.delay, engine.wait_began) = (delay, Some(now));
        engine.story = Some(Story::of_first(failure, now));
        engine
    }
}
