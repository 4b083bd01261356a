//! Which status codes may be tried again?

use std::fmt;

use becalm::classify::{Class, grpc};
use becalm::{Failure, Hint};

/// The names of gRPC's status codes, by their numbers (grpc/grpc, `doc/statuscodes.md`).
const NAMES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

/// A set of gRPC's status codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Codes(u32);

impl Codes {
    /// Adds a code from 0 to 16.
    pub(super) fn insert(&mut self, code: u32) {
        self.0 |= 1 << code;
    }

    /// Whether this code is one of them.
    pub const fn contains(self, code: i32) -> bool {
        0 <= code && code < 17 && self.0 & (1 << code) != 0
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// What a failure with this code means under a policy that retries these codes, with the server's
    /// pushback ([`pushback`](becalm::hint::pushback)).
    ///
    /// A listed code may be tried again, `RESOURCE_EXHAUSTED` as throttled; any other is permanent. What is known
    /// of its effect is [`grpc::classify`]'s.
    pub fn classify(self, code: i32, hint: Option<Hint>) -> Failure {
        let known = grpc::classify(code);
        let class = match known.class {
            _ if !self.contains(code) => Class::Permanent,
            Class::Throttled => Class::Throttled,
            _ => Class::Transient,
        };
        let mut failure = known;
        failure.class = class;
        failure.hint = hint;
        failure
    }

    /// The number of a code that is written as its name, in any case of letters.
    pub(super) fn by_name(name: &str) -> Option<u32> {
        let found = NAMES.iter().position(|it| it.eq_ignore_ascii_case(name))?;
        u32::try_from(found).ok()
    }
}

/// The names, as in `UNKNOWN, UNAVAILABLE`.
impl fmt::Display for Codes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed = (0..).zip(NAMES).filter(|(code, _)| self.contains(*code));
        let names: Vec<&str> = listed.map(|(_, name)| name).collect();
        f.write_str(&names.join(", "))
    }
}
