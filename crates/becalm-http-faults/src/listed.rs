//! Does a client repeat what the lists of its policy name, and nothing else?

use std::time::Duration;

use becalm::classify::FailureKind;
use becalm::retry_on::{Failures, Methods, RetryOn, Statuses};
use becalm::{Policy, StopReason};

use crate::server::{Does, Server, Version};
use crate::{quick, within};

/// A request under a policy with lists.
#[derive(Debug)]
pub struct Listed {
    /// The version that both ends speak.
    pub version: Version,
    /// How the request is repeated.
    pub policy: Policy,
    /// The method.
    pub method: &'static str,
    /// How many connections are refused first.
    pub refused: usize,
}

impl Listed {
    /// What becomes of a request whose first attempt meets this: the status of the answer, or why it ended.
    async fn ends(
        &self,
        does: Option<Does>,
        send: &impl AsyncFn(&Self, &Server) -> Result<u16, StopReason>,
    ) -> Result<u16, StopReason> {
        let server = Server::start(self.version, does).await;
        within(send(self, &server)).await
    }
}

/// Each kind of failure, listed alone and left out alone, over this version. `send` sends the request, and says the
/// status of its answer if the call succeeded.
///
/// # Panics
///
/// A request is repeated that is not to be, or the other way round.
pub async fn kinds(
    version: Version,
    send: impl AsyncFn(&Listed, &Server) -> Result<u16, StopReason>,
) {
    let mut kinds = vec![
        (FailureKind::Connect, None),
        (FailureKind::Reset, Some(Does::CloseAfterRequest)),
        (FailureKind::TimedOut, Some(Does::Stall)),
    ];
    kinds.push(match version {
        // Over HTTP/2 hyper 1.12 says of it that the connection was closed.
        Version::Http1 => (FailureKind::InvalidAnswer, Some(Does::Babble)),
        Version::Http2 => (FailureKind::RefusedStream, Some(Does::RefuseStream)),
    });
    for (kind, does) in kinds {
        let all = FailureKind::ALL.iter().copied();
        let alone = Failures::default().and(kind);
        let others: Failures = all.filter(|other| *other != kind).collect();
        for (failures, expected) in [(alone, Ok(200)), (others, Err(StopReason::NotListed))] {
            let mut policy = quick().retry_on(RetryOn::new().failures(failures));
            if kind == FailureKind::TimedOut {
                policy = policy
                    .attempts(10)
                    .attempt_timeout(Duration::from_millis(500));
            }
            let request = Listed {
                version,
                policy,
                method: "GET",
                refused: usize::from(does.is_none()),
            };
            let ended = request.ends(does.clone(), &send).await;
            assert_eq!(ended, expected, "{version:?} {kind:?} with {failures}");
        }
    }
}

/// Statuses and methods, and the laws above them, over this version.
///
/// # Panics
///
/// A request is repeated that is not to be, or the other way round.
pub async fn statuses_and_methods(
    version: Version,
    send: impl AsyncFn(&Listed, &Server) -> Result<u16, StopReason>,
) {
    let statuses = |text: &str| RetryOn::new().statuses(text.parse::<Statuses>().expect(text));
    let methods =
        |names: &[&'static str]| RetryOn::new().methods(Methods::of(names.iter().copied()));
    let forbids = Does::AnswerWith(503, "x-should-retry", "false".into());
    let asks = Does::AnswerWith(400, "x-should-retry", "true".into());
    let not_idempotent = Err(StopReason::NotIdempotent);
    for (lists, method, does, expected) in [
        (statuses("404, 5xx"), "GET", Does::Answer(404), Ok(200)),
        (statuses("404, 5xx"), "GET", Does::Answer(501), Ok(200)),
        (
            statuses("404, 5xx"),
            "GET",
            Does::Answer(429),
            Err(StopReason::NotListed),
        ),
        (
            statuses("404, 5xx"),
            "GET",
            Does::Answer(410),
            Err(StopReason::Permanent),
        ),
        (
            statuses("404, 5xx"),
            "GET",
            forbids,
            Err(StopReason::DoNotRetry),
        ),
        (
            statuses("404, 5xx"),
            "GET",
            asks,
            Err(StopReason::NotListed),
        ),
        (
            statuses("404, 5xx"),
            "POST",
            Does::Answer(503),
            not_idempotent,
        ),
        (statuses("404, 425"), "POST", Does::Answer(425), Ok(200)),
        (methods(&["POST"]), "POST", Does::Answer(503), Ok(200)),
        (methods(&["POST"]), "GET", Does::Answer(503), not_idempotent),
        (methods(&["POST"]), "GET", Does::Answer(425), Ok(200)),
        (
            RetryOn::new().methods(Methods::Any),
            "PATCH",
            Does::CloseAfterRequest,
            Ok(200),
        ),
        (methods(&[]), "GET", Does::CloseAfterRequest, not_idempotent),
    ] {
        let request = Listed {
            version,
            policy: quick().retry_on(lists.clone()),
            method,
            refused: 0,
        };
        let ended = request.ends(Some(does.clone()), &send).await;
        assert_eq!(
            ended, expected,
            "{version:?} {method} {does:?} with {lists}"
        );
    }
}
