//! What do many calls leave behind, in whatever states they end? Nothing.

use std::task::Waker;
use std::time::Duration;

use becalm::breaker::State::HalfOpen;
use becalm::budget::Kind;
use becalm::time::FakeSleeper;
use becalm::{
    Bulkhead, Failure, Hint, Retrier, Scope, Sleeper, StopReason,
    call::{Call, CallOptions, Decision, Start},
    classify::Verdict,
};
use proptest::prelude::*;

use crate::any_guards::{Guards, all_slots_are_free, guards, policy};
use crate::probe::{MS, SECOND, fixed};
use crate::world::World;

/// What happens next, to the call of this index.
#[derive(Debug, Clone, Copy)]
enum Step {
    Begin,
    Start(usize),
    PollStart(usize),
    Hedge(usize),
    /// Which of the attempts under way, and what came of it.
    Outcome(usize, usize, Fate),
    Cancel(usize),
    Panic(usize),
    Drop(usize),
    Advance(u64),
    Reload(Guards),
    ForceClose,
}

#[derive(Debug, Clone, Copy)]
enum Fate {
    Good,
    Down,
    Busy,
    Refused,
    Gone,
    Stop,
}

impl Fate {
    fn verdict(self) -> Verdict {
        match self {
            Self::Good => Verdict::Success,
            Self::Down => Failure::transient().into(),
            Self::Busy => Failure::throttled().into(),
            Self::Refused => Failure::transient().unsent().into(),
            Self::Gone => Failure::permanent().into(),
            Self::Stop => Failure::throttled().hint(Hint::Stop).into(),
        }
    }
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        4 => Just(Fate::Good),
        5 => Just(Fate::Down),
        1 => Just(Fate::Busy),
        1 => Just(Fate::Refused),
        1 => Just(Fate::Gone),
        1 => Just(Fate::Stop),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let call = || 0_usize..8;
    let step = prop_oneof![
        4 => Just(Step::Begin),
        3 => call().prop_map(Step::Start),
        8 => call().prop_map(Step::PollStart),
        4 => call().prop_map(Step::Hedge),
        8 => (call(), call(), fate()).prop_map(|(at, flight, fate)| Step::Outcome(at, flight, fate)),
        1 => call().prop_map(Step::Cancel),
        1 => call().prop_map(Step::Panic),
        2 => call().prop_map(Step::Drop),
        6 => (0_u64..200).prop_map(Step::Advance),
        1 => guards().prop_map(Step::Reload),
        1 => Just(Step::ForceClose),
    ];
    proptest::collection::vec(step, 0..150)
}

/// A call, with what it must hold by the book.
struct Held<'r> {
    call: Call<&'r Retrier>,
    flights: Vec<u32>,
    /// A retry is decided, paid for, and has its place in the waiting room.
    is_decided: bool,
    /// Its first attempt has a place there, too: it waits for the adaptive rate.
    is_paced: bool,
    /// It has made an attempt, and is not over.
    is_active: bool,
}

/// What all calls must hold together, by the book.
struct Books<'r> {
    world: &'r World,
    calls: Vec<Held<'r>>,
    started: u32,
    retried: u32,
    reloaded: bool,
    random: u64,
}

