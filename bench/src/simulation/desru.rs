//! desru: an event is a boxed closure that may schedule others.

use std::cell::Cell;
use std::rc::Rc;

use becalm_sim::engine::Stream;
use desru::EventScheduler;

use super::herd::{Client, Herd, hold_time, seconds};
use super::{Advance, Engine};

pub const ENGINE: Engine = Engine {
    package: "desru",
    note: "",
    hold,
    herd,
};

type Count = Rc<Cell<u64>>;

fn hold(pending: u64) -> Advance {
    fn next(scheduler: &mut EventScheduler, mut random: Stream, handled: Count) {
        let wait = seconds(hold_time(&mut random));
        let action = move |scheduler: &mut EventScheduler| {
            handled.set(handled.get() + 1);
            next(scheduler, random.clone(), Rc::clone(&handled));
            None
        };
        scheduler.timeout(wait, Some(Box::new(action)), None);
    }

    let (mut scheduler, handled) = (EventScheduler::new(), Count::default());
    for number in 0..pending {
        next(&mut scheduler, Stream::of(1, number), Rc::clone(&handled));
    }
    Box::new(move |events| {
        let before = handled.get();
        let seen = Rc::clone(&handled);
        // Its log of all events is switched off.
        scheduler.run(
            Box::new(move |_| seen.get() >= before + events),
            Some(Box::new(|_, _| false)),
        );
        handled.get() - before
    })
}

fn herd(model: &Herd) -> u64 {
    fn wait(scheduler: &mut EventScheduler, mut client: Client, until: f64, attempts: Count) {
        let delay = seconds(client.delay());
        let action = move |scheduler: &mut EventScheduler| {
            attempts.set(attempts.get() + 1);
            if scheduler.current_time < until {
                wait(scheduler, client.clone(), until, Rc::clone(&attempts));
            }
            None
        };
        scheduler.timeout(delay, Some(Box::new(action)), None);
    }

    let (mut scheduler, attempts) = (EventScheduler::new(), Count::default());
    let until = seconds(model.refused_until);
    for number in 0..model.clients {
        wait(
            &mut scheduler,
            Client::of(number),
            until,
            Rc::clone(&attempts),
        );
    }
    scheduler.run(Box::new(|_| false), Some(Box::new(|_, _| false)));
    attempts.get()
}
