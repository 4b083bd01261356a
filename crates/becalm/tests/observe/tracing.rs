//! What a subscriber of `tracing` receives from calls.
#![cfg(feature = "tracing")]

use std::fmt::{Debug, Write};
use std::io::{Error, ErrorKind};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use becalm::observe::TracingObserver;
use becalm::policy::Mode;
use becalm::time::FakeSleeper;
use becalm::{Hedge, Jitter, Policy, Retrier};
use futures_util::FutureExt;
use tracing::field::{Field, Visit};
use tracing::subscriber::with_default;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

fn orders() -> Retrier {
    Policy::fixed(Duration::from_millis(250))
        .jitter(Jitter::None)
        .attempts(2)
        .builder()
        .name("orders")
        .observer(TracingObserver)
        .sleeper(FakeSleeper::auto())
        .build()
        .unwrap()
}

/// One line per event: span, target, level, fields.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Which number a call has depends on the calls of other tests.
        if field.name() == "call" {
            let number = format!("{value:?}").parse::<u64>().unwrap();
            assert!(number > 0, "from 1");
            return self.0.push_str(" call=N");
        }
        write!(self.0, " {field}={value:?}").unwrap();
    }
}

impl<S> Layer<S> for Lines
where
    S: tracing::Subscriber + for<'span> tracing_subscriber::registry::LookupSpan<'span>,
{
    fn on_event(&self, event: &tracing::Event<'_>, context: Context<'_, S>) {
        let span = context.event_span(event).map_or("", |span| span.name());
        let metadata = event.metadata();
        let mut line = Line(format!("{span} {} {}", metadata.target(), metadata.level()));
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }
}

fn traced(calls: impl FnOnce()) -> Vec<String> {
    let lines = Lines::default();
    with_default(tracing_subscriber::registry().with(lines.clone()), || {
        tracing::info_span!("request").in_scope(calls);
    });
    let lines = lines.0.lock().unwrap();
    lines.clone()
}

#[test]
fn a_recovered_call_tells_each_attempt_the_retry_and_its_end() {
    let lines = traced(|| {
        let _ = orders().retry_blocking(|attempt| match attempt.number() {
            1 => Err(Error::from(ErrorKind::ConnectionRefused)),
            _ => Ok(()),
        });
    });
    let expected = [
        "TRACE message=attempt retrier=\"orders\" call=N attempt=1 waited_seconds=0.0",
        "INFO message=retry retrier=\"orders\" call=N attempt=2 delay_seconds=0.25 \
         class=\"transient\" effect=\"unsent\" error=connection refused",
        "TRACE message=attempt retrier=\"orders\" call=N attempt=2 waited_seconds=0.25",
        "INFO message=recovered retrier=\"orders\" call=N attempts=2 elapsed_seconds=0.25",
    ];
    assert_eq!(lines, expected.map(|line| format!("request becalm {line}")));
}

#[test]
fn a_call_that_gives_up_ends_with_a_warning_and_its_reason() {
    let lines = traced(|| {
        let _ = orders().retry_blocking(|_| Err::<(), _>(Error::from(ErrorKind::TimedOut)));
    });
    let expected = "request becalm WARN message=stopped retrier=\"orders\" call=N \
                    reason=\"attempts_exhausted\" attempts=2 elapsed_seconds=0.25 \
                    error=timed out";
    assert_eq!(lines.last().map(String::as_str), Some(expected));
}

#[test]
fn what_enforcing_would_have_done_is_told_before_the_end() {
    let lines = traced(|| {
        let orders = orders();
        orders.set_mode(Mode::Observe);
        let _ = orders.retry_blocking(|_| Err::<(), _>(Error::from(ErrorKind::TimedOut)));
    });
    let expected = [
        "TRACE message=attempt retrier=\"orders\" call=N attempt=1 waited_seconds=0.0",
        "INFO message=observed retrier=\"orders\" call=N would=\"retry\" time_seconds=0.25",
        "WARN message=stopped retrier=\"orders\" call=N reason=\"attempts_exhausted\" attempts=1 \
         elapsed_seconds=0.0 error=timed out",
    ];
    assert_eq!(lines, expected.map(|line| format!("request becalm {line}")));
}

#[test]
fn a_call_that_is_dropped_is_not_worth_a_warning() {
    let lines = traced(|| {
        let orders = orders();
        let mut call = Box::pin(
            orders
                .retry(|_| std::future::pending::<Result<(), Error>>())
                .into_future(),
        );
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(call.as_mut().poll(&mut context).is_pending());
    });
    let expected = "request becalm INFO message=stopped retrier=\"orders\" call=N \
                    reason=\"cancelled\" attempts=1 elapsed_seconds=0.0";
    assert_eq!(lines.last().map(String::as_str), Some(expected));
}

#[test]
fn a_call_that_succeeds_at_once_tells_nothing_above_trace() {
    let lines = traced(|| {
        let _ = orders().retry_blocking(|_| Ok::<_, Error>(()));
    });
    assert_eq!(lines.len(), 1);
    assert!(
        lines[0].starts_with("request becalm TRACE message=attempt"),
        "{lines:?}"
    );
}

#[test]
fn a_hedge_and_the_loser_are_told_in_order() {
    let lines = traced(|| {
        let policy = Policy::fixed(Duration::from_millis(250))
            .hedge(Hedge::after(Duration::from_millis(500)));
        let builder = policy.builder().name("orders").observer(TracingObserver);
        let orders = builder.sleeper(FakeSleeper::auto()).build().unwrap();
        let call = orders.retry(|attempt| async move {
            if attempt.is_hedge() {
                return Ok::<_, Error>(());
            }
            std::future::pending().await
        });
        assert!(call.now_or_never().expect("the hedge answers").is_ok());
    });
    let expected = [
        "TRACE message=attempt retrier=\"orders\" call=N attempt=1 waited_seconds=0.0",
        "DEBUG message=hedge retrier=\"orders\" call=N attempt=2 after_seconds=0.5",
        "DEBUG message=beaten retrier=\"orders\" call=N attempt=1 elapsed_seconds=0.5",
        "INFO message=recovered retrier=\"orders\" call=N attempts=2 elapsed_seconds=0.5",
    ];
    assert_eq!(lines, expected.map(|line| format!("request becalm {line}")));
}