impl<'r> Books<'r> {
    fn take(&mut self, step: Step) {
        let clock = &self.world.clock;
        let now = clock.now();
        let len = self.calls.len();
        let at = |index: usize| (len > 0).then(|| index % len);
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let bits = self.random;
        let mut random = || bits;
        match step {
            Step::Begin if len < 8 => self.calls.push(Held {
                call: Call::begin(&self.world.retrier, CallOptions::new(), Scope::NONE, now),
                flights: Vec::new(),
                is_decided: false,
                is_paced: false,
                is_active: false,
            }),
            Step::Begin => (),
            Step::Advance(millis) => clock.advance(Duration::from_millis(millis)),
            Step::ForceClose => self.world.retrier.force_close(),
            Step::Reload(guards) => {
                self.reloaded = true;
                let replaced = self.world.retrier.replace_policy(policy(guards));
                replaced.expect("a valid policy");
            }
            Step::Start(index) | Step::PollStart(index) => {
                let Some(index) = at(index) else { return };
                let held = &mut self.calls[index];
                let is_retry = held.is_decided;
                let is_first = held.call.attempt_number() == 0;
                let waiting = self.world.retrier.waiting();
                let started = if let Step::Start(_) = step {
                    held.call.start(now, &mut random).map(Start::Go)
                } else {
                    held.call.poll_start(now, Waker::noop(), &mut random)
                };
                match started {
                    Ok(Start::Go(attempt)) => {
                        assert!(is_retry || is_first, "nobody decided it");
                        held.flights = vec![attempt.number()];
                        (held.is_decided, held.is_active) = (false, true);
                        held.is_paced = false;
                        self.started += u32::from(is_first);
                        self.retried += u32::from(is_retry);
                    }
                    Ok(_) => held.is_paced |= self.world.retrier.waiting() > waiting,
                    Err(_) if is_retry => (held.is_decided, held.is_active) = (false, false),
                    Err(_) => held.is_paced = false,
                }
            }
            Step::Hedge(index) => {
                let Some(index) = at(index) else { return };
                let held = &mut self.calls[index];
                if let Some(hedge) = held.call.start_hedge(now, &mut random) {
                    held.flights.push(hedge.number());
                    self.retried += 1;
                }
            }
            Step::Outcome(index, flight, fate) => {
                let Some(index) = at(index) else { return };
                let held = &mut self.calls[index];
                if held.flights.is_empty() {
                    return;
                }
                let number = held.flights.remove(flight % held.flights.len());
                match held
                    .call
                    .on_outcome_of(number, now, fate.verdict(), &mut random)
                {
                    Decision::AwaitOthers => assert!(!held.flights.is_empty()),
                    decision => {
                        held.flights.clear();
                        held.is_decided = matches!(decision, Decision::RetryIn(_));
                        held.is_active = held.is_decided;
                    }
                }
            }
            Step::Cancel(index) | Step::Panic(index) => {
                let Some(index) = at(index) else { return };
                let held = &mut self.calls[index];
                if let Step::Cancel(_) = step {
                    held.call.cancel(now, &mut random);
                } else {
                    let number = held.call.attempt_number();
                    held.call.panicked(number, now, &mut random);
                }
                held.flights.clear();
                (held.is_decided, held.is_active) = (false, false);
                held.is_paced = false;
                assert!(held.call.start(now, &mut random).is_err(), "it is over");
            }
            Step::Drop(index) => {
                if let Some(index) = at(index) {
                    drop(self.calls.swap_remove(index));
                }
            }
        }
    }

