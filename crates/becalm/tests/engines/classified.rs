//! Who says what a result means? The error itself, a closure or a named type for foreign errors, or
//! the operation, whose answers may mean failure.

use std::num::ParseIntError;

use becalm::classify::{ByError, judged};
use becalm::time::FakeSleeper;
use becalm::{Attempt, Failure, Last, Policy, Rejected, Retrier, StopReason, Verdict};

use crate::probe::{Fault, MS, fixed, on, ready};

/// A status, as an HTTP client's `Ok` would carry it.
fn by_status(result: Result<&u16, &Fault>) -> Verdict {
    match result {
        Ok(503) => Failure::transient().into(),
        Ok(429) => Failure::throttled().into(),
        Ok(status) if *status >= 400 => Failure::permanent().into(),
        Ok(_) => Verdict::Success,
        Err(fault) => fault.0.into(),
    }
}

fn retrier() -> Retrier {
    on(&FakeSleeper::auto(), fixed(MS))
}

#[test]
fn an_answer_that_means_failure_is_retried_and_kept() {
    let answers = [503, 429, 503, 503];
    let retrier = retrier();
    let serve = |number: u32| Ok::<_, Fault>(answers[number as usize - 1]);
    let call = retrier.retry(|attempt| async move { judged(serve(attempt.number()), by_status) });
    let of_async = ready(call).unwrap_err();
    let of_blocking = retrier
        .retry_blocking(|attempt| judged(serve(attempt.number()), by_status))
        .unwrap_err();
    for gave_up in [of_async, of_blocking] {
        assert_eq!(gave_up.reason(), StopReason::AttemptsExhausted);
        assert_eq!(gave_up.attempts(), 4);
        assert_eq!(gave_up.into_last(), Last::Error(Rejected::Value(503)));
    }
}

#[test]
fn an_answer_that_means_failure_for_good_stops_the_call() {
    let call = retrier().retry_blocking(|_| judged(Ok(404), by_status));
    let gave_up = call.unwrap_err();
    assert_eq!(
        (gave_up.reason(), gave_up.attempts()),
        (StopReason::Permanent, 1)
    );
    assert_eq!(gave_up.last(), Last::Error(&Rejected::Value(404)));
}

#[test]
fn an_answer_after_one_that_meant_failure_is_the_answer() {
    let retrier = retrier();
    let call = retrier.retry(|attempt| async move {
        let answer = if attempt.number() < 3 { 503 } else { 200 };
        judged(Ok(answer), by_status)
    });
    assert_eq!(ready(call).unwrap(), 200);
}

#[test]
fn an_error_can_never_be_the_value_of_a_call() {
    let retrier = retrier();
    let fails = || judged(Err::<(), _>(Fault::DOWN), |_| Verdict::Success);
    let gave_up = retrier.retry_blocking(|_| fails()).unwrap_err();
    assert_eq!(
        (gave_up.reason(), gave_up.attempts()),
        (StopReason::Permanent, 1)
    );
    let gave_up = ready(retrier.retry(|_| async { fails() })).unwrap_err();
    let error = Rejected::Error(Fault::DOWN);
    assert_eq!(gave_up.last(), Last::Error(&error));
}

/// An error of another crate, which knows nothing of becalm.
fn parse_failure(_: Attempt, error: &ParseIntError) -> Failure {
    match error.kind() {
        std::num::IntErrorKind::Empty => Failure::transient(), // not written yet
        _ => Failure::permanent(),
    }
}

#[test]
fn a_retrier_may_classify_foreign_errors_for_all_of_its_calls() {
    let parse = retrier().classify_with(parse_failure);
    let text = |number| ["", "", "17", "x"][number as usize - 1];
    assert_eq!(
        parse
            .retry_blocking(|attempt| text(attempt.number()).parse::<u32>())
            .unwrap(),
        17
    );
    let call = parse.retry(|attempt| async move { text(attempt.number()).parse::<u32>() });
    assert_eq!(ready(call).unwrap(), 17);
    let gave_up = parse.retry_blocking(|_| "x".parse::<u32>()).unwrap_err();
    assert_eq!(gave_up.reason(), StopReason::Permanent);
}

#[test]
fn a_classifying_retrier_shares_all_state_with_its_origin() {
    let retrier = on(&FakeSleeper::auto(), Policy::fixed(MS).attempts(2));
    let parse = retrier.classify_with(parse_failure);
    parse.retry_blocking(|_| "".parse::<u32>()).unwrap_err();
    assert!(retrier.budget_fill() < 1.0);
    assert!((retrier.budget_fill() - parse.budget_fill()).abs() < 1e-9);
    parse.disable_retries();
    assert_eq!(
        retrier
            .retry_blocking(|_| Err::<(), _>(Fault::DOWN))
            .unwrap_err()
            .attempts(),
        1
    );
}

/// A function pointer makes the type nameable: for a static, or a field.
type ParseFailure = ByError<fn(Attempt, &ParseIntError) -> Failure>;

struct Client {
    numbers: Retrier<ParseFailure>,
}

#[test]
fn a_classifying_retrier_can_be_named() {
    let classifier: fn(Attempt, &ParseIntError) -> Failure = parse_failure;
    let client = Client {
        numbers: retrier().classify_with(classifier),
    };
    assert_eq!(
        client
            .numbers
            .clone()
            .retry_blocking(|_| "17".parse::<u32>())
            .unwrap(),
        17
    );
}

#[test]
fn a_call_may_overrule_its_retrier() {
    let retrier = retrier().classify_with(parse_failure);
    let call = retrier.blocking(|_| "x".parse::<u32>());
    let gave_up = call
        .classify_with(|_, _: &ParseIntError| Failure::transient())
        .call()
        .unwrap_err();
    assert_eq!(gave_up.attempts(), 4);
}

#[test]
fn options_set_before_the_classifier_stay() {
    let retrier = retrier();
    let call = retrier
        .blocking(|_| "x".parse::<u32>())
        .attempts(2)
        .not_idempotent();
    let call = call.classify_with(|_, _: &ParseIntError| Failure::transient().unsent());
    assert_eq!(call.call().unwrap_err().attempts(), 2);
    let call = retrier.retry(|_| async { "x".parse::<u32>() }).attempts(3);
    let call = call.classify_with(|_, _: &ParseIntError| Failure::transient());
    assert_eq!(ready(call).unwrap_err().attempts(), 3);
}
