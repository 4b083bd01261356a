//! What happens to many sockets behind an nginx that is reloaded and restarted under load, and one that stalls?

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use becalm::hint::HintMode;
use becalm::reconnect::Reconnect;
use becalm_ws::{Client, Event, Heartbeat, Overflow};
use futures_util::{SinkExt, StreamExt};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::servers::nginx::Nginx;
use crate::servers::websockets::{Of, WebSockets, address};
use crate::websockets_of_others::{Told, soon, until, word};
use crate::within;

/// How many are there at once.
const SOCKETS: usize = 50;

/// Sockets that send numbers, each its own, and get them back.
struct Flock {
    /// How many came back to each.
    echoes: Arc<[AtomicUsize]>,
    ends: Arc<Mutex<BTreeSet<String>>>,
    tasks: JoinSet<()>,
}

impl Flock {
    fn of(client: &Client) -> Self {
        let mut flock = Self {
            echoes: (0..SOCKETS).map(|_| AtomicUsize::new(0)).collect(),
            ends: Arc::default(),
            tasks: JoinSet::new(),
        };
        let ends = Arc::clone(&flock.ends);
        // A number that finds no room is left out.
        let client = client.clone().outbox(100, Overflow::Refuse);
        let client = client.observer(move |event| {
            if let Event::Ended(ended) = event {
                ends.lock().expect("unpoisoned").insert(word(ended));
            }
        });
        for socket in 0..SOCKETS {
            let mut stream = client.open().expect("valid");
            let handle = stream.handle();
            flock.tasks.spawn(async move {
                for number in 0.. {
                    let _ = handle.try_send(format!("{socket}:{number}"));
                    sleep(Duration::from_millis(10)).await;
                }
            });
            let echoes = Arc::clone(&flock.echoes);
            flock.tasks.spawn(async move {
                let mut last = None;
                while let Some(message) = stream.next().await {
                    let message = message.expect("none gives up").to_string();
                    let (of, number) = message.split_once(':').expect("a pair");
                    assert_eq!(of, socket.to_string(), "that of another");
                    let number = Some(number.parse::<u64>().expect("a number"));
                    assert!(number > last, "{number:?} after {last:?}");
                    last = number;
                    echoes[socket].fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        flock
    }

    /// Comes back when each of them has got so many more.
    async fn echoes(&mut self, more: usize) {
        let now = || self.echoes.iter().map(|count| count.load(Ordering::SeqCst));
        let wanted: Vec<_> = now().map(|count| count + more).collect();
        while !now().zip(&wanted).all(|(count, wanted)| count >= *wanted) {
            if let Some(ended) = self.tasks.try_join_next() {
                ended.expect("none panics");
            }
            sleep(Duration::from_millis(5)).await;
        }
    }

    fn take_ends(&self) -> Vec<String> {
        let ends = std::mem::take(&mut *self.ends.lock().expect("unpoisoned"));
        ends.into_iter().collect()
    }
}

/// Behind that port, with waits that a test can wait for.
fn client(port: u16) -> Client {
    let policy = soon().policy.hint(HintMode::Clamp);
    Client::new(address(port, "echo")).reconnect(Reconnect::new(policy))
}

/// How many numbers the server has seen, and how many messages.
async fn seen(server: &WebSockets) -> (usize, usize) {
    let mut asks = server.client("seen").open().expect("valid");
    let answer = within(asks.next()).await.expect("an answer");
    let answer = answer.expect("an answer").to_string();
    let (numbers, messages) = answer.split_once(' ').expect("a pair");
    (
        numbers.parse().expect("a number"),
        messages.parse().expect("a number"),
    )
}

#[tokio::test]
async fn reloads_and_restarts_under_load_bring_all_back_and_no_message_twice() {
    for of in Of::ALL {
        let Some(mut server) = WebSockets::start(of).await else {
            continue;
        };
        let Some(mut nginx) = Nginx::for_websockets(server.port).await else {
            return;
        };
        within(async {
            let mut flock = Flock::of(&client(nginx.ports[0]));
            flock.echoes(5).await;
            assert_eq!(flock.take_ends(), Vec::<String>::new());
            for _ in 0..3 {
                nginx.reload();
                flock.echoes(5).await;
            }
            for _ in 0..3 {
                nginx.stop_at_once();
                nginx.start_again().await;
                flock.echoes(5).await;
            }
            let ends = flock.take_ends();
            assert!(
                ends.iter()
                    .all(|end| ["broken", "no handshake"].contains(&&**end)),
                "{ends:?}"
            );
            let (numbers, messages) = seen(&server).await;
            assert_eq!(numbers, messages, "some came twice");

            server.stop().await;
            server.start_again().await;
            flock.echoes(5).await;
            let goodbye = ["code 1001", "code 1012"][usize::from(of == Of::Node)];
            let ends = flock.take_ends();
            assert!(ends.contains(&goodbye.into()), "{ends:?}");

            server.kill();
            sleep(Duration::from_millis(50)).await;
            server.start_again().await;
            flock.echoes(5).await;
            let ends = flock.take_ends();
            assert!(ends.contains(&"status 502".into()), "{ends:?}");
            let (numbers, messages) = seen(&server).await;
            assert_eq!(numbers, messages, "some came twice");
        })
        .await;
    }
}

#[tokio::test]
async fn a_proxy_that_stalls_is_found_within_the_ping_timeout() {
    let Some(server) = WebSockets::start(Of::Python).await else {
        return;
    };
    let Some(nginx) = Nginx::for_websockets(server.port).await else {
        return;
    };
    let heartbeat = Heartbeat::new(Duration::from_millis(200), Duration::from_millis(200));
    let patience = Duration::from_millis(300);
    let client = client(nginx.ports[0]).heartbeat(heartbeat);
    let (client, told) = Told::of(client.patience(patience, patience));
    let mut socket = client.open().expect("valid");
    until(&mut socket, || told.count("opened") > 0).await;
    nginx.stall(true);
    // The kernel still takes its connections: a dial waits for an answer that does not come.
    let is_found = || told.count("silent") > 0 && told.count("the dial took too long") > 0;
    until(&mut socket, is_found).await;
    nginx.stall(false);
    within(socket.send("back".into()))
        .await
        .expect("it is open");
    let back = within(socket.next()).await.expect("it is open");
    assert_eq!(back.expect("it did not give up").to_string(), "back");
}

#[tokio::test]
async fn a_heartbeat_outlives_a_proxys_patience_and_without_it_the_proxy_hangs_up() {
    let Some(server) = WebSockets::start(Of::Node).await else {
        return;
    };
    let Some(nginx) = Nginx::for_websockets(server.port).await else {
        return;
    };
    let impatient = nginx.ports[1];
    let socket = |quiet: Duration| {
        let heartbeat = Heartbeat::new(quiet, Duration::from_secs(10));
        let (client, told) = Told::of(client(impatient).heartbeat(heartbeat));
        (client.open().expect("valid"), told)
    };
    let (mut kept, of_kept) = socket(Duration::from_millis(50));
    let (mut lost, of_lost) = socket(Duration::from_secs(60));
    within(async {
        while of_lost.count("opened") < 4 {
            tokio::select! {
                _ = kept.next() => panic!("nothing comes"),
                _ = lost.next() => panic!("nothing comes"),
                () = sleep(Duration::from_millis(5)) => (),
            }
        }
    })
    .await;
    // Once, unless this machine slept in between.
    assert!(of_kept.count("opened") <= 2, "{:?}", of_kept.words());
}
