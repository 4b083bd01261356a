//! What stands between a client and its server, and takes answers away?

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

#[derive(Default)]
struct State {
    swallows: AtomicBool,
    takes_next: AtomicBool,
    connects: AtomicU64,
    cut: Notify,
}

/// Passes everything on, until it is told otherwise.
pub struct Proxy {
    port: u16,
    state: Arc<State>,
}

impl Proxy {
    pub async fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let state = Arc::<State>::default();
        let shared = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                shared.connects.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(pass(client, server, Arc::clone(&shared)));
            }
        });
        Self { port, state }
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// From here on no answer comes through.
    pub fn swallow(&self) {
        self.state.swallows.store(true, Ordering::SeqCst);
    }

    /// Takes the next answer away and closes its connection.
    pub fn take_next_answer(&self) {
        self.state.takes_next.store(true, Ordering::SeqCst);
    }

    /// Closes all connections; the next work again.
    pub fn cut(&self) {
        self.state.cut.notify_waiters();
        self.state.swallows.store(false, Ordering::SeqCst);
    }

    pub fn connects(&self) -> u64 {
        self.state.connects.load(Ordering::SeqCst)
    }
}

async fn pass(client: TcpStream, server: u16, state: Arc<State>) {
    let cut = state.cut.notified();
    let Ok(server) = TcpStream::connect(("127.0.0.1", server)).await else {
        return;
    };
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let answers = async {
        let mut piece = vec![0; 4096];
        while let Ok(read @ 1..) = from_server.read(&mut piece).await {
            if state.takes_next.swap(false, Ordering::SeqCst) {
                break;
            }
            if !state.swallows.load(Ordering::SeqCst)
                && to_client.write_all(&piece[..read]).await.is_err()
            {
                break;
            }
        }
    };
    tokio::select! {
        () = cut => (),
        () = answers => (),
        _ = copy(&mut from_client, &mut to_server) => (),
    }
}
