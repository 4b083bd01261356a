//! What does a call tell when it gives up? One good sentence, and everything that is known.

use std::error::Error;
use std::fmt;
use std::future::pending;
use std::task::Poll;
use std::time::Duration;

use becalm::classify::{Classifier, judged};
use becalm::time::FakeSleeper;
use becalm::{
    Attempt, Cancel, Class, Classify, Effect, Failure, GaveUp, Hint, Policy, StopReason,
    classify::Rejected, run::Last,
};

use crate::probe::{ByHand, Fault, MS, SECOND, fixed, on, ready, watched};

pub fn failing(policy: Policy, fault: Fault) -> GaveUp<Fault> {
    let retrier = on(&FakeSleeper::auto(), policy);
    retrier.retry_blocking(|_| Err::<(), _>(fault)).unwrap_err()
}

/// A call whose attempts never end, moved from timer to timer until it gives up.
pub fn never_answered(policy: Policy, first: Option<Fault>) -> GaveUp<Fault> {
    let clock = FakeSleeper::new();
    let retrier = on(&clock, policy);
    let mut call = ByHand::new(retrier.retry(|attempt| async move {
        match first {
            Some(fault) if attempt.number() == 1 => Err::<(), _>(fault),
            _ => pending().await,
        }
    }));
    loop {
        match call.run() {
            Poll::Ready(ended) => return ended.unwrap_err(),
            Poll::Pending => {
                clock.advance_to_next().expect("a timer");
            }
        }
    }
}

#[test]
fn it_says_so_in_one_sentence() {
    let sentences = [
        (
            failing(fixed(400 * MS), Fault::DOWN).to_string(),
            "gave up after 4 attempts, 1.2s after the first failure, because all attempts were \
             used: the shop is down",
        ),
        (
            failing(fixed(400 * MS).deadline(60 * SECOND), Fault::DOWN).to_string(),
            "gave up after 4 attempts in 1.2s because all attempts were used: the shop is down",
        ),
        (
            failing(fixed(MS), Fault::GONE).to_string(),
            "gave up after 1 attempt because the failure is permanent: there is no such order",
        ),
        (
            failing(fixed(SECOND).deadline(SECOND), Fault::DOWN).to_string(),
            "gave up after 1 attempt because the deadline leaves no time: the shop is down",
        ),
        (
            never_answered(fixed(MS).deadline(SECOND), None).to_string(),
            "gave up after 1 attempt in 1s because the deadline leaves no time: the attempt timed out",
        ),
        (
            never_answered(fixed(SECOND).deadline(3 * SECOND), Some(Fault::DOWN)).to_string(),
            "gave up after 2 attempts in 3s because the deadline leaves no time: the attempt timed \
             out; the error before: the shop is down",
        ),
        (
            never_answered(fixed(MS).attempts(1).attempt_timeout(SECOND), None).to_string(),
            "gave up after 1 attempt in 1s because all attempts were used: the attempt timed out",
        ),
    ];
    for (sentence, expected) in sentences {
        assert_eq!(sentence, expected);
    }
}

#[test]
fn it_says_so_when_there_was_no_attempt() {
    let retrier = on(&FakeSleeper::auto(), fixed(MS));
    let cancel = Cancel::new();
    cancel.cancel();
    let call = retrier.blocking(|_| Ok::<_, Fault>(()));
    assert_eq!(
        call.cancel(&cancel).call().unwrap_err().to_string(),
        "gave up before the first attempt because the call was cancelled"
    );
}

#[test]
fn it_says_so_when_an_answer_meant_failure() {
    let retrier = on(&FakeSleeper::auto(), fixed(MS).attempts(1));
    let gave_up = retrier
        .retry_blocking(|_| judged(Ok::<_, Fault>(503), |_| Failure::transient().into()))
        .unwrap_err();
    assert_eq!(
        gave_up.to_string(),
        "gave up after 1 attempt because all attempts were used: the answer means failure"
    );
    assert_eq!(gave_up.last(), Last::Error(&Rejected::Value(503)));
    assert_eq!(gave_up.into_last(), Last::Error(Rejected::Value(503)));
}

#[test]
fn it_does_not_boast_of_nanoseconds() {
    let clock = FakeSleeper::auto();
    let retrier = on(
        &clock,
        fixed(Duration::from_nanos(1_234_567_891)).attempts(2),
    );
    let gave_up = retrier
        .retry_blocking(|_| Err::<(), _>(Fault::DOWN))
        .unwrap_err();
    let sentence = gave_up.to_string();
    assert!(sentence.contains(" 1.234s after "), "{sentence}");
}

