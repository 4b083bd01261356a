//! simu-des: a process is a future that waits for simulated time.

use std::cell::Cell;
use std::rc::Rc;

use becalm_sim::engine::Stream;
use simu::SimEnv;

use super::herd::{Client, Herd, hold_time, seconds};
use super::{Advance, Engine};

pub const ENGINE: Engine = Engine {
    package: "simu-des",
    note: "",
    hold,
    herd,
};

fn hold(pending: u64) -> Advance {
    let (mut env, handled) = (SimEnv::with_seed(0), Rc::new(Cell::new(0)));
    for number in 0..pending {
        let (clock, handled, mut random) =
            (env.handle(), Rc::clone(&handled), Stream::of(1, number));
        env.spawn(async move {
            loop {
                clock.timeout(seconds(hold_time(&mut random))).await;
                handled.set(handled.get() + 1);
            }
        });
    }
    Box::new(move |events| {
        let before: u64 = handled.get();
        // Each process makes one event a second.
        #[expect(clippy::cast_precision_loss)] // about so many
        let span = events as f64 / pending as f64;
        env.run_until(env.now() + span);
        handled.get() - before
    })
}

fn herd(model: &Herd) -> u64 {
    let (mut env, attempts) = (SimEnv::with_seed(0), Rc::new(Cell::new(0)));
    let until = seconds(model.refused_until);
    for number in 0..model.clients {
        let (clock, attempts, mut client) =
            (env.handle(), Rc::clone(&attempts), Client::of(number));
        env.spawn(async move {
            loop {
                clock.timeout(seconds(client.delay())).await;
                attempts.set(attempts.get() + 1);
                if clock.now() >= until {
                    break;
                }
            }
        });
    }
    env.run();
    attempts.get()
}
