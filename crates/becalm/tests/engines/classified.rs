//! Who says what a result means? The error itself, a closure or a named type for foreign errors, or
//! the operation, whose answers may mean failure.

use std::cell::Cell;
use std::future::Future;
use std::io;
use std::num::ParseIntError;
use std::sync::LazyLock;

use becalm::classify::{ByError, ByTrait, Classifier, judged};
use becalm::time::FakeSleeper;
use becalm::{
    Attempt, Failure, GaveUp, Policy, Retrier, StopReason,
    classify::{Rejected, Verdict},
    run::Last,
};

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

/// C2.
mod one_question_mark {
    use super::*;

    #[derive(Debug)]
    enum ShopError {
        Io(GaveUp<io::Error>),
    }

    impl From<GaveUp<io::Error>> for ShopError {
        fn from(gave_up: GaveUp<io::Error>) -> Self {
            Self::Io(gave_up)
        }
    }

    fn gone<T>() -> io::Result<T> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn order(name: fn() -> io::Result<String>) -> Result<(u32, String), ShopError> {
        let retrier = retrier();
        let number = retrier.retry_blocking(|_| io::Result::Ok(17))?;
        let name = ready(retrier.retry(|_| async { name() }))?;
        Ok((number, name))
    }

    #[test]
    fn c2_one_question_mark_serves_calls_of_different_types() {
        let bought = order(|| Ok("tea".to_owned())).unwrap();
        assert_eq!(bought, (17, "tea".to_owned()));
        let ShopError::Io(gave_up) = order(gone).unwrap_err();
        assert_eq!(gave_up.reason(), StopReason::Permanent);
    }

    /// An error that wants `Send` and `Sync` asks it of errors, not of answers.
    #[test]
    fn c2_what_a_call_returns_does_not_matter_to_its_error() {
        fn count() -> anyhow::Result<Cell<u32>> {
            Ok(retrier().retry_blocking(|_| gone::<Cell<u32>>())?)
        }
        assert!(count().unwrap_err().is::<GaveUp<io::Error>>());
    }

    #[test]
    fn c2_an_error_can_be_mapped_and_the_story_stays() {
        let gave_up = retrier()
            .retry_blocking(|attempt| match attempt.number() {
                1 => Err::<(), _>(Fault::DOWN),
                _ => Err(Fault::GONE),
            })
            .unwrap_err();
        let sentence = gave_up.to_string();
        let mapped = gave_up.map_error(|fault| fault.to_string());
        assert_eq!(mapped.error().unwrap(), "there is no such order");
        assert_eq!(
            (mapped.reason(), mapped.attempts(), mapped.records().count()),
            (StopReason::Permanent, 2, 2)
        );
        assert_eq!(mapped.to_string(), sentence);
    }
}

/// C3: of errors of another crate, whatever its calls return.
mod by_a_named_type {
    use super::*;

    #[derive(Debug, Clone, Copy)]
    struct ByCode;

    impl Classifier<ParseIntError> for ByCode {
        fn classify(&self, attempt: Attempt, error: &ParseIntError) -> Failure {
            match error.kind() {
                std::num::IntErrorKind::Empty if attempt.number() < 3 => Failure::transient(),
                _ => Failure::permanent(),
            }
        }
    }

    static NUMBERS: LazyLock<Retrier<ByCode>> = LazyLock::new(|| retrier().classify_by(ByCode));

    #[test]
    fn c3_a_named_classifier_serves_every_type() {
        let unsigned = NUMBERS.retry_blocking(|_| "17".parse::<u32>());
        assert_eq!(unsigned.unwrap(), 17);
        let signed = ready(NUMBERS.retry(|_| async { "-9".parse::<i8>() }));
        assert_eq!(signed.unwrap(), -9);
    }

