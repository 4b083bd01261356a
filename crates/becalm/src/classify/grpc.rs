//! What does a status code of gRPC say about trying again?

use super::Failure;

/// Classifies a gRPC status code, by its number in `grpc-status`.
///
/// The meanings are those of gRPC's status codes (grpc/grpc, `doc/statuscodes.md`); what clients
/// repeat by themselves is in AIP-194 and, by configuration, in gRFC A6. The server's pushback is a
/// hint of its own: [`pushback`](crate::hint::pushback).
///
/// | code | class | reason |
/// |---|---|---|
/// | 14 `UNAVAILABLE` | transient | "most likely a transient condition"; data may have been sent, so the effect is unknown |
/// | 4 `DEADLINE_EXCEEDED` | transient | the attempt took too long, and may have taken effect nevertheless |
/// | 8 `RESOURCE_EXHAUSTED` | throttled | a quota, or the server has no room |
/// | 10 `ABORTED` | transient, unsent | a concurrent change won: [contention](is_contention). Repeat the whole read-modify-write, not this call alone |
/// | 9 `FAILED_PRECONDITION` | permanent | "should not retry until the system state has been explicitly fixed" |
/// | 1 `CANCELLED` | permanent | the caller wanted it so |
/// | 2 `UNKNOWN`, 13 `INTERNAL`, 15 `DATA_LOSS` | permanent | a fault of the server's code or data, which AIP-194 has no client repeat |
/// | 3, 5, 6, 7, 11, 12, 16 | permanent | the request, its rights or its login are at fault |
/// | 0 `OK` | permanent | no failure: who calls it an error knows what to do with it |
/// | any other | permanent | to be taken for 2 |
///
/// ```
/// use becalm::classify::{Failure, grpc};
/// assert_eq!(grpc::classify(14), Failure::transient());
/// ```
pub const fn classify(code: i32) -> Failure {
    match code {
        4 | 14 => Failure::transient(),
        8 => Failure::throttled(),
        10 => Failure::transient().unsent(),
        _ => Failure::permanent(),
    }
}

/// Whether calls that ran at the same time stood in each other's way, as `ABORTED` says. That is no
/// sign of overload, and wants the preset `contention`.
pub const fn is_contention(code: i32) -> bool {
    code == 10
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::Class;

    #[test]
    fn c11_every_grpc_code_has_its_class() {
        for code in -1..=20 {
            let expected = match code {
                4 | 10 | 14 => Class::Transient,
                8 => Class::Throttled,
                _ => Class::Permanent,
            };
            assert_eq!(classify(code).class, expected, "{code}");
            let is_unsent = classify(code) == Failure::transient().unsent();
            assert_eq!(is_unsent, is_contention(code), "{code}");
        }
    }
}
