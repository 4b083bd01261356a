//! What stands around an HTTP client so that its requests are repeated right?
//!
//! [`RetryLayer`] repeats requests; the policy of its retrier brings a breaker, hedges and time
//! limits along (a policy of one attempt with a breaker is a breaker alone). [`ReplayBody`] is the body that
//! the service below gets, and [`RetryOptions`] what one request may set for itself. [`ScopeLayer`],
//! below it, tells servers of the attempt.

mod attempt;
mod body;
mod body_error;
mod drain;
mod failed;
mod hosts;
mod kept;
mod layer;
mod options;
mod origin;
mod retry;
mod scope;
mod source;
mod transport;
mod waiting;

pub use body::ReplayBody;
pub use body_error::BodyError;
pub use failed::{Failed, NoAnswer};
pub use layer::RetryLayer;
pub use options::RetryOptions;
pub use origin::{InvalidOrigin, Origin};
pub use retry::{Retry, RetryFuture};
pub use scope::{ScopeFuture, ScopeLayer, WithScope};
pub use transport::{Boxed, Transport};
