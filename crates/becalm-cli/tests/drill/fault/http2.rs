//! Do requests of HTTP/2 without TLS (RFC 9113 section 3.3) pass, and break one by one?

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpStream};

use super::{PATIENCE, Proxy};

type Sender = http2::SendRequest<Full<Bytes>>;

/// Longer than a head here is.
const LONG: u32 = 1 << 20;

/// A server of HTTP/2 that answers with what it was sent, and notes the paths.
async fn service() -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let paths = Arc::<Mutex<Vec<String>>>::default();
    let seen = Arc::clone(&paths);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let seen = Arc::clone(&seen);
            let respond = service_fn(move |request: Request<Incoming>| {
                assert_eq!(request.version(), http::Version::HTTP_2);
                seen.lock().unwrap().push(request.uri().path().into());
                async move {
                    let (head, body) = request.into_parts();
                    let mut answer = http::Response::new(body);
                    answer.headers_mut().extend(head.headers);
                    Ok::<_, Infallible>(answer)
                }
            });
            tokio::spawn(async move {
                let mut server = auto::Builder::new(TokioExecutor::new());
                server.http2().max_header_list_size(LONG);
                let _ = server.serve_connection(TokioIo::new(stream), respond).await;
            });
        }
    });
    (address, paths)
}

async fn connect(address: SocketAddr) -> Sender {
    let stream = TcpStream::connect(address).await.unwrap();
    let (sender, connection) = http2::Builder::new(TokioExecutor::new())
        .max_header_list_size(LONG)
        .handshake(TokioIo::new(stream))
        .await
        .unwrap();
    tokio::spawn(connection);
    sender
}

async fn post(sender: &Sender, path: &str) -> hyper::Result<(StatusCode, Bytes)> {
    let request = Request::post(format!("http://here{path}"))
        .body(Full::from("body"))
        .unwrap();
    let answer = sender.clone().send_request(request).await?;
    let status = answer.status();
    Ok((status, answer.into_body().collect().await?.to_bytes()))
}

/// Asks the proxy while the test's own tasks go on.
async fn on_proxy<T: Send + 'static>(
    proxy: Proxy,
    act: impl FnOnce(&mut Proxy) -> T + Send + 'static,
) -> (Proxy, T) {
    let asked = tokio::task::spawn_blocking(move || {
        let mut proxy = proxy;
        let told = act(&mut proxy);
        (proxy, told)
    });
    asked.await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_request_of_a_connection_is_held_and_goes_while_others_pass() {
    let (service, paths) = service().await;
    let proxy = Proxy::start("hold", service, "Http");
    let sender = connect(proxy.address).await;
    let echoed = (StatusCode::OK, Bytes::from("body"));
    assert_eq!(post(&sender, "/before").await.unwrap(), echoed);
    let (proxy, ()) = on_proxy(proxy, Proxy::begin).await;
    let one = sender.clone();
    let stays = tokio::spawn(async move { post(&one, "/stays").await.unwrap() });
    let one = sender.clone();
    let goes = tokio::spawn(async move { post(&one, "/goes").await.is_ok() });
    let (proxy, ()) = on_proxy(proxy, |proxy| proxy.await_count("held", 2)).await;
    goes.abort();
    let (proxy, ()) = on_proxy(proxy, |proxy| proxy.await_count("left", 1)).await;
    let (_proxy, ()) = on_proxy(proxy, Proxy::lift).await;
    assert_eq!(
        tokio::time::timeout(PATIENCE, stays)
            .await
            .unwrap()
            .unwrap(),
        echoed
    );
    assert_eq!(*paths.lock().unwrap(), ["/before", "/stays"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_status_a_loss_and_a_reset_are_those_of_a_request() {
    let (service, paths) = service().await;
    for (fault, status) in [("status:503", Some(503)), ("loss:1", None), ("reset", None)] {
        let proxy = Proxy::start(fault, service, "Http");
        let sender = connect(proxy.address).await;
        let (proxy, ()) = on_proxy(proxy, Proxy::begin).await;
        let asked = tokio::spawn(async move { post(&sender, "/broken").await });
        let (proxy, ()) = on_proxy(proxy, |proxy| proxy.await_count("broken", 1)).await;
        let (_proxy, ()) = on_proxy(proxy, Proxy::lift).await;
        let answer = tokio::time::timeout(Duration::from_secs(30), asked)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(answer.ok().map(|it| it.0.as_u16()), status, "{fault}");
    }
    assert!(paths.lock().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn as_many_requests_of_a_connection_are_held_as_its_client_sends() {
    let (service, paths) = service().await;
    let proxy = Proxy::start("hold", service, "Http");
    let sender = connect(proxy.address).await;
    let (proxy, ()) = on_proxy(proxy, Proxy::begin).await;
    let calls = (0..300).map(|_| {
        let one = sender.clone();
        tokio::spawn(async move { post(&one, "/held").await.unwrap().0 })
    });
    let calls: Vec<_> = calls.collect();
    let (proxy, ()) = on_proxy(proxy, |proxy| proxy.await_count("held", 300)).await;
    let (_proxy, ()) = on_proxy(proxy, Proxy::lift).await;
    for call in calls {
        assert_eq!(call.await.unwrap(), StatusCode::OK);
    }
    assert_eq!(paths.lock().unwrap().len(), 300);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_headers_pass_both_ways() {
    let (service, _) = service().await;
    let proxy = Proxy::start("hold", service, "Http");
    let mut sender = connect(proxy.address).await;
    let long = "x".repeat(100_000);
    let request = Request::get("http://here/").header("x-long", &long);
    let request = request.body(Full::default()).unwrap();
    let answer = sender.send_request(request).await.unwrap();
    assert!(answer.headers()["x-long"] == long.as_str());
}
