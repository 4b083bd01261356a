//! How does a call under an engine begin?

use core::time::Duration;
use std::sync::Arc;

use super::super::core::{Attached, Core, Identity};
use super::super::first_attempt::{Begun, Halted, Settings, plain};
use super::{Engine, Held, Stage};
use crate::call::{Call, CallOptions};
use crate::guard::Admission;
use crate::observe::Event;
use crate::time::{Cancel, Instant};

/// Builds an engine: see [`Engine::builder`].
#[must_use = "a builder does nothing until `begin`"]
pub struct EngineBuilder<H> {
    core: H,
    settings: Option<Settings>,
}

impl<H: AsRef<Core> + Clone> EngineBuilder<H> {
    /// Sets the options of the call. Default: those of its policy.
    pub fn options(mut self, options: CallOptions) -> Self {
        self.settings().options = options;
        self
    }

    /// Attaches a value that observers see with each event of this call, such as its host. Default:
    /// nothing.
    pub fn context<T: Send + Sync + 'static>(mut self, context: T) -> Self {
        self.settings().attached().context = Some(Arc::new(context));
        self
    }

    /// Lets another thread or task end the call through this handle.
    pub fn cancel(mut self, cancel: &Cancel) -> Self {
        self.settings().attached().cancel = Some(cancel.clone());
        self
    }

    /// Begins the call: its deadline starts, in the scope that is current here.
    pub fn begin(self) -> Engine<H> {
        let Self { core, settings } = self;
        let mut begun = Begun::new(core.as_ref(), settings.unwrap_or_default());
        match begun.begin(core.as_ref()) {
            Ok(attempt) => {
                // Made first: should an observer panic, it returns what the attempt holds.
                let transition = begun.pass.transition();
                let mut engine = Engine::of_begun(core, begun);
                if let Some(transition) = transition {
                    let host = &engine.core.as_ref().host;
                    host.tell_transition(engine.identity.as_ref(), transition);
                }
                engine.observe(Event::Attempt {
                    number: attempt.number(),
                    waited: Duration::ZERO,
                });
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

    fn settings(&mut self) -> &mut Settings {
        self.settings.get_or_insert_default()
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
        let Begun {
            settings,
            first,
            pass,
            is_enrolled,
            identity,
            is_running,
        } = begun;
        let held = Held(core.clone());
        let call = Call::of_flight(held, settings.options, first, pass, is_enrolled);
        let mut engine = Self::of(core, call, first.started, identity, settings.attached);
        engine.executing = is_running.then_some(1);
        engine
    }

    /// The first attempt has to wait, or may not be.
    #[cold]
    pub(in crate::run) fn of_halted(core: H, begun: Begun, halted: Halted) -> Self {
        let Begun {
            settings,
            first,
            identity,
            ..
        } = begun;
        let held = Held(core.clone());
        let (admission, refused) = match halted {
            Halted::Waits(admission) => (admission, None),
            Halted::Refused(refused) => (Admission::default(), Some(refused)),
        };
        let call = Call::of_first_try(held, settings.options, first, admission);
        let mut engine = Self::of(core, call, first.started, identity, settings.attached);
        engine.stage = Stage::Starting;
        engine.wait_began = first.started;
        if let Some(refused) = refused {
            engine.call.refused_at_once(refused.until);
            engine.shared().count_stop(refused.reason);
            engine.stop(refused.reason, None, None);
        }
        engine
    }

    #[inline]
    fn of(
        core: H,
        call: Call<Held<H>>,
        started: Option<Instant>,
        identity: Option<Identity>,
        attached: Option<Box<Attached>>,
    ) -> Self {
        Self {
            call,
            core,
            stage: Stage::Running,
            random: None,
            delay: Duration::ZERO,
            wait_began: None,
            started,
            hedge_due: None,
            executing: None,
            timer: None,
            story: None,
            identity,
            attached,
        }
    }
}
