//! How are all routes of a listener admitted, and none left outside? By a service that is made for each connection.

use std::task::{Context, Poll};

use tokio_tungstenite::tungstenite::http::Request;
use tower_layer::Layer;
use tower_service::Service;

use super::{AdmissionService, Peer, Server};

/// The requests of one connection of a [`Listener`](super::Listener), all of them admitted: made by [`Server::service`].
#[derive(Debug, Clone)]
pub struct PeerService<S> {
    service: AdmissionService<S>,
    peer: Peer,
}

impl Server {
    /// All routes, for the requests of one connection: with the [`AdmissionLayer`](super::AdmissionLayer) around them and the
    /// [`Peer`] in the extensions of each. For hyper, over TLS or without; axum takes [`make_service`](Self::make_service).
    pub fn service<S>(&self, peer: &Peer, routes: S) -> PeerService<S> {
        PeerService {
            service: self.layer().layer(routes),
            peer: peer.clone(),
        }
    }
}

impl<S, B> Service<Request<B>> for PeerService<S>
where
    AdmissionService<S>: Service<Request<B>>,
{
    type Response = <AdmissionService<S> as Service<Request<B>>>::Response;
    type Error = <AdmissionService<S> as Service<Request<B>>>::Error;
    type Future = <AdmissionService<S> as Service<Request<B>>>::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.service.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let extensions = request.extensions_mut();
        #[cfg(feature = "axum")]
        extensions.insert(axum::extract::ConnectInfo(self.peer.clone()));
        extensions.insert(self.peer.clone());
        self.service.call(request)
    }
}

#[cfg(feature = "axum")]
pub use of_axum::MakeService;

#[cfg(feature = "axum")]
mod of_axum {
    use std::convert::Infallible;
    use std::future::{Ready, ready};
    use std::task::{Context, Poll};

    use axum::serve::IncomingStream;
    use tower_service::Service;

    use super::PeerService;
    use crate::server::{Listener, Server};

    /// What `axum::serve` takes beside a [`Listener`]: made by [`Server::make_service`].
    #[derive(Debug, Clone)]
    pub struct MakeService<S> {
        routes: S,
        server: Server,
    }

    impl Server {
        /// All routes, WebSockets and others, for `axum::serve(listener, server.make_service(routes))`: with the
        /// [`AdmissionLayer`](crate::server::AdmissionLayer) outside of every layer of the router, and the [`Peer`](crate::server::Peer) of each connection
        /// where it and the extractor `ConnectInfo<Peer>` find it.
        ///
        /// ```no_run
        /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
        /// use axum::routing::{any, get};
        /// use axum::{Router, response::Response};
        /// use becalm_ws::server::{Admission, Settings, Upgrade};
        ///
        /// async fn feed(upgrade: Upgrade) -> Response {
        ///     upgrade.on_upgrade(|mut socket| async move { socket.ready() })
        /// }
        ///
        /// let server = Settings::new(Admission::per_second(500)).server()?;
        /// let listener = server.listen("[::]:8080").await?;
        /// let routes = Router::new()
        ///     .route("/feed", any(feed))
        ///     .route("/health", get("well"));
        /// axum::serve(listener, server.make_service(routes))
        ///     .with_graceful_shutdown(server.stopped())
        ///     .await?;
        /// # Ok(())
        /// # }
        /// ```
        pub fn make_service<S>(&self, routes: S) -> MakeService<S> {
            let server = self.clone();
            MakeService { routes, server }
        }
    }

    impl<S: Clone> Service<IncomingStream<'_, Listener>> for MakeService<S> {
        type Response = PeerService<S>;
        type Error = Infallible;
        type Future = Ready<Result<PeerService<S>, Infallible>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, stream: IncomingStream<'_, Listener>) -> Self::Future {
            let peer = stream.io().peer();
            ready(Ok(self.server.service(peer, self.routes.clone())))
        }
    }
}
