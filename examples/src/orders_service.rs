//! What does a generator make of `service Orders { rpc Get(Order) returns (Order); rpc Place(Order) returns (Order); }`?
//! About this: it is written by hand here, so that building needs no `protoc`.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use tonic::body::Body;
use tonic::client::GrpcService;
use tonic::codegen::http::{self, uri::PathAndQuery};
use tonic::codegen::{BoxFuture, Bytes, StdError};
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

/// What is ordered.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Order {
    /// Its lines.
    #[prost(string, tag = "1")]
    pub lines: String,
}

/// The service.
#[tonic::async_trait]
pub trait Orders: Send + Sync + 'static {
    /// Reads.
    async fn get(&self, order: Request<Order>) -> Result<Response<Order>, Status>;
    /// Writes.
    async fn place(&self, order: Request<Order>) -> Result<Response<Order>, Status>;
}

/// The client of the service.
#[derive(Clone)]
pub struct OrdersClient<T> {
    inner: tonic::client::Grpc<T>,
}

impl<T> OrdersClient<T>
where
    T: GrpcService<Body>,
    T::Error: Into<StdError>,
    T::ResponseBody: tonic::codegen::Body<Data = Bytes> + Send + 'static,
    <T::ResponseBody as tonic::codegen::Body>::Error: Into<StdError> + Send,
{
    /// A client over this channel.
    pub fn new(channel: T) -> Self {
        let inner = tonic::client::Grpc::new(channel);
        Self { inner }
    }

    /// Reads.
    pub async fn get(&mut self, order: Order) -> Result<Response<Order>, Status> {
        self.call("/shop.v1.Orders/Get", order).await
    }

    /// Writes.
    pub async fn place(&mut self, order: Order) -> Result<Response<Order>, Status> {
        self.call("/shop.v1.Orders/Place", order).await
    }

    async fn call(&mut self, path: &'static str, order: Order) -> Result<Response<Order>, Status> {
        let ready = self.inner.ready().await;
        ready.map_err(|error| Status::unknown(format!("not ready: {}", error.into())))?;
        let (path, codec) = (PathAndQuery::from_static(path), ProstCodec::default());
        self.inner.unary(Request::new(order), path, codec).await
    }
}

/// The server of the service.
pub struct OrdersServer<T> {
    inner: Arc<T>,
}

impl<T> OrdersServer<T> {
    /// A server that does as this says.
    pub fn new(orders: T) -> Self {
        let inner = Arc::new(orders);
        Self { inner }
    }
}

impl<T> Clone for OrdersServer<T> {
    fn clone(&self) -> Self {
        let inner = Arc::clone(&self.inner);
        Self { inner }
    }
}

impl<T> tonic::server::NamedService for OrdersServer<T> {
    const NAME: &'static str = "shop.v1.Orders";
}

impl<T: Orders> tower_service::Service<http::Request<Body>> for OrdersServer<T> {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let orders = Arc::clone(&self.inner);
        Box::pin(async move {
            let mut grpc = tonic::server::Grpc::new(ProstCodec::default());
            Ok(match request.uri().path() {
                "/shop.v1.Orders/Get" => grpc.unary(Get(orders), request).await,
                "/shop.v1.Orders/Place" => grpc.unary(Place(orders), request).await,
                path => Status::unimplemented(path).into_http(),
            })
        })
    }
}

struct Get<T>(Arc<T>);

impl<T: Orders> tonic::server::UnaryService<Order> for Get<T> {
    type Response = Order;
    type Future = BoxFuture<Response<Order>, Status>;

    fn call(&mut self, order: Request<Order>) -> Self::Future {
        let orders = Arc::clone(&self.0);
        Box::pin(async move { orders.get(order).await })
    }
}

struct Place<T>(Arc<T>);

impl<T: Orders> tonic::server::UnaryService<Order> for Place<T> {
    type Response = Order;
    type Future = BoxFuture<Response<Order>, Status>;

    fn call(&mut self, order: Request<Order>) -> Self::Future {
        let orders = Arc::clone(&self.0);
        Box::pin(async move { orders.place(order).await })
    }
}
