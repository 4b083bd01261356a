//! Which endings are tried again?

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use becalm::{Failure, classify::Verdict};

use super::exit_code::{CANNOT_EXECUTE, Ending, NOT_FOUND};
use super::output_rules::OutputMatch;

/// The number of SIGPIPE on every platform.
const SIGPIPE: i32 = 13;
/// 128 + SIGPIPE.
const BROKEN_PIPE: u8 = 141;

/// A set of exit codes of failures: from 1 to 255, written as `7,28,100-110`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExitCodes(Vec<RangeInclusive<u8>>);

impl ExitCodes {
    /// Whether the code is in the set.
    pub fn contains(&self, code: u8) -> bool {
        self.0.iter().any(|range| range.contains(&code))
    }
}

/// Why a text is not a set of exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidExitCodes {
    /// A part is neither a code nor a range of codes.
    NotACode,
    /// A code is beyond 255.
    TooLarge,
    /// The set holds 0.
    Success,
    /// A range ends before it starts.
    Backwards,
}

impl fmt::Display for InvalidExitCodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotACode => "write exit codes and ranges of them, such as 7,28,100-110",
            Self::TooLarge => "an exit code is at most 255",
            Self::Success => {
                "exit code 0 is success; to retry after it, match the output with --retry-on-output"
            }
            Self::Backwards => "a range of exit codes goes upwards, such as 100-110",
        })
    }
}

impl std::error::Error for InvalidExitCodes {}

impl FromStr for ExitCodes {
    type Err = InvalidExitCodes;

    fn from_str(text: &str) -> Result<Self, InvalidExitCodes> {
        text.split(',')
            .map(|part| {
                let (first, last) = part.split_once('-').unwrap_or((part, part));
                let (first, last) = (code(first)?, code(last)?);
                if first > last {
                    return Err(InvalidExitCodes::Backwards);
                }
                Ok(first..=last)
            })
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

fn code(text: &str) -> Result<u8, InvalidExitCodes> {
    let text = text.trim();
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(InvalidExitCodes::NotACode);
    }
    match text.parse() {
        Ok(0) => Err(InvalidExitCodes::Success),
        Ok(code) => Ok(code),
        Err(_) => Err(InvalidExitCodes::TooLarge),
    }
}

/// Which endings are tried again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExitRules {
    /// Only these codes are retried; without it every failure but 126, 127 and the end by SIGPIPE.
    pub retry_on: Option<ExitCodes>,
    /// These codes are not retried, whatever else says so.
    pub stop_on: Option<ExitCodes>,
}

impl ExitRules {
    /// What the attempt came to. A line that an output rule knows overrides how it ended.
    pub fn verdict(&self, ending: Ending, matched: Option<OutputMatch>) -> Verdict {
        match matched {
            Some(OutputMatch::Stop) => Failure::permanent().into(),
            Some(OutputMatch::Retry) => Failure::transient().into(),
            None if ending == Ending::Exited(0) => Verdict::Success,
            None => self.failure(ending).into(),
        }
    }

