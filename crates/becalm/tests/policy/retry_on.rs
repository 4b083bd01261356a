//! Are the lists of what is repeated read and written as they are meant, and does the decision obey them?

use std::time::Duration;

use becalm::call::{Call, CallOptions, Decision};
use becalm::classify::{Cause, Class, FailureKind};
use becalm::policy::InvalidPolicy;
use becalm::retry_on::{Codes, Failures, Methods, RetryOn, Statuses};
use becalm::rng::SplitMix64;
use becalm::shared::Shared;
use becalm::time::Instant;
use becalm::{Breaker, Failure, Hint, Jitter, Operation, Policy, Scope, StopReason};

const RESET: Cause = Cause::Kind(FailureKind::Reset);

fn statuses(text: &str) -> Statuses {
    text.parse().expect("statuses")
}

fn failures(kinds: &[FailureKind]) -> Failures {
    kinds.iter().copied().collect()
}

/// What follows the first attempt of a call that fails so, without a wait.
fn follows(policy: &Policy, options: CallOptions, failure: Failure) -> Result<(), StopReason> {
    let shared = Shared::new(policy.clone(), Duration::ZERO).expect("valid");
    let mut random = SplitMix64::new(7);
    let mut call = Call::begin(&shared, options, Scope::NONE, Instant::ZERO);
    call.start(Instant::ZERO, &mut random).expect("it starts");
    match call.on_outcome(Instant::ZERO, failure.into(), &mut random) {
        Decision::RetryIn(_) => Ok(()),
        Decision::Stop(reason) => Err(reason),
        other => panic!("{other:?}"),
    }
}

fn after(lists: RetryOn, failure: Failure) -> Result<(), StopReason> {
    follows(
        &Policy::default().retry_on(lists),
        CallOptions::new(),
        failure,
    )
}

#[test]
fn what_is_listed_is_repeated_and_what_is_not_ends_the_call() {
    let lists = || {
        RetryOn::new()
            .statuses(statuses("404, 503"))
            .codes(Codes::default().and(13))
            .failures(failures(&[FailureKind::Reset]))
    };
    let not_listed = Err(StopReason::NotListed);
    for (failure, follows) in [
        (Failure::permanent().because(Cause::Status(404)), Ok(())),
        (Failure::transient().because(Cause::Status(503)), Ok(())),
        (Failure::transient().because(Cause::Status(502)), not_listed),
        (Failure::throttled().because(Cause::Status(429)), not_listed),
        (
            Failure::permanent().because(Cause::Status(410)),
            Err(StopReason::Permanent),
        ),
        (Failure::permanent().because(Cause::Code(13)), Ok(())),
        (Failure::transient().because(Cause::Code(14)), not_listed),
        (Failure::transient().because(RESET), Ok(())),
        (
            Failure::transient().because(Cause::Kind(FailureKind::TimedOut)),
            not_listed,
        ),
        // Of which no list says anything.
        (Failure::transient(), Ok(())),
        (Failure::permanent(), Err(StopReason::Permanent)),
    ] {
        assert_eq!(after(lists(), failure), follows, "{failure:?}");
    }
}

#[test]
fn a_list_that_is_left_out_leaves_its_matter_to_becalm_and_an_empty_one_repeats_nothing() {
    let status = Failure::transient().because(Cause::Status(502));
    let reset = Failure::transient().because(RESET);
    let empty = RetryOn::new().failures(Failures::default());
    assert_eq!(after(empty.clone(), status), Ok(()));
    assert_eq!(after(empty, reset), Err(StopReason::NotListed));
    let empty = RetryOn::new().statuses(Statuses::default());
    assert_eq!(after(empty.clone(), status), Err(StopReason::NotListed));
    assert_eq!(after(empty, reset), Ok(()));
}

#[test]
fn throttled_lists_what_asks_for_less_load_whatever_its_status() {
    let lists = RetryOn::new()
        .statuses(statuses("503"))
        .failures(failures(&[FailureKind::Throttled]));
    let busy = Failure::throttled().because(Cause::Status(429));
    assert_eq!(after(lists.clone(), busy), Ok(()));
    let gone = Failure::transient().because(Cause::Status(500));
    assert_eq!(after(lists, gone), Err(StopReason::NotListed));
}

#[test]
fn the_laws_stand_above_the_lists() {
    let lists = || RetryOn::new().statuses(statuses("5xx"));
    let busy = Failure::transient().because(Cause::Status(503));
    assert_eq!(
        after(lists(), busy.hint(Hint::Stop)),
        Err(StopReason::DoNotRetry)
    );
    let policy = Policy::default().retry_on(lists());
    let unsafe_to_repeat = CallOptions::new().operation(Operation::NotIdempotent);
    let refused = follows(&policy, unsafe_to_repeat, busy);
    assert_eq!(refused, Err(StopReason::NotIdempotent));
    assert_eq!(follows(&policy, unsafe_to_repeat, busy.unsent()), Ok(()));
}

