//! What does HTTP/2 prove? That a stream was refused, or comes after the last that a GOAWAY names
//! (RFC 9113 section 8.7), and nothing else.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::servers::{Version, builder, client};
use crate::within;

/// What the server does with the head of a request. After the last of a script it answers 200.
#[derive(Debug, Clone, Copy)]
enum Does {
    /// Resets the stream with this code.
    Reset(u8),
    /// Says GOAWAY with this code; the last stream is the one before.
    GoAwayBefore(u8),
    /// The same, and closes the connection.
    GoAwayBeforeAndClose,
    /// Says GOAWAY with this code; the last stream is this one, on which nothing follows.
    GoAwayAt(u8),
    /// Does not answer.
    Stall,
}

const NO_ERROR: u8 = 0;
const INTERNAL_ERROR: u8 = 2;
const REFUSED_STREAM: u8 = 7;
const CANCEL: u8 = 8;
const ENHANCE_YOUR_CALM: u8 = 11;

/// A server of frames, since no other says GOAWAY when it is told to.
struct Server {
    url: String,
    seen: Arc<AtomicUsize>,
    _connections: JoinSet<()>,
}

impl Server {
    async fn start(script: impl IntoIterator<Item = Does>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
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

    fn count(&self) -> usize {
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

#[tokio::test]
async fn a_request_that_was_refused_is_repeated_and_no_other_that_may_not_be() {
    for (does, expected) in [
        (Does::Reset(REFUSED_STREAM), 2),
        (Does::GoAwayBefore(NO_ERROR), 2),
        (Does::GoAwayBefore(ENHANCE_YOUR_CALM), 2),
        (Does::GoAwayAt(NO_ERROR), 1),
        (Does::GoAwayAt(INTERNAL_ERROR), 1),
        (Does::GoAwayAt(ENHANCE_YOUR_CALM), 1),
        (Does::Reset(CANCEL), 1),
        (Does::Reset(NO_ERROR), 1),
    ] {
        let server = Server::start([does]).await;
        let ended = within(client(Version::Http2, 0).post(&server.url).send()).await;
        assert_eq!(
            (ended.is_ok(), server.count()),
            (expected == 2, expected),
            "{does:?}"
        );
    }
}

#[tokio::test]
async fn of_two_streams_a_goaway_between_them_refuses_the_second_alone() {
    let server = Server::start([Does::Stall, Does::GoAwayBeforeAndClose]).await;
    let client = client(Version::Http2, 0);
    let first = tokio::spawn(client.post(&server.url).send());
    within(async {
        while server.count() == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let second = within(client.post(&server.url).send()).await;
    assert_eq!(second.expect("an answer").status(), 200);
    let first = within(first).await.expect("no panic");
    assert_eq!(first.expect_err("it may have been done").attempts(), 1);
    assert_eq!(server.count(), 3);
}

#[tokio::test]
async fn reqwests_own_repetitions_are_off() {
    for does in [Does::Reset(REFUSED_STREAM), Does::GoAwayBefore(NO_ERROR)] {
        let server = Server::start([does; 8]).await;
        let bare = builder(Version::Http2, 0).build().expect("a client");
        assert!(within(bare.get(&server.url).send()).await.is_err());
        assert_eq!(server.count(), 3, "of a client as reqwest builds it");

        let server = Server::start([does; 8]).await;
        let once = client(Version::Http2, 0).get(&server.url).attempts(1);
        assert!(within(once.send()).await.is_err());
        assert_eq!(server.count(), 1);
    }
}
