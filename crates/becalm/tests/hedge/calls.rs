//! Does the sans-IO call start, join and end copies as a slow and obviously right model does?
//!
//! Several calls on one retrier take random steps; after each the model knows what is under way,
//! what the budget holds and what must be decided.

#![cfg(feature = "std")]

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::token_book::{Purse, Tokens};
use becalm::bulkhead::Bulkhead;
use becalm::time::FakeSleeper;
use becalm::{
    Class, Effect, Failure, Hedge, Hint, Jitter, Operation, Policy, Retrier, Scope, Sleeper,
    StopReason,
    call::{Call, CallOptions, Decision},
    classify::Verdict,
    time::Instant,
};
use proptest::prelude::*;

const BACKOFF: u64 = 100;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[derive(Debug, Clone, Copy)]
struct Rules {
    attempts: u32,
    copies: u32,
    delay: u64,
    deadline: Option<u64>,
    places: u32,
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Advance(u64),
    /// Starts the first attempt, or the one that was decided.
    Start,
    /// Starts a hedge, be it due or not.
    Hedge,
    /// One of the copies under way ends.
    End(usize, End),
    ConsumeBody,
    Forbid,
    Cancel,
    Drop,
}

#[derive(Debug, Clone, Copy)]
enum End {
    Good,
    Fails(Failure),
}

fn ends() -> impl Strategy<Value = End> {
    let class = prop_oneof![
        6 => Just(Failure::transient()),
        3 => Just(Failure::throttled()),
        1 => Just(Failure::permanent()),
    ];
    let hint = prop_oneof![
        6 => Just(None),
        3 => (0_u64..300).prop_map(|millis| Some(Hint::AtLeast(ms(millis)))),
        1 => Just(Some(Hint::Stop)),
    ];
    let failure = (class, hint, any::<bool>()).prop_map(|(failure, hint, unsent)| {
        let mut failure: Failure = if unsent { failure.unsent() } else { failure };
        failure.hint = hint;
        failure
    });
    prop_oneof![1 => Just(End::Good), 4 => failure.prop_map(End::Fails)]
}

fn steps() -> impl Strategy<Value = Vec<(usize, Step)>> {
    let step = prop_oneof![
        4 => (0_u64..80).prop_map(Step::Advance),
        6 => Just(Step::Start),
        6 => Just(Step::Hedge),
        6 => (0_usize..5, ends()).prop_map(|(which, end)| Step::End(which, end)),
        1 => Just(Step::ConsumeBody),
        1 => Just(Step::Forbid),
        1 => Just(Step::Cancel),
        1 => Just(Step::Drop),
    ];
    proptest::collection::vec((0_usize..3, step), 0..150)
}

/// One call, and what the model knows of it.
#[expect(clippy::struct_excessive_bools)] // what it was told, each by itself
struct Modelled<'r> {
    call: Call<&'r Retrier>,
    operation: Operation,
    deadline: Option<u64>,
    attempt: u32,
    /// Number, start, and whether a token was taken for it.
    under_way: Vec<(u32, u64, bool)>,
    hedged: u32,
    no_more: bool,
    /// What copies of this attempt have said, and when.
    said: Vec<(Failure, u64)>,
    /// A retry is decided and holds a token.
    is_decided: bool,
    is_over: bool,
    body_is_gone: bool,
    is_forbidden: bool,
}

struct World<'r> {
    retrier: &'r Retrier,
    purse: &'r Purse,
    rules: Rules,
    now: u64,
    calls: Vec<Modelled<'r>>,
    /// The model's own count of the tokens.
    tokens: Tokens,
}

impl<'r> World<'r> {
    fn now(&self) -> Instant {
        Instant::ZERO.after(ms(self.now))
    }

