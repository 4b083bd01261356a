//! The client of a service as generated code has it: four methods, one of each kind.

use tonic::body::Body;
use tonic::client::{Grpc, GrpcService};
use tonic::codegen::http::uri::PathAndQuery;
use tonic::codegen::{Bytes, StdError};
use tonic::{IntoRequest, IntoStreamingRequest, Response, Status, Streaming};
use tonic_prost::ProstCodec;

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Order {
    #[prost(bytes = "bytes", tag = "1")]
    pub lines: Bytes,
}

impl Order {
    pub fn of(lines: &'static str) -> Self {
        let lines = Bytes::from_static(lines.as_bytes());
        Self { lines }
    }
}

pub const GET: &str = "/shop.v1.Orders/Get";
pub const WATCH: &str = "/shop.v1.Orders/Watch";
pub const IMPORT: &str = "/shop.v1.Orders/Import";
pub const CHAT: &str = "/shop.v1.Orders/Chat";

#[derive(Clone)]
pub struct OrdersClient<T> {
    inner: Grpc<T>,
}

impl<T> OrdersClient<T>
where
    T: GrpcService<Body>,
    T::Error: Into<StdError>,
    T::ResponseBody: tonic::codegen::Body<Data = Bytes> + Send + 'static,
    <T::ResponseBody as tonic::codegen::Body>::Error: Into<StdError> + Send,
{
    pub fn new(channel: T) -> Self {
        let inner = Grpc::new(channel);
        Self { inner }
    }

    pub fn with_origin(channel: T, origin: &str) -> Self {
        let inner = Grpc::with_origin(channel, origin.parse().expect("an origin"));
        Self { inner }
    }

    async fn ready(&mut self) -> Result<(), Status> {
        let ready = self.inner.ready().await;
        ready.map_err(|error| Status::unknown(format!("not ready: {}", error.into())))
    }

    pub async fn get(&mut self, order: impl IntoRequest<Order>) -> Result<Response<Order>, Status> {
        self.ready().await?;
        let path = PathAndQuery::from_static(GET);
        let codec = ProstCodec::default();
        self.inner.unary(order.into_request(), path, codec).await
    }

    pub async fn watch(
        &mut self,
        order: impl IntoRequest<Order>,
    ) -> Result<Response<Streaming<Order>>, Status> {
        self.ready().await?;
        let path = PathAndQuery::from_static(WATCH);
        let (order, codec) = (order.into_request(), ProstCodec::default());
        self.inner.server_streaming(order, path, codec).await
    }

    pub async fn import(
        &mut self,
        orders: impl IntoStreamingRequest<Message = Order>,
    ) -> Result<Response<Order>, Status> {
        self.ready().await?;
        let path = PathAndQuery::from_static(IMPORT);
        let (orders, codec) = (orders.into_streaming_request(), ProstCodec::default());
        self.inner.client_streaming(orders, path, codec).await
    }

    pub async fn chat(
        &mut self,
        orders: impl IntoStreamingRequest<Message = Order>,
    ) -> Result<Response<Streaming<Order>>, Status> {
        self.ready().await?;
        let path = PathAndQuery::from_static(CHAT);
        let (orders, codec) = (orders.into_streaming_request(), ProstCodec::default());
        self.inner.streaming(orders, path, codec).await
    }
}
