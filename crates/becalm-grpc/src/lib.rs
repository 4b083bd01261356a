//! gRPC calls that retry without starting a storm, and gRPC's own configuration of retries.
//!
//! [`client`] has the layer around a channel of tonic (feature `tonic`, on by default). [`service_config`] reads a gRPC service config: what a channel of gRPC's own clients retries, hedges and
//! throttles, as policies of [`becalm`]. Everything that is decided is decided there.
//!
//! ```
//! # #[cfg(feature = "tonic")]
//! # fn run() -> Result<(), Box<dyn std::error::Error>> {
//! use becalm_grpc::{Layer, Policy, client::RetryLayer};
//! use tonic::transport::Channel;
//!
//! let channel = Channel::from_static("http://orders.internal:50051").connect_lazy();
//! let layer = RetryLayer::new(&Policy::default().retrier()?).idempotent(["/shop.v1.Orders/Get"])?;
//! let channel = layer.layer(channel); // for `OrdersClient::new(channel)`
//! # let _ = channel;
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

#[cfg(feature = "tonic")]
pub mod client;
pub mod service_config;

pub use becalm::{self, Policy, Retrier};
#[cfg(feature = "tonic")]
pub use tonic;
#[cfg(feature = "tonic")]
pub use tower_layer::Layer;
