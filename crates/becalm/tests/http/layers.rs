//! What do HTTP headers carry between layers, in becalm's own form and in those of the field?
#![cfg(feature = "http")]

use std::cell::Cell;
use std::time::{Duration, SystemTime};

use becalm::classify::{Cause, Rejected, judged};
use becalm::http::{Exchange, hint, scope, should_retry, told, verdict, write_scope, write_told};
use becalm::time::{ClockId, FakeSleeper};
use becalm::{
    Failure, GaveUp, Hint, Operation, Policy, Retrier, Scope, Sleeper, StopReason,
    classify::Verdict,
    scope::{Nested, ScopeHeader, Told},
    time::Instant,
};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};

const HERE: ClockId = ClockId::PROCESS;
const NOW: Instant = Instant::from_nanos(86_400_000_000_000);
const FIRST: Exchange = Exchange::new(Operation::Idempotent, 1);

fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in lines {
        let value = HeaderValue::from_bytes(value.as_bytes()).unwrap();
        map.append(HeaderName::from_static(name), value);
    }
    map
}

/// Attempt, first try, repeated, milliseconds left.
fn said(lines: &[(&'static str, &str)]) -> (u32, bool, bool, Option<u128>) {
    let scope = scope(&headers(lines), NOW, HERE);
    let left = scope.deadline(HERE).map(|at| at.since(NOW).as_millis());
    let (first, repeated) = (scope.is_first_try(), scope.is_repeated_above());
    (scope.attempt(), first, repeated, left)
}

#[test]
fn the_words_of_other_systems_are_understood() {
    for (name, value, expected) in [
        ("x-envoy-attempt-count", "1", (1, true, false, None)),
        ("x-envoy-attempt-count", "2", (2, false, true, None)),
        ("x-envoy-is-timeout-retry", "true", (0, false, true, None)),
        (
            "x-envoy-expected-rq-timeout-ms",
            "250",
            (0, true, false, Some(250)),
        ),
        ("grpc-previous-rpc-attempts", "1", (2, false, true, None)),
        ("x-stainless-retry-count", "0", (1, true, false, None)),
        ("x-stainless-retry-count", "3", (4, false, true, None)),
        (
            "amz-sdk-request",
            "attempt=1; max=3",
            (1, true, false, None),
        ),
        (
            "amz-sdk-request",
            "attempt=2; max=3",
            (2, false, true, None),
        ),
        (
            "amz-sdk-request",
            "ttl=20260101T000000Z; attempt=3",
            (3, false, true, None),
        ),
        ("grpc-timeout", "1H", (0, true, false, Some(3_600_000))),
        ("grpc-timeout", "2M", (0, true, false, Some(120_000))),
        ("grpc-timeout", "3S", (0, true, false, Some(3_000))),
        ("grpc-timeout", "100m", (0, true, false, Some(100))),
        ("grpc-timeout", "2500u", (0, true, false, Some(2))),
        ("grpc-timeout", "99999999n", (0, true, false, Some(99))),
        (
            "x-envoy-attempt-count",
            "99999999999999999999",
            (255, false, true, None),
        ),
        (
            "grpc-previous-rpc-attempts",
            "18446744073709551615",
            (255, false, true, None),
        ),
    ] {
        assert_eq!(said(&[(name, value)]), expected, "{name}: {value}");
    }
}

#[test]
fn garbage_in_them_says_nothing() {
    for (name, value) in [
        ("x-envoy-attempt-count", "-2"),
        ("x-envoy-attempt-count", "2.0"),
        ("x-envoy-attempt-count", "+2"),
        ("x-envoy-attempt-count", ""),
        ("x-envoy-attempt-count", "two"),
        ("x-envoy-attempt-count", "2\u{e9}"),
        ("x-envoy-is-timeout-retry", "false"),
        ("x-envoy-expected-rq-timeout-ms", "0"),
        ("x-envoy-expected-rq-timeout-ms", "1s"),
        ("x-stainless-retry-count", "many"),
        ("amz-sdk-request", "max=3"),
        ("amz-sdk-request", "attempt=x; max=3"),
        ("amz-sdk-request", "2"),
        ("grpc-timeout", ""),
        ("grpc-timeout", "m"),
        ("grpc-timeout", "10"),
        ("grpc-timeout", "10s"),
        ("grpc-timeout", "-1S"),
        ("grpc-timeout", "100000000S"),
        ("grpc-timeout", "1.5S"),
        ("becalm-scope", "attempt=2,"),
        ("becalm-scope", "\u{e9}"),
    ] {
        let nothing = (0, true, false, None);
        assert_eq!(said(&[(name, value)]), nothing, "{name}: {value}");
    }
}

#[test]
fn of_several_the_latest_attempt_and_the_shortest_time_count() {
    let own = ("becalm-scope", "attempt=2, repeated, remaining=500");
    let envoy = ("x-envoy-attempt-count", "3");
    let timeout = ("x-envoy-expected-rq-timeout-ms", "400");
    assert_eq!(said(&[own]), (2, false, true, Some(500)));
    assert_eq!(said(&[own, envoy, timeout]), (3, false, true, Some(400)));
    let earlier = ("grpc-previous-rpc-attempts", "0");
    let longer = ("grpc-timeout", "9S");
    assert_eq!(said(&[own, earlier, longer]), (2, false, true, Some(500)));
    assert_eq!(said(&[longer, timeout]), (0, true, false, Some(400)));
    let twice = [
        ("x-envoy-attempt-count", "2"),
        ("x-envoy-attempt-count", "1"),
    ];
    assert_eq!(said(&twice), (2, false, true, None));
    let timeouts = [("grpc-timeout", "2S"), ("grpc-timeout", "1S")];
    assert_eq!(said(&timeouts), (0, true, false, Some(1000)));
}

/// RFC 9651: lines of one field are one list.
#[test]
fn lines_of_the_scope_are_read_as_one() {
    let lines = |lines: [&'static str; 3]| said(&lines.map(|line| ("becalm-scope", line)));
    let all = lines(["attempt=2", "repeated", "remaining=7"]);
    assert_eq!(all, (2, false, true, Some(7)));
    let last = lines(["attempt=2", "attempt=9", "attempt=1"]);
    assert_eq!(last, (1, true, false, None));
    let broken = lines(["attempt=2", "(", "repeated"]);
    assert_eq!(broken, (0, true, false, None));
}

#[test]
fn a_scope_is_written_in_place_of_the_one_that_came() {
    let came = headers(&[
        ("becalm-scope", "attempt=9, remaining=1"),
        ("becalm-scope", "repeated"),
        ("accept", "*/*"),
    ]);
    let above = Scope::decode("attempt=2, repeated, remaining=500", NOW, HERE);
    let mut sent = came.clone();
    let later = NOW.after(Duration::from_millis(100));
    write_scope(&mut sent, above, later, HERE);
    let expected = [
        ("accept", "*/*"),
        ("becalm-scope", "attempt=2, repeated, remaining=400"),
    ];
    assert_eq!(sent, headers(&expected));
    let mut sent = came;
    write_scope(&mut sent, Scope::NONE, NOW, HERE);
    assert_eq!(sent, headers(&[("accept", "*/*")]));
}

#[test]
fn what_is_told_is_written_and_only_do_not_retry_forbids() {
    for reason in StopReason::ALL.iter().copied() {
        let mut sent = HeaderMap::new();
        write_told(&mut sent, reason);
        if !reason.is_told_above() {
            assert!(sent.is_empty(), "{reason:?}");
            continue;
        }
        let told = Told::decode(&sent[Told::NAME]).unwrap();
        assert_eq!(told.reason(), reason);
        assert_eq!(hint(&sent, SystemTime::now), Some(told.hint()));
        if reason != StopReason::DoNotRetry {
            assert_eq!(should_retry(&sent), None, "{reason:?}");
            assert_eq!(sent.len(), 1, "nobody else is told: {sent:?}");
            sent.insert("retry-after", HeaderValue::from_static("1"));
            let delay = Hint::AtLeast(Duration::from_secs(1));
            assert_eq!(hint(&sent, SystemTime::now), Some(delay), "never early");
            continue;
        }
        assert_eq!(should_retry(&sent), Some(false), "{reason:?}");
        assert_eq!(sent["x-should-retry"], "false");
        // Each of the two suffices.
        for name in ["x-should-retry", Told::NAME] {
            let mut one = sent.clone();
            one.remove(name);
            assert_eq!(should_retry(&one), Some(false), "{reason:?} without {name}");
        }
    }
}

#[test]
fn do_not_retry_is_heard_in_every_form_and_outweighs_the_rest() {
    let wishes = [("x-should-retry", "true"), ("retry-after", "1")];
    for no in [
        ("becalm-retry", "do-not-retry, gave-up=budget_exhausted"),
        ("becalm-retry", "do-not-retry"),
        ("finagle-http-nonretryable-nack", "true"),
        ("finagle-http-nonretryable-nack", ""),
        ("stripe-should-retry", "false"),
    ] {
        let lines = headers(&[wishes[0], wishes[1], no]);
        assert_eq!(should_retry(&lines), Some(false), "{no:?}");
        assert_eq!(hint(&lines, SystemTime::now), Some(Hint::Stop), "{no:?}");
        let busy = StatusCode::SERVICE_UNAVAILABLE;
        let judged = verdict(busy, &lines, FIRST, SystemTime::now);
        let stop = Failure::transient().hint(Hint::Stop);
        assert_eq!(judged, stop.because(Cause::Status(503)).into());
        let good = verdict(StatusCode::OK, &lines, FIRST, SystemTime::now);
        assert_eq!(good, Verdict::Success, "{no:?}");
    }
    for nothing in [
        ("becalm-retry", "do-not-retry=?0"),
        ("becalm-retry", "no,"),
        ("becalm-retry", "\u{e9}"),
        ("finagle-http-nack", "true"),
    ] {
        let lines = headers(&[nothing]);
        assert_eq!(should_retry(&lines), None, "{nothing:?}");
        assert_eq!(hint(&lines, SystemTime::now), None, "{nothing:?}");
    }
    let two = [
        ("becalm-retry", "later=1"),
        ("becalm-retry", "do-not-retry"),
    ];
    assert_eq!(should_retry(&headers(&two)), Some(false), "the second line");
}

type Never = std::convert::Infallible;
type Ended = Result<Response<()>, GaveUp<Rejected<Response<()>, Never>>>;

/// A process with a clock of its own, which serves by calling the next one over HTTP.
struct Service {
    clock: FakeSleeper,
    retrier: Retrier,
}

impl Service {
    fn new(policy: Policy) -> Self {
        let clock = FakeSleeper::auto();
        let builder = policy.builder().sleeper(clock.clone());
        Self {
            clock: clock.clone(),
            retrier: builder.build().unwrap(),
        }
    }

    #[expect(
        clippy::result_large_err,
        reason = "the answer is in the give-up, as a user has it"
    )]
    fn call(&self, send: impl Fn(&HeaderMap) -> Response<()>) -> Ended {
        let call = self.retrier.blocking(|_| {
            let mut request = HeaderMap::new();
            let (now, clock) = (self.clock.now(), self.clock.clock());
            write_scope(&mut request, Scope::current(), now, clock);
            let wall = SystemTime::now;
            judged(
                Ok(send(&request)),
                |result: Result<_, &Never>| match result {
                    Ok(answer) => verdict(answer.status(), answer.headers(), FIRST, wall),
                    Err(never) => match *never {},
                },
            )
        });
        call.call()
    }

    fn serve(
        &self,
        request: &HeaderMap,
        next: impl Fn(&HeaderMap) -> Response<()>,
    ) -> Response<()> {
        let above = scope(request, self.clock.now(), self.clock.clock());
        let (ended, scope) = above.enter_with_scope(|| self.call(next));
        let mut answer = ended.unwrap_or_else(|_| unavailable());
        if let Some(reason) = scope.told_below() {
            write_told(answer.headers_mut(), reason);
        }
        answer
    }
}

fn unavailable() -> Response<()> {
    Response::builder().status(503).body(()).unwrap()
}

/// A client, two services, a store; how often the store was asked.
fn asked(between: &Policy, store: impl Fn(u32) -> Response<()>) -> (u32, Ended) {
    let client = Service::new(Policy::default());
    let services = [Service::new(between.clone()), Service::new(between.clone())];
    let asked = Cell::new(0);
    let ask = |_: &HeaderMap| {
        asked.set(asked.get() + 1);
        store(asked.get())
    };
    let ended = client
        .call(|request| services[0].serve(request, |request| services[1].serve(request, ask)));
    (asked.get(), ended)
}

#[test]
fn four_by_four_by_four_requests_are_ten() {
    let (times, ended) = asked(&Policy::default(), |_| unavailable());
    assert_eq!(times, 10);
    assert_eq!(ended.unwrap_err().reason(), StopReason::AttemptsExhausted);
    let multiplying = Policy::default()
        .nested(Nested::Allow)
        .budget(becalm::Budget::None);
    assert_eq!(asked(&multiplying, |_| unavailable()).0, 64);
}

#[test]
fn a_store_that_says_no_is_asked_once_by_all_layers_together() {
    let no = |name: &'static str, value: &'static str| {
        move |_| {
            let mut answer = unavailable();
            answer
                .headers_mut()
                .insert(name, HeaderValue::from_static(value));
            answer
        }
    };
    for nested in [Nested::Outermost, Nested::Allow] {
        let policy = Policy::default().nested(nested);
        let (times, ended) = asked(&policy, no("becalm-retry", "do-not-retry"));
        assert_eq!(times, 1, "{nested:?}");
        let gave_up = ended.unwrap_err();
        assert_eq!(gave_up.reason(), StopReason::DoNotRetry);
        let Some(Rejected::Value(answer)) = gave_up.into_error() else {
            panic!("an answer")
        };
        let told = Told::decode(&answer.headers()[Told::NAME]);
        assert_eq!(told.unwrap().reason(), StopReason::DoNotRetry);
        let (times, _) = asked(&policy, no("finagle-http-nonretryable-nack", "true"));
        assert_eq!(times, 1, "{nested:?}");
    }
}

#[test]
fn the_names_are_field_names() {
    for name in [ScopeHeader::NAME, Told::NAME] {
        assert_eq!(HeaderName::from_static(name).as_str(), name);
    }
}

#[test]
fn what_is_told_is_read_back_and_every_form_of_do_not_retry_with_it() {
    for reason in StopReason::ALL.iter().copied() {
        let mut map = HeaderMap::new();
        write_told(&mut map, reason);
        assert_eq!(told(&map), reason.is_told_above().then_some(reason));
    }
    let forbids = headers(&[
        ("x-should-retry", "false"),
        ("becalm-retry", "gave-up=breaker_open"),
    ]);
    assert_eq!(told(&forbids), Some(StopReason::DoNotRetry));
}
