//! What is granted, to whom and when?

use becalm::Failure;
use becalm::budget::RatioBudget;
use becalm::call::Decision;
use becalm::support::{Lone, Position};
use becalm::time::Instant;
use becalm_fleet::budget::{Answer, Bucket, Exchange, Step};

use super::config::is_among;
use super::process::{Process, Purse};
use super::record::{Retries, STEP};
use super::{Budgeting, Processes, Trouble};
use crate::engine::{EventQueue, nanos};
use crate::invalid::InvalidParameter;

/// Runs the processes once. Equal seeds leave equal records.
///
/// # Errors
///
/// What cannot be simulated is refused.
pub fn run(
    processes: &Processes,
    budgeting: Budgeting,
    lone: &Lone,
    seed: u64,
) -> Result<Retries, InvalidParameter> {
    processes.validate()?;
    let mut world = World::of(processes, budgeting, lone, seed);
    while let Some(event) = world.queue.pop() {
        if event.at >= world.horizon {
            break;
        }
        world.record.events += 1;
        world.handle(event.at, event.what);
    }
    Ok(world.into_record())
}

/// What happens: the kind in the highest bits, a number below.
const CALL: u64 = 0;
const RETRY: u64 = 1 << 32;
const LOOK: u64 = 2 << 32;
const AT_STORE: u64 = 3 << 32;
const BACK: u64 = 4 << 32;
const BEGINS: u64 = 5 << 32;
const CRASH: u64 = 6 << 32;

struct World<'a> {
    processes: &'a Processes,
    budgeting: Budgeting,
    lone: &'a Lone,
    ideal: RatioBudget,
    bucket: Bucket,
    all: Vec<Process>,
    /// What each makes of the first tries.
    shares: Vec<f64>,
    is_turned: bool,
    /// How often what fails has changed.
    changes: usize,
    horizon: u64,
    /// Between a failure and the retry.
    waiting: Places<(u32, u32, Position)>,
    /// Between a process and the store.
    sent: Places<(u32, u32, Exchange, Option<Answer>)>,
    queue: EventQueue,
    record: Retries,
}

impl<'a> World<'a> {
    fn of(processes: &'a Processes, budgeting: Budgeting, lone: &'a Lone, seed: u64) -> Self {
        let count = processes.processes;
        let all = (0..count).map(|index| Process::of(processes, budgeting, seed, index));
        let mut world = Self {
            processes,
            budgeting,
            lone,
            ideal: RatioBudget::new(processes.fleet.budget),
            bucket: Bucket::default(),
            all: all.collect(),
            shares: processes.shares(),
            is_turned: false,
            changes: 0,
            horizon: nanos(processes.horizon),
            waiting: Places::default(),
            sent: Places::default(),
            queue: EventQueue::for_pending(count as usize * 3),
            record: Retries::for_horizon(processes.horizon),
        };
        for index in 0..count {
            world.await_call(index, 0);
            world.look(index, 0);
        }
        let (from, until) = processes.during;
        match processes.trouble {
            Trouble::Flushed | Trouble::Turned => world.queue.push(nanos(from), BEGINS),
            Trouble::Crashes => {
                let each = until.saturating_sub(from) / count;
                for index in 0..count {
                    let at = nanos(from + each * index);
                    world.queue.push(at, CRASH | u64::from(index));
                }
            }
            _ => {}
        }
        world
    }

    fn handle(&mut self, now: u64, what: u64) {
        #[expect(clippy::cast_possible_truncation)] // the rest is the kind
        let number = what as u32;
        match what - u64::from(number) {
            CALL => {
                self.await_call(number, now);
                self.record.first_tries[step(now)] += 1;
                self.attempt(number, Position::FIRST_TRY, now);
            }
            RETRY => {
                let (index, life, position) = self.waiting.take(number);
                if self.all[index as usize].life == life {
                    self.attempt(index, position, now);
                }
            }
            LOOK => self.look(number, now),
            AT_STORE => self.at_store(number, now),
            BACK => self.back(number, now),
            BEGINS if self.processes.trouble == Trouble::Turned => self.is_turned = true,
            BEGINS => self.bucket = Bucket::default(),
            _ => {
                self.all[number as usize].crash(self.processes, self.budgeting, now);
                self.look(number, now);
            }
        }
    }

    fn await_call(&mut self, index: u32, now: u64) {
        let place = if self.is_turned {
            self.shares.len() - 1 - index as usize
        } else {
            index as usize
        };
        let wait = self.all[index as usize].random.exponential() * 1e9
            / (self.processes.load * self.shares[place]);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates
        self.queue
            .push(now.saturating_add(wait as u64), CALL | u64::from(index));
    }

