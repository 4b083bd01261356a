//! Does every message come exactly once, whatever happens to connections, and does a session that cannot go on say so?

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use becalm_ws::session::{
    Began, Cold, Envelope, Lost, ProtocolError, Resume, SessionSettings, SessionSocket, Sessions,
};
use becalm_ws::{Client, Event, Message, Overflow, Refused, StopReason};
use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::server::{Peer, Server};
use crate::within;

type Socket = SessionSocket<Peer>;

/// A server that keeps sessions of the user `ada`.
async fn keeping<F>(
    sessions: &Sessions,
    on: impl Fn(usize, Socket) -> F + Clone + Send + Sync + 'static,
) -> Server
where
    F: Future<Output = ()> + Send + 'static,
{
    let sessions = sessions.clone();
    Server::new(move |number, peer| {
        let (sessions, on) = (sessions.clone(), on.clone());
        async move {
            if let Ok(socket) = sessions.accept(peer, "ada").await {
                on(number, socket).await;
            }
        }
    })
    .await
}

/// Everything that an observer is told of sessions, as words.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    fn watching(&self, client: Client) -> Client {
        let seen = Arc::clone(&self.0);
        client.observer(move |event| {
            let word = match event {
                Event::Resumed => "resumed".to_owned(),
                Event::Cold(why) => format!("{why:?}"),
                Event::Unconfirmed(message) => format!("unconfirmed {message}"),
                Event::Dropped(message) => format!("dropped {message}"),
                _ => return,
            };
            seen.lock().unwrap().push(word);
        })
    }

    fn words(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

async fn echo(mut socket: Socket) {
    while let Some(Ok(message)) = socket.next().await {
        if socket.send(message).await.is_err() {
            return;
        }
    }
}

#[tokio::test]
async fn messages_keep_their_kind_and_order() {
    let sessions = SessionSettings::default().open();
    let server = keeping(&sessions, |_, socket| echo(socket)).await;
    let seen = Seen::default();
    let client = seen.watching(server.client().resume(Resume::default()));
    let (mut sink, mut stream) = client.open().unwrap().split();
    let message = |number: usize| match number % 2 {
        0 => Message::from(format!("{number}{}", "x".repeat(number * 37 % 9_000))),
        _ => Message::from(number.to_be_bytes().repeat(number % 900)),
    };
    let sends = tokio::spawn(async move {
        for number in 0..3_000 {
            sink.feed(message(number)).await.unwrap();
        }
        sink.flush().await.unwrap();
        sink
    });
    for number in 0..3_000 {
        let came = within(stream.next()).await.unwrap().unwrap();
        assert_eq!(came, message(number), "{number}");
    }
    let mut socket = sends.await.unwrap().reunite(stream).unwrap();
    within(socket.close()).await.unwrap();
    assert_eq!(seen.words(), ["New"]);
    // The client has ended it.
    assert_eq!(
        (
            sessions.counts().attached,
            sessions.counts().detached,
            sessions.counts().bytes
        ),
        (0, 0, 0)
    );
}

/// Hands bytes on from one connection to another until so many have gone, and cuts both then.
async fn hand_on(
    mut from: impl AsyncReadExt + Unpin,
    mut to: impl AsyncWriteExt + Unpin,
    most: usize,
) {
    let mut left = most;
    let mut buffer = [0; 4096];
    while left > 0 {
        let some = left.min(buffer.len());
        match from.read(&mut buffer[..some]).await {
            Ok(0) | Err(_) => return,
            Ok(read) => {
                left -= read;
                if to.write_all(&buffer[..read]).await.is_err() {
                    return;
                }
            }
        }
    }
    let _ = to.flush().await;
}

/// A way to `server` whose connections are cut after so many bytes of each direction, by number.
async fn cutting(
    server: &Server,
    after: impl Fn(usize) -> (usize, usize) + Send + Sync + 'static,
) -> Server {
    let address = server.uri().authority().expect("an address").to_string();
    let after = Arc::new(after);
    Server::raw(move |number, client| {
        let (up, down) = after(number);
        let address = address.clone();
        async move {
            let Ok(server) = TcpStream::connect(address).await else {
                return;
            };
            let ((from_client, to_client), (from_server, to_server)) =
                (client.into_split(), server.into_split());
            tokio::select! {
                () = hand_on(from_client, to_server, up) => (),
                () = hand_on(from_server, to_client, down) => (),
            }
        }
    })
    .await
}

/// The heads of both handshakes are about so long.
const UPGRADE: usize = 150;

#[tokio::test]
async fn none_is_lost_and_none_comes_twice_wherever_a_connection_is_cut() {
    const MESSAGES: usize = 3_000;
    let sessions = SessionSettings::default().open();
    let received = Arc::new(Mutex::new(Vec::new()));
    let all = Arc::clone(&received);
    let server = keeping(&sessions, move |_, mut socket| {
        let all = Arc::clone(&all);
        async move {
            if socket.began() == Began::Cold(Cold::New) {
                // Sent to the session, whichever connection it has.
                let handle = socket.handle();
                tokio::spawn(async move {
                    for number in 0..MESSAGES {
                        handle.send(number.to_string()).await.unwrap();
                        tokio::task::yield_now().await;
                    }
                });
            }
            while let Some(Ok(message)) = socket.next().await {
                all.lock().unwrap().push(message.to_string());
            }
        }
    })
    .await;
    // Every second one is cut at the next byte of what matters, in one direction or the other.
    let cuts = cutting(&server, |number| match (number % 2, number % 4) {
        (0, _) => (40_000 + number, 50_000),
        (_, 1) => (UPGRADE + number / 2, usize::MAX),
        _ => (usize::MAX, UPGRADE + number / 2),
    })
    .await;
    let seen = Seen::default();
    let client = seen.watching(cuts.client().resume(Resume::default().window(4_000)));
    let mut feed = client.open().unwrap();
    let handle = feed.handle();
    let sends = tokio::spawn(async move {
        for number in 0..MESSAGES {
            handle.send(number.to_string()).await.unwrap();
        }
    });
    for number in 0..MESSAGES {
        let message = within(feed.next()).await.unwrap().unwrap();
        assert_eq!(message.to_string(), number.to_string());
    }
    sends.await.unwrap();
    let confirmed = async {
        while received.lock().unwrap().len() < MESSAGES {
            let _ = tokio::time::timeout(Duration::from_millis(5), feed.next()).await;
        }
    };
    within(confirmed).await;
    let expected: Vec<_> = (0..MESSAGES).map(|number| number.to_string()).collect();
    assert_eq!(*received.lock().unwrap(), expected);
    let words = seen.words();
    assert!(words[1..].iter().all(|word| word == "resumed"), "{words:?}");
    eprintln!("{} dials, {} resumed", cuts.dials(), words.len());
}
