//! What is lost when a server is killed with `SIGKILL` and started again a second later? Nothing that no connection was given, and
//! nothing without a word.
//!
//! The server is a process: this program again, whose ignored test it is.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use becalm::Policy;
use becalm::reconnect::Reconnect;
use becalm_ws::session::{Cold, Resume, SessionSettings};
use becalm_ws::{Client, Event, Message, Overflow};
use futures_util::StreamExt;
use tokio::net::TcpListener;

const SESSIONS: &str = "BECALM_TEST_SESSIONS";
const PORT: &str = "BECALM_TEST_PORT";
/// How long no server is there.
const DOWN: Duration = Duration::from_secs(1);
/// No process of a test lives longer.
const LIFE: Duration = Duration::from_secs(300);

/// A process that prints each message that its application is given.
struct Process(Child);

impl Process {
    /// Its lines go to `heard`, those before it was killed included.
    fn start(keeps_sessions: bool, port: &Mutex<u16>, heard: &Arc<Mutex<Vec<String>>>) -> Self {
        let this = std::env::current_exe().expect("a program");
        let mut command = Command::new(this);
        command.args(["--exact", "killed::a_server", "--ignored", "--nocapture"]);
        command.env(SESSIONS, keeps_sessions.to_string());
        command.env(PORT, port.lock().expect("a port").to_string());
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let of_port = lines.by_ref().map_while(Result::ok).find_map(|line| {
            let (_, of_port) = line.split_once("port ")?;
            of_port.parse().ok()
        });
        *port.lock().expect("a port") = of_port.expect("it listens");
        let heard = Arc::clone(heard);
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                if let Some(message) = line.strip_prefix("got ") {
                    heard.lock().expect("lines").push(message.to_owned());
                }
            }
        });
        Self(child)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Not a test: a server in a process of its own.
#[tokio::test]
#[ignore = "a process of the other tests"]
async fn a_server() {
    let (Ok(keeps_sessions), Ok(port)) = (std::env::var(SESSIONS), std::env::var(PORT)) else {
        return;
    };
    let keeps_sessions: bool = keeps_sessions.parse().expect("true or false");
    let port: u16 = port.parse().expect("a port");
    let sessions = SessionSettings::default().open();
    let listener = TcpListener::bind(("127.0.0.1", port)).await.expect("free");
    println!("port {}", listener.local_addr().expect("bound").port());
    let serving = async {
        while let Ok((stream, _)) = listener.accept().await {
            let sessions = sessions.clone();
            tokio::spawn(async move {
                let socket = tokio_tungstenite::accept_async(stream).await.ok()?;
                if keeps_sessions {
                    tell(sessions.accept(socket, "ada").await.ok()?).await;
                } else {
                    tell(socket).await;
                }
                Some(())
            });
        }
    };
    let _ = tokio::time::timeout(LIFE, serving).await;
}

async fn tell<E>(mut socket: impl StreamExt<Item = Result<Message, E>> + Unpin) {
    while let Some(Ok(message)) = socket.next().await {
        if message.is_text() {
            println!("got {message}");
        }
    }
}

/// What a client was told, and how often its server was killed under it.
#[derive(Default)]
struct Told {
    unconfirmed: Vec<String>,
    dropped: Vec<String>,
    colds: Vec<Cold>,
}

