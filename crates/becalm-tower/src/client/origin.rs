//! Is this request for a server that is known? By scheme, host and port.

use std::fmt;
use std::str::FromStr;

use http::Uri;

/// A server: scheme, host and port (RFC 6454 section 4), such as `https://orders.internal:8443`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    scheme: String,
    host: String,
    port: u16,
}

impl Origin {
    /// The server that a request of this URI goes to; `None` where it does not say.
    pub(super) fn of(uri: &Uri) -> Option<Self> {
        let scheme = uri.scheme_str()?.to_ascii_lowercase();
        let default = match &*scheme {
            "http" => Some(80),
            "https" => Some(443),
            _ => None,
        };
        Some(Self {
            host: uri.host()?.to_ascii_lowercase(),
            port: uri.port_u16().or(default)?,
            scheme,
        })
    }
}

/// The text is no origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidOrigin {
    text: String,
}

impl fmt::Display for InvalidOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text } = self;
        write!(
            f,
            "`{text}` is no origin: write scheme, host and, if it is not the scheme's own, port, such as \
             https://orders.internal:8443, without a path"
        )
    }
}

impl std::error::Error for InvalidOrigin {}

impl FromStr for Origin {
    type Err = InvalidOrigin;

    fn from_str(text: &str) -> Result<Self, InvalidOrigin> {
        let uri = text.parse::<Uri>().ok();
        let is_bare = |uri: &Uri| {
            let has_user = uri.authority().is_some_and(|it| it.as_str().contains('@'));
            uri.path_and_query().is_none_or(|path| path == "/") && !has_user
        };
        let origin = uri.filter(is_bare).and_then(|uri| Self::of(&uri));
        origin.ok_or_else(|| InvalidOrigin {
            text: text.to_owned(),
        })
    }
}
