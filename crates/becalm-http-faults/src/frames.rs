//! What does HTTP/2 prove? A server of frames, since no library says GOAWAY when it is told to, and the table of
//! what is repeated: a stream that was refused, or comes after the last that a GOAWAY names (RFC 9113 section 8.7),
//! and no other.

use std::collections::VecDeque;
use std::io;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::within;

/// What the server does with the head of a request. After the last of a script it answers 200.
#[derive(Debug, Clone, Copy)]
pub enum Does {
    /// Resets the stream with this code.
    Reset(u8),
    /// Says GOAWAY with this code; the last stream is the one before.
    GoAwayBefore(u8),
    /// Says GOAWAY, of which the last stream is the one before, and closes the connection.
    GoAwayBeforeAndClose,
    /// Says GOAWAY with this code; the last stream is this one, on which nothing follows.
    GoAwayAt(u8),
    /// Does not answer.
    Stall,
}

/// The code of an orderly end.
pub const NO_ERROR: u8 = 0;
const INTERNAL_ERROR: u8 = 2;
/// The code of a request that was not processed.
pub const REFUSED_STREAM: u8 = 7;
const CANCEL: u8 = 8;
const ENHANCE_YOUR_CALM: u8 = 11;

/// How often a server sees a POST.
const PROOFS: [(Does, usize); 8] = [
    (Does::Reset(REFUSED_STREAM), 2),
    (Does::GoAwayBefore(NO_ERROR), 2),
    (Does::GoAwayBefore(ENHANCE_YOUR_CALM), 2),
    (Does::GoAwayAt(NO_ERROR), 1),
    (Does::GoAwayAt(INTERNAL_ERROR), 1),
    (Does::GoAwayAt(ENHANCE_YOUR_CALM), 1),
    (Does::Reset(CANCEL), 1),
    (Does::Reset(NO_ERROR), 1),
];

/// A POST is repeated where there is proof, and nowhere else. `post` sends one to this URL, and says whether it was
/// answered.
///
/// # Panics
///
/// It is repeated where it may not be, or the other way round.
pub async fn proofs(post: impl AsyncFn(&str) -> bool) {
    for (does, expected) in PROOFS {
        let server = Server::start([does]).await;
        let is_answered = within(post(&server.url)).await;
        assert_eq!(
            (is_answered, server.count()),
            (expected == 2, expected),
            "{does:?}"
        );
    }
}

/// Of two streams on one connection a GOAWAY between them refuses the second alone. `post` sends a POST to this URL, and says
/// whether it was answered.
///
/// # Panics
///
/// The first is repeated, or the second is not.
pub async fn goaway_between(post: impl AsyncFn(&str) -> bool) {
    let server = Server::start([Does::Stall, Does::GoAwayBeforeAndClose]).await;
    let second = async {
        while server.count() == 0 {
            tokio::task::yield_now().await;
        }
        post(&server.url).await
    };
    let answered = within(async { tokio::join!(post(&server.url), second) }).await;
    assert_eq!(answered, (false, true), "the first may have been done");
    assert_eq!(server.count(), 3);
}

/// A server, which stops when it is dropped.
pub struct Server {
    /// Where it is.
    pub url: String,
    seen: Arc<AtomicUsize>,
    _connections: JoinSet<()>,
}

impl Server {
    /// A server that does this, one after the other.
    ///
    /// # Panics
    ///
    /// There is no port.
    pub async fn start(script: impl IntoIterator<Item = Does>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.expect("a port");
        let url = format!("http://{}/", listener.local_addr().expect("an address"));
        let script = Arc::new(Mutex::new(script.into_iter().collect::<VecDeque<_>>()));
        let seen = Arc::<AtomicUsize>::default();
        let count = Arc::clone(&seen);
        let mut server = JoinSet::new();
        server.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (script, count) = (Arc::clone(&script), Arc::clone(&count));
                connections.spawn(async move { drop(serve(stream, &script, &count).await) });
            }
        });
        Self {
            url,
            seen,
            _connections: server,
        }
    }

    /// How many requests have come.
    pub fn count(&self) -> usize {
        self.seen.load(Ordering::SeqCst)
    }
}

async fn serve(
    mut stream: TcpStream,
    script: &Mutex<VecDeque<Does>>,
    seen: &AtomicUsize,
) -> io::Result<()> {
    stream.read_exact(&mut [0; 24]).await?; // the preface
    stream.write_all(&frame(4, 0, 0, &[])).await?; // SETTINGS
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let id = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        let mut payload = vec![0; length as usize];
        stream.read_exact(&mut payload).await?;
        if head[3] != 1 {
            continue; // no HEADERS
        }
        seen.fetch_add(1, Ordering::SeqCst);
        let does = script.lock().expect("unpoisoned").pop_front();
        let go_away = |last: u32, code: u8| {
            let payload = [&last.to_be_bytes()[..], &[0, 0, 0, code]].concat();
            frame(7, 0, 0, &payload)
        };
        match does {
            None => stream.write_all(&frame(1, 5, id, &[0x88])).await?, // `:status: 200`, no body
            Some(Does::Reset(code)) => stream.write_all(&frame(3, 0, id, &[0, 0, 0, code])).await?,
            Some(Does::GoAwayBefore(code)) => stream.write_all(&go_away(id - 1, code)).await?,
            Some(Does::GoAwayBeforeAndClose) => {
                stream.write_all(&go_away(id - 1, NO_ERROR)).await?;
                return stream.shutdown().await;
            }
            Some(Does::GoAwayAt(code)) => {
                stream.write_all(&go_away(id, code)).await?;
                return stream.shutdown().await;
            }
            Some(Does::Stall) => (),
        }
    }
}

fn frame(kind: u8, flags: u8, id: u32, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).expect("short");
    let head = [0, 0, length, kind, flags];
    [&head[..], &id.to_be_bytes(), payload].concat()
}
