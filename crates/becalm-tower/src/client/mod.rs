//! What stands around an HTTP client so that its requests are repeated right?
//!
//! [`RetryLayer`] repeats requests; the policy of its retrier brings a breaker, hedges and time
//! limits along, in their right order ([`RetryLayer::hedging`] and [`RetryLayer::breaking`] have one of them alone).
//! [`ReplayBody`] is the body that the service below gets, and [`RetryOptions`] what one request may set for itself.
//!
//! Below it, each where it is wanted: [`ScopeLayer`] tells servers of the attempt, [`CollectLayer`] has answers
//! repeated that break off, and `SpanLayer` (feature `tracing`) makes a span of each attempt. Below the client, `Tunnel`
//! (feature `hyper-util`) is a connector through a proxy. [`Elsewhere`] is the client itself, where many requests share a
//! connection that may be dead without a word.

mod attempt;
mod body;
mod body_error;
mod boxed;
mod collect;
mod drain;
mod elsewhere;
mod failed;
mod head;
mod kept;
mod knows;
mod layer;
mod options;
mod reading;
mod retry;
mod scope;
mod source;
#[cfg(feature = "tracing")]
mod span;
mod transport;
#[cfg(feature = "hyper-util")]
mod tunnel;
mod unready;
mod waiting;

pub use body::ReplayBody;
pub use body_error::BodyError;
pub use boxed::Boxed;
pub use collect::{BrokenOff, Collect, CollectFuture, CollectLayer, CollectedBody};
pub use elsewhere::{Elsewhere, ElsewhereFuture};
pub use failed::{Failed, NoAnswer};
pub use knows::Knows;
pub use layer::RetryLayer;
pub use options::RetryOptions;
pub use retry::{Retry, RetryFuture};
pub use scope::{ScopeFuture, ScopeLayer, WithScope};
#[cfg(feature = "tracing")]
pub use span::{SpanFuture, SpanLayer, WithSpan};
pub use transport::Transport;
#[cfg(feature = "hyper-util")]
pub use tunnel::Tunnel;
#[doc(hidden)]
pub use unready::Unready;
