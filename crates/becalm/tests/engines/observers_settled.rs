//! Does an observer look at a state that is settled? What a call held is back before it is told.

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll};

use becalm::time::FakeSleeper;
use becalm::{Cancel, Event, Observer, Policy, Retrier, StopReason, shared::Shared};

use crate::probe::{ByHand, Fault, Ledger, MS, SECOND, fixed, ready};

/// What an observer finds when it looks at the retrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    event: &'static str,
    waiting: u64,
    tokens: u32,
}

struct Curious {
    retrier: OnceLock<Retrier>,
    ledger: Arc<Ledger>,
    found: Mutex<Vec<State>>,
}

impl Observer for Curious {
    fn on_event(&self, _: &becalm::observe::About<'_>, event: &Event<'_>) {
        let event = match event {
            Event::Attempt { .. } => "attempt",
            Event::Retry { .. } => "retry",
            Event::Recovered { .. } => "recovered",
            Event::Stopped {
                reason: StopReason::Cancelled,
                ..
            } => "cancelled",
            Event::Stopped { .. } => "stopped",
            _ => "other",
        };
        let retrier: &Shared = self.retrier.get().expect("built").as_ref();
        self.found.lock().unwrap().push(State {
            event,
            waiting: retrier.waiting(),
            tokens: self.ledger.book().tokens,
        });
    }
}

fn curious(clock: &FakeSleeper, policy: Policy, tokens: u32) -> (Retrier, Arc<Curious>) {
    let ledger = Ledger::of(tokens);
    let curious = Arc::new(Curious {
        retrier: OnceLock::new(),
        ledger: ledger.clone(),
        found: Mutex::default(),
    });
    let builder = policy.builder().sleeper(clock.clone());
    let retrier = builder
        .retry_budget(ledger)
        .observer(curious.clone())
        .build()
        .unwrap();
    curious.retrier.set(retrier.clone()).expect("once");
    (retrier, curious)
}

fn state(event: &'static str, waiting: u64, tokens: u32) -> State {
    State {
        event,
        waiting,
        tokens,
    }
}

#[test]
fn it_looks_at_a_state_that_is_settled() {
    let run: [(&str, fn(&Retrier)); 4] = [
        ("async", |retrier| {
            drop(ready(
                retrier.retry(|_| async { Err::<(), _>(Fault::DOWN) }),
            ));
        }),
        ("blocking", |retrier| {
            drop(retrier.retry_blocking(|_| Err::<(), _>(Fault::DOWN)));
        }),
        ("loop", |retrier| {
            ready(async {
                let mut call = retrier.call();
                while call.next().await.is_some() {
                    call.failure(Fault::DOWN);
                }
            });
        }),
        ("blocking loop", |retrier| {
            let mut call = retrier.call();
            while call.next_blocking().is_some() {
                call.failure(Fault::DOWN);
            }
        }),
    ];
    for (engine, run) in run {
        let (retrier, curious) = curious(&FakeSleeper::auto(), fixed(MS), 2);
        run(&retrier);
        assert_eq!(
            *curious.found.lock().unwrap(),
            [
                state("attempt", 0, 2),
                state("retry", 1, 1),
                state("attempt", 0, 1),
                state("retry", 1, 0),
                state("attempt", 0, 0),
                state("stopped", 0, 0),
            ],
            "{engine}"
        );
    }
}

#[test]
fn a_cancelled_call_is_settled_before_it_is_told() {
    let clock = FakeSleeper::new();
    let (retrier, curious) = curious(&clock, fixed(MS), 2);
    let mut call = ByHand::new(retrier.retry(|_| async { Err::<(), _>(Fault::DOWN) }));
    assert!(call.run().is_pending());
    drop(call);
    assert_eq!(
        curious.found.lock().unwrap().last(),
        Some(&state("cancelled", 0, 2))
    );

    let mut call = retrier.call();
    let mut waiting = ByHand::new(async {
        call.next().await.unwrap();
        call.failure(Fault::DOWN);
        call.next().await
    });
    assert!(waiting.run().is_pending());
    drop(waiting);
    drop(call);
    assert_eq!(
        curious.found.lock().unwrap().last(),
        Some(&state("cancelled", 0, 2))
    );
}

