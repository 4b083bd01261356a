//! Which kinds must agree to a retry?

use super::{Concurrency, Grpc, InvalidBudget, PerMinute, Ratio, Tokens, Window};

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
    pub(super) fn joined(mut self, other: Self) -> Self {
        self.twice |= other.twice;
        join(&mut self.ratio, other.ratio, &mut self.twice);
        join(&mut self.first_tries, other.first_tries, &mut self.twice);
        join(&mut self.tokens, other.tokens, &mut self.twice);
        join(&mut self.grpc, other.grpc, &mut self.twice);
        join(&mut self.window, other.window, &mut self.twice);
        join(&mut self.concurrency, other.concurrency, &mut self.twice);
        join(&mut self.per_minute, other.per_minute, &mut self.twice);
        self
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
            self.validate_each()
        }
    }

    pub(super) fn validate_each(self) -> Result<(), InvalidBudget> {
        self.ratio.map_or(Ok(()), Ratio::validate)?;
        self.first_tries.map_or(Ok(()), Ratio::validate)?;
        self.tokens.map_or(Ok(()), Tokens::validate)?;
        self.grpc.map_or(Ok(()), Grpc::validate)?;
        self.window.map_or(Ok(()), Window::validate)?;
        self.concurrency.map_or(Ok(()), Concurrency::validate)?;
        self.per_minute.map_or(Ok(()), PerMinute::validate)
    }
}

fn join<T>(mine: &mut Option<T>, other: Option<T>, twice: &mut bool) {
    *twice |= mine.is_some() && other.is_some();
    if other.is_some() {
        *mine = other;
    }
}
