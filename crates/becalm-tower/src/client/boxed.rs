//! How does a boxed error become one that a classifier takes?

use std::error::Error;
use std::fmt;

/// A boxed error, as tower's time-outs and buffers have it, made an [`Error`] again: put
/// `.map_err(Boxed::new)` between [`RetryLayer`](super::RetryLayer) and such a layer.
///
/// ```
/// use becalm::Policy;
/// use becalm_tower::client::{Boxed, RetryLayer};
/// use tower::ServiceBuilder;
/// let stack = ServiceBuilder::new()
///     .layer(RetryLayer::new(&Policy::default().retrier()?))
///     .map_err(Boxed::new);
/// # let _ = stack;
/// # Ok::<(), becalm::policy::InvalidPolicy>(())
/// ```
#[derive(Debug)]
pub struct Boxed(pub(super) Box<dyn Error + Send + Sync>);

impl Boxed {
    /// The error in this box.
    pub fn new(error: Box<dyn Error + Send + Sync>) -> Self {
        Self(error)
    }

    /// What is in the box, for a classifier or a log that knows its type.
    pub fn get_ref(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.0
    }
}

/// What the error in the box says.
impl fmt::Display for Boxed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for Boxed {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}
