//! What a recorder of `metrics` receives from calls.
#![cfg(feature = "metrics")]

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind};
use std::time::Duration;

use becalm::observe::MetricsObserver;
use becalm::policy::Mode;
use becalm::time::FakeSleeper;
use becalm::{Budget, Hedge, Jitter, Policy, Retrier};
use futures_util::FutureExt;
use metrics_util::debugging::{DebugValue, DebuggingRecorder};

fn orders() -> Retrier {
    Policy::fixed(Duration::from_millis(250))
        .jitter(Jitter::None)
        .attempts(3)
        .budget(Budget::ratio(0.1).burst(3.0))
        .builder()
        .name("orders")
        .observer(MetricsObserver::new())
        .sleeper(FakeSleeper::auto())
        .build()
        .unwrap()
}

/// Calls an operation that fails this often before it succeeds.
fn call(retrier: &Retrier, failures: u32, kind: ErrorKind) {
    let _ = retrier.retry_blocking(|attempt| {
        if attempt.number() > failures {
            Ok(())
        } else {
            Err(Error::from(kind))
        }
    });
}

/// What was recorded: `name{label=value,..}`, and its value or samples with their unit.
fn recorded(calls: impl FnOnce()) -> BTreeMap<String, String> {
    let recorder = DebuggingRecorder::new();
    metrics::with_local_recorder(&recorder, calls);
    let snapshot = recorder.snapshotter().snapshot().into_vec();
    let lines = snapshot.into_iter().map(|(key, unit, _, value)| {
        let labels = key.key().labels();
        let labels: Vec<_> = labels
            .map(|l| format!("{}={}", l.key(), l.value()))
            .collect();
        let name = format!("{}{{{}}}", key.key().name(), labels.join(","));
        let value = match value {
            DebugValue::Counter(count) => count.to_string(),
            DebugValue::Histogram(samples) => {
                let samples: Vec<_> = samples.iter().map(|sample| sample.0).collect();
                format!("{samples:?}")
            }
            DebugValue::Gauge(value) => value.to_string(),
        };
        let unit = unit.map_or("undescribed", |unit| unit.as_str());
        (name, format!("{value} {unit}"))
    });
    lines.collect()
}

#[test]
fn a_call_that_succeeds_at_once_counts_as_a_first_attempt_and_nothing_else() {
    let recorded = recorded(|| call(&orders(), 0, ErrorKind::TimedOut));
    let expected = [(
        "becalm_attempts_total{retrier=orders,attempt=first}",
        "1 count",
    )];
    assert_eq!(recorded, owned(&expected));
}

#[test]
fn every_metric_has_the_name_the_labels_and_the_unit_of_its_table() {
    let recorded = recorded(|| {
        let orders = orders();
        call(&orders, 2, ErrorKind::TimedOut);
        call(&orders, 1, ErrorKind::ConnectionRefused);
        call(&orders, 1, ErrorKind::NotFound);
        call(&orders, 1, ErrorKind::TimedOut);
    });
    let expected = [
        (
            "becalm_attempts_total{retrier=orders,attempt=first}",
            "4 count",
        ),
        (
            "becalm_attempts_total{retrier=orders,attempt=retry}",
            "3 count",
        ),
        (
            "becalm_retries_total{retrier=orders,class=transient,effect=unknown}",
            "2 count",
        ),
        (
            "becalm_retries_total{retrier=orders,class=transient,effect=unsent}",
            "1 count",
        ),
        (
            "becalm_retry_delay_seconds{retrier=orders}",
            "[0.25, 0.25, 0.25] seconds",
        ),
        ("becalm_call_retries{retrier=orders}", "[2.0, 1.0] count"),
        ("becalm_recovered_total{retrier=orders}", "2 count"),
        (
            "becalm_stopped_total{retrier=orders,reason=permanent}",
            "1 count",
        ),
        (
            "becalm_stopped_total{retrier=orders,reason=budget_exhausted}",
            "1 count",
        ),
    ];
    assert_eq!(recorded, owned(&expected));
}

#[test]
fn a_call_that_gives_up_after_retries_records_them() {
    let recorded = recorded(|| call(&orders(), 3, ErrorKind::TimedOut));
    assert_eq!(
        recorded["becalm_call_retries{retrier=orders}"],
        "[2.0] count"
    );
    let stopped = &recorded["becalm_stopped_total{retrier=orders,reason=attempts_exhausted}"];
    assert_eq!(stopped, "1 count");
}

#[test]
fn what_enforcing_would_have_done_is_counted_by_what_and_why() {
    let recorded = recorded(|| {
        let orders = orders();
        orders.set_mode(Mode::Observe);
        for _ in 0..4 {
            call(&orders, 9, ErrorKind::TimedOut);
        }
        call(&orders, 9, ErrorKind::NotFound);
    });
    let expected = [
        (
            "becalm_attempts_total{retrier=orders,attempt=first}",
            "5 count",
        ),
        (
            "becalm_observed_total{retrier=orders,would=retry,reason=}",
            "3 count",
        ),
        (
            "becalm_observed_total{retrier=orders,would=stop,reason=budget_exhausted}",
            "1 count",
        ),
        (
            "becalm_stopped_total{retrier=orders,reason=attempts_exhausted}",
            "4 count",
        ),
        (
            "becalm_stopped_total{retrier=orders,reason=permanent}",
            "1 count",
        ),
    ];
    assert_eq!(recorded, owned(&expected));
}

#[test]
fn a_recorder_that_is_installed_after_the_retrier_is_used() {
    let orders = orders();
    let recorded = recorded(|| call(&orders, 0, ErrorKind::TimedOut));
    let attempts = &recorded["becalm_attempts_total{retrier=orders,attempt=first}"];
    assert_eq!(attempts, "1 undescribed");
}

/// The first copy never answers; the clock jumps to the hedge, which answers at once.
#[test]
fn hedges_are_attempts_of_their_own_kind_and_losers_are_counted() {
    let policy = Policy::fixed(Duration::from_millis(250)).budget(Budget::None);
    let orders = policy
        .hedge(Hedge::after(Duration::from_millis(50)))
        .builder()
        .name("orders")
        .observer(MetricsObserver::new())
        .sleeper(FakeSleeper::auto())
        .build()
        .unwrap();
    let recorded = recorded(|| {
        let call = orders.retry(|attempt| async move {
            if attempt.is_hedge() {
                return Ok::<_, Error>(());
            }
            std::future::pending().await
        });
        assert!(call.now_or_never().expect("the hedge answers").is_ok());
    });
    let expected = [
        (
            "becalm_attempts_total{retrier=orders,attempt=first}",
            "1 undescribed",
        ),
        (
            "becalm_attempts_total{retrier=orders,attempt=hedge}",
            "1 undescribed",
        ),
        ("becalm_beaten_total{retrier=orders}", "1 undescribed"),
        ("becalm_call_retries{retrier=orders}", "[1.0] undescribed"),
        ("becalm_recovered_total{retrier=orders}", "1 undescribed"),
    ];
    assert_eq!(recorded, owned(&expected));
}

fn owned(lines: &[(&str, &str)]) -> BTreeMap<String, String> {
    let lines = lines.iter();
    lines
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}