#[test]
fn every_reason_ends_the_sentence() {
    for reason in StopReason::ALL {
        let text = reason.to_string();
        assert!(text.starts_with(char::is_lowercase) && text.ends_with(char::is_alphabetic));
        assert!(text.split(' ').count() >= 4, "{text:?} is no clause");
    }
}

/// An error of three layers, of which each says itself alone.
#[derive(Debug)]
struct Sending(Fault);

impl fmt::Display for Sending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cannot send")
    }
}

impl Error for Sending {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

/// As anyhow's `{:#}` and others show an error.
fn chain(error: &(dyn Error + 'static)) -> String {
    let all = std::iter::successors(Some(error), |&error| error.source());
    all.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

#[test]
fn a_chain_of_sources_says_each_cause_once() {
    let gave_up = failing(fixed(MS), Fault::DOWN);
    assert_eq!(chain(&gave_up), gave_up.to_string());
    assert_eq!(gave_up.to_string().matches("down").count(), 1, "{gave_up}");

    let call = || fixed(MS).retrier().expect("a valid policy");
    let sending = |_: &_| Failure::permanent();
    let failed = || Err::<(), _>(Sending(Fault::GONE));
    let by_closure = |_, error: &Sending| sending(error);
    let retrier = call().classify_with(by_closure);
    let gave_up = retrier.retry_blocking(|_| failed()).unwrap_err();
    let alone = "gave up after 1 attempt because the failure is permanent: cannot send";
    assert_eq!(gave_up.to_string(), alone);
    let whole = format!("{alone}: {}", Fault::GONE);
    assert_eq!(chain(&gave_up), whole);

    let gave_up = gave_up.with_causes();
    assert_eq!(
        (gave_up.to_string(), chain(&gave_up)),
        (whole.clone(), whole)
    );
    // Of another error, its own causes.
    let other = gave_up.map_error(|_| Fault::DOWN);
    assert_eq!(other.to_string().matches("gone").count(), 0, "{other}");
}

#[test]
fn a_classifier_that_knows_the_sources_puts_the_root_cause_into_the_sentence() {
    #[derive(Clone)]
    struct Knows;
    impl Classifier<Sending> for Knows {
        fn classify(&self, _: Attempt, _: &Sending) -> Failure {
            Failure::permanent()
        }

        fn as_error<'e>(&self, error: &'e Sending) -> Option<&'e (dyn Error + 'static)> {
            Some(error)
        }
    }
    let retrier = fixed(MS)
        .retrier()
        .expect("a valid policy")
        .classify_by(Knows);
    let gave_up = retrier
        .retry_blocking(|_| Err::<(), _>(Sending(Fault::GONE)))
        .unwrap_err();
    let root = format!(": cannot send: {}", Fault::GONE);
    assert!(gave_up.to_string().ends_with(&root), "{gave_up}");
    assert!(gave_up.source().is_none());
}

#[test]
fn a_nested_give_up_is_said_once() {
    let clock = FakeSleeper::auto();
    let (outer, inner) = (on(&clock, fixed(MS)), on(&clock, fixed(MS)));
    let gave_up = outer
        .retry_blocking(|_| inner.retry_blocking(|_| Err::<(), _>(Fault::GONE)))
        .unwrap_err();
    assert_eq!(chain(&gave_up), gave_up.to_string());
    let root = Fault::GONE.to_string();
    assert_eq!(gave_up.to_string().matches(&root).count(), 1, "{gave_up}");
}

/// Conformance 25.
#[test]
fn it_keeps_the_last_error_all_attempts_and_the_reason() {
    let clock = FakeSleeper::auto();
    let retrier = on(&clock, fixed(100 * MS));
    let faults = [Fault::REFUSED, Fault::BUSY, Fault::GONE];
    let gave_up = retrier
        .retry_blocking(|attempt| Err::<(), _>(faults[attempt.number() as usize - 1]))
        .unwrap_err();
    assert_eq!(
        (gave_up.reason(), gave_up.attempts()),
        (StopReason::Permanent, 3)
    );
    let records: Vec<_> = gave_up
        .records()
        .map(|record| (record.number, record.delay, record.class, record.effect))
        .collect();
    assert_eq!(
        records,
        [
            (1, Duration::ZERO, Class::Transient, Effect::Unsent),
            (2, 100 * MS, Class::Throttled, Effect::Unknown),
            (3, 100 * MS, Class::Permanent, Effect::Unknown),
        ]
    );
    assert_eq!(gave_up.error(), Some(&Fault::GONE));
    assert_eq!(gave_up.last(), Last::Error(&Fault::GONE));
    assert_eq!(gave_up.into_last(), Last::Error(Fault::GONE));
}

#[test]
fn a_long_call_keeps_its_first_and_last_eight_records() {
    let gave_up = failing(fixed(MS).attempts(1003), Fault::DOWN);
    let numbers: Vec<_> = gave_up.records().map(|record| record.number).collect();
    assert_eq!(gave_up.attempts(), 1003);
    assert_eq!(numbers, (1..=8).chain(996..=1003).collect::<Vec<_>>());
}

#[test]
fn elapsed_is_from_the_start_only_where_the_clock_was_read_there() {
    let slow = |policy: Policy| {
        let clock = FakeSleeper::auto();
        let retrier = on(&clock, policy.attempts(2));
        let gave_up = retrier.retry_blocking(|_| {
            clock.advance(10 * MS);
            Err::<(), _>(Fault::DOWN)
        });
        let gave_up = gave_up.unwrap_err();
        (gave_up.elapsed(), gave_up.elapsed_since_first_failure())
    };
    assert_eq!(slow(fixed(100 * MS)), (None, 110 * MS));
    assert_eq!(
        slow(fixed(100 * MS).deadline(SECOND)),
        (Some(120 * MS), 120 * MS)
    );
    assert_eq!(
        slow(fixed(100 * MS).attempt_timeout(SECOND)),
        (Some(120 * MS), 120 * MS)
    );
}

/// No `Debug`, no `Display`, no `Clone`, nothing.
struct Bare;

/// Only `Display`: no `Debug`, no `Error`, no `Clone`.
struct Shown;

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("shown")
    }
}

