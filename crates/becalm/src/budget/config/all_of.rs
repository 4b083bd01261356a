//! Which kinds must agree to a retry?

use super::{Budget, Concurrency, Grpc, InvalidBudget, PerMinute, Ratio, Tokens, Window};

/// Several kinds, each at most once, all of which must grant a retry.
///
/// A retry that one of them denies takes nothing from the others. Made by
/// [`Budget::and`](super::Budget::and).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct AllOf {
    /// Retries are a share of the calls that succeed.
    pub ratio: Option<Ratio>,
    /// Retries are a share of first tries.
    pub first_tries: Option<Ratio>,
    /// Retries cost tokens.
    pub tokens: Option<Tokens>,
    /// No retries while failures have outweighed successes.
    pub grpc: Option<Grpc>,
    /// Retries are a share of the first tries of the last seconds.
    pub window: Option<Window>,
    /// Retries in progress are a share of the calls in progress.
    pub concurrency: Option<Concurrency>,
    /// So many retries a minute.
    pub per_minute: Option<PerMinute>,
    /// Some kind was named twice, which is refused rather than lost.
    twice: bool,
}

impl AllOf {
    /// A share of first tries and so many retries a minute: for a preset, which is a constant.
    pub(crate) const fn of_first_tries_and_per_minute(ratio: f64, retries: u32) -> Self {
        Self {
            ratio: None,
            first_tries: Some(Ratio {
                ratio,
                ..Ratio::OF_FIRST_TRIES
            }),
            tokens: None,
            grpc: None,
            window: None,
            concurrency: None,
            per_minute: Some(PerMinute { retries }),
            twice: false,
        }
    }

    /// These kinds and those.
    pub(super) fn with(mut self, other: Budget) -> Self {
        self.twice |= match other {
            Budget::None => false,
            Budget::Ratio(kind) => self.ratio.replace(kind).is_some(),
            Budget::FirstTries(kind) => self.first_tries.replace(kind).is_some(),
            Budget::Tokens(kind) => self.tokens.replace(kind).is_some(),
            Budget::Grpc(kind) => self.grpc.replace(kind).is_some(),
            Budget::Window(kind) => self.window.replace(kind).is_some(),
            Budget::Concurrency(kind) => self.concurrency.replace(kind).is_some(),
            Budget::PerMinute(kind) => self.per_minute.replace(kind).is_some(),
            Budget::AllOf(all) => {
                self = all.each().fold(self, Self::with);
                all.twice
            }
        };
        self
    }

    /// The kinds one by one, in the order in which they are written.
    pub(crate) fn each(self) -> impl Iterator<Item = Budget> {
        let kinds = [
            self.ratio.map(Budget::Ratio),
            self.first_tries.map(Budget::FirstTries),
            self.tokens.map(Budget::Tokens),
            self.grpc.map(Budget::Grpc),
            self.window.map(Budget::Window),
            self.concurrency.map(Budget::Concurrency),
            self.per_minute.map(Budget::PerMinute),
        ];
        kinds.into_iter().flatten()
    }

    /// Whether nothing is bounded.
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }

    pub(super) fn validate(self) -> Result<(), InvalidBudget> {
        if self.twice {
            Err(InvalidBudget::Twice)
        } else if self.is_empty() {
            Err(InvalidBudget::Empty)
        } else {
            self.each().try_for_each(Budget::validate)
        }
    }
}
