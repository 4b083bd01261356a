//! Where is the primary now? Who knows is asked at each dial, such as the Sentinels of Redis: a failover moves it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;

use redis::{RedisResult, Value};

use crate::login::BoxError;

/// A host, and a port of it.
pub(crate) type Place = (String, u16);
type Asked = Pin<Box<dyn Future<Output = Result<Place, BoxError>> + Send>>;

/// Who knows where the primary is.
#[derive(Clone)]
pub(crate) struct Primary(Arc<dyn Fn() -> Asked + Send + Sync>);

impl Primary {
    pub fn new<F, E>(place: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Place, E>> + Send + 'static,
        E: Into<BoxError>,
    {
        Self(Arc::new(move || {
            let place = place();
            Box::pin(async { place.await.map_err(Into::into) })
        }))
    }

    pub fn ask(&self) -> Asked {
        (self.0)()
    }
}

/// Reads the answer to `ROLE`: what was a primary may be a replica by now, which would answer with old values.
pub(crate) fn leads(role: Value) -> RedisResult<()> {
    let Value::Array(role) = role.extract_error()? else {
        return Ok(());
    };
    match role.first() {
        Some(Value::BulkString(role)) if role != b"master" => {
            let sentence = "the server that was named as the primary is none: a failover goes on, or what names it is behind";
            Err(io::Error::new(io::ErrorKind::ConnectionRefused, sentence).into())
        }
        _ => Ok(()),
    }
}
