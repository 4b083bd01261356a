//! Why is a sweep refused?

use std::fmt;

use becalm::policy::InvalidPolicy;
use becalm::support::nearest;

use crate::catalogue::InvalidParameter;

/// Points that a sweep has at most: each has several runs.
pub(super) const MOST_POINTS: usize = 1000;

/// Why a sweep is refused. `Display` names the axis and the remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidSweep {
    /// Something that is no axis.
    NotAnAxis(String),
    /// An axis that is neither a setting nor a parameter.
    UnknownAxis {
        /// What was written.
        name: String,
        /// What there is.
        known: Vec<&'static str>,
    },
    /// An axis that is there twice.
    Twice(String),
    /// A value that the axis does not take.
    Value {
        /// The axis.
        axis: String,
        /// What was written.
        value: String,
        /// What is wrong with it, and what would be right.
        reason: String,
    },
    /// A range that cannot be walked.
    Range {
        /// The axis.
        axis: String,
        /// What was written.
        range: String,
        /// What is wrong with it, and what would be right.
        reason: &'static str,
    },
    /// More points than [`Sweep::MOST_POINTS`](super::Sweep::MOST_POINTS).
    TooManyPoints(usize),
    /// A point whose policy is refused.
    Policy {
        /// The settings of the point.
        point: String,
        /// Why.
        invalid: InvalidPolicy,
    },
    /// A point that makes no sense in the scenario.
    Point {
        /// The settings of the point.
        point: String,
        /// Why.
        invalid: InvalidParameter,
    },
}

impl fmt::Display for InvalidSweep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnAxis(text) => {
                write!(
                    f,
                    "\"{text}\" is not an axis; write a name and its values, such as base=50ms..1s"
                )?;
                if text.ends_with('-') {
                    f.write_str(
                        "; put quotes around a name with `->`, or the shell takes `>` for itself",
                    )?;
                }
                Ok(())
            }
            Self::UnknownAxis { name, known } => {
                write!(f, "{name} is not known; ")?;
                let setting = name
                    .rsplit_once('.')
                    .map_or(&**name, |(_, setting)| setting);
                if let Some(meant) = nearest(setting, known.iter().copied()) {
                    write!(f, "did you mean `{meant}`? ")?;
                }
                let all = known.join(", ");
                write!(
                    f,
                    "what can be swept is {all}; at one place as orders->db.attempts"
                )
            }
            Self::Twice(name) => write!(
                f,
                "{name} is given twice; write all its values in one axis, separated by |"
            ),
            Self::Value {
                axis,
                value,
                reason,
            } => write!(f, "{axis}: \"{value}\" is refused: {reason}"),
            Self::Range {
                axis,
                range,
                reason,
            } => write!(f, "{axis}: the range {range} {reason}"),
            Self::TooManyPoints(points) => write!(
                f,
                "the sweep has {points} points; take fewer steps, such as base=50ms..1s:3, so that \
                 there are at most {MOST_POINTS}"
            ),
            Self::Point { point, invalid } => write!(f, "{point}: {invalid}"),
            Self::Policy { point, invalid } => write!(f, "{point}: {invalid}"),
        }
    }
}

impl std::error::Error for InvalidSweep {}
