//! Which failures do the words of Envoy's `retry_on` name?
//!
//! `source/common/router/retry_state_impl.cc` (`parseRetryOn`, `wouldRetryFromHeaders`,
//! `wouldRetryFromReset`) and the router filter's page in Envoy's documentation. Envoy never asks for
//! the method.

use becalm::classify::FailureKind;
use becalm::retry_on::{Codes, Failures, Methods, RetryOn, Statuses};
use foldhash::HashSet;

use crate::list::list;
use crate::meant::did_you_mean;
use crate::template::is_placeholder;
use crate::told::Told;
use FailureKind::{Connect, ConnectTimeout, RefusedStream, Reset, TimedOut};

/// What a list of words says.
#[derive(Debug, Clone, Default)]
pub struct Words {
    statuses: Statuses,
    codes: Codes,
    failures: Failures,
    /// Words that Envoy does not know, and ignores; statuses that are filled in elsewhere.
    pub unknown: Vec<String>,
    /// Words that a policy cannot hold, and why.
    pub lost: Vec<(&'static str, &'static str)>,
    /// Whether `retriable-status-codes` is among them.
    pub reads_statuses: bool,
    /// Whether `retriable-headers` is among them.
    pub reads_headers: bool,
    /// Whether a time-out of an attempt is repeated.
    pub repeats_timeouts: bool,
}

const NO_FAILURES: (&str, &str) = (
    "statuses",
    "statuses below 400, which the file lists as well, are no failures for a policy",
);

/// Without an answer: a connection that failed or broke, a stream that was refused or cut, the time-out of an attempt.
const NO_ANSWER: [FailureKind; 5] = [Connect, ConnectTimeout, RefusedStream, Reset, TimedOut];

impl Words {
    /// Reads words, apart by commas, each of them once.
    pub fn read(text: &str) -> Self {
        let mut words = Self::default();
        let mut seen = HashSet::default();
        let all = text.split(',').map(str::trim);
        for word in all.filter(|it| !it.is_empty() && seen.insert(*it)) {
            words.add(word);
        }
        words
    }

    /// Whether anything is repeated at all, by the words and the statuses that were added; what is filled in elsewhere may be such a word.
    pub fn repeats_anything(&self) -> bool {
        !self.lost.is_empty()
            || self.unknown.iter().any(|it| is_placeholder(it))
            || self.codes != Codes::default()
            || self.statuses != Statuses::default()
            || self.failures != Failures::default()
    }

    /// Adds statuses, of `retriable_status_codes`.
    pub fn and_statuses(&mut self, statuses: impl IntoIterator<Item = u16>) {
        for status in statuses {
            self.statuses = self.statuses.and(status);
            if !self.statuses.contains(status) && !self.lost.contains(&NO_FAILURES) {
                self.lost.push(NO_FAILURES);
            }
        }
    }

    /// Notes a status that is not known here.
    pub fn or_unknown<T>(&mut self, status: &Told<T>) {
        if let Told::Unknown(_, text) = status {
            self.unknown.push(text.clone());
        }
    }

    /// As a policy has it, of requests with these methods: all is listed, so that nothing else is repeated.
    pub fn retry_on(&self, methods: Methods) -> RetryOn {
        RetryOn::new()
            .methods(methods)
            .statuses(self.statuses)
            .codes(self.codes)
            .failures(self.failures)
    }

    /// What to write in place of a word that Envoy does not know.
    pub fn meant(word: &str) -> String {
        let codes = CODES.iter().map(|(name, _)| *name);
        let all: Vec<_> = HTTP.iter().copied().chain(codes).collect();
        did_you_mean(word, "the words", &all)
    }

    fn add(&mut self, word: &str) {
        match word {
            "5xx" => {
                self.and_statuses(500..=599);
                self.without_answer(&NO_ANSWER);
            }
            "gateway-error" => {
                self.and_statuses(502..=504);
                self.without_answer(&NO_ANSWER);
            }
            "reset" => self.without_answer(&NO_ANSWER),
            "reset-before-request" => {
                self.without_answer(&[Connect, ConnectTimeout, RefusedStream]);
                self.lost.push((
                    "reset-before-request",
                    "a connection that breaks before the request was sent is repeated; one that breaks later is not",
                ));
            }
            "connect-failure" => self.without_answer(&[Connect, ConnectTimeout]),
            "refused-stream" => self.without_answer(&[RefusedStream]),
            "retriable-4xx" => self.and_statuses([409]),
            "retriable-status-codes" => self.reads_statuses = true,
            "retriable-headers" => {
                self.reads_headers = true;
                self.lost
                    .push(("retriable-headers", "answers are repeated by their headers"));
            }
            "envoy-ratelimited" => self.lost.push((
                "envoy-ratelimited",
                "answers with the header x-envoy-ratelimited are repeated",
            )),
            "http3-post-connect-failure" => self.lost.push((
                "http3-post-connect-failure",
                "requests over HTTP/3 that fail once connected are repeated without HTTP/3",
            )),
            _ => match CODES.iter().find(|(name, _)| *name == word) {
                Some((_, code)) => self.codes = self.codes.and(*code),
                None => self.unknown.push(word.to_owned()),
            },
        }
    }

    fn without_answer(&mut self, kinds: &[FailureKind]) {
        for kind in kinds {
            self.failures = self.failures.and(*kind);
        }
        self.repeats_timeouts |= kinds.contains(&TimedOut);
    }
}

/// Of HTTP.
const HTTP: &[&str] = list!(
    "5xx gateway-error reset reset-before-request connect-failure envoy-ratelimited \
     retriable-4xx refused-stream retriable-status-codes retriable-headers \
     http3-post-connect-failure"
);

/// Of gRPC, where the answer's head has them.
const CODES: [(&str, u32); 5] = [
    ("cancelled", 1),
    ("deadline-exceeded", 4),
    ("internal", 13),
    ("resource-exhausted", 8),
    ("unavailable", 14),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_statuses_codes_and_failures() {
        let words = Words::read("5xx, reset ,retriable-4xx,unavailable,");
        assert!(words.unknown.is_empty() && words.repeats_anything());
        let told = words.retry_on(Methods::Any).to_string();
        assert_eq!(
            told,
            "methods any; statuses 409, 5xx; codes UNAVAILABLE; \
             failures connect, connect-timeout, refused-stream, reset, timeout"
        );
        let words = Words::read("connect-failure,refused-stream");
        assert_eq!(
            words.retry_on(Methods::Any).to_string(),
            "methods any; statuses none; codes none; failures connect, connect-timeout, refused-stream"
        );
    }

    #[test]
    fn what_envoy_does_not_know_repeats_nothing() {
        let mut words = Words::read("retriable-status-codes");
        assert!(!words.repeats_anything());
        words.and_statuses([302, 303]);
        assert!(words.repeats_anything() && words.lost.len() == 1);
        let words = Words::read("5XX,connection-error");
        assert_eq!(words.unknown, ["5XX", "connection-error"]);
        assert!(!words.repeats_anything());
        assert!(Words::read("5XX,reset").repeats_anything());
        assert!(!Words::read(" , ").repeats_anything());
    }
}
