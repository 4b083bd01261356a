//! Does the client understand servers that nobody here wrote? Python's `websockets` and Node's `ws`.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use becalm::hint::HintMode;
use becalm::reconnect::Reconnect;
use becalm::{Policy, StopReason};
use becalm_ws::{
    Client, ClientRequestBuilder, Ended, Event, Heartbeat, Message, WebSocket, tungstenite,
};
use futures_util::{SinkExt, StreamExt};

use crate::servers::websockets::{Of, WebSockets, address};
use crate::within;

/// Dials soon again, for ever.
pub fn soon() -> Reconnect {
    let policy = Policy::exponential(Duration::from_millis(5)).cap(Duration::from_millis(200));
    Reconnect::new(policy.attempts(Policy::UNLIMITED))
}

/// What a socket told, in order.
#[derive(Debug, Clone, Default)]
pub struct Told(Arc<Mutex<Vec<String>>>);

impl Told {
    /// This client, which tells.
    pub fn of(client: Client) -> (Client, Self) {
        let told = Self::default();
        let seen = told.clone();
        let client = client.observer(move |event| {
            let word = match event {
                Event::Dials(_) => "dials".into(),
                Event::Opened => "opened".into(),
                Event::Ended(ended) => word(ended),
                Event::Waits(wait) => format!("waits {}", wait.as_millis()),
                event => format!("{event:?}"),
            };
            seen.0.lock().expect("unpoisoned").push(word);
        });
        (client, told)
    }

    pub fn words(&self) -> Vec<String> {
        self.0.lock().expect("unpoisoned").clone()
    }

    pub fn count(&self, word: &str) -> usize {
        self.words().iter().filter(|told| *told == word).count()
    }
}

/// How a connection ended, in a word.
pub fn word(ended: &Ended) -> String {
    match ended {
        Ended::Handshake(error) => match &**error {
            tungstenite::Error::Http(answer) => format!("status {}", answer.status().as_u16()),
            _ => "no handshake".into(),
        },
        Ended::Closed(Some(frame)) => format!("code {}", u16::from(frame.code)),
        Ended::Closed(None) => "no code".into(),
        Ended::Broken(_) => "broken".into(),
        Ended::Silent => "silent".into(),
        ended => ended.to_string(),
    }
}

async fn text(socket: &mut WebSocket) -> String {
    let message = within(socket.next()).await.expect("it is open");
    message.expect("it did not give up").to_string()
}

/// Polls the socket, to which nothing comes, until this is so.
pub async fn until(socket: &mut WebSocket, is_so: impl Fn() -> bool) {
    within(async {
        while !is_so() {
            let nothing = tokio::time::timeout(Duration::from_millis(5), socket.next());
            assert!(nothing.await.is_err());
        }
    })
    .await;
}

#[tokio::test]
async fn what_is_sent_comes_back_in_parts_or_whole_and_uncompressed() {
    for of in Of::ALL {
        let Some(server) = WebSockets::start(of).await else {
            continue;
        };
        let mut echo = server.client("echo").open().expect("valid");
        let long = "x".repeat(300_000);
        for message in ["", "short", "ümläut 🌊", &long] {
            within(echo.send(message.into())).await.expect("it is open");
            assert_eq!(text(&mut echo).await, message, "{of:?}");
        }
        let binary = Message::binary(vec![0, 255, 7]);
        within(echo.send(binary.clone())).await.expect("it is open");
        let back = within(echo.next()).await.expect("it is open");
        assert_eq!(back.expect("it did not give up"), binary);

        let mut fragments = server.client("fragments").open().expect("valid");
        assert_eq!(text(&mut fragments).await, "in three parts");
        let parts = within(fragments.next()).await.expect("it is open");
        assert_eq!(
            parts.expect("it did not give up"),
            Message::binary(vec![0, 1])
        );

        let mut pinged = server.client("ping").open().expect("valid");
        assert_eq!(text(&mut pinged).await, "it answers");
    }
}

#[tokio::test]
async fn subprotocols_are_chosen_among_those_offered_and_compression_is_not() {
    for of in Of::ALL {
        let Some(server) = WebSockets::start(of).await else {
            continue;
        };
        let port = server.port;
        let offering = |protocols: &'static [&str]| {
            Client::with_provider(move |_| async move {
                let request = ClientRequestBuilder::new(address(port, "handshake"));
                let with =
                    |request: ClientRequestBuilder, one: &&str| request.with_sub_protocol(*one);
                Ok(protocols.iter().fold(request, with))
            })
            .reconnect(soon())
        };
        let mut both = offering(&["orders.v1", "orders.v2"]).open().expect("valid");
        assert_eq!(text(&mut both).await, "orders.v2 nothing", "{of:?}");
        let mut old = offering(&["orders.v1"]).open().expect("valid");
        assert_eq!(text(&mut old).await, "orders.v1 nothing", "{of:?}");
        // There is none in common, and another dial would find none.
        let mut strange = offering(&["chat"]).open().expect("valid");
        let gave_up = within(strange.next()).await.expect("it is open");
        assert_eq!(gave_up.expect_err("none").reason, StopReason::Permanent);
    }
}