#[test]
fn retrying_asks_of_the_error_only_to_be_displayed() {
    let retrier = on(&FakeSleeper::auto(), fixed(MS));
    let classifier = |_, _: &Shown| Failure::transient();
    let call = retrier
        .retry(|_| async { Err::<Bare, _>(Shown) })
        .classify_with(classifier);
    let Err(gave_up) = ready(call) else {
        panic!("it fails");
    };
    assert_eq!(gave_up.attempts(), 4);
    assert!(gave_up.to_string().ends_with(": shown"));
    assert!(matches!(gave_up.into_last(), Last::Error(Shown)));
    let Err(gave_up) = retrier
        .blocking(|_| Err::<Bare, _>(Shown))
        .classify_with(classifier)
        .call()
    else {
        panic!("it fails");
    };
    assert!(gave_up.into_error().is_some());
}

#[test]
fn it_goes_through_the_question_mark() {
    fn boxed() -> Result<(), Box<dyn Error + Send + Sync>> {
        on(&FakeSleeper::auto(), fixed(MS)).retry_blocking(|_| Err::<(), _>(Fault::GONE))?;
        Ok(())
    }
    fn in_anyhow() -> anyhow::Result<u32> {
        Ok(on(&FakeSleeper::auto(), fixed(MS)).retry_blocking(|_| Err::<u32, _>(Fault::GONE))?)
    }
    assert!(boxed().unwrap_err().is::<GaveUp<Fault>>());
    let error = in_anyhow().unwrap_err();
    let gave_up = error.downcast_ref::<GaveUp<Fault>>().expect("itself");
    assert_eq!(gave_up.reason(), StopReason::Permanent);
    assert_eq!(gave_up.error(), Some(&Fault::GONE));
    assert_eq!(format!("{error:#}"), gave_up.to_string());
}

#[test]
fn debug_shows_the_story() {
    let debug = format!("{:?}", failing(fixed(MS), Fault::GONE));
    for part in ["Permanent", "attempts: 1", "Fault", "Record"] {
        assert!(debug.contains(part), "{part} in {debug}");
    }
}

