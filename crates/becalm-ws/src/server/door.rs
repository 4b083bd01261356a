//! How do arrivals wait for what the admission core decides? One lock, one timer for all who wait.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use becalm::rng::Seed;
use becalm::time::Sleeper;
use becalm_admission::{
    Admission, AdmissionController, Answer, Arrival, InvalidAdmission, Permit, Refusal, Turn,
    Waiting,
};
use tokio::sync::{Notify, oneshot};

/// The way in.
#[derive(Debug)]
pub(crate) struct Door {
    state: Mutex<State>,
    /// Somebody's turn may be nearer than it was.
    sooner: Notify,
    sleeper: Arc<dyn Sleeper>,
}

#[derive(Debug)]
struct State {
    core: AdmissionController,
    waiting: BTreeMap<Waiting, oneshot::Sender<Entry>>,
    is_timed: bool,
    /// Permits that have ended, and those of them whose client was ready.
    ended: u64,
    ready: u64,
}

type Entry = Result<Held, Refusal>;

/// The task that tells is gone, and with it perhaps its runtime: the next who waits begins another.
struct Untimed<'a>(&'a Door);

impl Drop for Untimed<'_> {
    fn drop(&mut self) {
        self.0.lock().is_timed = false;
    }
}

/// A permit, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    door: Arc<Door>,
    permit: Option<Permit>,
}

/// What the door has counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Told {
    pub counts: becalm_admission::Counts,
    pub in_flight: u32,
    pub waiting: u32,
    pub ended: u64,
    pub ready: u64,
}

impl Door {
    pub fn new(
        settings: Admission,
        seed: &Seed,
        sleeper: Arc<dyn Sleeper>,
    ) -> Result<Arc<Self>, InvalidAdmission> {
        Ok(Arc::new(Self {
            state: Mutex::new(State {
                core: AdmissionController::new(settings, seed.stream())?,
                waiting: BTreeMap::new(),
                is_timed: false,
                ended: 0,
                ready: 0,
            }),
            sooner: Notify::new(),
            sleeper,
        }))
    }

    /// Lets somebody in, now or after a wait. Dropped before, it has hung up.
    pub async fn enter(self: &Arc<Self>, arrival: &Arrival) -> Entry {
        let (waiting, entry) = {
            let mut state = self.lock();
            let waiting = match state.core.arrive(self.sleeper.now(), arrival) {
                Answer::Admit(permit) => return Ok(self.held(permit)),
                Answer::Wait(waiting) => waiting,
                Answer::Later(refusal) => return Err(refusal),
                _ => unreachable!("three answers"),
            };
            let (tell, entry) = oneshot::channel();
            state.waiting.insert(waiting, tell);
            if !std::mem::replace(&mut state.is_timed, true) {
                tokio::spawn(Arc::clone(self).time());
            }
            (waiting, entry)
        };
        let _leaves = Leaves(self, waiting);
        match entry.await {
            Ok(entry) => entry,
            // The runtime ends, and with it the task that tells.
            Err(_) => std::future::pending().await,
        }
    }

    pub fn told(&self) -> Told {
        let state = self.lock();
        Told {
            counts: state.core.counts(),
            in_flight: state.core.in_flight(),
            waiting: state.core.waiting(),
            ended: state.ended,
            ready: state.ready,
        }
    }

    /// Lets in whose turn has come, for as long as anybody waits.
    async fn time(self: Arc<Self>) {
        let unless_it_is_dropped = Untimed(&self);
        loop {
            // Registered before it looks.
            let sooner = self.sooner.notified();
            self.look();
            let until = {
                let mut state = self.lock();
                let Some(until) = state.core.wake_at(self.sleeper.now()) else {
                    state.is_timed = false;
                    std::mem::forget(unless_it_is_dropped);
                    return;
                };
                until
            };
            tokio::select! {
                () = self.sleeper.sleep_until(until) => (),
                () = sooner => (),
            }
        }
    }

    /// Tells those whose turn has come. Outside of the lock, since an entry that nobody takes comes back.
    fn look(self: &Arc<Self>) {
        let mut told = Vec::new();
        {
            let mut state = self.lock();
            let State { core, waiting, .. } = &mut *state;
            let now = self.sleeper.now();
            let is_gone = |one: Waiting, all: &BTreeMap<Waiting, oneshot::Sender<Entry>>| {
                all.get(&one).is_none_or(oneshot::Sender::is_closed)
            };
            while let Some(turn) = core.turn(now, |one| is_gone(one, waiting)) {
                let (one, entry) = match turn {
                    Turn::Admit(one, permit) => (one, Ok(self.held(permit))),
                    Turn::Later(one, refusal) => (one, Err(refusal)),
                    _ => unreachable!("two turns"),
                };
                told.push((waiting.remove(&one), entry));
            }
        }
        for (tell, entry) in told {
            if let Some(tell) = tell {
                let _ = tell.send(entry);
            }
        }
    }

    fn held(self: &Arc<Self>, permit: Permit) -> Held {
        Held {
            door: Arc::clone(self),
            permit: Some(permit),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    /// The client is ready.
    pub fn ready(mut self) {
        self.release(true);
    }

    fn release(&mut self, is_ready: bool) {
        let Some(permit) = self.permit.take() else {
            return;
        };
        let mut state = self.door.lock();
        state.core.release(permit, self.door.sleeper.now());
        state.ended += 1;
        state.ready += u64::from(is_ready);
        if state.is_timed {
            self.door.sooner.notify_one();
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.release(false);
    }
}

/// Somebody who waits, or has been told.
struct Leaves<'a>(&'a Door, Waiting);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        let Self(door, waiting) = self;
        let mut state = door.lock();
        // Who was told does not wait any more.
        state.waiting.remove(waiting);
        state.core.gone(*waiting);
    }
}
