//! What stands between a client and its server, and takes away what is said around `COMMIT`?

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};

#[derive(Default)]
struct State {
    /// How many answers to `COMMIT` are yet to be lost.
    answers: AtomicU32,
    /// How many `COMMIT`s are yet to be held back, and for how many milliseconds.
    held: AtomicU32,
    held_for: AtomicU32,
    /// How many times `COMMIT` is yet to be lost before it arrives.
    commits: AtomicU32,
    swallows: AtomicBool,
    /// Whether the connection of a lost answer stays open, and silent.
    stalls: AtomicBool,
    /// Whether the server's side of a connection stays open whose client's has ended.
    leaves_open: AtomicBool,
    /// Whether nothing comes through once something was lost.
    holds_after_loss: AtomicBool,
    is_held: watch::Sender<bool>,
    /// Whether `BEGIN` ends its connection, and how many came.
    cuts_begins: AtomicBool,
    begins: AtomicU32,
    /// Whether `SELECT 1` and all that follows it over a connection does not arrive.
    mutes_questions: AtomicBool,
    cut: Notify,
}

impl State {
    fn hold(&self) {
        let holds = self.holds_after_loss.load(Ordering::SeqCst);
        self.is_held.send_replace(holds);
    }
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
                tokio::spawn(pass(client, server, Arc::clone(&shared)));
            }
        });
        Self { port, state }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The answers to the next so many `COMMIT`s do not come through, and their connections end.
    pub fn lose_answers(&self, commits: u32) {
        self.state.answers.store(commits, Ordering::SeqCst);
    }

    /// The answers to the next so many `COMMIT`s do not come through, and their connections stay.
    pub fn stall_answers(&self, commits: u32) {
        self.state.stalls.store(true, Ordering::SeqCst);
        self.lose_answers(commits);
    }

    /// The next so many `COMMIT`s do not arrive, and their connections end.
    pub fn lose_commits(&self, commits: u32) {
        self.state.commits.store(commits, Ordering::SeqCst);
    }

    /// The next so many `COMMIT`s arrive so much later, whatever has become of their clients.
    pub fn hold_commits(&self, commits: u32, millis: u32) {
        self.state.held_for.store(millis, Ordering::SeqCst);
        self.state.held.store(commits, Ordering::SeqCst);
    }

    /// From here on the server does not hear that its client is gone.
    pub fn leave_open(&self) {
        self.state.leaves_open.store(true, Ordering::SeqCst);
    }

    /// Once something was lost, new connections wait until [`pass`](Self::pass).
    pub fn hold_after_loss(&self) {
        self.state.holds_after_loss.store(true, Ordering::SeqCst);
    }

    /// Comes back when something was lost.
    pub async fn is_held(&self) {
        let mut is_held = self.state.is_held.subscribe();
        let _ = is_held.wait_for(|is_held| *is_held).await;
    }

    pub fn pass(&self) {
        self.state.holds_after_loss.store(false, Ordering::SeqCst);
        self.state.is_held.send_replace(false);
    }

    /// From here on each `BEGIN` ends its connection.
    pub fn cut_begins(&self) {
        self.state.cuts_begins.store(true, Ordering::SeqCst);
    }

    /// How many came since.
    pub fn begins(&self) -> u32 {
        self.state.begins.load(Ordering::SeqCst)
    }

    /// From here on connections are silent that ask `SELECT 1`.
    pub fn mute_questions(&self) {
        self.state.mutes_questions.store(true, Ordering::SeqCst);
    }

    /// `BEGIN` and `SELECT 1` come through again, over other connections.
    pub fn hear_all(&self) {
        self.state.cuts_begins.store(false, Ordering::SeqCst);
        self.state.mutes_questions.store(false, Ordering::SeqCst);
    }

    /// From here on no answer comes through.
    pub fn swallow(&self) {
        self.state.swallows.store(true, Ordering::SeqCst);
    }

    /// Closes all connections; the next work again.
    pub fn cut(&self) {
        self.state.cut.notify_waiters();
        self.state.swallows.store(false, Ordering::SeqCst);
    }
}

/// Takes one of so many, if there is one left.
fn is_taken(left: &AtomicU32) -> bool {
    let take = |left: u32| left.checked_sub(1);
    left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take)
        .is_ok()
}

async fn pass(client: TcpStream, server: u16, state: Arc<State>) {
    let cut = state.cut.notified();
    let mut is_held = state.is_held.subscribe();
    let _ = is_held.wait_for(|is_held| !is_held).await;
    let Ok(server) = TcpStream::connect(("127.0.0.1", server)).await else {
        return;
    };
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let loses_answer = AtomicBool::new(false);
    let questions = async {
        let mut piece = vec![0; 4096];
        while let Ok(read @ 1..) = from_client.read(&mut piece).await {
            let says = |said: &[u8]| piece[..read].windows(said.len()).any(|words| words == said);
            if state.cuts_begins.load(Ordering::SeqCst) && says(b"BEGIN\0") {
                state.begins.fetch_add(1, Ordering::SeqCst);
                break;
            }
            if state.mutes_questions.load(Ordering::SeqCst) && says(b"SELECT 1\0") {
                std::future::pending::<()>().await;
            }
            if piece[..read].windows(7).any(|words| words == b"COMMIT\0") {
                if is_taken(&state.held) {
                    let millis = state.held_for.load(Ordering::SeqCst);
                    tokio::time::sleep(Duration::from_millis(millis.into())).await;
                }
                if is_taken(&state.commits) {
                    state.hold();
                    break;
                }
                loses_answer.fetch_or(is_taken(&state.answers), Ordering::SeqCst);
            }
            if to_server.write_all(&piece[..read]).await.is_err() {
                break;
            }
        }
    };
    let answers = async {
        let (mut piece, mut is_mute) = (vec![0; 4096], false);
        while let Ok(read @ 1..) = from_server.read(&mut piece).await {
            if loses_answer.load(Ordering::SeqCst) {
                state.hold();
                if state.stalls.load(Ordering::SeqCst) {
                    std::future::pending::<()>().await;
                }
                break;
            }
            // What follows would be taken for what was swallowed.
            is_mute |= state.swallows.load(Ordering::SeqCst);
            if !is_mute && to_client.write_all(&piece[..read]).await.is_err() {
                break;
            }
        }
    };
    tokio::select! {
        () = cut => (),
        () = answers => (),
        () = questions => (),
    }
    if state.leaves_open.load(Ordering::SeqCst) {
        drop((to_client, from_client));
        std::future::pending::<()>().await;
    }
}