    fn begin(&self, operation: Operation) -> Modelled<'r> {
        let mut options = CallOptions::new();
        options.operation = operation;
        Modelled {
            call: Call::begin(self.retrier, options, Scope::NONE, self.now()),
            operation,
            deadline: self.rules.deadline.map(|limit| self.now + limit),
            attempt: 0,
            under_way: Vec::new(),
            hedged: 0,
            no_more: false,
            said: Vec::new(),
            is_decided: true,
            is_over: false,
            body_is_gone: false,
            is_forbidden: false,
        }
    }

    fn in_flight(&self) -> usize {
        self.calls.iter().map(|call| call.under_way.len()).sum()
    }

    fn take(&mut self, at: usize, step: Step) {
        match step {
            Step::Advance(millis) => self.now += millis,
            Step::Start => self.start(at),
            Step::Hedge => self.hedge(at),
            Step::End(which, end) => self.end(at, which, end),
            Step::ConsumeBody => {
                self.calls[at].call.body_is_consumed();
                self.calls[at].body_is_gone = true;
            }
            Step::Forbid => {
                if !self.calls[at].under_way.is_empty() {
                    self.calls[at].call.forbid_retry();
                    self.calls[at].is_forbidden = true;
                }
            }
            Step::Cancel => {
                let now = self.now();
                self.calls[at].call.cancel(now, &mut || 0);
                self.forget(at);
                self.renew(at);
            }
            Step::Drop => {
                self.forget(at);
                self.renew(at);
            }
        }
        self.check();
    }

    /// What the call held is spent where it ran, and back where it did not.
    fn forget(&mut self, at: usize) {
        let call = &mut self.calls[at];
        let ran = u32::try_from(call.under_way.iter().filter(|copy| copy.2).count()).unwrap();
        let waited = u32::from(call.is_decided && call.attempt > 0);
        call.under_way.clear();
        call.is_decided = false;
        self.tokens.held -= ran + waited;
        self.tokens.spent += ran;
        self.tokens.left += waited;
    }

    /// Another call in its place.
    fn renew(&mut self, at: usize) {
        let operation = self.calls[at].operation;
        self.calls[at] = self.begin(operation);
    }

    fn start(&mut self, at: usize) {
        let now = self.now();
        let is_full = self.in_flight() >= self.rules.places as usize;
        let call = &mut self.calls[at];
        let started = call.call.start(now, &mut || 0);
        let is_late = call.deadline.is_some_and(|deadline| self.now >= deadline);
        let refusal = if !call.is_decided {
            Some(StopReason::Cancelled)
        } else if is_late {
            Some(StopReason::DeadlineExceeded)
        } else if is_full {
            Some(StopReason::BulkheadFull)
        } else {
            None
        };
        let number = call.attempt + 1;
        assert_eq!(
            started.map(|attempt| attempt.number()),
            refusal.map_or(Ok(number), Err)
        );
        match refusal {
            None => {
                let paid = call.attempt > 0;
                call.attempt = number;
                call.is_decided = false;
                call.is_forbidden = false;
                (call.hedged, call.no_more) = (0, false);
                call.said.clear();
                call.under_way = vec![(number, self.now, paid)];
            }
            Some(_) if call.is_decided => {
                self.forget(at);
                self.calls[at].is_over = true;
            }
            Some(_) => (),
        }
    }

    /// When a hedge is due, as the page of hedging says.
    fn due(&self, at: usize) -> Option<u64> {
        let (call, rules) = (&self.calls[at], self.rules);
        let may = call.operation != Operation::NotIdempotent
            && !call.body_is_gone
            && !call.is_forbidden
            && !call.no_more
            && call.said.is_empty()
            && call.hedged < rules.copies
            && call.attempt < rules.attempts;
        let last = call.under_way.iter().map(|copy| copy.1).max()?;
        may.then_some(last + rules.delay)
    }

    fn hedge(&mut self, at: usize) {
        let (now, due) = (self.now(), self.due(at));
        let is_full = self.in_flight() >= self.rules.places as usize;
        let call = &mut self.calls[at];
        assert_eq!(
            call.call.hedge_at(now),
            due.map(|due| Instant::ZERO.after(ms(due)))
        );
        let hedge = call.call.start_hedge(now, &mut || 0);
        if due.is_none() {
            assert_eq!(hedge, None);
            return;
        }
        let is_late = call.deadline.is_some_and(|deadline| self.now >= deadline);
        if is_late || self.tokens.left == 0 || is_full {
            assert_eq!(hedge, None);
            call.no_more = true;
            return;
        }
        self.tokens.left -= 1;
        self.tokens.held += 1;
        let hedge = hedge.expect("all is granted");
        call.attempt += 1;
        call.hedged += 1;
        assert_eq!((hedge.number(), hedge.is_hedge()), (call.attempt, true));
        let remaining = call.deadline.map(|deadline| ms(deadline - self.now));
        assert_eq!(hedge.remaining(), remaining);
        call.under_way.push((call.attempt, self.now, true));
    }

    fn end(&mut self, at: usize, which: usize, end: End) {
        let now = self.now();
        let call = &mut self.calls[at];
        if call.under_way.is_empty() {
            return;
        }
        let (number, _, paid) = call.under_way.remove(which % call.under_way.len());
        let verdict = match end {
            End::Good => Verdict::Success,
            End::Fails(failure) => failure.into(),
        };
        let decision = call.call.on_outcome_of(number, now, verdict, &mut || 0);
        self.tokens.held -= u32::from(paid);
        self.tokens.spent += u32::from(paid);
        match end {
            End::Good => {
                assert_eq!(decision, Decision::Done);
                self.tokens.successes += 1;
                self.forget(at);
                self.calls[at].is_over = true;
            }
            End::Fails(failure) => {
                self.tokens.failures += 1;
                call.said.push((failure, self.now));
                // Whatever one copy has failed with, another may succeed.
                if !call.under_way.is_empty() {
                    assert_eq!(decision, Decision::AwaitOthers);
                    return;
                }
                self.forget(at);
                assert_eq!(decision, self.decision(at));
                match decision {
                    Decision::RetryIn(_) => {
                        self.calls[at].is_decided = true;
                        self.tokens.left -= 1;
                        self.tokens.held += 1;
                    }
                    _ => self.calls[at].is_over = true,
                }
            }
        }
    }

    /// What follows all that the copies of an attempt have said.
    fn decision(&self, at: usize) -> Decision {
        let call = &self.calls[at];
        let any = |said: &dyn Fn(Failure) -> bool| call.said.iter().any(|it| said(it.0));
        let hints = call
            .said
            .iter()
            .filter_map(|(failure, at)| match failure.hint {
                Some(Hint::AtLeast(delay)) => {
                    Some((Instant::ZERO.after(ms(*at)).after(delay)).since(self.now()))
                }
                _ => None,
            });
        let hint = hints.max();
        let delay = hint.unwrap_or(ms(BACKOFF));
        let is_late = call
            .deadline
            .is_some_and(|deadline| ms(self.now) + delay >= ms(deadline));
        Decision::Stop(if any(&|it| it.class == Class::Permanent) {
            StopReason::Permanent
        } else if any(&|it| it.hint == Some(Hint::Stop)) || call.is_forbidden {
            StopReason::DoNotRetry
        } else if call.operation == Operation::NotIdempotent
            && any(&|it| it.effect == Effect::Unknown)
        {
            StopReason::NotIdempotent
        } else if call.body_is_gone {
            StopReason::BodyNotReplayable
        } else if call.attempt >= self.rules.attempts {
            StopReason::AttemptsExhausted
        } else if is_late && hint.is_some() {
            StopReason::HintTooLong
        } else if is_late {
            StopReason::DeadlineExceeded
        } else if self.tokens.left == 0 {
            StopReason::BudgetExhausted
        } else {
            return Decision::RetryIn(delay);
        })
    }

    fn check(&self) {
        assert_eq!(*self.purse.0.lock().unwrap(), self.tokens);
        let in_flight = self.retrier.in_flight().expect("a bulkhead");
        assert_eq!(in_flight as usize, self.in_flight());
        let waiting = self
            .calls
            .iter()
            .filter(|call| call.is_decided && call.attempt > 0);
        assert_eq!(self.retrier.waiting(), waiting.count() as u64);
        for call in &self.calls {
            assert!(call.under_way.len() <= self.rules.copies as usize + 1);
            assert!(call.attempt <= self.rules.attempts);
            assert_eq!(call.call.attempt_number(), call.attempt);
            // A hedge is no repetition: all copies are in the attempt that they stand beside.
            let numbers = call.under_way.iter().map(|(number, ..)| *number);
            let attempts = numbers
                .clone()
                .map(|number| call.call.scope_of(number).attempt());
            let beside: HashSet<u32> = attempts.collect();
            assert!(beside.len() <= 1, "{beside:?}");
            assert!(
                beside
                    .iter()
                    .all(|it| numbers.clone().all(|number| *it <= number))
            );
            assert!(!call.is_over || call.under_way.is_empty());
        }
    }
}

