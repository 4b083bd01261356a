//! Does TLS cost only whom the listener has let through, and is all that is told heard over it?

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use becalm::time::FakeSleeper;
use becalm_ws::server::{Listener, Server, Settings};
use becalm_ws::tungstenite::http::Uri;
use becalm_ws::{Client, ClientRequestBuilder, Connector, WebSocket};
use futures_util::StreamExt;
use rcgen::CertifiedKey;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use crate::returns::slow;
use crate::servers::{echo, open};
use crate::tls_support::side_by_side;
use crate::{until, within};

/// A server that speaks TLS, as the example of the server's documentation leaves room for it, until it is dropped.
struct Secure {
    server: Server,
    address: SocketAddr,
    trusts: Connector,
    /// TLS handshakes that were begun, and those that failed since they took too long.
    begun: Arc<AtomicUsize>,
    late: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Secure {
    async fn start(settings: Settings) -> Self {
        let names = ["localhost".to_owned()];
        let CertifiedKey { cert, signing_key } = rcgen::generate_simple_self_signed(names).unwrap();
        let (acceptor, trusts) = side_by_side(&cert, &signing_key);
        let server = settings.server().unwrap();
        let listener = server.listen("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let [begun, late] = [0, 1].map(|_| Arc::<AtomicUsize>::default());
        let counts = [Arc::clone(&begun), Arc::clone(&late)];
        let task = tokio::spawn(serve(server.clone(), listener, acceptor, counts));
        Self {
            server,
            address,
            trusts,
            begun,
            late,
            task,
        }
    }

    fn uri(&self) -> Uri {
        let port = self.address.port();
        format!("wss://localhost:{port}/").parse().unwrap()
    }

    fn client(&self) -> Client {
        Client::new(self.uri()).connector(self.trusts.clone())
    }

    fn begun(&self) -> usize {
        self.begun.load(Ordering::SeqCst)
    }
}

impl Drop for Secure {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    server: Server,
    mut listener: Listener,
    acceptor: TlsAcceptor,
    [begun, late]: [Arc<AtomicUsize>; 2],
) {
    while let Some(connection) = listener.accept().await {
        let (server, acceptor, late) = (server.clone(), acceptor.clone(), Arc::clone(&late));
        begun.fetch_add(1, Ordering::SeqCst);
        tokio::spawn(async move {
            let peer = connection.peer().clone();
            let stream = match acceptor.accept(connection).await {
                Ok(stream) => stream,
                Err(error) => {
                    let is_late = error.kind() == std::io::ErrorKind::TimedOut;
                    late.fetch_add(usize::from(is_late), Ordering::SeqCst);
                    return;
                }
            };
            let Ok(handshake) = server.handshake(stream, &peer).await else {
                return;
            };
            let Ok(socket) = handshake.accept().await else {
                return;
            };
            socket.ready();
            echo(socket).await;
        });
    }
}

/// Says hello until it is answered, since what was sent to a connection that was opened to be closed is lost with it.
async fn greets(client: Client) -> WebSocket {
    let mut socket = client.open().unwrap();
    let handle = socket.handle();
    let greeting = tokio::spawn(async move {
        while handle.send("hello").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let echo = within(socket.next()).await.unwrap().unwrap();
    greeting.abort();
    assert_eq!(echo.to_string(), "hello");
    socket
}

#[tokio::test]
async fn no_tls_is_begun_beyond_the_bound_and_who_is_slow_at_it_gives_its_place_back() {
    let (clock, moment) = (FakeSleeper::new(), Duration::from_millis(1));
    let before = Duration::from_secs(10);
    let deadline = before + moment;
    let settings = open().handshakes(1, 1, deadline).sleeper(clock.clone());
    let secure = Secure::start(settings).await;
    // Nothing, the head of a record of TLS that does not come, and one that comes by the byte.
    for (number, sent) in [&b""[..], b"\x16\x03\x01\x02\0", b"\x16"]
        .into_iter()
        .enumerate()
    {
        let (begun, late) = (2 * number + 1, number + 1);
        let mut slow = TcpStream::connect(secure.address).await.unwrap();
        slow.write_all(sent).await.unwrap();
        until(|| secure.begun() == begun).await;
        // It has the only place: the next waits before its own TLS.
        let next = tokio::spawn(greets(secure.client()));
        until(|| secure.server.metrics().accept_queue_depth == 1).await;
        clock.advance(before);
        if sent.len() == 1 {
            slow.write_all(b"\x03").await.unwrap();
        }
        assert_eq!(
            (secure.begun(), secure.late.load(Ordering::SeqCst)),
            (begun, late - 1)
        );
        assert!(!next.is_finished());
        clock.advance(moment);
        let _next = within(next).await.unwrap();
        assert_eq!(
            (secure.begun(), secure.late.load(Ordering::SeqCst)),
            (begun + 1, late)
        );
        let now = || secure.server.metrics();
        until(|| (now().handshakes_in_flight, now().connections_active) == (0, 1)).await;
    }
}

#[tokio::test]
async fn an_appointment_that_was_told_over_tls_is_kept_over_it() {
    for origin in [false, true] {
        let secure = Secure::start(slow()).await;
        let _first = greets(secure.client()).await;
        let uri = secure.uri();
        let client = Client::with_provider(move |_| {
            let mut request = ClientRequestBuilder::new(uri.clone());
            if origin {
                request = request.with_header("origin", "https://shop.example");
            }
            async move { Ok(request) }
        });
        let _second = greets(client.connector(secure.trusts.clone())).await;
        let metrics = secure.server.metrics();
        let told = metrics.admission;
        assert_eq!(
            (told.admit, told.reject_rate, told.ticket),
            (1, 1, 1),
            "{origin}"
        );
        assert_eq!(
            (secure.begun(), metrics.connections_active),
            (3, 2),
            "{origin}"
        );
    }
}