/// How a give-up classifies, for a retry around it.
#[test]
fn it_classifies_as_its_last_failure_unless_more_attempts_harm() {
    let hint = Some(Hint::Exactly(SECOND));
    let busy = Fault(Failure::throttled().hint(Hint::Exactly(SECOND)));
    let classified = |policy: Policy, fault| failing(policy, fault).classify();
    let exhausted = classified(fixed(MS), busy);
    assert_eq!((exhausted.class, exhausted.hint), (Class::Throttled, hint));
    let refused = classified(fixed(MS), Fault::REFUSED);
    assert_eq!(
        (refused.class, refused.effect),
        (Class::Transient, Effect::Unsent)
    );
    assert_eq!(classified(fixed(MS), Fault::GONE).class, Class::Permanent);

    let broke = watched(&FakeSleeper::auto(), fixed(MS), 0).retrier;
    let gave_up = broke.retry_blocking(|_| Err::<(), _>(busy)).unwrap_err();
    assert_eq!(gave_up.reason(), StopReason::BudgetExhausted);
    assert_eq!(gave_up.classify().hint, hint, "the server's delay");
    let gave_up = broke.retry_blocking(|_| Err::<(), _>(Fault::DOWN));
    let told = Hint::Below(StopReason::BudgetExhausted);
    assert_eq!(gave_up.unwrap_err().classify().hint, Some(told));
    let stop = Fault(Failure::transient().hint(Hint::Stop));
    assert_eq!(classified(fixed(MS), stop).hint, Some(Hint::Stop));
}

/// A refused connection at the end proves nothing about the request that went out before it.
#[test]
fn a_later_proof_does_not_undo_what_an_attempt_may_have_done() {
    let retrier = on(&FakeSleeper::auto(), fixed(MS));
    let gave_up = retrier
        .retry_blocking(|attempt| match attempt.number() {
            1 => Err::<(), _>(Fault::DOWN),
            _ => Err(Fault::REFUSED),
        })
        .unwrap_err();
    assert_eq!(gave_up.reason(), StopReason::AttemptsExhausted);
    assert_eq!(gave_up.classify().effect, Effect::Unknown);
}

#[test]
fn an_outer_retry_does_not_repeat_what_must_not_be_done_twice() {
    let clock = FakeSleeper::auto();
    let (outer, inner) = (on(&clock, fixed(MS)), on(&clock, fixed(MS)));
    let mut sent = 0;
    let gave_up = outer
        .retry_blocking(|_| {
            let post = inner.blocking(|_| {
                sent += 1;
                Err::<(), _>(Fault::DOWN)
            });
            post.not_idempotent().call()
        })
        .unwrap_err();
    assert_eq!((gave_up.reason(), sent), (StopReason::DoNotRetry, 1));
}

#[test]
fn nobody_above_repeats_what_was_cancelled() {
    let retrier = on(&FakeSleeper::auto(), fixed(MS));
    let cancel = Cancel::new();
    cancel.cancel();
    let call = retrier
        .blocking(|_| Err::<(), _>(Fault::DOWN))
        .cancel(&cancel);
    assert_eq!(call.call().unwrap_err().classify().hint, Some(Hint::Stop));
}

/// A call that did not start has sent nothing.
#[test]
fn without_an_attempt_it_classifies_as_unsent() {
    let retrier = on(&FakeSleeper::auto(), fixed(MS));
    let cancel = Cancel::new();
    cancel.cancel();
    let gave_up = retrier
        .blocking(|_| Ok::<_, Fault>(()))
        .cancel(&cancel)
        .call()
        .unwrap_err();
    assert_eq!(gave_up.classify().effect, Effect::Unsent);
}

#[test]
fn a_give_up_of_two_layers_becomes_one_with_the_innermost_error() {
    let (clock, policy) = (FakeSleeper::auto(), fixed(MS).attempts(2));
    let (outer, inner) = (on(&clock, policy.clone()), on(&clock, policy));
    let twice = |fault: Fault| {
        let ended = outer.retry_blocking(|_| inner.retry_blocking(|_| Err::<(), _>(fault)));
        ended.unwrap_err()
    };
    let nested = twice(Fault::DOWN);
    let (reason, attempts, failure) = (nested.reason(), nested.attempts(), nested.classify());
    let flat: GaveUp<Fault> = nested.flatten();
    assert_eq!(
        (flat.reason(), flat.attempts(), flat.classify()),
        (reason, attempts, failure)
    );
    assert_eq!(flat.last(), Last::Error(&Fault::DOWN));
    assert_eq!(
        flat.to_string(),
        "gave up after 2 attempts, 1ms after the first failure, because all attempts were used: \
         the shop is down"
    );
    assert_eq!(twice(Fault::GONE).flatten().into_error(), Some(Fault::GONE));

    let cut = never_answered(fixed(MS).attempt_timeout(SECOND).attempts(1), None);
    let around = on(&clock, fixed(MS).attempts(1));
    let mut cut = Some(cut);
    let ended = around.retry_blocking(|_| Err::<(), _>(cut.take().expect("one attempt")));
    let flat = ended.unwrap_err().flatten();
    assert_eq!((flat.last(), flat.error()), (Last::AttemptTimeout, None));
}