    fn check(&self) {
        let retrier = &self.world.retrier;
        let count = |is: fn(&Held<'_>) -> bool| self.calls.iter().filter(|held| is(held)).count();
        assert_eq!(
            retrier.waiting(),
            count(|held| held.is_decided || held.is_paced) as u64,
            "waiting"
        );
        let flights: usize = self.calls.iter().map(|held| held.flights.len()).sum();
        if !self.reloaded {
            if let (Some(in_flight), Some(limit)) =
                (retrier.in_flight(), retrier.concurrency_limit())
            {
                // Beyond those under way, a place may have been handed to a call in the queue.
                assert!(
                    in_flight as usize >= flights && in_flight <= limit,
                    "in flight"
                );
                if retrier
                    .policy()
                    .bulkhead
                    .is_some_and(|bulkhead| bulkhead.waiting == 0)
                {
                    assert_eq!(in_flight as usize, flights, "in flight");
                }
            }
        }
        let decided = u32::try_from(count(|held| held.is_decided)).unwrap();
        let paid = u64::from(self.retried + decided);
        for gauge in retrier.budget_gauges() {
            match gauge.kind {
                Kind::Concurrency => {
                    assert_eq!(
                        gauge.most as usize,
                        count(|held| held.is_active),
                        "active calls"
                    );
                }
                // Within the first minute no retry is forgotten, but what is given back after a
                // reload is.
                Kind::PerMinute if self.world.now() < 50 * SECOND && !self.reloaded => {
                    assert_eq!((gauge.most - gauge.left) as u64, paid, "retries paid for");
                }
                _ => (),
            }
        }
        let demand = retrier.demand().expect("it is counted");
        assert_eq!(demand.first_tries, u64::from(self.started));
        assert_eq!(demand.attempts, u64::from(self.started + self.retried));
    }
}

fn nothing_is_left(guards: Guards, steps: &[Step], random: u64) {
    let world = World::with_own_budget(&FakeSleeper::new(), policy(guards));
    let mut books = Books {
        world: &world,
        calls: Vec::new(),
        started: 0,
        retried: 0,
        reloaded: false,
        random,
    };
    for step in steps {
        books.take(*step);
        books.check();
    }
    books.calls.clear();
    books.check();
    let retrier = &world.retrier;
    for gauge in retrier.budget_gauges() {
        if gauge.kind == Kind::Concurrency {
            assert_eq!((gauge.left, gauge.most), (0.0, 0.0), "slots and calls");
        }
    }
    // With the breaker alone, which stays in its state.
    let mut alone = fixed(100 * MS).bulkhead(Bulkhead::calls(1000));
    let probes = retrier.policy().breaker.map(|breaker| breaker.probes);
    alone.breaker = retrier.policy().breaker;
    retrier.replace_policy(alone).expect("a valid policy");
    world.assert_idle("at the end");
    if let Some(probes) = probes {
        all_slots_are_free(&world, probes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sans_io_calls_leave_nothing_behind_whatever_happens_to_them(
        guards in guards(),
        reloads: bool,
        mut steps in steps(),
        random: u64,
    ) {
        steps.retain(|step| reloads || !matches!(step, Step::Reload(_)));
        nothing_is_left(guards, &steps, random);
    }
}

/// The law is about something: among the cases are calls that wait, hedges, probes and refusals.
#[test]
fn the_cases_reach_what_they_are_about() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let (mut retries, mut hedges, mut half_open, mut queued) = (0, 0, 0, 0);
    let reasons = [
        StopReason::Shed,
        StopReason::RateLimited,
        StopReason::BulkheadFull,
        StopReason::BreakerOpen,
        StopReason::TooManyWaiting,
        StopReason::DeadlineExceeded,
    ];
    let mut stops = [0; 6];
    for case in 0..200 {
        let guards = guards().new_tree(&mut runner).expect("a value").current();
        let steps = steps().new_tree(&mut runner).expect("a value").current();
        let world = World::with_own_budget(&FakeSleeper::new(), policy(guards));
        let mut books = Books {
            world: &world,
            calls: Vec::new(),
            started: 0,
            retried: 0,
            reloaded: false,
            random: case,
        };
        for step in steps {
            books.take(step);
            let flights = books.calls.iter().map(|held| held.flights.len());
            hedges += u32::from(flights.max() > Some(1));
            half_open += u32::from(world.retrier.breaker_state() == Some(HalfOpen));
            let in_flight = world.retrier.in_flight().unwrap_or(0) as usize;
            let flights: usize = books.calls.iter().map(|held| held.flights.len()).sum();
            queued += u32::from(in_flight > flights);
        }
        retries += books.retried;
        for (stops, reason) in stops.iter_mut().zip(reasons) {
            *stops += world.retrier.stops(reason);
        }
    }
    for (reason, stops) in reasons.into_iter().zip(stops) {
        assert!(stops > 5, "{reason}: {stops}");
    }
    for (what, count) in [
        ("retries", retries),
        ("hedges", hedges),
        ("half-open", half_open),
        ("handed a place", queued),
    ] {
        assert!(count > 10, "{what}: {count}");
    }
}
