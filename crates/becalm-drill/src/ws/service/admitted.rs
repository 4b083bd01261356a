//! How does a server let in as many as it can take? By becalm's admission, before the costly work.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use becalm::reconnect::Reconnect;
use becalm_admission::{Admission, TicketKeys};
use becalm_ws::server::{Accepted, Drain, Listener, Proxies, Server, Settings};
use becalm_ws::session::{Began, Sessions};

use super::conversation::{Begin, converse};
use super::{Brief, Hall, small_buffers};
use crate::ws::numbered::Guest;
use crate::ws::tally::Count;

/// More handshakes in a second than any machine does.
const ANY: u32 = 100_000;

/// A server that admits at its capacity. Its tickets are good for its successor.
pub fn server(brief: &Brief, sessions: &Sessions) -> io::Result<Server> {
    let rate = brief.capacity.unwrap_or(ANY);
    // Its share of the capacity of all, exactly: a rate of all in the time of all.
    let burst = Admission::per_second(rate / brief.servers).burst;
    let admission = Admission::per_second(rate)
        .per(brief.of_all())
        .burst(burst)
        .patience(brief.patience)
        .horizon(horizon(brief));
    let key: Vec<u8> = (0..4)
        .flat_map(|at| (brief.seed ^ at).to_le_bytes())
        .collect();
    let settings = Settings::new(admission)
        .tickets(TicketKeys::new(0, &key).map_err(io::Error::other)?)
        // The clients say who they are, as behind a load balancer: on this machine all have one address.
        .proxies(Proxies::of(["127.0.0.0/8"]).map_err(io::Error::other)?)
        .sessions(sessions)
        .limits(small_buffers());
    settings.server().map_err(io::Error::other)
}

/// Twice as long as all clients take, so that each may have a place; but no hint is longer than they accept.
fn horizon(brief: &Brief) -> Duration {
    let all = Duration::from_secs(brief.clients.into()) / brief.capacity.unwrap_or(ANY);
    let accepted = Reconnect::default().policy.max_hint;
    (all * 2).min(accepted).max(brief.patience)
}

/// Listens on the socket that it was handed, or else on all addresses.
pub async fn listen(
    server: &Server,
    addresses: &[SocketAddr],
    socket: Option<std::net::TcpListener>,
    sessions: &Sessions,
    hall: &Arc<Hall>,
) -> io::Result<()> {
    let mut listeners = Vec::new();
    match socket {
        Some(socket) => listeners.push(server.listen_on(socket)?),
        None => {
            for address in addresses {
                listeners.push(server.listen(address).await?);
            }
        }
    }
    for listener in listeners {
        let (server, sessions) = (server.clone(), sessions.clone());
        tokio::spawn(accept(server, listener, sessions, hall.clone()));
    }
    Ok(())
}

async fn accept(server: Server, mut listener: Listener, sessions: Sessions, hall: Arc<Hall>) {
    while let Some(connection) = listener.accept().await {
        let (server, sessions) = (server.clone(), sessions.clone());
        tokio::spawn(enter(server, connection, sessions, hall.clone()));
    }
}

async fn enter(server: Server, connection: Accepted, sessions: Sessions, hall: Arc<Hall>) {
    let peer = connection.peer().clone();
    // Who is told to come later, or has gone, has cost nothing.
    let Ok(handshake) = server.handshake(connection, &peer).await else {
        return;
    };
    let Some(guest) = Guest::of(handshake.request().uri().path()) else {
        return;
    };
    hall.worker.work().await;
    hall.tally.add(Count::Handshake);
    let is_heard = match handshake.accept().await {
        Ok(socket) => {
            // Its first word is which session it resumes.
            match sessions.accept(socket, &guest.client.to_string()).await {
                Ok(socket) => {
                    // The session is there: now it is the turn of another.
                    socket.get_ref().ready();
                    let begin = match socket.began() {
                        Began::Resumed => Begin::Resumed,
                        _ => Begin::New,
                    };
                    converse(socket, guest, begin, &hall).await;
                    true
                }
                Err(_) => false,
            }
        }
        Err(_) => false,
    };
    // It had left before.
    if !is_heard && server.is_ready() {
        hall.tally.add(Count::Wasted);
    }
}

/// Drains, and returns when all clients have left.
pub async fn drain(server: &Server, brief: &Brief) {
    let rate = brief.drain_rate;
    let all = Duration::from_secs(brief.clients.div_ceil(brief.servers).into()) / rate.max(1);
    let deadline = all + Duration::from_secs(10);
    server
        .drain(Drain::per_second(rate).deadline(deadline))
        .await;
}
