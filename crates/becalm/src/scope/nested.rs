//! What does a retry inside a retry do?

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
    /// The inner one retries, and its retries are paid from the outer one's budget: of the outermost
    /// where each in between shares too, and from its own where the two are on different clocks
    /// or the outer one is in another process.
    ShareBudget,
}