#[test]
fn guards_see_failures_as_they_are() {
    let policy = Policy::default()
        .attempts(1)
        .retry_on(RetryOn::new().statuses(Statuses::default()))
        .breaker(Breaker::consecutive(1));
    let shared = Shared::new(policy, Duration::ZERO).expect("valid");
    let mut random = SplitMix64::new(7);
    let mut start = || {
        let mut call = Call::begin(&shared, CallOptions::new(), Scope::NONE, Instant::ZERO);
        let started = call.start(Instant::ZERO, &mut random).is_ok();
        let down = Failure::transient().because(Cause::Status(503));
        call.on_outcome(Instant::ZERO, down.into(), &mut random);
        started
    };
    assert!(start(), "the first call goes");
    assert!(
        !start(),
        "its 503 has opened the breaker, although nothing repeats it"
    );
}

#[test]
fn methods_declare_what_may_be_done_twice() {
    use Operation::{Idempotent, KeyedByCaller, NotIdempotent};
    let some = RetryOn::new().methods(Methods::of(["POST"]));
    let any = RetryOn::new().methods(Methods::Any);
    let none = RetryOn::new().methods(Methods::of([]));
    for (lists, method, known, expected) in [
        (&some, "POST", NotIdempotent, Idempotent),
        (&some, "GET", Idempotent, NotIdempotent),
        (&some, "post", NotIdempotent, NotIdempotent),
        (&some, "GET", KeyedByCaller, KeyedByCaller),
        (&any, "PATCH", NotIdempotent, Idempotent),
        (&none, "GET", Idempotent, NotIdempotent),
        (&RetryOn::new(), "GET", Idempotent, Idempotent),
        (&RetryOn::new(), "POST", NotIdempotent, NotIdempotent),
    ] {
        assert_eq!(
            lists.operation(method, known),
            expected,
            "{method} of {lists}"
        );
    }
}

#[test]
fn a_listed_failure_waits_as_its_class_does() {
    let policy = Policy::fixed(Duration::from_millis(10))
        .throttled_base(Duration::from_millis(500))
        .jitter(Jitter::None)
        .retry_on(RetryOn::new().statuses(statuses("404, 429")));
    let class = |failure: Failure| policy.retry_on.as_ref().expect("lists").class_of(&failure);
    let gone = Failure::permanent().because(Cause::Status(404));
    assert_eq!(class(gone), Class::Transient);
    assert_eq!(
        class(Failure::throttled().because(Cause::Status(429))),
        Class::Throttled
    );
}

#[test]
fn lists_that_say_nothing_or_no_methods_are_refused() {
    let refused = |lists: RetryOn| Policy::default().retry_on(lists).validate();
    assert_eq!(refused(RetryOn::new()), Err(InvalidPolicy::RetryOnNothing));
    for methods in [&["get"][..], &["GET", "PUT", "GET"], &[""], &["G ET"]] {
        let lists = RetryOn::new().methods(Methods::of(methods.iter().copied()));
        assert_eq!(
            refused(lists),
            Err(InvalidPolicy::RetryOnMethods),
            "{methods:?}"
        );
    }
    assert_eq!(refused(RetryOn::new().methods(Methods::of([]))), Ok(()));
}

#[cfg(feature = "serde")]
mod files {
    use super::*;

    fn read(table: &str) -> RetryOn {
        let policy: Policy = toml::from_str(&format!("[retry_on]\n{table}")).expect(table);
        let lists = policy.retry_on.expect("lists");
        (*lists).clone()
    }

