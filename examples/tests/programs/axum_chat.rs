//! Does a chat go on when its server restarts? Two people talk, and the server is drained and replaced between two lines.

use becalm_admission::{Admission, TicketKeys};
use becalm_examples::{axum_chat, chat_client};
use becalm_ws::Client;
use becalm_ws::server::{Drained, Server, Settings};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::within;

struct Running {
    server: Server,
    stop: oneshot::Sender<()>,
    ended: JoinHandle<std::io::Result<Drained>>,
}

fn start(socket: &std::net::TcpListener) -> Running {
    let keys = TicketKeys::new(1, &[7; 32]).expect("a key");
    let settings = Settings::new(Admission::per_second(500)).tickets(keys);
    let server = settings.server().expect("valid settings");
    let socket = socket.try_clone().expect("a descriptor");
    let listener = server.listen_on(socket).expect("a listener");
    let (stop, stopped) = oneshot::channel();
    let at_work = server.clone();
    let ended = tokio::spawn(async move {
        let stopped = async { drop(stopped.await) };
        axum_chat::serve(&at_work, listener, stopped).await
    });
    Running {
        server,
        stop,
        ended,
    }
}

struct Person {
    says: mpsc::Sender<String>,
    hears: mpsc::UnboundedReceiver<String>,
}

impl Person {
    fn join(address: &str) -> Self {
        let client = Client::new(format!("ws://{address}/chat").parse().expect("an address"));
        let (says, said) = mpsc::channel(8);
        let (told, hears) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let tells = |line: &str| drop(told.send(line.to_owned()));
            chat_client::chat(&client, said, tells).await
        });
        Self { says, hears }
    }

    /// Says a line until it is heard: what was said while the server was away has nobody to hear it.
    async fn is_heard_by(&self, other: &mut Self, line: &str) {
        within(async {
            loop {
                let _ = self.says.send(line.to_owned()).await;
                let soon = std::time::Duration::from_millis(100);
                let heard = tokio::time::timeout(soon, other.hears.recv()).await;
                if heard.ok().flatten().as_deref() == Some(line) {
                    return;
                }
            }
        })
        .await;
    }
}

async fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let request = format!("GET {path} HTTP/1.1\r\nhost: chat\r\nconnection: close\r\n\r\n");
    stream
        .write_all(request.as_bytes())
        .await
        .expect("it reads");
    let mut answer = String::new();
    within(stream.read_to_string(&mut answer))
        .await
        .expect("an answer");
    answer
}

#[tokio::test]
async fn a_chat_goes_on_through_a_restart_that_refuses_nobody() {
    // Open across the restart, as systemd keeps it.
    let socket = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = socket.local_addr().expect("an address").to_string();
    let before = start(&socket);
    let (mut ann, mut bob) = (Person::join(&address), Person::join(&address));
    ann.is_heard_by(&mut bob, "hello").await;
    bob.is_heard_by(&mut ann, "hello, ann").await;
    assert!(get(&address, "/ready").await.starts_with("HTTP/1.1 200"));
    let metrics = get(&address, "/metrics").await;
    assert!(metrics.contains("ws_connections_active 2\n"), "{metrics}");

    before.stop.send(()).expect("it serves");
    let drained = within(before.ended)
        .await
        .expect("no panic")
        .expect("it served");
    assert_eq!((drained.ended, drained.left), (2, 0));
    assert!(!before.server.is_ready());
    let after = start(&socket);
    ann.is_heard_by(&mut bob, "are you there?").await;
    bob.is_heard_by(&mut ann, "I am").await;
    let metrics = after.server.metrics();
    assert_eq!(
        (metrics.connections_active, metrics.admission.ticket),
        (2, 2)
    );
}
