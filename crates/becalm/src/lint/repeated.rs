//! What is repeated that may be done twice?

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::Case;
use crate::classify::FailureKind;
use crate::retry_on::{Codes, Failures, RetryOn, Statuses};
use crate::suggest::list;

pub(super) fn repeats_non_idempotent(case: &Case<'_>) -> Option<String> {
    let lists = case.retry_on.as_deref()?;
    let method = lists.methods.as_ref()?.not_idempotent()?;
    // Of gRPC every call is a POST, and what it repeats is said of its codes.
    let is_dangerous = !is_of_grpc(lists) && repeats_what_was_sent(lists);
    is_dangerous.then(|| {
        format!(
            "a {method} whose answer is lost is done twice, since it is declared safe to repeat; set methods without \
             it, and give such requests an idempotency key"
        )
    })
}

pub(super) fn repeats_what_may_be_done(case: &Case<'_>) -> Option<String> {
    let lists = case.retry_on.as_deref()?;
    lists.methods.as_ref()?.not_idempotent()?;
    let doubtful = doubtful(lists);
    let named = || doubtful.iter().map(String::as_str);
    (!doubtful.is_empty()).then(|| {
        format!(
            "{} may come after the work was done, and requests that are not idempotent are repeated nevertheless; set \
             lists of what is said before it begins, such as connect, refused-stream, 429, 503, UNAVAILABLE",
            list("", named(), " and ")
        )
    })
}

/// `CANCELLED`, `UNKNOWN`, `DEADLINE_EXCEEDED`, `INTERNAL` and `DATA_LOSS`: codes of gRPC that say nothing of what was done.
const DOUBTFUL: [i32; 5] = [1, 2, 4, 13, 15];

/// Those of them that stand for an answer that is lost. A server says `CANCELLED` itself, mostly where its caller is gone.
const LOST: [i32; 4] = [2, 4, 13, 15];

/// Codes alone: the lists of a gRPC client.
fn is_of_grpc(lists: &RetryOn) -> bool {
    lists.codes.is_some() && lists.statuses.is_none()
}

/// Whether anything is repeated after which the work may be done and its answer lost: all but what never left, 425 (RFC 8470 section
/// 5.2), and 409, 429, 503 and `UNAVAILABLE`, which are mostly said instead of working.
fn repeats_what_was_sent(lists: &RetryOn) -> bool {
    let is_sent = |kind: FailureKind| {
        use FailureKind::{Connect, ConnectTimeout, RefusedStream};
        !matches!(kind, Connect | ConnectTimeout | RefusedStream)
    };
    let of_statuses = |listed: Statuses| {
        listed
            .iter()
            .any(|status| ![409, 425, 429, 503].contains(&status))
    };
    let of_failures = |listed: Failures| listed.iter().any(is_sent);
    let of_codes = |listed: Codes| LOST.into_iter().any(|code| listed.contains(code));
    lists.statuses.is_none_or(of_statuses)
        || lists.codes.is_some_and(of_codes)
        || lists.failures.is_none_or(of_failures)
}

/// What is repeated although it says nothing of what was done: a 503 and `UNAVAILABLE` are mostly said instead of working.
fn doubtful(lists: &RetryOn) -> Vec<String> {
    const KINDS: [FailureKind; 3] = [
        FailureKind::Reset,
        FailureKind::TimedOut,
        FailureKind::InvalidAnswer,
    ];
    // Where a list is left out, what becalm repeats by itself; a gRPC client has no answers of HTTP alone.
    let own_statuses = || Statuses::from_iter([500, 502, 504]);
    let own_failures = || Failures::from_iter([FailureKind::Reset, FailureKind::TimedOut]);
    let by_default = |lists: &RetryOn| !is_of_grpc(lists);
    let statuses = lists
        .statuses
        .or_else(|| by_default(lists).then(own_statuses));
    let failures = lists
        .failures
        .or_else(|| by_default(lists).then(own_failures));
    let statuses = statuses.unwrap_or_default().iter();
    let statuses: Statuses = statuses.filter(|it| *it >= 500 && *it != 503).collect();
    let codes = lists.codes.unwrap_or_default();
    let codes = DOUBTFUL.into_iter().filter(|code| codes.contains(*code));
    let failures = failures.unwrap_or_default();
    let failures = KINDS.into_iter().filter(|kind| failures.contains(*kind));
    let mut named = Vec::new();
    named.extend(statuses.entries());
    named.extend(
        codes
            .flat_map(|code| Codes::default().and(code.unsigned_abs()).names())
            .map(ToString::to_string),
    );
    named.extend(failures.map(|kind| kind.as_str().to_string()));
    named
}
