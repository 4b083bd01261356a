//! What do all requests of a client share?

use std::sync::Arc;

use becalm::Scope;
use becalm::http::{self as semantics, Judge, Origin, Retriers};
use becalm::scope::ScopeHeader;
use becalm::time::Sleeper;
use reqwest::header::HeaderName;
use reqwest::{Request, Url};

use super::below::Below;
use super::credentials::Credentials;

pub(super) static IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
static SCOPE: HeaderName = HeaderName::from_static(ScopeHeader::NAME);

/// The client below, the retriers, the settings.
#[derive(Debug, Clone)]
pub(super) struct Shared {
    pub below: Below,
    pub retriers: Retriers,
    pub settings: Arc<Settings>,
}

#[derive(Debug, Default)]
pub(super) struct Settings {
    pub answers_are_errors: bool,
    pub follows_no_redirects: bool,
    #[cfg(feature = "tracing")]
    pub has_spans: bool,
    /// The servers that hear of the scope.
    pub origins: Vec<Origin>,
    pub credentials: Vec<Credentials>,
    pub judge: Option<Judge>,
}

/// Whether a request to this address goes to this server.
pub(super) fn is_of(origin: &Origin, url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    origin.is(url.scheme(), host, url.port())
}

/// Tells a server that is known of the attempt that runs; true if it was told anything.
pub(super) fn write_scope(
    origins: &[Origin],
    sleeper: &dyn Sleeper,
    request: &mut Request,
) -> bool {
    if origins.iter().any(|origin| is_of(origin, request.url())) {
        let (now, clock) = (sleeper.now(), sleeper.clock());
        semantics::write_scope(request.headers_mut(), Scope::current(), now, clock);
        request.headers().contains_key(&SCOPE)
    } else {
        request.headers_mut().remove(&SCOPE);
        false
    }
}
