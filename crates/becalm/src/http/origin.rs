//! Is this request for a server that is known? By scheme, host and port.

use std::fmt;
use std::str::FromStr;
use std::string::{String, ToString};

use ::http::Uri;

/// A server: scheme, host and port (RFC 6454 section 4), such as `https://orders.internal:8443`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    scheme: String,
    host: String,
    port: u16,
}

impl Origin {
    /// Whether a request to this scheme, host and port goes to this server. Without a port it goes to the scheme's own.
    pub fn is(&self, scheme: &str, host: &str, port: Option<u16>) -> bool {
        self.scheme.eq_ignore_ascii_case(scheme)
            && self.host.eq_ignore_ascii_case(host)
            && port.or(own_port(&self.scheme)) == Some(self.port)
    }

    /// Whether a request of this URI goes to this server: not if it does not say where it goes.
    pub fn is_of(&self, uri: &Uri) -> bool {
        let named = uri.scheme_str().zip(uri.host());
        named.is_some_and(|(scheme, host)| self.is(scheme, host, uri.port_u16()))
    }
}

fn own_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
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
        let read = || {
            let uri = text.parse::<Uri>().ok()?;
            let is_bare = uri.path_and_query().is_none_or(|path| path == "/")
                && !uri.authority()?.as_str().contains('@')
                && !text.contains('#');
            let scheme = uri.scheme_str()?.to_ascii_lowercase();
            let own_port = own_port(&scheme)?;
            is_bare.then(|| Self {
                host: uri.host().unwrap_or_default().to_ascii_lowercase(),
                port: uri.port_u16().unwrap_or(own_port),
                scheme,
            })
        };
        read().ok_or_else(|| InvalidOrigin {
            text: text.to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_scheme_host_and_port_and_nothing_else() {
        let origin: Origin = "HTTP://Shop.example/".parse().expect("an origin");
        assert_eq!(Ok(&origin), "http://shop.example:80".parse().as_ref());
        let is_of = |text: &str| origin.is_of(&text.parse().expect(text));
        for text in [
            "http://shop.example/orders?a",
            "HTTP://SHOP.example:80",
            "http://me@shop.example",
        ] {
            assert!(is_of(text), "{text}");
        }
        for text in [
            "https://shop.example",
            "http://shop.example:81",
            "http://a.shop.example",
            "/orders",
        ] {
            assert!(!is_of(text), "{text}");
        }
    }

    #[test]
    fn what_is_no_origin_is_refused_with_a_sentence() {
        for text in [
            "",
            "shop.example",
            "/orders",
            "http://shop.example/orders",
            "http://shop.example?a",
            "http://shop.example#a",
            "http://a@shop.example",
            "ws://x",
        ] {
            let refused = text.parse::<Origin>().expect_err(text).to_string();
            assert!(
                refused.starts_with(&format!("`{text}` is no origin")),
                "{refused}"
            );
        }
    }
}
