//! Which operation is a request, and what bounds it?

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use becalm::http::idempotency_key;
use becalm::time::{Sleeper, StdSleeper};
use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::request::Parts;
use http::{HeaderValue, Method, Response};
use http_body::Body;

use super::name::{Caller, Fingerprint, Name};
use super::refusal::Refusal;
use crate::server::body::{BufferedBody, Limits};
use crate::server::waiting::Waiting;

/// What an executor is given to run to its end.
pub type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A key longer than this is no key: 255 characters, as at Stripe.
const LONGEST_KEY: usize = 255;

/// Says who sends a request.
pub(super) type Says = dyn Fn(&Parts) -> Option<Vec<u8>> + Send + Sync;

/// Says where a request comes from.
pub(super) type Peer = dyn Fn(&Parts) -> Option<IpAddr> + Send + Sync;

#[derive(Clone)]
pub(super) struct Rules {
    pub required: Vec<Method>,
    pub takes_bare_keys: bool,
    /// `None`: the key belongs to the first `Authorization` that came with it.
    pub caller: Option<Arc<Says>>,
    pub peer: Option<Arc<Peer>>,
    pub body_limit: usize,
    pub body_time: Duration,
    pub answer_limit: usize,
    pub answer_time: Duration,
    pub handler_time: Duration,
    pub waiting: Arc<Waiting>,
    pub clock: Arc<dyn Sleeper>,
    pub retry_after: Duration,
    pub spawn: Arc<dyn Fn(Task) + Send + Sync>,
}

impl Rules {
    pub fn new(spawn: impl Fn(Task) + Send + Sync + 'static) -> Self {
        Self {
            required: Vec::new(),
            takes_bare_keys: false,
            caller: None,
            peer: None,
            body_limit: 1 << 20,
            body_time: Duration::from_secs(30),
            answer_limit: 256 << 10,
            answer_time: Duration::from_secs(10),
            handler_time: Duration::from_secs(600),
            waiting: Waiting::new(64 << 20),
            clock: Arc::new(StdSleeper::new()),
            retry_after: Duration::from_secs(1),
            spawn: Arc::new(spawn),
        }
    }

    /// The answer to a request that is not run, whose content type is `grpc` if it is a call of gRPC.
    pub fn refuse<D: Body>(
        &self,
        refusal: Refusal,
        grpc: Option<&HeaderValue>,
    ) -> Response<BufferedBody<D>> {
        refusal.answer(grpc, self.retry_after)
    }

    /// The name of the operation; `None` where the request is none of the layer's business.
    pub fn name(&self, head: &Parts) -> Result<Option<Name>, Refusal> {
        // A CONNECT of HTTP/2 is a connection, such as a WebSocket's, and no operation.
        if head.method.is_safe() || head.method == Method::CONNECT {
            return Ok(None);
        }
        let key = match idempotency_key(&head.headers) {
            Ok(None) if self.required.contains(&head.method) => return Err(Refusal::KeyMissing),
            Ok(None) => return Ok(None),
            Ok(Some(key)) => Some(key),
            Err(_) => self.bare_key(head),
        };
        let key = key.filter(|key| key.len() <= LONGEST_KEY);
        let key = key.ok_or(Refusal::KeyMalformed)?;
        let caller = match &self.caller {
            Some(caller) => caller(head),
            // It is no part of the name, or a repetition with a new token would be another operation.
            None => authorization(head).map(|_| Vec::new()),
        };
        let caller = caller.ok_or(Refusal::NoCaller)?;
        Ok(Some(Name::of(&caller, head, key)))
    }

    /// Whose share of what all callers have in common the request takes.
    pub fn share_of(&self, head: &Parts) -> Caller {
        if let Some(caller) = &self.caller {
            return Caller::of(&caller(head).unwrap_or_default());
        }
        let peer = self.peer.as_ref().and_then(|peer| peer(head));
        peer.map_or_else(
            || Caller::of(authorization(head).unwrap_or_default()),
            Caller::at,
        )
    }

    /// How far the body of a request of this caller is read.
    pub fn of_bodies(&self, caller: Caller) -> Limits<'_> {
        Limits {
            bytes: self.body_limit,
            time: self.body_time,
            clock: &*self.clock,
            hold: self.waiting.hold(caller),
        }
    }

    /// How far the body of an answer to this caller is.
    pub fn of_answers(&self, caller: Caller) -> Limits<'_> {
        Limits {
            bytes: self.answer_limit,
            time: self.answer_time,
            ..self.of_bodies(caller)
        }
    }

    /// What tells the request from another under the same name.
    pub fn fingerprint(&self, head: &Parts, payload: &Bytes) -> Fingerprint {
        let payload = Fingerprint::of(head, payload);
        match &self.caller {
            Some(_) => payload,
            None => payload.under(authorization(head).unwrap_or_default()),
        }
    }

    /// Why a request with this fingerprint is not the one that has the name.
    pub fn other(&self, first: Fingerprint, this: Fingerprint) -> Refusal {
        if self.caller.is_none() && first.has_payload_of(this) {
            Refusal::OtherCredentials
        } else {
            Refusal::OtherPayload
        }
    }

    fn bare_key<'a>(&self, head: &'a Parts) -> Option<&'a str> {
        let mut lines = head.headers.get_all("idempotency-key").iter();
        let (Some(line), None) = (lines.next(), lines.next()) else {
            return None;
        };
        let is_key = |key: &&str| {
            !key.is_empty() && !key.contains(['"', ',', ';', '\\']) && !key.contains(' ')
        };
        let key = line.to_str().ok().filter(is_key);
        key.filter(|_| self.takes_bare_keys)
    }
}

/// What the sender says of itself to be let in.
fn authorization(head: &Parts) -> Option<&[u8]> {
    let mut lines = head.headers.get_all(AUTHORIZATION).iter();
    match (lines.next(), lines.next()) {
        (Some(line), None) => Some(line.as_bytes()),
        _ => None,
    }
}