#[tokio::test]
async fn refusals_pass_or_are_final_and_a_hint_is_a_floor() {
    for of in Of::ALL {
        let Some(server) = WebSockets::start(of).await else {
            continue;
        };
        let (server, port) = (&server, server.port);
        let passes = |status: u16| async move {
            let path = format!("refuse/{status}/2");
            let (client, told) = Told::of(server.client(&path).reconnect(soon()));
            let mut socket = client.open().expect("valid");
            within(socket.send("in".into())).await.expect("it is open");
            assert_eq!(text(&mut socket).await, "in");
            let words = told.words();
            let waits = words.iter().filter_map(|word| word.strip_prefix("waits "));
            let waits: Vec<u64> = waits.map(|wait| wait.parse().expect("a number")).collect();
            assert_eq!(told.count(&format!("status {status}")), 2, "{words:?}");
            // The server asked for a second. What this machine takes to dial is none of the wait: of a short one nothing may
            // be left.
            let is_asked = matches!(status, 429 | 503);
            let allowed = if is_asked { 900..=1_100 } else { 0..=10 };
            assert!(waits.len() == 2 || !is_asked, "{words:?}");
            assert!(waits.iter().all(|wait| allowed.contains(wait)), "{words:?}");
        };
        let ends = |status: u16, dials: usize| async move {
            let path = format!("refuse/{status}/9");
            let (client, told) = Told::of(server.client(&path).reconnect(soon()));
            let mut socket = client.open().expect("valid");
            let gave_up = within(socket.next()).await.expect("it is open");
            assert_eq!(gave_up.expect_err("none").reason, StopReason::Permanent);
            assert_eq!(told.count("dials"), dials, "{status}");
        };
        // Refused once, a login is renewed.
        let renews = Client::with_provider(move |dial| async move {
            let request = ClientRequestBuilder::new(address(port, "refuse/401/1"));
            let token = if dial.login_was_refused { "new" } else { "old" };
            Ok(request.with_header("authorization", token))
        });
        let renews = async {
            let mut socket = renews.reconnect(soon()).open().expect("valid");
            within(socket.send("in".into())).await.expect("it is open");
            assert_eq!(text(&mut socket).await, "in");
        };
        tokio::join!(
            passes(429),
            passes(503),
            passes(500),
            passes(502),
            ends(401, 1),
            ends(403, 1),
            ends(404, 1),
            ends(410, 1),
            renews,
        );
    }
}

#[tokio::test]
async fn each_close_has_its_meaning() {
    for of in Of::ALL {
        let Some(server) = WebSockets::start(of).await else {
            continue;
        };
        let server = &server;
        let closed = |code: u16, is_final: bool| async move {
            // 1012 waits for seconds, by its registration.
            let policy = soon().policy.hint(HintMode::Clamp);
            let client = server.client(&format!("close/{code}/2"));
            let (client, told) = Told::of(client.reconnect(Reconnect::new(policy)));
            let mut socket = client.open().expect("valid");
            if is_final {
                let gave_up = within(socket.next()).await.expect("it is open");
                assert_eq!(gave_up.expect_err("none").reason, StopReason::Permanent);
                assert_eq!(
                    (told.count("dials"), told.count(&format!("code {code}"))),
                    (1, 1)
                );
                return;
            }
            within(socket.flush()).await.expect("it is open");
            until(&mut socket, || told.count("dials") == 3).await;
            let word = match code {
                1005 => "no code".to_owned(),
                1006 => "broken".to_owned(),
                // What tungstenite 0.30 makes of a code that it does not know.
                1014 => "code 1002".to_owned(),
                _ => format!("code {code}"),
            };
            assert_eq!(told.count(&word), 2, "{of:?} {code} {:?}", told.words());
        };
        let passing = [1001, 1005, 1006, 1011, 1012, 1013, 1014, 3008, 4000, 4999];
        let last = [1000, 1002, 1003, 1007, 1008, 1009, 1010, 3000, 4400, 4404];
        let passing = passing.into_iter().filter(|code| {
            // Python's closes always with a code.
            *code != 1005 || of == Of::Node
        });
        let all = passing.map(|code| closed(code, false));
        futures_util::future::join_all(all).await;
        futures_util::future::join_all(last.map(|code| closed(code, true))).await;
    }
}

#[tokio::test]
async fn a_process_that_is_stopped_is_found_within_the_ping_timeout() {
    for of in Of::ALL {
        let Some(mut server) = WebSockets::start(of).await else {
            continue;
        };
        let heartbeat = Heartbeat::new(Duration::from_millis(200), Duration::from_millis(200));
        let client = server.client("echo").reconnect(soon()).heartbeat(heartbeat);
        let (client, told) = Told::of(client);
        let mut socket = client.open().expect("valid");
        within(socket.send("one".into())).await.expect("it is open");
        assert_eq!(text(&mut socket).await, "one");
        server.freeze();
        let frozen_at = std::time::Instant::now();
        until(&mut socket, || told.count("silent") > 0).await;
        assert!(frozen_at.elapsed() >= Duration::from_millis(200));
        server.kill();
        server.start_again().await;
        within(socket.send("two".into())).await.expect("it is open");
        assert_eq!(text(&mut socket).await, "two");
    }
}
