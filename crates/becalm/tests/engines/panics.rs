//! What does a panic leave behind? It goes through unchanged; token, place and scope are released.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use becalm::time::FakeSleeper;
use becalm::{Attempt, Event, Observer, Retrier, Scope};

use crate::probe::{Fault, Ledger, MS, by_first_attempt, fixed, ready};

/// Runs it, and returns what it panicked with.
fn payload(run: impl FnOnce()) -> &'static str {
    let hook = Silence::new();
    let panicked = catch_unwind(AssertUnwindSafe(run)).expect_err("a panic");
    drop(hook);
    panicked
        .downcast_ref::<&'static str>()
        .copied()
        .expect("the payload as it was")
}

/// Keeps the expected panics of this thread out of the test's output.
pub struct Silence;

thread_local! {
    static SILENT: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

impl Silence {
    pub fn new() -> Self {
        static HOOK: std::sync::Once = std::sync::Once::new();
        HOOK.call_once(|| {
            let loud = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |info| {
                if !SILENT.get() {
                    loud(info);
                }
            }));
        });
        SILENT.set(true);
        Self
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        SILENT.set(false);
    }
}

/// Panics at one kind of event.
struct Panicky(fn(&Event<'_>) -> bool);

impl Observer for Panicky {
    fn on_event(&self, _: &becalm::observe::About<'_>, event: &Event<'_>) {
        assert_ne_quietly((self.0)(event));
    }
}

fn assert_ne_quietly(panics: bool) {
    if panics {
        std::panic::panic_any("the observer's");
    }
}

/// The ways to run an operation.
type Engine = fn(&Retrier, &dyn Fn(u32) -> Result<(), Fault>);

const ENGINES: [(&str, Engine); 6] = [
    ("async", |retrier, operation| {
        let call = retrier.retry(|attempt| async move { operation(attempt.number()) });
        drop(ready(call));
    }),
    ("async, in the closure", |retrier, operation| {
        let call = retrier.retry(|attempt| std::future::ready(operation(attempt.number())));
        drop(ready(call));
    }),
    ("blocking", |retrier, operation| {
        drop(retrier.retry_blocking(|attempt| operation(attempt.number())));
    }),
    ("loop", |retrier, operation| {
        ready(async {
            let mut call = retrier.call();
            while let Some(attempt) = call.next().await {
                match call.scope().enter(|| operation(attempt.number())) {
                    Ok(()) => return call.success(()),
                    Err(fault) => call.failure(fault),
                }
            }
            drop(call.gave_up());
        });
    }),
    ("blocking loop", |retrier, operation| {
        let mut call = retrier.call();
        while let Some(attempt) = call.next_blocking() {
            match call.scope().enter(|| operation(attempt.number())) {
                Ok(()) => return call.success(()),
                Err(fault) => call.failure(fault),
            }
        }
        drop(call.gave_up());
    }),
    ("without futures", |retrier, operation| {
        let operation = |attempt: Attempt| operation(attempt.number());
        drop(by_first_attempt(retrier, retrier.engine(), operation));
    }),
];

fn retrier(ledger: &std::sync::Arc<Ledger>, observer: Option<Panicky>) -> Retrier {
    let builder = fixed(100 * MS)
        .builder()
        .sleeper(FakeSleeper::auto())
        .retry_budget(ledger.clone());
    match observer {
        Some(observer) => builder.observer(observer),
        None => builder,
    }
    .build()
    .unwrap()
}

/// Nothing is left of the call: what it held is back, and the thread is in no scope.
fn assert_settled(retrier: &Retrier, context: &str) {
    assert_eq!(retrier.waiting(), 0, "{context}: a place is lost");
    assert_eq!(
        Scope::current(),
        Scope::NONE,
        "{context}: the scope is left behind"
    );
}

#[test]
fn a_panic_of_the_operation_goes_through_and_its_token_is_spent() {
    for (engine, run) in ENGINES {
        for at in 1..=3 {
            let context = format!("{engine}, attempt {at}");
            let ledger = Ledger::of(10);
            let retrier = retrier(&ledger, None);
            let payload = payload(|| {
                run(&retrier, &|number| {
                    if number == at {
                        std::panic::panic_any("the operation's");
                    }
                    Err(Fault::DOWN)
                });
            });
            assert_eq!(payload, "the operation's", "{context}");
            assert_settled(&retrier, &context);
            assert_eq!(ledger.book().spent(), at - 1, "{context}");
        }
    }
}

#[test]
fn a_panic_of_the_observer_goes_through_and_what_was_held_is_back() {
    type Kind = (&'static str, fn(&Event<'_>) -> bool, u32);
    let kinds: [Kind; 5] = [
        (
            "first attempt",
            |event| matches!(event, Event::Attempt { number: 1, .. }),
            0,
        ),
        (
            "retry",
            |event| matches!(event, Event::Retry { next: 2, .. }),
            0,
        ),
        (
            "second retry",
            |event| matches!(event, Event::Retry { next: 3, .. }),
            1,
        ),
        // Announced, but the operation is never invoked.
        (
            "second attempt",
            |event| matches!(event, Event::Attempt { number: 2, .. }),
            0,
        ),
        ("stop", |event| matches!(event, Event::Stopped { .. }), 3),
    ];
    for (engine, run) in ENGINES {
        for (kind, panics, spent) in kinds {
            let context = format!("{engine}, {kind}");
            let ledger = Ledger::of(10);
            let retrier = retrier(&ledger, Some(Panicky(panics)));
            let payload = payload(|| run(&retrier, &|_| Err(Fault::DOWN)));
            assert_eq!(payload, "the observer's", "{context}");
            assert_settled(&retrier, &context);
            let book = ledger.book();
            assert_eq!(
                (book.spent(), book.tokens),
                (spent, 10 - spent),
                "{context}"
            );
        }
    }
}

#[test]
fn a_panic_of_the_observer_after_a_recovery_goes_through() {
    for (engine, run) in ENGINES {
        let ledger = Ledger::of(10);
        let panics = |event: &Event<'_>| matches!(event, Event::Recovered { .. });
        let retrier = retrier(&ledger, Some(Panicky(panics)));
        let payload = payload(|| {
            run(&retrier, &|number| {
                if number == 1 {
                    Err(Fault::DOWN)
                } else {
                    Ok(())
                }
            });
        });
        assert_eq!(payload, "the observer's", "{engine}");
        assert_settled(&retrier, engine);
        assert_eq!(ledger.book().spent(), 1, "{engine}");
    }
}

#[test]
fn a_panic_of_the_classifier_goes_through() {
    let ledger = Ledger::of(10);
    let retrier = retrier(&ledger, None);
    let classifier = |_, _: &Fault| std::panic::panic_any("the classifier's");
    let blocking = payload(|| {
        let call = retrier.blocking(|_| Err::<(), _>(Fault::DOWN));
        drop(call.classify_with(classifier).call());
    });
    assert_eq!(blocking, "the classifier's");
    let of_async = payload(|| {
        let call = retrier.retry(|_| async { Err::<(), _>(Fault::DOWN) });
        drop(ready(call.classify_with(classifier)));
    });
    assert_eq!(of_async, "the classifier's");
    assert_settled(&retrier, "classifier");
}

/// A retrier that has seen a panic is as good as new.
#[test]
fn the_next_call_is_not_disturbed() {
    for (engine, run) in ENGINES {
        let ledger = Ledger::of(10);
        let retrier = retrier(&ledger, None);
        payload(|| run(&retrier, &|_| std::panic::panic_any("the operation's")));
        let attempts = std::cell::Cell::new(0);
        run(&retrier, &|_| {
            attempts.set(attempts.get() + 1);
            Err(Fault::DOWN)
        });
        assert_eq!(attempts.get(), 4, "{engine}: not taken for a nested call");
    }
}

/// A panic while a panicking call is dropped would abort the process.
#[test]
fn no_observer_is_called_while_a_panic_unwinds() {
    let ledger = Ledger::of(10);
    let panics = |event: &Event<'_>| matches!(event, Event::Stopped { .. });
    let retrier = retrier(&ledger, Some(Panicky(panics)));
    let payload = payload(|| {
        let panics = || -> Result<(), Fault> { std::panic::panic_any("the operation's") };
        drop(ready(retrier.retry(|_| async { panics() })));
    });
    assert_eq!(payload, "the operation's");
    assert_eq!(ledger.book().first_tries, 1);
    assert_eq!(retrier.sleeper().granularity(), Duration::ZERO);
}
