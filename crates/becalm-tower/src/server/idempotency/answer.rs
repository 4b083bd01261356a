//! What is kept of an answer, and which answers are?

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use becalm::Operation;
use becalm::classify::{Class, Verdict};
use becalm::http::{Exchange, classify_status, grpc_code, is_grpc};
use bytes::Bytes;
use http::header::{self, HeaderName};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use http_body::Body;

use crate::server::body::BufferedBody;
use crate::server::fields::{bytes_of, own};

/// An answer that is kept for repetitions of its request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// Its headers, but for those that speak of one connection or one moment.
    pub headers: HeaderMap,
    /// Its body; `None` where that was longer than is kept. A repetition is then told that its
    /// operation is done, and nothing more.
    pub body: Option<Bytes>,
    /// Its trailers, if it had any.
    pub trailers: Option<HeaderMap>,
}

/// Marks an answer that was given before.
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

const STATUS: HeaderName = HeaderName::from_static("grpc-status");

/// What is said to one connection (RFC 9110 section 7.6.1), at one moment, or of one message's length.
const NOT_REPLAYED: [HeaderName; 11] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::CONTENT_LENGTH,
    header::DATE,
    header::AGE,
    HeaderName::from_static("server-timing"),
];

impl Answer {
    /// An answer as a store has kept it.
    pub fn new(status: StatusCode, headers: HeaderMap, body: Option<Bytes>) -> Self {
        Self {
            status,
            headers,
            body,
            trailers: None,
        }
    }

    /// How many bytes its body and its fields take.
    pub(super) fn size(&self) -> usize {
        let fields = [Some(&self.headers), self.trailers.as_ref()];
        let fields = fields.into_iter().flatten().map(bytes_of);
        self.body.as_ref().map_or(0, Bytes::len) + fields.sum::<usize>()
    }

    /// Whether the operation has not been done, because the request was not one of this server's: it would be refused again.
    /// A store need not keep it for long.
    pub fn did_nothing(&self) -> bool {
        let fields = [Some(&self.headers), self.trailers.as_ref()];
        let mut fields = fields.into_iter().flatten();
        let grpc = fields.find_map(|fields| fields.get("grpc-status"));
        match grpc.map(HeaderValue::as_bytes) {
            // INVALID_ARGUMENT, NOT_FOUND, PERMISSION_DENIED, UNIMPLEMENTED, without a message before.
            Some(status) => {
                self.body.as_ref().is_some_and(Bytes::is_empty)
                    && matches!(status, b"3" | b"5" | b"7" | b"12")
            }
            None => matches!(
                self.status.as_u16(),
                400 | 403 | 404 | 405 | 406 | 410 | 411 | 413 | 414 | 415 | 417 | 431
            ),
        }
    }

    /// Nobody knows whether the operation is done. No other answer with this status is kept.
    pub(super) fn unknown() -> Self {
        Self::new(StatusCode::GATEWAY_TIMEOUT, HeaderMap::new(), None)
    }

    /// Whether nobody knows if the operation is done, since its handler did not end in time. Its [status](Self::status) is 504.
    pub fn is_unknown(&self) -> bool {
        self.status == StatusCode::GATEWAY_TIMEOUT
    }

    /// That it was given, and no more.
    pub(super) fn without_body(&self) -> Self {
        Self::new(self.status, HeaderMap::new(), None)
    }

