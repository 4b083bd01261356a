//! Which clients are there, and how does each connect?

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use becalm::observe::{About, Event, Observer};
use becalm::reconnect::Reconnect;
use becalm::{Failure, Retrier};
use becalm_sqlx::pool::{Dial, Manager};
use becalm_tower::client::{RetryLayer, Tunnel};
use bytes::Bytes;
use http_body_util::Empty;
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel as OwnTunnel};
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::rt::TokioExecutor;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgSslMode};
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint};
use tower_layer::Layer;
use tower_service::Service;

use crate::{Certificate as Of, Door, Fault, Target};

/// A client, and the driver that has it try again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    /// becalm-reqwest over rustls.
    ReqwestRustls,
    /// becalm-reqwest over the TLS of the system.
    ReqwestNative,
    /// becalm-tower over hyper-util's client with hyper-rustls, through proxies by becalm's tunnel.
    HyperRustls,
    /// becalm-tower over hyper-util's client; a proxy is passed by hyper-util's own tunnel.
    HyperOwnTunnel,
    /// becalm-grpc over tonic's channel with its TLS.
    Tonic,
    /// becalm-ws.
    WebSocket,
    /// becalm-redis.
    Redis,
    /// becalm-sqlx: its paced pool of connections to Postgres.
    Postgres,
}

impl Client {
    /// The columns, in their order.
    pub const ALL: [Self; 8] = [
        Self::ReqwestRustls,
        Self::ReqwestNative,
        Self::HyperRustls,
        Self::HyperOwnTunnel,
        Self::Tonic,
        Self::WebSocket,
        Self::Redis,
        Self::Postgres,
    ];

    /// Whether this fault is one that it can meet.
    pub fn meets(self, fault: Fault) -> bool {
        match (self, fault) {
            (Self::WebSocket | Self::Redis | Self::Postgres, fault) if fault.is_of_proxy() => false,
            // With all else it is as the one beside it.
            (Self::HyperOwnTunnel, fault) => {
                fault.is_of_proxy() && !matches!(fault, Fault::Socks(_))
            }
            // The others do without.
            (_, Fault::NoHttp2) => self == Self::Tonic,
            // Only a configuration of rustls takes lists of what is revoked.
            (Self::ReqwestNative | Self::Tonic | Self::Postgres, fault) => {
                fault != Fault::Refuses(Of::Revoked)
            }
            _ => true,
        }
    }

    /// Whether it keeps what a proxy has answered. reqwest has hyper-util's tunnel, which keeps of all answers but 407 that
    /// they are no tunnel.
    pub fn sees(self, fault: Fault) -> bool {
        let is_kept = matches!(self, Self::HyperRustls | Self::Tonic);
        match fault {
            Fault::Proxy { status, .. } => is_kept || status == 407,
            _ => true,
        }
    }

    /// What comes before TLS.
    pub fn door(self) -> Door {
        match self {
            Self::Postgres => Door::Postgres,
            _ => Door::Open,
        }
    }

    /// Connects there, and tells how often it has tried and how it has failed.
    pub(crate) async fn call(self, target: &Target<'_>) -> (u32, String) {
        let stopped = Arc::<Stopped>::default();
        let mut policy = target.policy.clone();
        if matches!(
            self,
            Self::ReqwestRustls | Self::ReqwestNative | Self::Tonic
        ) {
            // They have a time limit for a dial, which proves that nothing was sent.
            policy.attempt_timeout = None;
        }
        let retrier = policy.builder().observer(Arc::clone(&stopped)).build();
        let retrier = retrier.expect("a valid policy");
        match self {
            Self::ReqwestRustls | Self::ReqwestNative => reqwest(self, target, &retrier).await,
            Self::HyperRustls => {
                let http = HttpConnector::new();
                match proxy(target) {
                    Some(proxy) if target.is_socks => {
                        hyper(SocksV5::new(proxy, http), target, &retrier).await;
                    }
                    Some(proxy) => hyper(Tunnel::new(proxy, http), target, &retrier).await,
                    None => hyper(to_https(http), target, &retrier).await,
                }
            }
            Self::HyperOwnTunnel => {
                let proxy = proxy(target).expect("a proxy");
                let tunnel = OwnTunnel::new(proxy, HttpConnector::new());
                hyper(tunnel, target, &retrier).await;
            }
            Self::Tonic => tonic(target, &retrier).await,
            Self::WebSocket => return websocket(target).await,
            Self::Redis => return redis(target).await,
            Self::Postgres => return postgres(target).await,
        }
        stopped.told()
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReqwestRustls => "reqwest, rustls",
            Self::ReqwestNative => "reqwest, native-tls",
            Self::HyperRustls => "hyper-rustls",
            Self::HyperOwnTunnel => "the same, hyper-util's tunnel",
            Self::Tonic => "tonic",
            Self::WebSocket => "tokio-tungstenite",
            Self::Redis => "redis",
            Self::Postgres => "sqlx",
        })
    }
}

