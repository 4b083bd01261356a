//! The channels under test.

use std::time::Duration;

use becalm::{Budget, Jitter, Policy};
use becalm_grpc::client::{Retry, RetryLayer};
use tonic::transport::{Channel, Endpoint};
use tower::Layer;

use crate::orders::{GET, OrdersClient, WATCH};

pub type Client = OrdersClient<Retry<Channel>>;

/// Three attempts, short waits, no budget: what is counted is what may be repeated.
pub fn policy() -> Policy {
    let policy = Policy::fixed(Duration::from_millis(1)).jitter(Jitter::None);
    policy.attempts(3).budget(Budget::None)
}

/// A layer to which the methods with one request are known as idempotent.
pub fn idempotent(policy: Policy) -> RetryLayer {
    let retrier = policy.retrier().expect("a valid policy");
    let layer = RetryLayer::new(&retrier).idempotent([GET, WATCH]);
    layer.expect("names of methods")
}

/// A layer to which no method is known.
pub fn unknown(policy: Policy) -> RetryLayer {
    RetryLayer::new(&policy.retrier().expect("a valid policy"))
}

/// A layer of a service config, where the methods with one request retry these codes.
pub fn configured(codes: &[&str]) -> RetryLayer {
    let codes = codes.join("\", \"");
    let config = format!(
        r#"{{ "methodConfig": [{{
            "name": [{{ "service": "shop.v1.Orders", "method": "Get" }}, {{ "service": "shop.v1.Orders", "method": "Watch" }}],
            "retryPolicy": {{ "maxAttempts": 3, "initialBackoff": "0.001s", "maxBackoff": "0.001s",
                "backoffMultiplier": 1, "retryableStatusCodes": ["{codes}"] }}
        }}] }}"#
    );
    RetryLayer::of_config(&config.parse().expect("a config")).expect("a valid policy")
}

pub fn client(layer: &RetryLayer, origin: &str) -> Client {
    let endpoint = Endpoint::from_shared(origin.to_owned()).expect("an address");
    OrdersClient::new(layer.layer(endpoint.connect_lazy()))
}
