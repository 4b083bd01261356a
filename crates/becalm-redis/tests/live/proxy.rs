//! What stands between a client and its server, and takes answers away?

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::sleep;

#[derive(Default)]
struct State {
    /// The port of the server to which new connections go.
    server: AtomicU16,
    /// The port that it comes from, where it was told one.
    from: AtomicU16,
    swallows: AtomicBool,
    takes_next: AtomicBool,
    /// For how long what clients send is held back after the cut, in milliseconds; 0 if it is not.
    holds: AtomicU64,
    held: AtomicU64,
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
        state.server.store(server, Ordering::SeqCst);
        let shared = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                shared.connects.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(pass(client, Arc::clone(&shared)));
            }
        });
        Self { port, state }
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// From here on new connections go to this server.
    pub fn switch(&self, server: u16) {
        self.state.server.store(server, Ordering::SeqCst);
    }

    /// From here on it comes to servers from this port; from any, if it is 0.
    pub fn come_from(&self, port: u16) {
        self.state.from.store(port, Ordering::SeqCst);
    }

    /// From here on no answer comes through.
    pub fn swallow(&self) {
        self.state.swallows.store(true, Ordering::SeqCst);
    }

    /// Takes the next answer away and closes its connection.
    pub fn take_next_answer(&self) {
        self.state.takes_next.store(true, Ordering::SeqCst);
    }

    /// From here on what clients send is held back. It comes to the server this long after the cut.
    pub fn hold(&self, after_the_cut: Duration) {
        let millis = u64::try_from(after_the_cut.as_millis()).expect("seconds");
        self.state.holds.store(millis, Ordering::SeqCst);
    }

    /// Holds back what this sends, which comes to the server this long after its connection is cut.
    pub async fn held_back<T: Send + 'static>(
        &self,
        after_the_cut: Duration,
        sending: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        let sending = self.holding(after_the_cut, sending).await;
        self.cut();
        sending
    }

    /// Holds back what this sends. It comes to the server of now this long after its connection is cut.
    pub async fn holding<T: Send + 'static>(
        &self,
        after_the_cut: Duration,
        sending: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        let held = || self.state.held.load(Ordering::SeqCst);
        self.hold(after_the_cut);
        let before = held();
        let sending = tokio::spawn(sending);
        while held() == before {
            sleep(Duration::from_millis(1)).await;
        }
        sending
    }

    /// Closes all connections; the next work again.
    pub fn cut(&self) {
        self.state.cut.notify_waiters();
        self.state.holds.store(0, Ordering::SeqCst);
        self.state.swallows.store(false, Ordering::SeqCst);
    }

    pub fn connects(&self) -> u64 {
        self.state.connects.load(Ordering::SeqCst)
    }
}

/// A connection from this port, which may be that of another, to another server.
pub async fn from_port(from: u16, server: u16) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(([127, 0, 0, 1], from).into())?;
    socket.connect(([127, 0, 0, 1], server).into()).await
}

async fn pass(client: TcpStream, state: Arc<State>) {
    let cut = state.cut.notified();
    let server = state.server.load(Ordering::SeqCst);
    let from = state.from.load(Ordering::SeqCst);
    let Ok(server) = from_port(from, server).await else {
        return;
    };
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let mut held = Vec::new();
    let mut delay = Duration::ZERO;
    let answers = async {
        let (mut piece, mut is_mute) = (vec![0; 4096], false);
        while let Ok(read @ 1..) = from_server.read(&mut piece).await {
            if state.takes_next.swap(false, Ordering::SeqCst) {
                break;
            }
            // What follows would be taken for what was swallowed.
            is_mute |= state.swallows.load(Ordering::SeqCst);
            if !is_mute && to_client.write_all(&piece[..read]).await.is_err() {
                break;
            }
        }
    };
    let commands = async {
        let mut piece = vec![0; 4096];
        while let Ok(read @ 1..) = from_client.read(&mut piece).await {
            match state.holds.load(Ordering::SeqCst) {
                0 if held.is_empty() => {
                    if to_server.write_all(&piece[..read]).await.is_err() {
                        break;
                    }
                }
                millis => {
                    delay = delay.max(Duration::from_millis(millis));
                    held.extend_from_slice(&piece[..read]);
                    state.held.fetch_add(read as u64, Ordering::SeqCst);
                }
            }
        }
    };
    tokio::select! {
        () = cut => (),
        () = answers => (),
        () = commands => (),
    }
    drop((from_client, to_client));
    if !held.is_empty() {
        sleep(delay).await;
        let _ = to_server.write_all(&held).await;
        let _ = to_server.shutdown().await;
        // Until the server has taken it.
        let _ = from_server.read_to_end(&mut Vec::new()).await;
    }
}

/// A connection hears the begin of what its server says, whatever is swallowed: a client that heard a later part would take it for an earlier answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_swallowed_is_followed_by_nothing() {
    let server = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = server.local_addr().expect("an address").port();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = server.accept().await {
            tokio::spawn(async move {
                let mut number = 0_u32;
                while client.write_all(&number.to_be_bytes()).await.is_ok() {
                    number += 1;
                }
            });
        }
    });
    let proxy = Proxy::to(port).await;
    for _ in 0..100 {
        let mut client = TcpStream::connect(("127.0.0.1", proxy.port)).await;
        let client = client.as_mut().expect("it listens");
        let _ = client.read_u32().await.expect("it passes");
        proxy.swallow();
        let hears = async {
            let mut before = 0;
            while let Ok(number) = client.read_u32().await {
                assert_eq!(number, before + 1, "what lies between was swallowed");
                before = number;
            }
        };
        let cuts = async {
            sleep(Duration::from_millis(2)).await;
            proxy.cut();
        };
        tokio::join!(hears, cuts);
    }
}
