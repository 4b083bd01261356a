//! What is killed in the drill? A server process of WebSockets whose handshakes cost something.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use becalm_ws::Message;
use futures_util::{SinkExt, StreamExt};
use serde::{Deserialize, Serialize};
use tokio::io::Interest;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

use super::clock::Clock;
use super::journal::Journal;
use super::numbered::{Answer, Guest, Sent};
use super::tally::{Count, Tally};
use super::told::{Told, tell, tell_all};
use super::worker::Worker;
use crate::drill::descriptors;

/// Its name as a process.
pub const NAME: &str = "becalm-drill-ws-server";

/// Connections that wait to be accepted: as many as Linux allows where nobody has changed it (`somaxconn`, listen(2)).
const BACKLOG: u32 = 4096;

/// What a server is to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Brief {
    pub clock: Clock,
    pub addresses: Vec<SocketAddr>,
    pub clients: u32,
    /// What a handshake costs.
    pub cost: Duration,
    pub journal: PathBuf,
}

/// Serves until it is killed, or nobody reads what it tells.
pub fn serve(brief: Brief) -> Result<ExitCode, String> {
    descriptors::raise_all();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| format!("cannot start a runtime: {error}"))?;
    let served = runtime.block_on(serve_all(brief));
    served.map_err(|error| format!("the drill's server: {error}"))?;
    Ok(ExitCode::SUCCESS)
}

async fn serve_all(brief: Brief) -> io::Result<()> {
    let tally = Arc::new(Tally::new(brief.clock, brief.clients));
    let hall = Arc::new(Hall {
        journal: Journal::open(&brief.journal)?,
        worker: Worker::new(brief.cost),
        tally: tally.clone(),
    });
    for address in brief.addresses {
        tokio::spawn(accept(listen(address)?, hall.clone()));
    }
    tell(&Told::Listens(brief.clock.now()))?;
    // An error is that nobody reads: the drill is over.
    let _ = tell_all(tally).await;
    Ok(())
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    // The connections of the server that was killed may still be in the system's tables.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Accepts for ever. Out of descriptors, it waits for one instead of spinning.
async fn accept(listener: TcpListener, hall: Arc<Hall>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::spawn(enter(stream, hall.clone()));
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
}

/// What all connections share.
#[derive(Debug)]
struct Hall {
    journal: Journal,
    worker: Worker,
    tally: Arc<Tally>,
}

/// As most servers do it: whoever comes is let in, one after the other, and the work is done whether or not
/// somebody waits for it.
async fn enter(stream: TcpStream, hall: Arc<Hall>) {
    let _ = stream.set_nodelay(true);
    // The request is there.
    if stream.readable().await.is_err() {
        return;
    }
    hall.worker.work().await;
    hall.tally.add(Count::Handshake);
    if has_left(&stream).await {
        hall.tally.add(Count::Wasted);
    }
    let mut guest = None;
    let config = WebSocketConfig::default()
        .read_buffer_size(4 * 1024)
        .write_buffer_size(4 * 1024);
    #[expect(clippy::result_large_err, reason = "tungstenite's")]
    let read = |request: &Request, response: Response| {
        guest = Guest::of(request.uri().path());
        Ok(response)
    };
    let accepted =
        tokio_tungstenite::accept_hdr_async_with_config(stream, read, Some(config)).await;
    // An error is a client that left: the drill's daily bread.
    if let (Ok(wire), Some(guest)) = (accepted, guest) {
        let _ = converse(wire, guest, &hall).await;
    }
}

/// Whether the client has closed its side.
async fn has_left(stream: &TcpStream) -> bool {
    let ready = stream.ready(Interest::READABLE).await;
    !matches!(ready, Ok(ready) if !ready.is_read_closed())
}

/// Why a conversation ends early.
type Ended = Box<dyn std::error::Error + Send + Sync>;

async fn converse(
    mut wire: WebSocketStream<TcpStream>,
    guest: Guest,
    hall: &Hall,
) -> Result<(), Ended> {
    let _there = There::enters(&hall.tally);
    let mut entry = hall.journal.read(guest.client)?;
    wire.feed(binary(Answer::Welcome(entry.last))).await?;
    for number in guest.answered + 1..=entry.last {
        wire.feed(binary(Answer::Applied(number))).await?;
    }
    wire.flush().await?;
    while let Some(message) = wire.next().await {
        let Message::Binary(bytes) = message? else {
            continue;
        };
        let sent = Sent::of(&bytes).filter(|sent| sent.dial == guest.dial);
        let Some(sent) = sent.filter(|sent| sent.number == entry.last + 1) else {
            continue;
        };
        entry.last = sent.number;
        entry.applied += 1;
        hall.journal.write(guest.client, entry)?;
        wire.send(binary(Answer::Applied(sent.number))).await?;
    }
    Ok(())
}

fn binary(answer: Answer) -> Message {
    Message::binary(answer.bytes())
}

/// A connection that is there, however it ends.
struct There<'a>(&'a Tally);

impl<'a> There<'a> {
    fn enters(tally: &'a Tally) -> Self {
        tally.enters();
        Self(tally)
    }
}

impl Drop for There<'_> {
    fn drop(&mut self) {
        self.0.leaves();
    }
}
