//! Does every message come exactly once, whatever happens to connections, and does a session that cannot go on say so?

use std::sync::{Arc, Mutex};
use std::time::Duration;

use becalm_ws::session::{Began, Cold, Resume, SessionSettings, SessionSocket, Sessions};
use becalm_ws::{Client, Event, Message, Overflow, Refused, StopReason};
use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

use crate::server::{Peer, Server};
use crate::within;

type Socket = SessionSocket<Peer>;

/// A server that keeps sessions of the user `ada`.
pub async fn keeping<F>(
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
pub struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    pub fn watching(&self, client: Client) -> Client {
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

    pub fn words(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

pub async fn echo(mut socket: Socket) {
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

/// Hands bytes on from one connection to another until so many have gone.
async fn hand_on(from: &mut OwnedReadHalf, to: &mut OwnedWriteHalf, most: usize) {
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
}

/// Ends it without a reset, which would take back what was handed on.
async fn cut(from: &mut OwnedReadHalf, to: &mut OwnedWriteHalf) {
    let _ = to.shutdown().await;
    let mut rest = Vec::new();
    let _ = tokio::time::timeout(Duration::from_secs(1), from.read_to_end(&mut rest)).await;
}

/// A way to `server` whose connections are cut after so many bytes of each direction, by number.
pub async fn cutting(
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
            let (mut from_client, mut to_client) = client.into_split();
            let (mut from_server, mut to_server) = server.into_split();
            tokio::select! {
                () = hand_on(&mut from_client, &mut to_server, up) => (),
                () = hand_on(&mut from_server, &mut to_client, down) => (),
            }
            tokio::join!(
                cut(&mut from_client, &mut to_client),
                cut(&mut from_server, &mut to_server),
            );
        }
    })
    .await
}

/// The heads of the handshake are about so long.
const REQUEST: usize = 200;
const ANSWER: usize = 125;

#[tokio::test]
async fn none_is_lost_and_none_comes_twice_wherever_a_connection_is_cut() {
    const MESSAGES: usize = 2_500;
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
    // Every second one is cut some bytes further into what matters, in one direction or the other.
    let cuts = cutting(&server, |number| match number % 4 {
        1 => (usize::MAX, ANSWER + 500),
        2 => (REQUEST + number * 3 / 4, usize::MAX),
        3 => (REQUEST + 500, usize::MAX),
        _ => (usize::MAX, ANSWER + number * 3 / 4),
    })
    .await;
    let seen = Seen::default();
    let client = seen.watching(cuts.client().resume(Resume::default().window(1_000)));
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
    assert!(
        cuts.dials() > 150 && words.len() > 80,
        "{} dials, {words:?}",
        cuts.dials()
    );
}

#[tokio::test]
async fn a_message_that_is_too_long_is_refused_and_not_sent_for_ever() {
    let sessions = SessionSettings::default().longest(100).open();
    let server = keeping(&sessions, |_, socket| echo(socket)).await;
    let seen = Seen::default();
    let client = seen.watching(server.client().resume(Resume::default().window(1_000)));
    let mut feed = client.open().unwrap();
    let handle = feed.handle();
    let refused = handle.try_send("x".repeat(1_000)).unwrap_err();
    assert!(matches!(refused, Refused::TooLong(_)), "{refused}");
    handle.try_send("x".repeat(101)).unwrap();
    handle.try_send("short").unwrap();
    assert_eq!(within(feed.next()).await.unwrap().unwrap(), "short".into());
    assert_eq!(
        seen.words(),
        ["New".to_owned(), format!("dropped {}", "x".repeat(101))]
    );
    assert_eq!(server.dials(), 1);
}

#[tokio::test]
async fn peers_that_know_no_sessions_are_told_apart() {
    // A server without.
    let server = Server::new(|_, mut peer| async move {
        let _ = peer.send("hello".into()).await;
        while let Some(Ok(_)) = peer.next().await {}
    })
    .await;
    let mut feed = server.client().resume(Resume::default()).open().unwrap();
    let gave_up = within(feed.next()).await.unwrap().unwrap_err();
    assert_eq!((gave_up.reason, server.dials()), (StopReason::Permanent, 1));
    let why = gave_up.to_string();
    assert!(
        why.contains("sessions must be switched on at both ends"),
        "{why}"
    );

    // A client without: it is closed with 1002.
    let sessions = SessionSettings::default().open();
    let server = keeping(&sessions, |_, _| async {}).await;
    let mut feed = server.client().open().unwrap();
    feed.feed("hello".into()).await.unwrap();
    let gave_up = within(feed.next()).await.unwrap().unwrap_err();
    assert_eq!((gave_up.reason, server.dials()), (StopReason::Permanent, 1));

    // A server that does not answer, the first time.
    let sessions = SessionSettings::default().open();
    let server = Server::new(move |number, peer| {
        let sessions = sessions.clone();
        async move {
            if number == 1 {
                std::future::pending::<()>().await;
            }
            echo(sessions.accept(peer, "ada").await.unwrap()).await;
        }
    })
    .await;
    let soon = Duration::from_millis(100);
    let client = server
        .client()
        .resume(Resume::default())
        .patience(soon, soon);
    let mut feed = client.open().unwrap();
    feed.feed("hello".into()).await.unwrap();
    assert_eq!(within(feed.next()).await.unwrap().unwrap(), "hello".into());
    assert_eq!(server.dials(), 2);
}

#[tokio::test]
#[expect(clippy::result_large_err, reason = "tungstenite's callback is so")]
async fn the_upgrade_names_the_session_that_it_resumes() {
    use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};
    let sessions = SessionSettings::default().open();
    let names = Arc::new(Mutex::new(Vec::new()));
    let (keeps, heard) = (sessions.clone(), Arc::clone(&names));
    let server = Server::raw(move |number, stream| {
        let (sessions, heard) = (keeps.clone(), Arc::clone(&heard));
        async move {
            let listens = |request: &Request, answer: Response| {
                let name = request.headers().get(becalm_ws::session::HEADER);
                let name = name.map(|name| name.to_str().unwrap().parse().unwrap());
                heard.lock().unwrap().push(name);
                Ok(answer)
            };
            let peer = tokio_tungstenite::accept_hdr_async(stream, listens)
                .await
                .unwrap();
            let mut socket = sessions.accept(peer, "ada").await.unwrap();
            socket.send(number.to_string().into()).await.unwrap();
            if number == 1 {
                // Until the client has confirmed.
                assert!(socket.next().await.is_some());
            } else {
                echo(socket).await;
            }
        }
    })
    .await;
    let mut feed = server.client().resume(Resume::default()).open().unwrap();
    feed.feed("hello".into()).await.unwrap();
    for number in 1..3 {
        let message = within(feed.next()).await.unwrap().unwrap();
        assert_eq!(message.to_string(), number.to_string());
    }
    let names = names.lock().unwrap().clone();
    assert_eq!((names.len(), names[0]), (2, None));
    assert!(names[1].is_some_and(|name| sessions.holds(name)));
}

#[tokio::test]
async fn small_windows_on_both_sides_wait_and_never_for_each_other() {
    let sessions = SessionSettings::default().window(2_000).open();
    let server = keeping(&sessions, |_, socket| echo(socket)).await;
    let client = server.client().resume(Resume::default().window(2_000));
    let mut feed = client.outbox(2_000, Overflow::Wait).open().unwrap();
    let handle = feed.handle();
    let sends = tokio::spawn(async move {
        for number in 0..1_000 {
            handle.send(format!("{number:900}")).await.unwrap();
        }
    });
    for number in 0..1_000 {
        let message = within(feed.next()).await.unwrap().unwrap();
        assert_eq!(message.to_string().trim(), number.to_string());
    }
    sends.await.unwrap();
}
