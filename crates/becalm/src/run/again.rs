//! How is a plain call repeated? Its second attempt makes no engine if it succeeds: all that it needs is what was decided.

use core::task::{Context, Poll, ready};
use std::sync::{Mutex, PoisonError};

use super::core::{Core, Stream};
use super::engine::Engine;
use super::first_attempt::plain;
use super::gave_up::{Stopped, Story, is_timeout};
use crate::attempt::Attempt;
use crate::call::Repeated;
use crate::classify::Failure;
use crate::rng::SplitMix64;
use crate::scope::{Entered, Scope};
use crate::time::{Instant, Sleep};

/// A [plain] call whose first attempt has failed, in its wait or in its second attempt. It can wait, pend and succeed; all else is
/// handed to an [`Engine`].
pub(super) struct Again<'r> {
    core: &'r Core,
    /// `None` once an engine has taken it.
    repeated: Option<Repeated>,
    random: Option<SplitMix64>,
    /// How the first attempt has failed, and when.
    failed: (Failure, Instant),
    /// A wait of no length has given its turn.
    has_yielded: bool,
    /// If what is executed unwinds, it has panicked.
    is_executing: bool,
    /// Never locked: see [`Engine`]'s.
    timer: Option<Mutex<Sleep>>,
}

impl<'r> Again<'r> {
    /// What follows a first attempt that has failed so, and whose scope has become this; `None` where an engine has to say.
    pub fn decide(
        core: &'r Core,
        failure: &Failure,
        inside: Scope,
    ) -> Option<Result<Box<Self>, Stopped>> {
        let Core { shared, host } = core;
        if let Some(stopped) = plain::stopped(core, failure, inside) {
            return Some(Err(stopped));
        }
        if inside.has_news() || shared.plain().is_none() || shared.observes() {
            return None;
        }
        let now = host.sleeper.now();
        let mut random = None;
        let mut stream = Stream {
            seed: &host.seed,
            stream: &mut random,
        };
        Some(match Repeated::decide(shared, now, failure, &mut stream) {
            Ok(repeated) => Ok(Box::new(Self {
                core,
                repeated: Some(repeated),
                random,
                failed: (*failure, now),
                has_yielded: false,
                is_executing: false,
                timer: None,
            })),
            Err(refused) => {
                let story = Story::of_first(*failure, now);
                Err(plain::stop(core, story, refused, Some(now)))
            }
        })
    }

    /// Waits, and enters the scope of the second attempt; `None` where an engine has to start it.
    pub fn poll_enter(&mut self, context: &mut Context<'_>) -> Poll<Option<Entered>> {
        if self.is_executing {
            return Poll::Pending; // polled again after a panic
        }
        let shared = &self.core.shared;
        if !self.is_running() {
            ready!(self.poll_wait(context));
        }
        let repeated = self.repeated.as_mut();
        let started = repeated.and_then(|it| (it.is_running() || it.start(shared)).then_some(it));
        self.is_executing = started.is_some();
        Poll::Ready(started.map(|repeated| Entered::new(repeated.scope(shared))))
    }

    /// As an engine waits.
    fn poll_wait(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(repeated) = &self.repeated else {
            return Poll::Pending; // polled again after a panic
        };
        let until = repeated.starts();
        if repeated.delay().is_zero() {
            if !core::mem::replace(&mut self.has_yielded, true) {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            return Poll::Ready(());
        }
        if until == Instant::NEVER {
            return Poll::Pending;
        }
        let sleeper = &self.core.host.sleeper;
        let timer = self
            .timer
            .get_or_insert_with(|| Mutex::new(sleeper.sleep_until(until)));
        let sleep = timer.get_mut().unwrap_or_else(PoisonError::into_inner);
        ready!(sleep.as_mut().poll(context));
        self.timer = None;
        Poll::Ready(())
    }

    /// Whether its second attempt has started.
    #[inline]
    pub fn is_running(&self) -> bool {
        self.repeated.as_ref().is_some_and(Repeated::is_running)
    }

    /// The second attempt.
    #[inline]
    pub fn attempt(&self) -> Attempt {
        Repeated::attempt(u32::from(is_timeout(&self.failed.0)))
    }

    /// What was executed has returned.
    #[inline]
    pub fn leave(&mut self, entered: Entered) -> Scope {
        self.is_executing = false;
        entered.leave()
    }

    /// The second attempt has succeeded.
    pub fn succeeded(&mut self) {
        let shared = &self.core.shared;
        match &mut self.repeated {
            Some(repeated) if shared.plain().is_some() => {
                Scope::handled();
                repeated.succeeded(shared);
            }
            _ => {
                if let Some(mut engine) = self.engine() {
                    engine.succeeded(2);
                }
            }
        }
    }

    /// The engine of what follows.
    #[cold]
    #[inline(never)] // keeps a success small
    pub fn engine(&mut self) -> Option<Engine<&'r Core>> {
        let repeated = self.repeated.take()?;
        let is_executing = core::mem::take(&mut self.is_executing);
        let number = is_executing.then_some(2);
        Some(Engine::of_repeated(
            self.core,
            repeated,
            self.random.take(),
            self.failed,
            number,
        ))
    }
}

/// Dropped in its middle, it ends as an engine does.
impl Drop for Again<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.repeated.as_ref().is_some_and(|it| !it.is_over()) {
            drop(self.engine());
        }
    }
}
