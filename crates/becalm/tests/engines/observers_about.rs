//! Whose event is it? Calls that run side by side are told apart, and carry what the caller gave them.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use becalm::observe::About;
use becalm::time::FakeSleeper;
use becalm::{Breaker, Event, Observer, Policy, Retrier};

use crate::probe::{ByHand, Fault, MS, fixed, ready};

/// What a call is about: the host that it goes to.
#[derive(Debug, PartialEq)]
struct Host(&'static str);

/// Number of the call, its host, what happened.
type Line = (Option<u64>, Option<&'static str>, String);

#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<Line>>>);

impl Notes {
    fn lines(&self) -> Vec<Line> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl Observer for Notes {
    fn on_event(&self, about: &About<'_>, event: &Event<'_>) {
        assert_eq!(about.retrier, "orders");
        assert_eq!(about.context::<u32>(), None, "it is of another type");
        let text = |error: &Option<becalm::observe::Shown<'_>>| {
            error.map_or("no error".to_owned(), |error| error.to_string())
        };
        let happened = match event {
            Event::Attempt { number, .. } => format!("attempt {number}"),
            Event::Retry { delay, error, .. } => {
                format!("retry in {} ms: {}", delay.as_millis(), text(error))
            }
            Event::Stopped { reason, error, .. } => {
                format!("{}: {}", reason.as_str(), text(error))
            }
            Event::Recovered { attempts, .. } => format!("recovered after {attempts}"),
            Event::Breaker { to, .. } => format!("breaker {to:?}"),
            other => panic!("{other:?}"),
        };
        let host = about.context::<Host>().map(|host| host.0);
        let line = (about.call, host, happened);
        self.0.lock().unwrap().push(line);
    }
}

fn noted(clock: &FakeSleeper, policy: Policy) -> (Retrier, Notes) {
    let notes = Notes::default();
    let builder = policy.builder().sleeper(clock.clone()).name("orders");
    let retrier = builder.observer(notes.clone()).build().unwrap();
    (retrier, notes)
}

/// The lines of one call, which all have its number and its host.
fn of(lines: &[Line], host: &str) -> (u64, Vec<String>) {
    let of_host = |line: &&Line| line.1 == Some(host);
    let number = lines.iter().find(of_host).expect("a line").0;
    let mine = lines.iter().filter(|line| line.0 == number);
    let happened = mine.map(|line| {
        assert_eq!(line.1, Some(host), "{line:?}");
        line.2.clone()
    });
    (number.expect("a call has a number"), happened.collect())
}

/// C7.
#[test]
fn c7_observers_know_the_call_the_error_and_the_delay() {
    let clock = FakeSleeper::new();
    let (retrier, notes) = noted(&clock, fixed(100 * MS).attempts(2));
    let call = |first: Fault, second: Result<(), Fault>| {
        retrier.retry(move |attempt| async move {
            match attempt.number() {
                1 => Err(first),
                _ => second,
            }
        })
    };
    let gone = Err(Fault::GONE);
    let mut a = ByHand::new(call(Fault::DOWN, gone).context(Host("a")));
    let mut b = ByHand::new(call(Fault::BUSY, Ok(())).context(Host("b")));
    assert!(a.run().is_pending() && b.run().is_pending());
    clock.advance(100 * MS);
    assert!(b.run().is_ready() && a.run().is_ready());
    let lines = notes.lines();
    let (of_a, a) = of(&lines, "a");
    let (of_b, b) = of(&lines, "b");
    assert_eq!(
        a,
        [
            "attempt 1",
            "retry in 100 ms: the shop is down",
            "attempt 2",
            "permanent: there is no such order"
        ]
    );
    assert_eq!(
        b,
        [
            "attempt 1",
            "retry in 100 ms: the shop is busy",
            "attempt 2",
            "recovered after 2"
        ]
    );
    assert!(of_a > 0 && of_b > of_a, "{of_a}, {of_b}");
    assert_eq!(lines.len(), 8, "no event is of another call");
}

#[test]
fn a_context_goes_with_every_engine() {
    let (retrier, notes) = noted(&FakeSleeper::auto(), fixed(MS));
    let blocking = retrier.blocking(|_| Ok::<_, Fault>(()));
    blocking.context(Host("blocking")).call().unwrap();
    let mut call = retrier.call::<Fault>().context(Host("loop"));
    call.next_blocking().unwrap();
    call.success(());
    let call = retrier.retry(|_| async { Ok::<_, Fault>(()) });
    ready(call.context(Host("async"))).unwrap();
    drop(retrier.engine().context(Host("own")).begin());
    let lines = notes.lines();
    let mut numbers = Vec::new();
    for host in ["blocking", "loop", "async", "own"] {
        let (number, happened) = of(&lines, host);
        assert_eq!(happened[0], "attempt 1", "{host}");
        numbers.push(number);
    }
    assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
}

#[test]
fn what_ends_without_an_error_shows_none() {
    let clock = FakeSleeper::new();
    let policy = fixed(100 * MS).attempts(2).attempt_timeout(10 * MS);
    let (retrier, notes) = noted(&clock, policy);
    let mut call = ByHand::new(retrier.retry(|_| pending::<Result<(), Fault>>()));
    while call.run().is_pending() {
        clock.advance_to_next().expect("a timer");
    }
    let happened: Vec<_> = notes.lines().into_iter().map(|line| line.2).collect();
    let expected = [
        "attempt 1",
        "retry in 100 ms: no error",
        "attempt 2",
        "attempts_exhausted: no error",
    ];
    assert_eq!(happened, expected);
    let mut call = ByHand::new(retrier.retry(|_| pending::<Result<(), Fault>>()));
    assert!(call.run().is_pending());
    drop(call);
    assert_eq!(notes.lines()[1].2, "cancelled: no error");
}

#[test]
fn what_happens_outside_of_any_call_is_of_none() {
    let breaker = Breaker::consecutive(1).open(Duration::from_secs(1));
    let (retrier, notes) = noted(&FakeSleeper::auto(), fixed(MS).breaker(breaker));
    retrier.force_open();
    let by_hand = (None, None, "breaker Open".to_owned());
    assert_eq!(notes.lines(), [by_hand]);
    retrier.force_close();
    notes.lines();
    let call = retrier.blocking(|_| Err::<(), _>(Fault::DOWN));
    call.context(Host("tripped")).call().unwrap_err();
    let (_, happened) = of(&notes.lines(), "tripped");
    assert!(
        happened.contains(&"breaker Open".to_owned()),
        "{happened:?}"
    );
}
