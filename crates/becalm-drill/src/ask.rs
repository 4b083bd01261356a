//! What does a client ask of the service? A request, and what is different in each call.

use std::hash::{BuildHasher, RandomState};

use becalm::Operation;
use becalm::retry_on::RetryOn;
use http::header::{HOST, HeaderName, USER_AGENT};
use http::{HeaderValue, Method, Request};
use http_body_util::Full;
use hyper::body::Bytes;

/// Stands in headers and body for what tells a call from all others, and is equal in its attempts.
pub const CALL: &str = "{call}";

/// A request that is sent once in each attempt. By default `GET /`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    pub method: Method,
    /// With its query.
    pub path: String,
    /// Names with values in which [`CALL`] may stand.
    pub headers: Vec<(HeaderName, String)>,
    /// [`CALL`] may stand in it.
    pub body: String,
    /// What the name of each call begins with.
    pub series: String,
}

impl Default for Ask {
    fn default() -> Self {
        Self {
            method: Method::GET,
            path: "/".into(),
            headers: Vec::new(),
            body: String::new(),
            series: String::new(),
        }
    }
}

impl Ask {
    /// Its method and path.
    pub fn named(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// Adds what makes its requests known to who finds them: who sends them, in which drill, and
    /// which attempts belong together.
    pub fn marked(mut self, drill: &str) -> Self {
        self.series = format!("{drill}-");
        let marks = [
            (USER_AGENT, "becalm-drill"),
            (HeaderName::from_static("x-becalm-drill"), drill),
            (HeaderName::from_static("x-request-id"), CALL),
        ];
        for (name, value) in marks {
            self.headers.retain(|(other, _)| *other != name);
            self.headers.push((name, value.into()));
        }
        self
    }

    /// This request for calls whose names no other part of the drill has: a service that knows a key from another part
    /// would answer as it did then.
    pub fn part(&self, number: u32) -> Self {
        let series = format!("{}{number}-", self.series);
        Self {
            series,
            ..self.clone()
        }
    }

    /// The name of the host, unless the request has one.
    pub fn host(mut self, host: &str) -> Self {
        if !self.headers.iter().any(|(name, _)| *name == HOST) {
            self.headers.push((HOST, host.into()));
        }
        self
    }

    /// Whether it may be repeated: a method that is not idempotent carries a key.
    pub fn operation(&self) -> Operation {
        if self.method.is_safe() {
            Operation::Idempotent
        } else {
            Operation::KeyedByCaller
        }
    }

    /// Whether a policy with these lists repeats it after a failure that may have been done.
    pub fn is_repeated(&self, lists: Option<&RetryOn>) -> bool {
        let known = self.operation();
        let listed = lists.map(|lists| lists.operation(self.method.as_str(), known));
        listed.unwrap_or(known).is_repeatable()
    }

    /// The request of one attempt of the call with this number.
    ///
    /// # Errors
    ///
    /// A path or a value that HTTP does not have.
    pub fn request(&self, call: u64) -> Result<Request<Full<Bytes>>, http::Error> {
        let name = format!("{}{call}", self.series);
        let named = |text: &str| text.replace(CALL, &name);
        let mut request = Request::builder().method(&self.method).uri(&self.path);
        for (header, value) in &self.headers {
            request = request.header(header, HeaderValue::try_from(named(value))?);
        }
        request.body(Full::from(named(&self.body)))
    }
}

/// A name that no other drill has: one with the same seed makes the same calls, but they are others.
pub fn drill_name() -> String {
    // As for a seed that nobody gave.
    format!("{:016x}", RandomState::new().hash_one(()))
}

#[cfg(test)]
mod tests {
    use becalm::retry_on::Methods;

    use super::*;

    #[test]
    fn the_attempts_of_a_call_are_equal_and_those_of_another_are_not() {
        let ask = Ask {
            method: Method::POST,
            headers: vec![(
                HeaderName::from_static("idempotency-key"),
                "key-{call}".into(),
            )],
            body: "{\"order\": \"{call}\"}".into(),
            ..Ask::default()
        };
        let ask = ask.marked("7f3a").host("orders");
        let heads = |call| {
            let request = ask.request(call).unwrap();
            let text = |name: &str| request.headers()[name].to_str().unwrap().to_owned();
            [
                "idempotency-key",
                "x-request-id",
                "x-becalm-drill",
                "user-agent",
                "host",
            ]
            .map(text)
        };
        let first = ["key-7f3a-0", "7f3a-0", "7f3a", "becalm-drill", "orders"];
        assert_eq!(
            (heads(0), heads(0)),
            (first.map(Into::into), first.map(Into::into))
        );
        assert_ne!(heads(0)[0], heads(1)[0]);
        let other = ask.part(3).request(0).unwrap();
        assert_eq!(other.headers()["x-request-id"], "7f3a-3-0");
        assert_eq!(other.headers()["x-becalm-drill"], "7f3a");
        assert_ne!(drill_name(), drill_name());
        assert_eq!(ask.operation(), Operation::KeyedByCaller);
        assert_eq!(Ask::default().operation(), Operation::Idempotent);
        // A key is one under any list; a GET is repeated where it is not left out.
        let of = |method| RetryOn::new().methods(Methods::of([method]));
        assert!(ask.is_repeated(Some(&of("GET"))) && ask.is_repeated(None));
        assert!(Ask::default().is_repeated(Some(&of("GET"))));
        assert!(Ask::default().is_repeated(Some(&RetryOn::new())));
        assert!(!Ask::default().is_repeated(Some(&of("POST"))));
    }
}
