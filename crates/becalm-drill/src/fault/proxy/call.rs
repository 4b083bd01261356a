//! Of which call is a request an attempt?

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;

use http::request::Parts;

/// What says it, and what it says. Two calls are taken for one with a chance of one in 2^64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// `X-Request-Id`, with method and path: what one request calls on the way has the same id.
    RequestId(u64),
    /// The trace of `traceparent` (W3C Trace Context, section 3.2.2.3), with method and path.
    Trace(u64),
    /// Method, path and address of the client alone.
    Client(u64),
}

impl Call {
    pub fn of(request: &Parts, client: IpAddr) -> Self {
        let mut hasher = DefaultHasher::new();
        request.method.hash(&mut hasher);
        request.uri.path_and_query().hash(&mut hasher);
        let mut with = |what: &[u8]| {
            what.hash(&mut hasher);
            hasher.finish()
        };
        let header = |name: &str| Some(request.headers.get(name)?.as_bytes());
        if let Some(id) = header("x-request-id").filter(|it| !it.is_empty()) {
            return Self::RequestId(with(id));
        }
        if let Some(trace) = header("traceparent").and_then(trace) {
            return Self::Trace(with(trace));
        }
        match client {
            IpAddr::V4(it) => Self::Client(with(&it.octets())),
            IpAddr::V6(it) => Self::Client(with(&it.octets())),
        }
    }

    pub const fn key(self) -> u64 {
        match self {
            Self::RequestId(key) | Self::Trace(key) | Self::Client(key) => key,
        }
    }

    /// Its place in [`crate::fault::Seen::identified`].
    pub const fn kind(self) -> usize {
        match self {
            Self::RequestId(_) => 0,
            Self::Trace(_) => 1,
            Self::Client(_) => 2,
        }
    }
}

/// `version-trace-parent-flags`: the 32 digits of the trace, which are not all 0.
fn trace(text: &[u8]) -> Option<&[u8]> {
    let trace = text.split(|it| *it == b'-').nth(1)?;
    let is_one = trace.len() == 32
        && trace.iter().all(u8::is_ascii_hexdigit)
        && trace.iter().any(|it| *it != b'0');
    is_one.then_some(trace)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;

    const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    const OTHER_SPAN: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b8-00";
    const NO_TRACE: &str = "00-00000000000000000000000000000000-00f067aa0ba902b7-01";

    fn call(path: &str, headers: &[(&str, &str)], client: u8) -> Call {
        let mut request = Request::get(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        Call::of(&parts, [127, 0, 0, client].into())
    }

    #[test]
    fn an_id_is_believed_before_a_trace_and_a_trace_before_an_address() {
        let id = ("x-request-id", "a");
        let one = call("/", &[id, ("traceparent", TRACE)], 1);
        assert_eq!(one.kind(), 0);
        assert_eq!(one, call("/", &[id], 2));
        assert_ne!(one, call("/other", &[id], 1));
        assert_ne!(one, call("/", &[("x-request-id", "b")], 1));

        let one = call("/", &[("traceparent", TRACE)], 1);
        assert_eq!(one.kind(), 1);
        assert_eq!(one, call("/", &[("traceparent", OTHER_SPAN)], 2));

        for none in ["", "00", "00-4bf9-1-1", NO_TRACE] {
            let one = call("/", &[("traceparent", none), ("x-request-id", "")], 1);
            assert_eq!((one.kind(), one), (2, call("/", &[], 1)), "{none}");
            assert_ne!(one, call("/", &[], 2));
        }
    }
}
