//! What does a retry inside a retry do?

use super::Scope;

/// What a retrier does while retriers around it, in this task or in the processes that call, may
/// retry as well.
///
/// Three layers of 4 attempts each: `nearest` makes at most 10 attempts at the bottom, `outermost`
/// 4, `allow` 64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Nested {
    /// The layer nearest to the failure retries while every layer above is at its first attempt.
    /// Once a layer above repeats, this one runs once. The default: n layers of k attempts make at
    /// most n (k - 1) + 1 attempts at the bottom, and each layer retries what it alone understands.
    #[default]
    Nearest,
    /// This retrier runs once wherever a layer above may still repeat the work.
    Outermost,
    /// This retrier retries as if it stood alone: attempts multiply.
    Allow,
    /// This retrier retries, and the budget of the retrier above pays: that of the outermost one
    /// where each in between shares too. Its own budget pays where the two are on different clocks
    /// or the outer one is in another process.
    ShareBudget,
}

impl Nested {
    /// Whether a retrier with this setting runs once inside these layers.
    ///
    /// A layer that may not repeat does not suppress: of what it runs, another may.
    pub(crate) const fn runs_once_in(self, above: Scope) -> bool {
        match self {
            Self::Nearest => above.is_repeated_above() && !above.is_first_try(),
            Self::Outermost => above.is_repeated_above(),
            Self::Allow | Self::ShareBudget => false,
        }
    }
}
