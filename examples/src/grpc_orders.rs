//! How does a tonic client retry? With a layer around its channel, for the methods that may be done twice; and its server
//! takes on what it can do, and tells the rest when to come back.

use std::error::Error;

use becalm::{Bulkhead, Retrier};
use becalm_grpc::client::{Retry, RetryLayer};
use becalm_tower::server::AdmissionLayer;
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::{Channel, Server};
use tower_layer::Layer;

use crate::orders_service::{Orders, OrdersClient, OrdersServer};

/// A client of one service. Clones share one budget.
pub fn orders(
    channel: Channel,
    retrier: &Retrier,
) -> Result<OrdersClient<Retry<Channel>>, Box<dyn Error>> {
    let layer = RetryLayer::new(retrier).idempotent(["/shop.v1.Orders/Get"])?;
    Ok(OrdersClient::new(layer.layer(channel)))
}

/// A channel that retries as a gRPC service config says, which other clients of the service may have, too.
pub fn configured(
    channel: Channel,
    config: &str,
) -> Result<OrdersClient<Retry<Channel>>, Box<dyn Error>> {
    let layer = RetryLayer::of_config(&config.parse()?)?;
    Ok(OrdersClient::new(layer.layer(channel)))
}

/// Serves so many calls at once. What it sheds is `RESOURCE_EXHAUSTED`, with a pushback that spreads the clients.
pub async fn serve(
    listener: TcpListener,
    shop: impl Orders,
    places: Bulkhead,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    Server::builder()
        .layer(AdmissionLayer::new(places)?)
        .add_service(OrdersServer::new(shop))
        .serve_with_incoming(TcpListenerStream::new(listener))
        .await?;
    Ok(())
}
