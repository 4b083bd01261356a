//! The clients, each as its documentation says, with the same waits.

pub mod judge;
pub mod over_hyper;
pub mod over_reqwest;

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::{Either, Full};
use hyper::body::{Body, Bytes, Frame};
use reqwest::{Method, StatusCode};
use reqwest_middleware::ClientWithMiddleware;
use tower::{Service, ServiceExt};

/// What all of them are told.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// The first wait, and the longest.
    pub base: Duration,
    pub cap: Duration,
    /// How long one attempt may take; `MAX` for any time.
    pub attempt: Duration,
}

pub enum Client {
    Reqwest(reqwest::Client),
    Middleware(ClientWithMiddleware),
    BecalmReqwest(becalm_reqwest::Client),
    Tower(over_hyper::Tower),
    TowerResilience(over_hyper::TowerResilience),
    BecalmTower(over_hyper::BecalmTower),
}

/// What a call is answered with: a status, or nothing.
pub type Answer = Option<StatusCode>;

/// Their names, and the functions that set them up.
pub const NAMES: [(&str, &str); 7] = [
    ("reqwest", "bare"),
    ("reqwest, with its `retry`", "own"),
    ("reqwest-retry", "middleware"),
    ("becalm-reqwest", "becalm_reqwest"),
    ("tower's `retry`", "tower"),
    ("tower-resilience", "tower_resilience"),
    ("becalm-tower", "becalm_tower"),
];

impl Client {
    /// In the order of [`NAMES`].
    pub fn all(times: Times) -> [Self; NAMES.len()] {
        let [bare, own, middleware, becalm_reqwest] = Self::over_reqwest(times);
        [
            bare,
            own,
            middleware,
            becalm_reqwest,
            Self::Tower(over_hyper::tower(times)),
            Self::TowerResilience(over_hyper::tower_resilience(times)),
            Self::BecalmTower(over_hyper::becalm_tower(times)),
        ]
    }

    /// The first of them.
    pub fn over_reqwest(times: Times) -> [Self; 4] {
        [
            Self::Reqwest(over_reqwest::bare(times)),
            Self::Reqwest(over_reqwest::own(times)),
            Self::Middleware(over_reqwest::middleware(times)),
            Self::BecalmReqwest(over_reqwest::becalm_reqwest(times)),
        ]
    }

    /// With a body of this length, which streams where the client can do that.
    pub async fn call(&self, method: Method, url: &str, body: Option<usize>) -> Answer {
        macro_rules! send {
            ($client:expr) => {{
                let mut request = $client.request(method.clone(), url);
                if let Some(length) = body {
                    request = request.body(reqwest::Body::wrap(Pieces(length)));
                }
                request.send().await.ok()?.status()
            }};
        }
        // Not a name that reqwest's `retry` asks for: this machine.
        let request = || {
            let request = hyper::Request::builder().method(method.clone());
            request.uri(url.replace("shop.test", "127.0.0.1"))
        };
        let whole = || Full::from(vec![0; body.unwrap_or_default()]);
        Some(match self {
            Self::Reqwest(client) => send!(client),
            Self::Middleware(client) => send!(client),
            Self::BecalmReqwest(client) => send!(client),
            Self::Tower(client) => status(client, request().body(whole())).await?,
            Self::TowerResilience(client) => status(client, request().body(whole())).await?,
            Self::BecalmTower(client) => {
                let body = match body {
                    None => Either::Left(Full::default()),
                    Some(length) => Either::Right(Pieces(length)),
                };
                status(client, request().body(body)).await?
            }
        })
    }
}

async fn status<S, B, D>(service: &S, request: hyper::http::Result<hyper::Request<B>>) -> Answer
where
    S: Service<hyper::Request<B>, Response = hyper::Response<D>> + Clone,
{
    let answer = service.clone().oneshot(request.expect("valid")).await;
    Some(answer.ok()?.status())
}

/// A body of this length that is made as it is sent.
pub struct Pieces(usize);

impl Body for Pieces {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        static PIECE: [u8; 1 << 16] = [0; 1 << 16];
        let length = self.0.min(PIECE.len());
        self.0 -= length;
        let piece = Bytes::from_static(&PIECE[..length]);
        Poll::Ready((length > 0).then(|| Ok(Frame::data(piece))))
    }
}
