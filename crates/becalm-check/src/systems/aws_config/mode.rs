//! What does botocore do in each of its retry modes?
//!
//! `botocore/retries/standard.py` and `botocore/data/_retry.json`, of 1.44.5 and of 1.43.127: between the two the
//! default became `standard`, and its figures changed (`AWS_NEW_RETRIES_2026` is 1.43's way to ask for that).

use std::time::Duration;

use becalm::Policy;
use becalm::classify::FailureKind;
use becalm::preset::Preset;
use becalm::rate::AdaptiveRate;
use becalm::retry_on::{Codes, Failures, Methods, RetryOn, Statuses};

use crate::mapping::Draft;

/// By its name in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Legacy,
    Standard,
    Adaptive,
}

/// What the version counts in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generation {
    /// Up to 1.43.
    V2,
    /// From 1.44 on.
    Of2026,
}

pub const MODES: [&str; 3] = ["legacy", "standard", "adaptive"];

/// `read_timeout` and `connect_timeout` of a client that says nothing.
const TIMEOUT: Duration = Duration::from_secs(60);

impl Mode {
    /// As botocore compares it: letter by letter.
    pub fn by_name(name: &str) -> Option<Self> {
        Some(match name {
            "legacy" => Self::Legacy,
            "standard" => Self::Standard,
            "adaptive" => Self::Adaptive,
            _ => return None,
        })
    }

    pub const fn default_of(generation: Generation) -> Self {
        match generation {
            Generation::V2 => Self::Legacy,
            Generation::Of2026 => Self::Standard,
        }
    }

    pub fn policy(self, generation: Generation) -> Policy {
        let preset = match (self, generation) {
            (Self::Legacy, _) => "aws-legacy",
            (_, Generation::V2) => "aws-standard-legacy",
            (Self::Standard, Generation::Of2026) => "aws-standard-2026-11",
            (Self::Adaptive, Generation::Of2026) => "aws-adaptive-2026-11",
        };
        let policy = Preset::by_name(preset).map_or_else(|_| Policy::default(), Preset::policy);
        let policy = policy
            .attempt_timeout(TIMEOUT)
            .retry_on(self.retry_on(generation));
        if self == Self::Adaptive {
            policy.rate(AdaptiveRate::cubic())
        } else {
            policy
        }
    }

    /// No mode asks whether the operation may be done twice.
    fn retry_on(self, generation: Generation) -> RetryOn {
        use FailureKind::{Connect, ConnectTimeout, InvalidAnswer, Reset, Throttled, TimedOut};
        let failures = [
            Connect,
            ConnectTimeout,
            Reset,
            TimedOut,
            InvalidAnswer,
            Throttled,
        ];
        let statuses: &[u16] = match (self, generation) {
            (Self::Legacy, _) => &[429, 500, 502, 503, 504, 509],
            (_, Generation::V2) => &[500, 502, 503, 504],
            (_, Generation::Of2026) => &[429, 500, 502, 503, 504],
        };
        let statuses = statuses.iter();
        RetryOn::new()
            .methods(Methods::Any)
            .statuses(statuses.fold(Statuses::default(), |all, it| all.and(*it)))
            .codes(Codes::default())
            .failures(failures.into_iter().collect::<Failures>())
    }

    /// What a policy cannot hold.
    pub fn lose(self, draft: &mut Draft, generation: Generation) {
        let dynamodb = match (self, generation) {
            (Self::Legacy, _) => {
                "10 attempts where none are set, from a base of 50 ms without jitter"
            }
            (_, Generation::V2) => "no other figures than the other services",
            (_, Generation::Of2026) => "4 attempts where none are set, from a base of 25 ms",
        };
        draft.lose("DynamoDB", dynamodb, None);
        let why =
            "the client's, 60 s by default, is the longest silence and not the longest attempt";
        draft.lose("read_timeout", why, None);
        match (self, generation) {
            (Self::Legacy, _) => draft.lose(
                "throttling",
                "of answers with 400 those are repeated whose code of an error is one of five, and some of single services",
                None,
            ),
            (_, Generation::V2) => {
                let why = "is repeated where its code of an error names throttling, and not otherwise";
                draft.lose("429", why, None);
                draft.lose("retry quota", "a retry after a time-out costs 10 tokens", None);
            }
            (_, Generation::Of2026) => {
                let why = "is the one header that is heeded, up to 5 s beyond the computed delay";
                draft.lose("x-amz-retry-after", why, None);
                let why = "of SQS, Step Functions, SWF and Kinesis wait once more when the quota is empty, and are not repeated";
                draft.lose("long polls", why, None);
            }
        }
        if self != Self::Legacy {
            let why = "each client object has one of its own, full when it is made";
            draft.lose("retry quota", why, None);
        }
        let why = "those of other languages read the same file, and until they moved to the figures of 2026 each has its own";
        draft.lose("other SDKs", why, None);
    }
}