/// Sends numbers, one a millisecond, to a server that is killed after each thousand but the last.
async fn sent(keeps_sessions: bool, messages: usize) -> (Vec<usize>, Told) {
    let heard = Arc::<Mutex<Vec<String>>>::default();
    let port = Mutex::new(0);
    let mut process = Some(Process::start(keeps_sessions, &port, &heard));
    let told = Arc::<Mutex<Told>>::default();
    let seen = Arc::clone(&told);
    let uri = format!("ws://127.0.0.1:{}/", port.lock().expect("a port"));
    let policy = Policy::exponential(Duration::from_millis(10)).cap(Duration::from_millis(100));
    let client = Client::new(uri.parse().expect("an address"))
        .reconnect(Reconnect::new(policy.attempts(Policy::UNLIMITED)))
        .outbox(1024 * 1024, Overflow::Refuse)
        .observer(move |event| {
            let mut told = seen.lock().expect("told");
            match event {
                Event::Unconfirmed(message) => told.unconfirmed.push(message.to_string()),
                Event::Dropped(message) => told.dropped.push(message.to_string()),
                Event::Cold(why) => told.colds.push(why),
                _ => (),
            }
        });
    let client = if keeps_sessions {
        client.resume(Resume::default())
    } else {
        client
    };
    let mut socket = client.open().expect("valid");
    let handle = socket.handle();
    let reads = tokio::spawn(async move { while let Some(Ok(_)) = socket.next().await {} });
    let mut ticks = tokio::time::interval(Duration::from_millis(1));
    let mut back_at = None;
    for number in 0..messages {
        ticks.tick().await;
        if number % 3000 == 1000 {
            process = None;
            back_at = Some(tokio::time::Instant::now() + DOWN);
        }
        if back_at.is_some_and(|at| at <= tokio::time::Instant::now()) {
            back_at = None;
            process = Some(Process::start(keeps_sessions, &port, &heard));
        }
        handle.try_send(number.to_string()).expect("room");
    }
    let last = (messages - 1).to_string();
    let arrived = || heard.lock().expect("lines").last() == Some(&last);
    tokio::time::timeout(Duration::from_secs(60), async {
        while !arrived() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .expect("the last one arrives");
    handle.close(None);
    let _ = tokio::time::timeout(Duration::from_secs(10), reads).await;
    drop(process);
    let heard = std::mem::take(&mut *heard.lock().expect("lines"));
    let heard = heard.iter().map(|number| number.parse().expect("a number"));
    let told = std::mem::take(&mut *told.lock().expect("told"));
    (heard.collect(), told)
}

/// Compares what has come with what was sent and told: what was lost without a word.
fn lost(messages: usize, heard: &[usize], told: &Told) -> Vec<usize> {
    assert!(heard.is_sorted_by(|one, next| one < next), "twice, or late");
    let has = |number: &usize| {
        heard.binary_search(number).is_ok() || told.unconfirmed.contains(&number.to_string())
    };
    (0..messages).filter(|number| !has(number)).collect()
}

async fn nothing_is_lost_or_dropped_with_a_session(messages: usize) {
    let (heard, told) = sent(true, messages).await;
    let kills = messages.div_ceil(3000);
    let lost = lost(messages, &heard, &told);
    println!(
        "{messages} messages, {kills} kills: {} came, {} are in doubt, {} dropped, {} lost",
        heard.len(),
        told.unconfirmed.len(),
        told.dropped.len(),
        lost.len()
    );
    assert_eq!((told.dropped.len(), lost.len()), (0, 0));
    assert_eq!(told.colds[0], Cold::New);
    assert_eq!(told.colds[1..], vec![Cold::Epoch; kills]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_never_sent_goes_over_the_session_that_begins_anew() {
    nothing_is_lost_or_dropped_with_a_session(3_000).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a minute: scripts/prove ws-killed"]
async fn in_full() {
    let messages = std::env::var("BECALM_MESSAGES").map_or(30_000, |text| text.parse().unwrap());
    nothing_is_lost_or_dropped_with_a_session(messages).await;
    without_a_session(messages).await;
}

/// What the kernel took and the server did not read is lost without a word: nobody but the peer can tell. All that the client
/// still had goes over the next connection.
async fn without_a_session(messages: usize) {
    let (heard, told) = sent(false, messages).await;
    let kills = messages.div_ceil(3000);
    let lost = lost(messages, &heard, &told);
    println!("{messages} messages without a session, {kills} kills: {lost:?} lost");
    assert_eq!(told.dropped.len(), 0);
    // As many as are on their way within a millisecond or two.
    assert!(lost.len() <= 20 * kills, "{lost:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_session_what_waits_goes_out_with_the_next_connection() {
    without_a_session(3_000).await;
}
