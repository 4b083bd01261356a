//! How does an HTTP client retry? By what statuses, headers, methods and keys say; at the end the
//! caller has the last response, as it came.

use std::time::SystemTime;

use becalm::classify::{Rejected, judged};
use becalm::http::{self, Exchange};
use becalm::{Failure, GaveUp, IdempotencyKey, Operation, Retrier, run::Last};
use reqwest::{Client, Method, Response};

/// One HTTP service.
#[derive(Debug, Clone)]
pub struct Shop {
    client: Client,
    retrier: Retrier,
    address: String,
}

/// The call ended without any response.
pub type NoAnswer = GaveUp<reqwest::Error>;

impl Shop {
    /// The service at this address, such as `http://shop.example`.
    pub fn new(client: Client, retrier: Retrier, address: impl Into<String>) -> Self {
        let address = address.into();
        Self {
            client,
            retrier,
            address,
        }
    }

    /// Reads. What comes back may be the 503 of the last attempt.
    pub async fn get(&self, path: &str) -> Result<Response, NoAnswer> {
        let operation = Operation::Idempotent;
        self.send(Method::GET, path, String::new(), operation).await
    }

    /// Writes. Each attempt carries the same key, by which the server recognises a repetition.
    pub async fn post(&self, path: &str, body: String) -> Result<Response, NoAnswer> {
        let operation = Operation::Keyed(IdempotencyKey::random());
        self.send(Method::POST, path, body, operation).await
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: String,
        operation: Operation,
    ) -> Result<Response, NoAnswer> {
        let url = format!("{}{path}", self.address);
        let attempt = |attempt: becalm::Attempt| {
            let mut request = self.client.request(method.clone(), &url).body(body.clone());
            if let Some(timeout) = attempt.timeout() {
                request = request.timeout(timeout);
            }
            if let Some(key) = attempt.key() {
                request = request.header("idempotency-key", format!("\"{key}\""));
            }
            let exchange = Exchange::new(operation, attempt.number());
            async move {
                judged(request.send().await, |result| match result {
                    Ok(answer) => {
                        let (status, headers) = (answer.status(), answer.headers());
                        http::verdict(status, headers, exchange, SystemTime::now)
                    }
                    Err(error) => classify(error).into(),
                })
            }
        };
        let result = self.retrier.retry(attempt).operation(operation).await;
        result.or_else(as_it_came)
    }
}

/// What reqwest says where no response came.
fn classify(error: &reqwest::Error) -> Failure {
    if error.is_connect() {
        Failure::transient().unsent() // time-outs while connecting among them
    } else if error.is_builder() || error.is_redirect() {
        Failure::permanent()
    } else {
        Failure::transient()
    }
}

/// A response that means failure is an answer nevertheless.
fn as_it_came(gave_up: GaveUp<Rejected<Response, reqwest::Error>>) -> Result<Response, NoAnswer> {
    let stopped = gave_up.stopped().clone();
    Err(stopped.with_error(match gave_up.into_last() {
        Last::Error(Rejected::Value(response)) => return Ok(response),
        Last::Error(Rejected::Error(error)) => Some(error),
        _ => None,
    }))
}
