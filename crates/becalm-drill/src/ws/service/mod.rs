//! What is killed in the drill? A server process of WebSockets whose handshakes cost something.

mod admitted;
mod conversation;
mod open;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use becalm_ws::WebSocketConfig;
use becalm_ws::server::Inherited;
use becalm_ws::session::SessionSettings;
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGTERM, SIGUSR1};
use tokio::sync::watch;

use super::clock::Clock;
use super::journal::Journal;
use super::tally::Tally;
use super::told::{Told, tell, tell_all};
use super::worker::Worker;

/// Its name as a process.
pub const NAME: &str = "becalm-drill-ws-server";

/// What a server is to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Brief {
    pub clock: Clock,
    /// Where it listens, unless it is handed a socket.
    pub addresses: Vec<SocketAddr>,
    /// Those of all servers.
    pub clients: u32,
    pub door: Door,
    /// Handshakes per second that all servers can do; none is any number.
    pub capacity: Option<u32>,
    /// How many servers share clients and capacity.
    pub servers: u32,
    /// How many connections it closes in a second when it drains.
    pub drain_rate: u32,
    pub patience: Duration,
    pub journal: PathBuf,
    /// What the key that seals its tickets is made of.
    pub seed: u64,
}

impl Brief {
    /// The time in which this server does what all together do in a second.
    fn of_all(&self) -> Duration {
        Duration::from_secs(self.servers.into())
    }
}

/// How a server lets in who comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Door {
    /// All who come, one after the other.
    Open,
    /// By becalm's admission.
    Admission,
}

/// Serves until it is killed, or nobody reads what it tells. SIGTERM drains it and
/// SIGUSR1 cuts its connections, where its door can.
pub fn serve(brief: Brief) -> Result<ExitCode, String> {
    let mut inherited = Inherited::sockets();
    let drains = Arc::new(AtomicBool::new(false));
    let cuts = Arc::new(AtomicBool::new(false));
    let watched = signal_hook::flag::register(SIGTERM, drains.clone());
    let watched = watched.and_then(|_| signal_hook::flag::register(SIGUSR1, cuts.clone()));
    let served = watched.and_then(|_| {
        let socket = inherited.take(0)?;
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build()?;
        runtime.block_on(serve_all(brief, socket, drains, cuts))
    });
    served.map_err(|error| format!("the drill's server: {error}"))?;
    Ok(ExitCode::SUCCESS)
}

async fn serve_all(
    brief: Brief,
    socket: Option<std::net::TcpListener>,
    drains: Arc<AtomicBool>,
    cuts: Arc<AtomicBool>,
) -> io::Result<()> {
    let tally = Arc::new(Tally::new(brief.clock, brief.clients));
    let capacity = brief.capacity;
    let cost = capacity.map_or(Duration::ZERO, |it| brief.of_all() / it.max(1));
    let hall = Arc::new(Hall {
        journal: Journal::open(&brief.journal)?,
        worker: Worker::new(cost),
        tally: tally.clone(),
        cut: watch::Sender::new(()),
    });
    let listens = || tell(&Told::Listens(brief.clock.now()));
    match brief.door {
        Door::Open => {
            open::listen(&brief.addresses, &hall)?;
            listens()?;
            // An error is that nobody reads: the drill is over.
            let _ = tell_all(tally).await;
        }
        Door::Admission => {
            let sessions = SessionSettings::default().open();
            let server = admitted::server(&brief, &sessions)?;
            admitted::listen(&server, &brief.addresses, socket, &sessions, &hall).await?;
            listens()?;
            tokio::select! {
                () = asked(&drains) => (),
                () = cut_when_asked(&cuts, &hall) => (),
                _ = tell_all(tally.clone()) => return Ok(()),
            }
            tokio::select! {
                () = admitted::drain(&server, &brief) => (),
                _ = tell_all(tally) => (),
            }
        }
    }
    Ok(())
}

/// What all connections share.
#[derive(Debug)]
struct Hall {
    journal: Journal,
    worker: Worker,
    tally: Arc<Tally>,
    /// Cuts all connections that there are.
    cut: watch::Sender<()>,
}

/// Cuts all connections whenever the signal comes, as a load balancer does that is started again.
async fn cut_when_asked(cuts: &AtomicBool, hall: &Hall) {
    loop {
        asked(cuts).await;
        cuts.store(false, Ordering::Relaxed);
        hall.cut.send_replace(());
    }
}

/// Ready when the signal has come.
async fn asked(drains: &AtomicBool) {
    while !drains.load(Ordering::Relaxed) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Connections are many, and each holds its buffers.
fn small_buffers() -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(4 * 1024)
        .write_buffer_size(4 * 1024)
}
