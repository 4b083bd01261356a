//! What is one attempt in a trace? A client span, as OpenTelemetry has it.

use std::fmt;

use ::http::{HeaderMap, Method, StatusCode, Uri};
use tracing::field::{Empty, display};

use super::answered::code_name;
use super::grpc::{grpc_code, is_grpc};

/// A client span of one HTTP request, by the semantic conventions of OpenTelemetry for HTTP (stable since 1.23,
/// *HTTP client span*), inside the span of the caller; for drivers.
///
/// | field | |
/// |---|---|
/// | `otel.name`, `http.request.method` | the method; one that HTTP does not know is `HTTP` and `_OTHER`, with `http.request.method_original` |
/// | `otel.kind` | `client` |
/// | `url.full` | without user, password and query, which may hold secrets |
/// | `server.address`, `server.port` | as the address names them |
/// | `http.request.resend_count` | how often the request was sent before; absent the first time |
/// | `http.response.status_code` | of the answer, if there is one |
/// | `rpc.grpc.status_code` | of an answer of gRPC that is nothing but trailers |
/// | `error.type`, `otel.status_code` | the status from 400 on, the name of gRPC's code, or the type of the error; `ERROR` |
///
/// A request that is cut by a time-out, or beaten by its hedge, has none of the last four. Level info, target `becalm`.
#[derive(Debug, Clone)]
pub struct ClientSpan(tracing::Span);

impl ClientSpan {
    /// Begins the span of a request that was sent so often before.
    pub fn new(method: &Method, uri: &Uri, resent: u32) -> Self {
        let known = method_name(method);
        let resent = (resent > 0).then_some(resent);
        Self(tracing::info_span!(
            target: "becalm",
            "attempt",
            otel.name = known.unwrap_or("HTTP"),
            otel.kind = "client",
            http.request.method = known.unwrap_or("_OTHER"),
            http.request.method_original = known.is_none().then(|| display(method)),
            url.full = %Address(uri),
            server.address = uri.host(),
            server.port = port(uri),
            http.request.resend_count = resent,
            http.response.status_code = Empty,
            rpc.grpc.status_code = Empty,
            error.r#type = Empty,
            otel.status_code = Empty,
        ))
    }

    /// Runs this inside the span: a poll of the request.
    pub fn enter<T>(&self, run: impl FnOnce() -> T) -> T {
        self.0.in_scope(run)
    }

    /// Records how the request ended: with the head of an answer, or with an error.
    pub fn end<E>(&self, ended: Result<(StatusCode, &HeaderMap), &E>) {
        match ended {
            Ok((status, headers)) => {
                let number = status.as_u16();
                self.0.record("http.response.status_code", number);
                let code = grpc_code(headers).filter(|_| is_grpc(headers));
                if let Some(code) = code {
                    self.0.record("rpc.grpc.status_code", code);
                }
                match code.and_then(code_name) {
                    _ if number >= 400 => self.0.record("error.type", display(number)),
                    Some(name) => self.0.record("error.type", name),
                    None => return,
                };
            }
            Err(_) => {
                self.0.record("error.type", std::any::type_name::<E>());
            }
        }
        self.0.record("otel.status_code", "ERROR");
    }
}

/// Those of RFC 9110 section 9 and PATCH (RFC 5789).
fn method_name(method: &Method) -> Option<&str> {
    let known = [
        Method::GET,
        Method::HEAD,
        Method::POST,
        Method::PUT,
        Method::DELETE,
        Method::CONNECT,
        Method::OPTIONS,
        Method::TRACE,
        Method::PATCH,
    ];
    known.contains(method).then(|| method.as_str())
}

fn port(uri: &Uri) -> Option<u16> {
    let default = match uri.scheme_str() {
        Some("http") => Some(80),
        Some("https") => Some(443),
        _ => None,
    };
    uri.port_u16().or(default)
}

struct Address<'a>(&'a Uri);

impl fmt::Display for Address<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(uri) = self;
        if let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) {
            let named = authority.as_str();
            let server = named.rsplit('@').next().unwrap_or(named);
            write!(f, "{scheme}://{server}")?;
        }
        f.write_str(uri.path())
    }
}