    /// What is to be kept of this answer; `None` where a repetition is to be done anew.
    ///
    /// Who gets one of these sends the request again to have it done: a fault of the server (5xx), or "come again"
    /// (408, 425, 429, and 401 with other credentials), or what each is [in gRPC](is_done_anew). So would who gets a body that broke
    /// off.
    pub(super) fn to_keep<D>(response: &Response<BufferedBody<D>>) -> Option<Self>
    where
        D: Body<Data = Bytes> + Unpin,
    {
        let status = response.status();
        let verdict = classify_status(status, Exchange::new(Operation::Idempotent, 1));
        let asks_again = matches!(verdict, Verdict::Failure(f) if f.class != Class::Permanent);
        let is_refused = status.is_server_error() || status == StatusCode::UNAUTHORIZED;
        if asks_again || is_refused || response.body().is_broken() {
            return None;
        }
        let all = response.body().all();
        if status.is_success() && is_grpc(response.headers()) {
            let code = all.map(|(body, trailers)| grpc_end(response.headers(), body, trailers));
            if code.is_some_and(is_done_anew) {
                return None;
            }
        }
        let mut headers = response.headers().clone();
        let named = headers.get_all(header::CONNECTION).iter();
        let named: Vec<String> = named
            .filter_map(|line| line.to_str().ok())
            .flat_map(|line| line.split(',').map(|name| name.trim().to_owned()))
            .collect();
        for name in named.iter().map(String::as_str) {
            headers.remove(name);
        }
        for name in NOT_REPLAYED {
            headers.remove(name);
        }
        let mut answer = Self::new(status, own(&headers), all.map(|(body, _)| body.clone()));
        answer.trailers = all.and_then(|(_, trailers)| trailers.map(own));
        Some(answer)
    }

    /// The answer once more; `None` where it is not all there.
    pub(super) fn replay<D: Body>(&self) -> Option<Response<BufferedBody<D>>> {
        let body = BufferedBody::whole(self.body.clone()?, self.trailers.clone());
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers.clone();
        let yes = HeaderValue::from_static("true");
        response.headers_mut().insert(REPLAYED, yes);
        Some(response)
    }
}

/// Whether a call of gRPC that ended with this code is done anew: where its status in HTTP (googleapis,
/// `google/rpc/code.proto`) asks for it.
const fn is_done_anew(code: u8) -> bool {
    match code {
        0 | 3 | 5 | 6 | 7 | 9 | 11 => false,
        // 499, 500, 504, 429, 409 of a change that was rolled back, 501, 500, 503, 500, 401.
        _ => true,
    }
}

/// With which code a call of gRPC has ended: in its trailers, or its head where there is nothing else, or at the end of the body of
/// gRPC-Web. One without is broken, and 2, `UNKNOWN`.
fn grpc_end(head: &HeaderMap, body: &Bytes, trailers: Option<&HeaderMap>) -> u8 {
    let in_head = || grpc_code(head).filter(|_| body.is_empty());
    let code = trailers.and_then(grpc_code).or_else(in_head);
    let is_text = head.get(header::CONTENT_TYPE).is_some_and(|kind| {
        let kind = kind.as_bytes().get(..WEB_TEXT.len());
        kind.is_some_and(|kind| kind.eq_ignore_ascii_case(WEB_TEXT))
    });
    let in_body = || {
        if is_text {
            web_code(&decoded(body)?)
        } else {
            web_code(body)
        }
    };
    code.or_else(in_body).unwrap_or(2)
}

const WEB_TEXT: &[u8] = b"application/grpc-web-text";

/// A body of gRPC-Web as text: one or more texts of base64, each with its own end.
fn decoded(body: &[u8]) -> Option<Vec<u8>> {
    let mut all = Vec::with_capacity(body.len() / 4 * 3);
    for four in body.chunks(4) {
        STANDARD.decode_vec(four, &mut all).ok()?;
    }
    Some(all)
}

/// The code in the last frame of a body of gRPC-Web: a byte of flags of which the highest says "trailers", the length in four, and
/// trailers as HTTP/1 writes them (grpc/grpc, `doc/PROTOCOL-WEB.md`).
fn web_code(mut body: &[u8]) -> Option<u8> {
    while let [flags, rest @ ..] = body {
        let (length, rest) = rest.split_first_chunk()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        let (frame, rest) = rest.split_at_checked(length)?;
        if flags & 0x80 != 0 {
            let mut lines = frame.split(|byte| *byte == b'\n');
            let value = lines.find_map(|line| {
                let (name, value) = line.split_at_checked("grpc-status:".len())?;
                let is_status = name.eq_ignore_ascii_case(b"grpc-status:");
                is_status.then(|| value.trim_ascii())
            })?;
            let value = HeaderValue::from_bytes(value).ok()?;
            return grpc_code(&[(STATUS, value)].into_iter().collect());
        }
        body = rest;
    }
    None
}