/// What an observer has heard of the end of a call.
#[derive(Debug, Default)]
struct Stopped(Mutex<(u32, String)>);

impl Stopped {
    fn told(&self) -> (u32, String) {
        let told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        told.clone()
    }
}

impl Observer for Stopped {
    fn on_event(&self, _: &About<'_>, event: &Event<'_>) {
        if let Event::Stopped {
            attempts,
            error,
            reason,
            ..
        } = event
        {
            let error = error.map(|error| error.to_string()).unwrap_or_default();
            let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            *told = (*attempts, format!("{reason}: {error}"));
        }
    }
}

fn url(target: &Target<'_>) -> String {
    format!("https://{}:{}/", target.host, target.port)
}

fn proxy(target: &Target<'_>) -> Option<http::Uri> {
    let port = target.proxy?;
    Some(format!("http://127.0.0.1:{port}").parse().expect("a URI"))
}

fn to_https(mut http: HttpConnector) -> HttpConnector {
    http.enforce_http(false);
    http
}

async fn reqwest(which: Client, target: &Target<'_>, retrier: &Retrier) {
    let builder = reqwest::Client::builder().no_proxy();
    let builder = builder.connect_timeout(target.longest);
    let builder = match which {
        Client::ReqwestNative => {
            let trusted = reqwest::Certificate::from_pem(target.authority.pem().as_bytes());
            let trusted = trusted.expect("a certificate");
            builder.tls_backend_native().tls_certs_only([trusted])
        }
        _ => builder.tls_backend_preconfigured(target.authority.trusted()),
    };
    let builder = match target.proxy {
        Some(port) => {
            let scheme = if target.is_socks { "socks5h" } else { "http" };
            let proxy = reqwest::Proxy::all(format!("{scheme}://127.0.0.1:{port}"));
            builder.proxy(proxy.expect("a proxy"))
        }
        None => builder,
    };
    let client = becalm_reqwest::Client::new(builder, retrier).expect("a client");
    let request = client.request(target.method.clone(), url(target));
    let answer = request.send().await;
    drop(answer.expect_err("no server answers"));
}