    #[test]
    fn c3_a_classifier_sees_the_attempt() {
        let gave_up = NUMBERS.retry_blocking(|_| "".parse::<u32>()).unwrap_err();
        assert_eq!(
            (gave_up.reason(), gave_up.attempts()),
            (StopReason::Permanent, 3)
        );
        let seen = std::cell::RefCell::new(Vec::new());
        let retrier = retrier();
        let call = retrier.retry(|_| async { "".parse::<u32>() });
        let call = call.classify_with(|attempt, _: &ParseIntError| {
            seen.borrow_mut().push(attempt.number());
            Failure::transient()
        });
        ready(call).unwrap_err();
        assert_eq!(*seen.borrow(), [1, 2, 3, 4]);
    }

    /// As an executor asks it of a task.
    #[test]
    fn c3_a_call_that_is_classified_by_attempt_can_be_spawned() {
        fn spawned<F: Future + Send + 'static>(task: F) -> F {
            task
        }
        let read = |attempt: Attempt| async move {
            let text = ["", "", "17"][attempt.number() as usize - 1];
            text.parse::<u64>()
        };
        let task = spawned(async move { NUMBERS.retry(read).await });
        assert_eq!(ready(task).unwrap(), 17);
        let task = spawned(async move {
            let call = retrier().retry(read).classify_by(ByCode).await;
            call.map_err(|gave_up| gave_up.attempts())
        });
        assert_eq!(ready(task), Ok(17));
    }

    #[test]
    fn a_call_may_be_classified_by_a_named_type() {
        let retrier = retrier();
        let call = retrier.blocking(|_| "".parse::<u32>()).attempts(2);
        let gave_up = call.classify_by(ByCode).call().unwrap_err();
        assert_eq!(
            (gave_up.reason(), gave_up.attempts()),
            (StopReason::AttemptsExhausted, 2)
        );
    }
}

/// C3: what failed where decides the effect, and an error of another crate does not know it.
#[test]
fn c3_the_operation_may_say_what_its_error_means() {
    let retrier = retrier();
    let send = |number: u32| -> Result<u32, (Failure, ParseIntError)> {
        let unsent = number < 3;
        "x".parse().map_err(|error| match unsent {
            true => (Failure::transient().unsent(), error),
            false => (Failure::transient(), error),
        })
    };
    let call = retrier.retry(|attempt| async move { send(attempt.number()) });
    let of_async: GaveUp<ParseIntError> = ready(call.not_idempotent()).unwrap_err();
    let call = retrier.blocking(|attempt| send(attempt.number()));
    let of_blocking = call.not_idempotent().call().unwrap_err();
    let mut options = becalm::call::CallOptions::new();
    options.operation = becalm::Operation::NotIdempotent;
    let mut call = retrier.call().options(options);
    while let Some(attempt) = call.next_blocking() {
        let (failure, error) = send(attempt.number()).unwrap_err();
        call.failure_as(failure, error);
    }
    for gave_up in [of_async, of_blocking, call.gave_up()] {
        assert_eq!(
            (gave_up.reason(), gave_up.attempts()),
            (StopReason::NotIdempotent, 3),
            "the third may have taken effect"
        );
        assert_eq!(gave_up.error(), "x".parse::<u32>().err().as_ref());
        assert!(
            gave_up
                .to_string()
                .ends_with("invalid digit found in string")
        );
    }
}

/// C3: beside a classifier of its own, a call may let the operation say what its error means.
#[test]
fn c3_the_operation_may_say_what_its_error_means_beside_any_classifier() {
    let by_closure = retrier().classify_with(|_, _: &ParseIntError| Failure::permanent());
    let says = |failure: Failure| move |_| Err::<(), _>((failure, Fault::DOWN));
    let refused = by_closure.blocking(says(Failure::permanent()));
    let gave_up = refused.classify_by(ByTrait).call().unwrap_err();
    assert_eq!(gave_up.reason(), StopReason::Permanent);
    let down = by_closure.retry(|_| async { Err::<(), _>((Failure::transient(), Fault::DOWN)) });
    let gave_up = ready(down.classify_by(ByTrait)).unwrap_err();
    assert_eq!(
        (gave_up.attempts(), gave_up.error()),
        (4, Some(&Fault::DOWN))
    );
}
