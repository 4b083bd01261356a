//! How does an HTTP client retry? With `becalm-reqwest`: by what statuses, headers, methods and keys
//! say; at the end the caller has the last response, as it came.

use becalm::Retrier;
use becalm_reqwest::{BuildError, Client, NoAnswer};
use reqwest::Response;

/// A client of one service. It takes reqwest's builder, because only there its own repetitions can be
/// switched off.
pub fn shop(builder: reqwest::ClientBuilder, retrier: &Retrier) -> Result<Client, BuildError> {
    Client::new(builder, retrier)
}

/// Reads. What comes back may be the 503 of the last attempt.
pub async fn read(shop: &Client, url: String) -> Result<Response, NoAnswer> {
    shop.get(url).send().await
}

/// Writes. Each attempt carries the same key, by which the server recognises a repetition.
pub async fn order(shop: &Client, url: String, body: String) -> Result<Response, NoAnswer> {
    shop.post(url).body(body).keyed().send().await
}