    /// The share of processes, and of their attempts.
    fn what_fails(&mut self, now: u64) -> (f64, f64) {
        let processes = self.processes;
        let next = processes.later.get(self.changes);
        self.changes += usize::from(next.is_some_and(|next| now >= nanos(next.0)));
        match self.changes.checked_sub(1) {
            Some(last) => (processes.later[last].1, processes.later[last].2),
            None if now >= nanos(processes.fails_from) => (processes.failing, processes.failures),
            None => (0.0, 0.0),
        }
    }

    /// An attempt ends as soon as it has begun.
    fn attempt(&mut self, index: u32, mut position: Position, now: u64) {
        let (failing, failures) = self.what_fails(now);
        let process = &mut self.all[index as usize];
        if !(is_among(index, failing) && process.random.chance(failures)) {
            self.record.succeeded[step(now)] += 1;
            process.deposit(&self.ideal, now);
            return;
        }
        let decision = self.lone.on_failure(
            &mut position,
            Instant::from_nanos(now),
            Instant::NEVER,
            &Failure::transient(),
            &mut process.random,
        );
        let Decision::RetryIn(delay) = decision else {
            return;
        };
        self.record.wanted[step(now)] += 1;
        if process.withdraw(&self.ideal, now) {
            self.record.granted[step(now)] += 1;
            let place = self.waiting.put((index, process.life, position));
            self.queue
                .push(now.saturating_add(nanos(delay)), RETRY | u64::from(place));
        } else if matches!(&process.purse, Purse::Fleet(fleet) if fleet.0.was_refused()) {
            self.look(index, now);
        }
    }

    /// Asks its exchanges what is to be done.
    fn look(&mut self, index: u32, now: u64) {
        let process = &mut self.all[index as usize];
        let Purse::Fleet(fleet) = &mut process.purse else {
            return;
        };
        let (budget, exchanges) = &mut **fleet;
        let at = Instant::from_nanos(now);
        let mut step_to_do = exchanges.poll(budget, at);
        if let Step::Send(exchange) = step_to_do {
            self.record.exchanges[step(now)] += 1;
            let place = self.sent.put((index, process.life, exchange, None));
            let there = now + nanos(self.processes.round_trip) / 2;
            self.queue.push(there, AT_STORE | u64::from(place));
            step_to_do = exchanges.poll(budget, at);
        }
        process.was_alone |= budget.gauges().alone.is_some();
        if let Step::WaitUntil(at) = step_to_do {
            let at = at.as_nanos();
            if at < process.looks || process.looks <= now {
                process.looks = at;
                self.queue.push(at, LOOK | u64::from(index));
            }
        }
    }

    fn at_store(&mut self, place: u32, now: u64) {
        let (from, until) = self.processes.during;
        let is_on = (nanos(from)..nanos(until)).contains(&now);
        let (index, _, exchange, answer) = self.sent.get(place);
        let is_away = is_on
            && match self.processes.trouble {
                Trouble::Down => true,
                Trouble::Half => *index % 2 == 1,
                _ => false,
            };
        if !is_away {
            *answer = Some(
                self.bucket
                    .exchange(&self.processes.fleet, now / 1000, exchange),
            );
        }
        let back = now + nanos(self.processes.round_trip) / 2;
        self.queue.push(back, BACK | u64::from(place));
    }

    fn back(&mut self, place: u32, now: u64) {
        let (index, life, exchange, answer) = self.sent.take(place);
        let process = &mut self.all[index as usize];
        if process.life != life {
            return;
        }
        if let Purse::Fleet(fleet) = &mut process.purse {
            let (budget, exchanges) = &mut **fleet;
            match answer {
                Some(answer) => {
                    exchanges.answered(budget, Instant::from_nanos(now), exchange.sequence, answer);
                }
                None => exchanges.failed(budget, exchange.sequence),
            }
        }
        self.look(index, now);
    }

    fn into_record(mut self) -> Retries {
        for process in &self.all {
            self.record.alone += u32::from(process.was_alone);
            if let Purse::Fleet(fleet) = &process.purse {
                self.record.gauges.push(fleet.0.gauges());
            }
        }
        self.record
    }
}

fn step(now: u64) -> usize {
    usize::try_from(now / nanos(STEP)).unwrap_or(0)
}

/// Things that come and go.
struct Places<T> {
    things: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Places<T> {
    fn default() -> Self {
        Self {
            things: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T: Copy> Places<T> {
    fn put(&mut self, thing: T) -> u32 {
        if let Some(place) = self.free.pop() {
            self.things[place as usize] = thing;
            return place;
        }
        self.things.push(thing);
        // Memory ends before the numbers do.
        u32::try_from(self.things.len() - 1).unwrap_or(u32::MAX)
    }

    fn get(&mut self, place: u32) -> &mut T {
        &mut self.things[place as usize]
    }

    fn take(&mut self, place: u32) -> T {
        self.free.push(place);
        self.things[place as usize]
    }
}
