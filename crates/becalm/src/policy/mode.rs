//! Does a policy act, or only tell what it would do?

/// Whether a policy acts on calls.
///
/// ```
/// use becalm::Policy;
/// use becalm::policy::Mode;
///
/// let orders = Policy::default().mode(Mode::Observe).retrier()?;
/// let failed = orders.retry_blocking(|_| Err::<(), _>(std::io::Error::other("busy")));
/// assert_eq!(failed.unwrap_err().attempts(), 1);
/// assert_eq!(orders.observed().retries, 1); // it would have been repeated
///
/// orders.set_mode(Mode::Enforce);
/// assert_eq!(orders.mode(), Mode::Enforce);
/// # Ok::<(), becalm::policy::InvalidPolicy>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Mode {
    /// It repeats, refuses, cuts and hedges calls as it says.
    #[default]
    Enforce,
    /// Every call runs once, as it would without the policy. The same decision is taken, and
    /// [told](crate::observe::Would) instead of kept.
    Observe,
}
