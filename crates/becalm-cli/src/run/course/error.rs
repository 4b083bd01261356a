//! Why can becalm itself not go on?

use std::fmt;
use std::io;

use super::seen::Fault;

/// Why becalm itself cannot go on.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunError {
    /// The policy is refused.
    Policy(String),
    /// A pattern is not a regular expression.
    Pattern(regex::Error),
    /// There is no command to run.
    NoCommand,
    /// `--budget-file` needs a ratio to put there, and no other kind beside it.
    NoBudgetToShare,
    /// `--budget-file` holds a ratio budget, and no other.
    OtherBudget(String),
    /// This flag protects from many calls, and a run is one.
    ForManyCalls(&'static str),
    /// Standard input cannot be recorded.
    Stdin(io::Error),
    /// The deadline has passed before the first attempt.
    NoTime,
    /// The output of an attempt cannot be kept.
    Hold(io::Error),
    /// Output that passes through becalm is lost.
    PassOn(io::Error),
    /// The kept output cannot be printed.
    Print(io::Error),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Policy(sentence) => f.write_str(sentence),
            Self::Pattern(error) => write!(f, "not a regular expression: {error}"),
            Self::NoCommand => f.write_str("there is no command; write it behind --"),
            Self::NoBudgetToShare => f.write_str(
                "--budget-file shares a ratio budget, and --budget none asks for none; leave one of the \
                 two out",
            ),
            Self::OtherBudget(budget) => write!(
                f,
                "--budget-file shares a ratio budget, but the policy has {budget}; set --budget \
                 ratio:0.1,burst:10, or another ratio"
            ),
            Self::ForManyCalls(flag) => write!(
                f,
                "{flag} bounds what many calls do together, and a run is one call; leave it out, or \
                 let runs share a budget (--budget-file)"
            ),
            Self::Stdin(error) => write!(
                f,
                "cannot record standard input: {error}; let becalm open more files (ulimit -n)"
            ),
            Self::NoTime => {
                f.write_str("the deadline passed before the first attempt; set a longer one")
            }
            Self::Hold(error) => write!(
                f,
                "cannot keep the output: {error}; make room for temporary files (TMPDIR), or leave \
                 --hold-output out"
            ),
            Self::PassOn(error) => write!(f, "cannot pass on the output: {error}"),
            Self::Print(error) => write!(f, "cannot print the output: {error}"),
        }
    }
}

impl std::error::Error for RunError {}

impl From<Fault> for RunError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Write(error) => Self::PassOn(error),
            Fault::Hold(error) => Self::Hold(error),
        }
    }
}