    fn failure(&self, ending: Ending) -> Failure {
        let listed = |codes: &Option<ExitCodes>| {
            codes
                .as_ref()
                .is_some_and(|codes| codes.contains(ending.code()))
        };
        let retried = match ending {
            _ if listed(&self.stop_on) => false,
            Ending::AttemptTimeout | Ending::Deadline => true,
            _ if self.retry_on.is_some() => listed(&self.retry_on),
            // The reader of the output has gone, and will not come back for another attempt.
            // A shell tells of its own command's end in this way.
            Ending::Signalled(SIGPIPE) | Ending::Exited(BROKEN_PIPE) => false,
            Ending::NotStarted => true,
            _ => !matches!(ending.code(), CANNOT_EXECUTE | NOT_FOUND),
        };
        let failure = if retried {
            Failure::transient()
        } else {
            Failure::permanent()
        };
        match ending {
            Ending::NotFound | Ending::CannotExecute | Ending::NotStarted => failure.unsent(),
            _ => failure,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(retry_on: Option<&str>, stop_on: Option<&str>) -> ExitRules {
        let codes = |text: Option<&str>| text.map(|text| text.parse().unwrap());
        ExitRules {
            retry_on: codes(retry_on),
            stop_on: codes(stop_on),
        }
    }

    fn is_retried(rules: &ExitRules, ending: Ending) -> bool {
        match rules.verdict(ending, None) {
            Verdict::Failure(failure) => failure.class == becalm::Class::Transient,
            verdict => panic!("{ending}: {verdict:?}"),
        }
    }

    #[test]
    fn codes_are_read_as_documented() {
        let codes: ExitCodes = "7,28, 100-110".parse().unwrap();
        for (code, contained) in [
            (6, false),
            (7, true),
            (28, true),
            (99, false),
            (100, true),
            (110, true),
            (111, false),
        ] {
            assert_eq!(codes.contains(code), contained, "{code}");
        }
        assert!("1-255".parse::<ExitCodes>().unwrap().contains(255));
    }

    #[test]
    fn other_texts_are_refused_by_reason() {
        for (text, reason) in [
            ("", InvalidExitCodes::NotACode),
            ("7,", InvalidExitCodes::NotACode),
            ("seven", InvalidExitCodes::NotACode),
            ("-7", InvalidExitCodes::NotACode),
            ("+7", InvalidExitCodes::NotACode),
            ("1-2-3", InvalidExitCodes::NotACode),
            ("256", InvalidExitCodes::TooLarge),
            ("99999999999999999999", InvalidExitCodes::TooLarge),
            ("0", InvalidExitCodes::Success),
            ("0-3", InvalidExitCodes::Success),
            ("9-3", InvalidExitCodes::Backwards),
        ] {
            assert_eq!(text.parse::<ExitCodes>(), Err(reason), "{text:?}");
        }
    }

    #[test]
    fn every_failure_is_retried_but_what_cannot_run_and_a_gone_reader() {
        let rules = rules(None, None);
        for code in 1..=255 {
            let retried = !matches!(code, 126 | 127 | 141);
            assert_eq!(is_retried(&rules, Ending::Exited(code)), retried, "{code}");
        }
        assert!(is_retried(&rules, Ending::Signalled(9)));
        assert!(is_retried(&rules, Ending::AttemptTimeout));
        assert!(!is_retried(&rules, Ending::Signalled(SIGPIPE)));
        assert!(is_retried(&rules, Ending::NotStarted));
        assert!(!is_retried(&rules, Ending::NotFound));
        assert!(!is_retried(&rules, Ending::CannotExecute));
        assert_eq!(rules.verdict(Ending::Exited(0), None), Verdict::Success);
    }

    #[test]
    fn retry_on_narrows_codes_and_signals_but_not_timeouts() {
        let rules = rules(Some("7,127,137"), None);
        for (ending, retried) in [
            (Ending::Exited(7), true),
            (Ending::Exited(8), false),
            (Ending::Exited(127), true),
            (Ending::NotFound, true),
            (Ending::CannotExecute, false),
            (Ending::Signalled(9), true),
            (Ending::Signalled(15), false),
            (Ending::AttemptTimeout, true),
        ] {
            assert_eq!(is_retried(&rules, ending), retried, "{ending}");
        }
    }

    #[test]
    fn stop_on_wins_over_retry_on_and_over_a_timeout() {
        let rules = rules(Some("1-255"), Some("9,124"));
        assert!(is_retried(&rules, Ending::Exited(8)));
        assert!(!is_retried(&rules, Ending::Exited(9)));
        assert!(!is_retried(&rules, Ending::AttemptTimeout));
    }

    #[test]
    fn a_matched_line_overrides_the_exit_code() {
        let rules = rules(Some("7"), Some("9"));
        for ending in [Ending::Exited(0), Ending::Exited(7), Ending::Exited(9)] {
            let verdict = |matched| rules.verdict(ending, Some(matched));
            assert_eq!(verdict(OutputMatch::Retry), Failure::transient().into());
            assert_eq!(verdict(OutputMatch::Stop), Failure::permanent().into());
        }
    }
}