async fn hyper<C>(connector: C, target: &Target<'_>, retrier: &Retrier)
where
    C: Service<http::Uri> + Clone + Send + Sync + 'static,
    hyper_rustls::HttpsConnector<C>: Connect,
{
    let connector = HttpsConnectorBuilder::new()
        .with_tls_config(target.authority.trusted())
        .https_only()
        .enable_http1()
        .wrap_connector(connector);
    let client = hyper_util::client::legacy::Client::builder(TokioExecutor::new());
    let client = client.build::<_, becalm_tower::client::ReplayBody<Empty<Bytes>>>(connector);
    let request = http::Request::builder().method(target.method.clone());
    let request = request.uri(url(target)).body(Empty::<Bytes>::new());
    let mut client = RetryLayer::new(retrier).layer(client);
    let answer = client.call(request.expect("a request")).await;
    drop(answer.expect_err("no server answers"));
}

async fn tonic(target: &Target<'_>, retrier: &Retrier) {
    let tls = ClientTlsConfig::new().timeout(target.longest);
    let tls = tls.ca_certificate(Certificate::from_pem(target.authority.pem()));
    let endpoint = Endpoint::from_shared(url(target)).expect("an address");
    let endpoint = endpoint.tls_config(tls).expect("a certificate");
    let channel = match proxy(target) {
        Some(proxy) if target.is_socks => {
            endpoint.connect_with_connector_lazy(SocksV5::new(proxy, HttpConnector::new()))
        }
        Some(proxy) => {
            endpoint.connect_with_connector_lazy(Tunnel::new(proxy, HttpConnector::new()))
        }
        None => endpoint.connect_lazy(),
    };
    let layer = becalm_grpc::client::RetryLayer::new(retrier);
    let request = http::Request::post(format!("{}shop.v1.Orders/Pay", url(target)));
    let request = request.body(tonic::body::Body::empty());
    let mut channel = layer.layer(channel);
    let answer = channel.call(request.expect("a request")).await;
    assert!(answer.is_err(), "no server answers");
}

async fn websocket(target: &Target<'_>) -> (u32, String) {
    let dials = Arc::<AtomicU32>::default();
    let counted = Arc::clone(&dials);
    let address = format!("wss://{}:{}/", target.host, target.port);
    let address: http::Uri = address.parse().expect("an address");
    let client = becalm_ws::Client::with_provider(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        let request = becalm_ws::ClientRequestBuilder::new(address.clone());
        async move { Ok(request) }
    });
    let connector = becalm_ws::Connector::Rustls(Arc::new(target.authority.trusted()));
    let client = client
        .connector(connector)
        .reconnect(Reconnect::new(target.policy.clone()))
        .patience(target.longest, Duration::from_secs(1));
    let mut socket = client.open().expect("a valid policy");
    let gave_up = becalm_ws::StreamExt::next(&mut socket).await;
    let gave_up = gave_up.expect("an end").expect_err("no server answers");
    (dials.load(Ordering::SeqCst), gave_up.to_string())
}

async fn redis(target: &Target<'_>) -> (u32, String) {
    let dials = Arc::<AtomicU32>::default();
    let counted = Arc::clone(&dials);
    let builder = becalm_redis::Builder::new(&format!("rediss://{}:{}", target.host, target.port));
    let redis = builder
        .expect("an address")
        .tls(Arc::new(target.authority.trusted()))
        .credentials(move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
            async { Ok::<_, std::io::Error>(becalm_redis::Credentials::password("secret")) }
        })
        .reconnect(Reconnect::new(target.policy.clone()))
        .dial_timeout(target.longest)
        .patience(Duration::from_secs(100))
        .build();
    let mut redis = redis.expect("valid policies");
    let mut get = becalm_redis::redis::cmd("GET");
    let answer = get.arg("k").exec_async(&mut redis).await;
    let gave_up = answer.expect_err("no server answers");
    (dials.load(Ordering::SeqCst), gave_up.to_string())
}

/// Counts what is dialled.
struct Counted(PgConnectOptions, Arc<AtomicU32>);

impl Dial for Counted {
    type Connection = PgConnection;
    type Error = sqlx::Error;

    async fn dial(&self) -> Result<PgConnection, sqlx::Error> {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.dial().await
    }

    async fn is_alive(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
        PgConnectOptions::is_alive(connection).await
    }

    fn classify(error: &sqlx::Error) -> Failure {
        PgConnectOptions::classify(error)
    }
}

async fn postgres(target: &Target<'_>) -> (u32, String) {
    let dials = Arc::<AtomicU32>::default();
    let options = PgConnectOptions::new_without_pgpass()
        .host(target.host)
        .port(target.port)
        .username("shop")
        .ssl_mode(PgSslMode::VerifyFull)
        .ssl_root_cert_from_pem(target.authority.pem().into_bytes());
    let manager = Manager::new(Counted(options, Arc::clone(&dials)));
    let manager = manager.reconnect(Reconnect::new(target.policy.clone()));
    let pool = manager.expect("a valid policy").pool(1);
    let gave_up = pool.get().await.map(drop).expect_err("no server answers");
    (dials.load(Ordering::SeqCst), gave_up.to_string())
}
