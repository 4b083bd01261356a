//! nexosim: models with state handle the events that they have scheduled for themselves.
//!
//! One model stands for all clients, on one thread: a model each would cost a mailbox each.
#![expect(clippy::unused_async)] // handlers are written as its documentation does

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use becalm_sim::engine::Stream;
use nexosim::model::{Context, Model, schedulable};
use nexosim::simulation::{Mailbox, SimInit};
use nexosim::time::MonotonicTime;
use serde::{Deserialize, Serialize};

use super::herd::{Client, Herd, hold_time};
use super::{Advance, Engine};

pub const ENGINE: Engine = Engine {
    package: "nexosim",
    note: "",
    hold,
    herd,
};

/// What models handled: they cannot be asked while they are simulated.
static HANDLED: AtomicU64 = AtomicU64::new(0);

/// The longest step: it goes on to the next event in any case.
const TO_THE_END: Duration = Duration::from_hours(1);

#[derive(Serialize, Deserialize)]
struct Holding {
    #[serde(skip)]
    random: Vec<Stream>,
}

#[Model]
impl Holding {
    #[nexosim(init)]
    async fn init(&mut self, cx: &Context<Self>) {
        for at in 0..self.random.len() {
            self.schedule(at, cx);
        }
    }

    #[nexosim(schedulable)]
    async fn handle(&mut self, at: usize, cx: &Context<Self>) {
        HANDLED.fetch_add(1, Ordering::Relaxed);
        self.schedule(at, cx);
    }

    fn schedule(&mut self, at: usize, cx: &Context<Self>) {
        let wait = Duration::from_nanos(hold_time(&mut self.random[at]).max(1));
        cx.schedule_event(wait, schedulable!(Self::handle), at)
            .expect("a wait ends in the future");
    }
}

fn hold(pending: u64) -> Advance {
    let random = (0..pending).map(|number| Stream::of(1, number)).collect();
    let mut simulation = SimInit::with_num_threads(1)
        .add_model(Holding { random }, Mailbox::new(), "hold")
        .init(MonotonicTime::EPOCH)
        .expect("a model that is alone cannot wait for itself");
    Box::new(move |events| {
        let before = HANDLED.load(Ordering::Relaxed);
        // Each of them makes one event a second.
        let span = Duration::from_nanos(events * 1_000_000_000 / pending);
        simulation.step_until(span).expect("nothing halts it");
        HANDLED.load(Ordering::Relaxed) - before
    })
}

#[derive(Serialize, Deserialize)]
struct Clients {
    #[serde(skip)]
    clients: Vec<Client>,
    refused_until: Duration,
}

#[Model]
impl Clients {
    #[nexosim(init)]
    async fn init(&mut self, cx: &Context<Self>) {
        for at in 0..self.clients.len() {
            self.wait(at, cx);
        }
    }

    #[nexosim(schedulable)]
    async fn attempt(&mut self, at: usize, cx: &Context<Self>) {
        HANDLED.fetch_add(1, Ordering::Relaxed);
        if cx.time() < MonotonicTime::EPOCH + self.refused_until {
            self.wait(at, cx);
        }
    }

    fn wait(&mut self, at: usize, cx: &Context<Self>) {
        // It does not take a wait of nothing.
        let delay = Duration::from_nanos(self.clients[at].delay().max(1));
        cx.schedule_event(delay, schedulable!(Self::attempt), at)
            .expect("a wait ends in the future");
    }
}

fn herd(model: &Herd) -> u64 {
    let clients = Clients {
        clients: (0..model.clients).map(Client::of).collect(),
        refused_until: Duration::from_nanos(model.refused_until),
    };
    let before = HANDLED.load(Ordering::Relaxed);
    let mut simulation = SimInit::with_num_threads(1)
        .add_model(clients, Mailbox::new(), "herd")
        .init(MonotonicTime::EPOCH)
        .expect("a model that is alone cannot wait for itself");
    simulation.step_until(TO_THE_END).expect("nothing halts it");
    HANDLED.load(Ordering::Relaxed) - before
}
