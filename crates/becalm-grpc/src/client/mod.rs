//! What stands around a channel of tonic so that its calls are repeated right?
//!
//! [`RetryLayer`] repeats calls; the policies of its methods bring throttles, breakers, hedges and time limits along.
//! [`Elsewhere`] stands in place of the channel, and makes another where its connection is dead without a word.
//! [`RetryOptions`], in the extensions of a `tonic::Request`, is what one call may set for itself.

mod answer;
mod attempt;
mod headers;
mod layer;
mod methods;
mod record;
mod retry;
mod status;
mod transport;
mod whole;

pub use becalm_tower::client::{Elsewhere, RetryOptions};
pub use layer::RetryLayer;
pub use record::Record;
pub use retry::{Retry, RetryFuture};
pub use transport::ByStatus;
