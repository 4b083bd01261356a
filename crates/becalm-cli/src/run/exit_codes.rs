//! How is a set of exit codes written?

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
