//! How often does a server see a request whose first attempt fails, at every point where it can?
//!
//! By RFC 9110 section 9.2.2 a request is repeated only where its method is idempotent, or where it is
//! known not to have been applied: it was never sent, or the server has said that it refused it (425,
//! RFC 8470). A key that the server knows makes any method idempotent
//! (draft-ietf-httpapi-idempotency-key-header-07). What was answered well is never repeated.

use hyper::Method;

use crate::server::{Does, Server, Version};
use crate::within;

/// Where the first attempt fails, and how often the server's handler sees the request: if it may be
/// repeated, and if not.
const POINTS: [(Point, usize, usize); 9] = [
    (Point::BeforeConnect, 1, 1),             // it was never sent
    (Point::Server(Does::CloseAtOnce), 1, 0), // no proof: the bytes have left
    (Point::Server(Does::CloseInRequest), 2, 1),
    (Point::Server(Does::CloseAfterRequest), 2, 1),
    (Point::Server(Does::CloseInResponse), 1, 1), // the caller has the answer
    (Point::Server(Does::Answer(503)), 2, 1),
    (Point::Server(Does::Answer(425)), 2, 2), // refused in place of being done
    (Point::Server(Does::Answer(404)), 1, 1),
    (Point::Server(Does::AnswerEarly(503)), 2, 1),
];

/// Where an attempt fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Point {
    /// Nobody listens.
    BeforeConnect,
    /// The server does this.
    Server(Does),
}

/// The method, whether it is idempotent, and whether it carries a body here.
pub const METHODS: [(&str, bool, bool); 9] = [
    ("GET", true, false),
    ("HEAD", true, false),
    ("OPTIONS", true, false),
    ("TRACE", true, false),
    ("PUT", true, true),
    ("DELETE", true, true),
    ("POST", false, true),
    ("PATCH", false, true),
    ("FROBNICATE", false, true),
];

/// A request whose first attempt fails.
#[derive(Debug)]
pub struct Case {
    /// The version that both ends speak.
    pub version: Version,
    /// Where it fails.
    pub point: Point,
    /// The method.
    pub method: Method,
    /// How long its body is; 0 for none.
    pub length: usize,
    /// Whether it has an `Idempotency-Key`.
    pub has_key: bool,
}

impl Case {
    fn new(version: Version, point: Point, method: &str, has_body: bool, has_key: bool) -> Self {
        Self {
            version,
            point,
            method: method.parse().expect("a method"),
            length: if has_body { 32 * 1024 } else { 0 },
            has_key,
        }
    }

    /// How many connections are refused first.
    pub fn refused(&self) -> usize {
        usize::from(self.point == Point::BeforeConnect)
    }

    /// Whether the body of an answer breaks off.
    pub fn is_cut(&self) -> bool {
        self.point == Point::Server(Does::CloseInResponse) && self.method != Method::HEAD
    }

    /// How often the server sees the request that `send` sends. Once it has the head of an answer it tells
    /// the server of a case that [is cut](Self::is_cut) to [hang up](Server::hang_up).
    pub async fn seen(&self, send: impl AsyncFn(&Self, &Server)) -> usize {
        let script = match &self.point {
            Point::BeforeConnect => None,
            Point::Server(does) => Some(does.clone()),
        };
        let server = Server::start(self.version, script).await;
        within(send(self, &server)).await;
        server.count()
    }
}

/// Every method at every point, with a key and without one, over this version.
///
/// # Panics
///
/// A server sees a request too often or too rarely.
pub async fn everywhere(version: Version, send: impl AsyncFn(&Case, &Server)) {
    for (point, if_repeatable, if_not) in POINTS {
        for (name, is_idempotent, has_body) in METHODS {
            if point == Point::Server(Does::CloseInRequest) && !has_body {
                continue; // there is no middle
            }
            for has_key in [false, true] {
                let case = Case::new(version, point.clone(), name, has_body, has_key);
                let is_repeatable = is_idempotent || has_key;
                let expected = if is_repeatable { if_repeatable } else { if_not };
                assert_eq!(case.seen(&send).await, expected, "{case:?}");
            }
        }
    }
}

/// Every method where the server refuses the stream of HTTP/2: it is not processed (RFC 9113 section 8.7).
/// To a client that does not understand it, it is no proof.
///
/// # Panics
///
/// A server sees a request too often or too rarely.
pub async fn refused_streams(has_proof: bool, send: impl AsyncFn(&Case, &Server)) {
    for (name, is_idempotent, has_body) in METHODS {
        let point = Point::Server(Does::RefuseStream);
        let case = Case::new(Version::Http2, point, name, has_body, false);
        let is_repeated = is_idempotent || has_proof;
        let expected = 1 + usize::from(is_repeated);
        assert_eq!(case.seen(&send).await, expected, "{case:?}");
    }
}