fn play(rules: Rules, tokens: u32, operations: &[Operation; 3], steps: &[(usize, Step)]) {
    let purse = Arc::new(Purse(Mutex::new(Tokens {
        left: tokens,
        ..Tokens::default()
    })));
    let mut policy = Policy::fixed(ms(BACKOFF))
        .jitter(Jitter::None)
        .attempts(rules.attempts)
        .hedge(Hedge::after(ms(rules.delay)).copies(rules.copies))
        .bulkhead(Bulkhead::calls(rules.places));
    policy.deadline = rules.deadline.map(ms);
    let clock = FakeSleeper::new();
    let builder = policy.builder().sleeper(clock.clone());
    let retrier = builder.retry_budget(purse.clone()).build().unwrap();
    assert_eq!(clock.now(), Instant::ZERO);
    let mut world = World {
        retrier: &retrier,
        purse: &purse,
        rules,
        now: 3_600_000,
        calls: Vec::new(),
        tokens: *purse.0.lock().unwrap(),
    };
    for operation in operations {
        let call = world.begin(*operation);
        world.calls.push(call);
    }
    for (at, step) in steps {
        world.take(*at, *step);
        // A call that is over makes room for another.
        if world.calls[*at].is_over {
            world.renew(*at);
        }
    }
    world.calls.clear();
    let end = *purse.0.lock().unwrap();
    assert_eq!((end.held, end.left + end.spent), (0, tokens));
    assert_eq!((retrier.in_flight(), retrier.waiting()), (Some(0), 0));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn calls_do_as_the_model_does(
        attempts in 1_u32..9,
        copies in 1_u32..=4,
        delay in 0_u64..60,
        deadline in proptest::option::of(1_u64..600),
        places in 1_u32..8,
        tokens in 0_u32..30,
        is_repeatable: [bool; 3],
        steps in steps(),
    ) {
        let operations = is_repeatable.map(|is_repeatable| {
            if is_repeatable { Operation::Idempotent } else { Operation::NotIdempotent }
        });
        let rules = Rules { attempts, copies, delay, deadline, places };
        play(rules, tokens, &operations, &steps);
    }

    /// Idempotent calls alone, with room for everything: deep in copies.
    #[test]
    fn with_room_for_every_copy_too(
        copies in 1_u32..=4,
        steps in steps(),
    ) {
        let rules = Rules { attempts: 1000, copies, delay: 20, deadline: None, places: 100 };
        play(rules, 1000, &[Operation::Idempotent; 3], &steps);
    }
}
