//! A server of one test, which does with each connection what it is told.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use becalm_ws::Client;
use becalm_ws::tungstenite::http::Uri;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinHandle;
use tokio_tungstenite::WebSocketStream;

pub struct Server {
    address: String,
    dials: Arc<AtomicUsize>,
    live: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

pub type Peer = WebSocketStream<TcpStream>;

impl Server {
    /// Runs this on every connection, with the number of its dial.
    #[expect(clippy::unused_async, reason = "as all servers are, which are awaited")]
    pub async fn raw<F>(on: impl Fn(usize, TcpStream) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let socket = TcpSocket::new_v4().expect("a socket");
        let bound = socket.bind(SocketAddr::from(([127, 0, 0, 1], 0)));
        bound.expect("a port");
        // tokio's own 128 are less than some tests dial at once.
        let listener = socket.listen(1024).expect("a listener");
        let address = format!("ws://{}/feed", listener.local_addr().expect("an address"));
        let dials = Arc::<AtomicUsize>::default();
        let (live, most) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let counts = (Arc::clone(&dials), Arc::clone(&live), Arc::clone(&most));
        let task = tokio::spawn(async move {
            let (dials, live, most) = counts;
            while let Ok((stream, _)) = listener.accept().await {
                let number = dials.fetch_add(1, Ordering::SeqCst) + 1;
                let (ends, most) = (Arc::clone(&live), Arc::clone(&most));
                most.fetch_max(ends.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                let serves = on(number, stream);
                tokio::spawn(async move {
                    serves.await;
                    ends.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self {
            address,
            dials,
            live,
            most,
            task,
        }
    }

    /// Runs this after every handshake.
    pub async fn new<F>(on: impl Fn(usize, Peer) -> F + Clone + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self::raw(move |number, stream| {
            let on = on.clone();
            async move {
                if let Ok(peer) = tokio_tungstenite::accept_async(stream).await {
                    on(number, peer).await;
                }
            }
        })
        .await
    }

    /// Answers the handshake with this head.
    pub async fn answering(head: impl Fn(usize) -> String + Clone + Send + Sync + 'static) -> Self {
        Self::raw(move |number, mut stream| {
            let head = head(number);
            async move {
                read_request(&mut stream).await;
                let _ = stream.write_all(head.as_bytes()).await;
            }
        })
        .await
    }

    pub fn client(&self) -> Client {
        Client::new(self.uri()).reconnect(crate::soon())
    }

    pub fn uri(&self) -> Uri {
        self.address.parse().expect("an address")
    }

    /// By the name `localhost`.
    #[cfg(feature = "rustls-webpki-roots")]
    pub fn tls_uri(&self) -> Uri {
        let address = self.address.replace("ws://127.0.0.1", "wss://localhost");
        address.parse().expect("an address")
    }

    pub fn dials(&self) -> usize {
        self.dials.load(Ordering::SeqCst)
    }

    /// The most connections that were there at once.
    pub fn most(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }

    pub fn live(&self) -> usize {
        self.live.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Up to the end of its head.
pub async fn read_request(stream: &mut TcpStream) -> Vec<u8> {
    let mut read = Vec::new();
    while !read.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => read.push(byte),
            Err(_) => break,
        }
    }
    read
}
