//! What body does an attempt get? Bytes are cloned, a factory makes a new one, and a stream that came
//! from neither is there once.

use std::sync::{Mutex, PoisonError};

use becalm::scope::body_is_consumed;
use reqwest::{Body, Request};

pub(super) type Factory = Box<dyn Fn() -> Body + Send + Sync>;

/// A request of which attempts are made.
pub(super) struct Outgoing {
    /// It can be cloned.
    request: Request,
    stream: Stream,
}

enum Stream {
    /// The body, if there is one, is in the request.
    None,
    Made(Factory),
    Once(Mutex<Option<Body>>),
}

impl Outgoing {
    pub fn new(mut request: Request, factory: Option<Factory>) -> Self {
        let is_stream = |body: &mut Body| body.as_bytes().is_none();
        let stream = match factory {
            Some(factory) => Stream::Made(factory),
            None => match request.body_mut().take_if(is_stream) {
                Some(body) => Stream::Once(Mutex::new(Some(body))),
                None => Stream::None,
            },
        };
        Self { request, stream }
    }

    pub fn request(&self) -> &Request {
        &self.request
    }

    /// The request of an attempt, inside of it. `None` where its body is gone.
    pub fn next(&self) -> Option<Request> {
        let body = match &self.stream {
            Stream::None if self.request.body().is_none() => None,
            Stream::None => return self.request.try_clone(),
            Stream::Made(factory) => Some(factory()),
            Stream::Once(body) => {
                body_is_consumed();
                let mut body = body.lock().unwrap_or_else(PoisonError::into_inner);
                Some(body.take()?)
            }
        };
        let mut request = self.head();
        *request.body_mut() = body;
        Some(request)
    }

    /// Without a time-out it takes three allocations less than `try_clone`, which sets none all the same.
    fn head(&self) -> Request {
        let known = &self.request;
        let mut head = Request::new(known.method().clone(), known.url().clone());
        head.headers_mut().clone_from(known.headers());
        *head.version_mut() = known.version();
        if known.timeout().is_some() {
            *head.timeout_mut() = known.timeout().copied();
        }
        head
    }
}
