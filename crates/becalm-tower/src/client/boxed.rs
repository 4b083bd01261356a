//! How does a boxed error become one that a classifier takes?

use std::error::Error;
use std::fmt;

/// A boxed error, as tower's time-outs and buffers have it, made an [`Error`] again: put
/// `.map_err(Boxed::new)` between [`RetryLayer`](super::RetryLayer) and such a layer.
///
/// ```
/// use becalm_tower::{Policy, Service, bytes::Bytes, client::{Boxed, RetryLayer}, http::Request};
/// use http_body_util::Empty;
/// use hyper_util::{client::legacy::Client, rt::TokioExecutor};
/// use std::time::Duration;
/// use tower::ServiceBuilder;
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// let mut client = ServiceBuilder::new()
///     .layer(RetryLayer::new(&Policy::default().retrier()?))
///     .map_err(Boxed::new)
///     .timeout(Duration::from_secs(10)) // of each attempt
///     .service(Client::builder(TokioExecutor::new()).build_http());
/// let request = Request::get("http://shop.example/orders/17").body(Empty::<Bytes>::new())?;
/// println!("{}", client.call(request).await?.status());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Boxed(pub(super) Box<dyn Error + Send + Sync>);

impl Boxed {
    /// The error in this box. One that is a `Boxed` already, as [`CollectLayer`](super::CollectLayer) has them, stays as it is.
    pub fn new(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        error.into().downcast().map_or_else(Self, |boxed| *boxed)
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