    #[test]
    fn every_list_is_read_and_written_in_its_shortest_form() {
        let methods =
            |names: &[&'static str]| RetryOn::new().methods(Methods::of(names.iter().copied()));
        for (table, lists, written) in [
            (
                "methods = [\"GET\", \"PURGE\"]",
                methods(&["GET", "PURGE"]),
                None,
            ),
            ("methods = []", methods(&[]), None),
            (
                "methods = \"any\"",
                RetryOn::new().methods(Methods::Any),
                None,
            ),
            (
                "methods = [\"any\"]",
                RetryOn::new().methods(Methods::Any),
                Some("methods = \"any\""),
            ),
            (
                "statuses = [504, \"503\", 502, 429, \"4xx\"]",
                RetryOn::new().statuses(statuses("4xx, 502-504")),
                Some("statuses = [\"4xx\", \"502-504\"]"),
            ),
            (
                "statuses = [429, 503]",
                RetryOn::new().statuses(statuses("429, 503")),
                None,
            ),
            (
                "statuses = []",
                RetryOn::new().statuses(Statuses::default()),
                None,
            ),
            (
                "codes = [\"unavailable\", 8]",
                RetryOn::new().codes(Codes::default().and(14).and(8)),
                Some("codes = [\"RESOURCE_EXHAUSTED\", \"UNAVAILABLE\"]"),
            ),
            (
                "failures = [\"timeout\", \"connect\"]",
                RetryOn::new().failures(failures(&[FailureKind::Connect, FailureKind::TimedOut])),
                Some("failures = [\"connect\", \"timeout\"]"),
            ),
            (
                "failures = []",
                RetryOn::new().failures(Failures::default()),
                None,
            ),
        ] {
            assert_eq!(read(table), lists, "{table}");
            let policy = Policy::default().retry_on(lists);
            let text = toml::to_string(&policy).expect("it is written");
            let (_, found) = text.split_once("[retry_on]\n").expect("a table");
            assert_eq!(found.lines().next(), Some(written.unwrap_or(table)));
            assert_eq!(toml::from_str(&text), Ok(policy.clone()));
            let json = serde_json::to_string(&policy).expect("it is written");
            assert_eq!(
                serde_json::from_str::<Policy>(&json).expect("it is read"),
                policy
            );
        }
    }

    #[test]
    fn what_is_wrong_is_refused_with_a_suggestion() {
        for (text, sentence) in [
            (
                "[retry_on]\nstatus = [503]",
                "retry_on.status: there is no list `status`; did you mean `statuses`?",
            ),
            (
                "[retry_on]",
                "retry_on lists nothing; list methods, statuses, codes or failures, or leave it out",
            ),
            (
                "retry_on = \"5xx\"",
                "retry_on: write a table, such as { statuses = [429, \"5xx\"]",
            ),
            (
                "retry_on = { statuses = 503 }",
                "retry_on.statuses: write a list, which may be empty, such as []",
            ),
            (
                "retry_on = { statuses = [200] }",
                "retry_on.statuses: `200` names no status of a failure",
            ),
            (
                "retry_on = { statuses = \"any\" }",
                "retry_on.statuses: `any` names no status of a failure",
            ),
            (
                "retry_on = { methods = [\"get\"] }",
                "retry_on.methods: there is no method `get`; did you mean `GET`?",
            ),
            (
                "retry_on = { methods = [\"PSOT\"] }",
                "retry_on.methods: there is no method `PSOT`; did you mean `POST`?",
            ),
            (
                "retry_on = { methods = [\"a b\"] }",
                "retry_on.methods: there is no method `a b`; write it in capital",
            ),
            (
                "retry_on = { methods = [7] }",
                "retry_on.methods: there is no method 7; write it in quotes",
            ),
            (
                "retry_on = { methods = [\"GET\", \"GET\"] }",
                "retry_on lists a method that is none, or one twice",
            ),
            (
                "retry_on = { codes = [\"UNAVAILBLE\"] }",
                "retry_on.codes: there is no code of a failure \"UNAVAILBLE\"; did you mean `UNAVAILABLE`?",
            ),
            (
                "retry_on = { codes = [0] }",
                "retry_on.codes: there is no code of a failure 0; the codes of failures are CANCELLED, ",
            ),
            (
                "retry_on = { codes = [17] }",
                "retry_on.codes: there is no code of a failure 17;",
            ),
            (
                "retry_on = { codes = [\"OK\"] }",
                "retry_on.codes: there is no code of a failure \"OK\";",
            ),
            (
                "retry_on = { failures = [\"timeuot\"] }",
                "retry_on.failures: there is no failure \"timeuot\"; did you mean `timeout`?",
            ),
            (
                "retry_on = { failures = [5] }",
                "retry_on.failures: there is no failure 5; write connect, ",
            ),
        ] {
            let refused = toml::from_str::<Policy>(text).expect_err(text);
            assert!(
                refused.message().starts_with(sentence),
                "{text}: {}",
                refused.message()
            );
        }
        let twice = r#"{"retry_on": {"statuses": [503], "statuses": [502]}}"#;
        let refused = serde_json::from_str::<Policy>(twice)
            .expect_err("twice")
            .to_string();
        assert!(
            refused.starts_with("retry_on.statuses: the list is there twice"),
            "{refused}"
        );
    }

    #[test]
    fn none_takes_back_what_is_listed() {
        let policy: Policy = toml::from_str("retry_on = \"none\"").expect("it is read");
        assert_eq!(policy, Policy::default());
    }
}
