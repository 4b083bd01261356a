//! Which endings are tried again?

use becalm::{Failure, classify::Verdict};

use super::exit_code::{CANNOT_EXECUTE, Ending, NOT_FOUND};
use super::output_rules::OutputMatch;
use crate::run::exit_codes::ExitCodes;

/// The number of SIGPIPE on every platform.
const SIGPIPE: i32 = 13;
/// 128 + SIGPIPE.
const BROKEN_PIPE: u8 = 141;

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

    /// The rule of the command line for which this ending is final; `None` where another thing decided.
    pub fn told_final(&self, ending: Ending, matched: Option<OutputMatch>) -> Option<String> {
        let code = ending.code();
        let is_cut = matches!(ending, Ending::AttemptTimeout | Ending::Deadline);
        match matched {
            Some(OutputMatch::Stop) => Some("--stop-on-output knows a line of its output".into()),
            None if lists(&self.stop_on, ending) => {
                Some(format!("--stop-on lists exit code {code}"))
            }
            None if self.retry_on.is_some() && !is_cut && !lists(&self.retry_on, ending) => {
                Some(format!("--retry-on does not list exit code {code}"))
            }
            Some(OutputMatch::Retry) | None => None,
        }
    }

    fn failure(&self, ending: Ending) -> Failure {
        let retried = match ending {
            _ if lists(&self.stop_on, ending) => false,
            Ending::AttemptTimeout | Ending::Deadline => true,
            _ if self.retry_on.is_some() => lists(&self.retry_on, ending),
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

#[expect(clippy::ref_option, reason = "the fields are options")]
fn lists(codes: &Option<ExitCodes>, ending: Ending) -> bool {
    let codes = codes.as_ref();
    codes.is_some_and(|codes| codes.contains(ending.code()))
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
    fn a_rule_of_the_command_line_that_decided_is_told() {
        let told = |on: &ExitRules, ending| on.told_final(ending, None).unwrap_or_default();
        let both = rules(Some("7,28"), Some("28"));
        assert_eq!(
            told(&both, Ending::Exited(9)),
            "--retry-on does not list exit code 9"
        );
        assert_eq!(
            told(&both, Ending::Exited(28)),
            "--stop-on lists exit code 28"
        );
        assert_eq!(told(&both, Ending::Exited(7)), "");
        assert_eq!(told(&both, Ending::Deadline), "");
        assert_eq!(told(&rules(None, None), Ending::Exited(127)), "");
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