#[test]
fn a_wait_that_is_ended_from_outside_is_settled_before_it_is_told() {
    let (retrier, curious) = curious(&FakeSleeper::new(), fixed(MS), 2);
    let cancel = Cancel::new();
    let call = retrier.blocking(|_| {
        cancel.cancel();
        Err::<(), _>(Fault::DOWN)
    });
    call.cancel(&cancel).call().unwrap_err();
    let found = curious.found.lock().unwrap().clone();
    assert_eq!(found[1..], [state("retry", 1, 1), state("cancelled", 0, 2)]);

    let mut call = retrier.call();
    call.next_blocking().unwrap();
    call.failure(Fault::DOWN);
    assert!(ByHand::new(call.next()).poll().is_pending());
    drop(call.gave_up());
    let found = curious.found.lock().unwrap().clone();
    assert_eq!(found[4..], [state("retry", 1, 1), state("cancelled", 0, 2)]);
}

#[test]
fn a_deadline_that_passes_in_the_wait_is_settled_before_it_is_told() {
    let clock = FakeSleeper::new();
    let (retrier, curious) = curious(&clock, fixed(MS).deadline(SECOND), 2);
    let mut call = ByHand::new(retrier.retry(|_| async { Err::<(), _>(Fault::DOWN) }));
    assert!(call.run().is_pending());
    clock.advance(SECOND);
    assert!(call.run().is_ready());
    assert_eq!(
        curious.found.lock().unwrap().last(),
        Some(&state("stopped", 0, 2))
    );
}

#[test]
fn a_recovered_call_is_settled_before_it_is_told() {
    let (retrier, curious) = curious(&FakeSleeper::auto(), fixed(MS), 2);
    let serve = |number| {
        if number == 1 {
            Err(Fault::DOWN)
        } else {
            Ok(())
        }
    };
    ready(retrier.retry(|attempt| async move { serve(attempt.number()) })).unwrap();
    retrier
        .retry_blocking(|attempt| serve(attempt.number()))
        .unwrap();
    let recovered: Vec<_> = curious
        .found
        .lock()
        .unwrap()
        .iter()
        .copied()
        .filter(|state| state.event == "recovered")
        .collect();
    assert_eq!(
        recovered,
        [state("recovered", 0, 1), state("recovered", 0, 0)]
    );
}

/// A permit that an attempt holds.
struct Permit(Arc<Mutex<u32>>);

impl Drop for Permit {
    fn drop(&mut self) {
        *self.0.lock().unwrap() -= 1;
    }
}

/// Notes how many permits are held when a retry or an end is told.
struct Permits(Arc<Mutex<u32>>, Mutex<Vec<u32>>);

impl Observer for Permits {
    fn on_event(&self, _: &becalm::observe::About<'_>, event: &Event<'_>) {
        if !matches!(event, Event::Attempt { .. }) {
            self.1.lock().unwrap().push(*self.0.lock().unwrap());
        }
    }
}

/// Law 9, as the observer sees it: what the attempt held is back before the wait is announced.
#[test]
fn an_attempt_that_was_cut_is_gone_before_anything_is_told() {
    let held = Arc::new(Mutex::new(0));
    let permits = Arc::new(Permits(held.clone(), Mutex::default()));
    let clock = FakeSleeper::new();
    let builder = fixed(MS)
        .attempt_timeout(SECOND)
        .deadline(3 * SECOND)
        .builder();
    let retrier = builder
        .sleeper(clock.clone())
        .observer(permits.clone())
        .build()
        .unwrap();
    let mut call = ByHand::new(retrier.retry(|_| {
        *held.lock().unwrap() += 1;
        let permit = Permit(held.clone());
        async move {
            let _permit = permit;
            pending::<Result<(), Fault>>().await
        }
    }));
    while let Poll::Pending = call.run() {
        assert!(*held.lock().unwrap() <= 1);
        clock.advance_to_next().expect("a timer");
    }
    assert_eq!(
        *permits.1.lock().unwrap(),
        [0, 0, 0],
        "two retries and a stop"
    );
}

/// A future that keeps what it holds until it is dropped, ready or not.
struct Holding(Permit);

impl Future for Holding {
    type Output = Result<(), Fault>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        assert!(*self.0.0.lock().unwrap() > 0);
        Poll::Ready(Err(Fault::DOWN))
    }
}

#[test]
fn an_attempt_that_failed_is_gone_before_anything_is_told() {
    let held = Arc::new(Mutex::new(0));
    let permits = Arc::new(Permits(held.clone(), Mutex::default()));
    let builder = fixed(MS).builder().sleeper(FakeSleeper::auto());
    let retrier = builder.observer(permits.clone()).build().unwrap();
    let call = retrier.retry(|_| {
        *held.lock().unwrap() += 1;
        Holding(Permit(held.clone()))
    });
    ready(call).unwrap_err();
    assert_eq!(
        *permits.1.lock().unwrap(),
        [0; 4],
        "three retries and a stop"
    );
}
