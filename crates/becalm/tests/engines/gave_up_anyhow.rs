//! How does a give-up become an error of anyhow, and what does an operation that fails with one say?

use becalm::time::FakeSleeper;
use becalm::{Classify, Failure};

use crate::gave_up::{failing, never_answered};
use crate::probe::{Fault, MS, SECOND, fixed, on};

#[test]
fn into_anyhow_keeps_the_sentence_as_context_and_the_error_below() {
    let error = failing(fixed(MS), Fault::GONE).into_anyhow();
    let sentence = "gave up after 1 attempt because the failure is permanent";
    assert_eq!(error.to_string(), sentence);
    assert_eq!(
        format!("{error:#}"),
        format!("{sentence}: there is no such order")
    );
    assert_eq!(error.downcast_ref(), Some(&Fault::GONE));
    assert_eq!(error.root_cause().downcast_ref(), Some(&Fault::GONE));
}

#[test]
fn an_operation_may_fail_with_anyhow_itself() {
    let retrier = on(&FakeSleeper::auto(), fixed(MS));
    let call = retrier.blocking(|_| Err::<(), _>(anyhow::Error::new(Fault::DOWN)));
    let call = call.classify_with(|_, error: &anyhow::Error| {
        let fault = error.downcast_ref::<Fault>();
        fault.map_or(Failure::permanent(), Fault::classify)
    });
    let gave_up = call.call().unwrap_err();
    assert_eq!(gave_up.attempts(), 4);
    assert!(
        gave_up
            .to_string()
            .ends_with("because all attempts were used: the shop is down")
    );
    let error = gave_up.into_anyhow();
    assert!(error.is::<Fault>());
}

#[test]
fn the_first_io_error_below_an_anyhow_says_whether_a_retry_helps() {
    use anyhow::Context;
    use std::io::{Error, ErrorKind};

    let retrier = on(&FakeSleeper::auto(), fixed(MS));
    let below = |kind| Err::<(), _>(Error::from(kind)).context("no order");
    for (kind, attempts) in [(ErrorKind::ConnectionReset, 4), (ErrorKind::NotFound, 1)] {
        let gave_up = retrier.retry_blocking(|_| below(kind)).unwrap_err();
        assert_eq!(gave_up.attempts(), attempts);
        let said = format!("{:#}", gave_up.into_anyhow());
        assert!(said.ends_with(&format!(": no order: {kind}")), "{said}");
    }
    let unknown = retrier.retry_blocking(|_| Err::<(), _>(anyhow::anyhow!("what?")));
    assert_eq!(unknown.unwrap_err().attempts(), 4);
}

#[test]
fn into_anyhow_without_an_error_tells_what_was_last() {
    let error = never_answered(fixed(MS).deadline(SECOND), None).into_anyhow();
    assert!(
        error.to_string().ends_with("the attempt timed out"),
        "{error}"
    );
}
