//! Is there a retry around this one, and what has it decided?

/// What a retry inside another retry of the same task or thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Nested {
    /// The inner one runs once and leaves the repetition to the outer one. The default: 4 x 4 x 4
    /// attempts are 64.
    #[default]
    Suppress,
    /// The inner one retries as if it stood alone.
    Allow,
    /// The inner one retries, and each of its retries is also paid from the outer one's budget.
    ShareBudget,
}
