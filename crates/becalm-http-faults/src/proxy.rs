//! A proxy that forwards bytes, until it is told to forward nothing any more on the connections that it has. Nobody closes them.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// What it does not forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Silence {
    /// What the client sends.
    Requests = 1,
    /// What the server sends.
    Answers = 2,
    /// Both.
    All = 3,
}

/// A proxy, which stops when it is dropped.
pub struct Proxy {
    /// On which it listens.
    pub port: u16,
    /// Of each connection, what it does not forward.
    connections: Arc<Mutex<Vec<Arc<AtomicU8>>>>,
    _pumps: JoinSet<()>,
}

impl Proxy {
    /// A proxy before the server on this port.
    ///
    /// # Panics
    ///
    /// There is no port.
    pub async fn start(server: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let connections = Arc::<Mutex<Vec<Arc<AtomicU8>>>>::default();
        let all = Arc::clone(&connections);
        let mut running = JoinSet::new();
        running.spawn(async move {
            let mut pumps = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let silent = Arc::<AtomicU8>::default();
                all.lock().expect("unpoisoned").push(Arc::clone(&silent));
                let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, server)).await else {
                    continue;
                };
                let _ = (client.set_nodelay(true), server.set_nodelay(true));
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                let other = Arc::clone(&silent);
                pumps.spawn(pump(from_client, to_server, Silence::Requests, other));
                pumps.spawn(pump(from_server, to_client, Silence::Answers, silent));
            }
        });
        Self {
            port,
            connections,
            _pumps: running,
        }
    }

    /// From now on forwards nothing of this on the connections that there are.
    ///
    /// # Panics
    ///
    /// The proxy has panicked.
    pub fn silence(&self, silence: Silence) {
        for connection in &*self.connections.lock().expect("unpoisoned") {
            connection.fetch_or(silence as u8, Ordering::SeqCst);
        }
    }

    /// How many connections were made.
    ///
    /// # Panics
    ///
    /// The proxy has panicked.
    pub fn dials(&self) -> usize {
        self.connections.lock().expect("unpoisoned").len()
    }
}

async fn pump(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    way: Silence,
    silent: Arc<AtomicU8>,
) {
    let mut bytes = vec![0; 16 * 1024];
    while let Ok(length @ 1..) = from.read(&mut bytes).await {
        let is_silent = silent.load(Ordering::SeqCst) & way as u8 != 0;
        if !is_silent && to.write_all(&bytes[..length]).await.is_err() {
            return;
        }
    }
    if silent.load(Ordering::SeqCst) & way as u8 != 0 {
        std::future::pending::<()>().await; // the end is not forwarded either
    }
}
