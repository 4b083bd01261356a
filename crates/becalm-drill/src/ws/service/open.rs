//! How does a server let everybody in? As most do: all are accepted, the work is done one after the other, and it is
//! done whether or not somebody still waits for it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::Interest;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};

use super::conversation::{Begin, converse};
use super::{Hall, small_buffers};
use crate::ws::numbered::Guest;
use crate::ws::tally::Count;

/// Connections that wait to be accepted: as many as Linux allows where nobody has changed it (`somaxconn`, listen(2)).
const BACKLOG: u32 = 4096;

/// Listens on all addresses.
pub fn listen(addresses: &[SocketAddr], hall: &Arc<Hall>) -> io::Result<()> {
    for address in addresses {
        let socket = TcpSocket::new_v4()?;
        // The connections of the server that was killed may still be in the system's tables.
        socket.set_reuseaddr(true)?;
        socket.bind(*address)?;
        tokio::spawn(accept(socket.listen(BACKLOG)?, hall.clone()));
    }
    Ok(())
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
    #[expect(clippy::result_large_err, reason = "tungstenite's")]
    let read = |request: &Request, response: Response| {
        guest = Guest::of(request.uri().path());
        Ok(response)
    };
    let config = Some(small_buffers());
    let accepted = tokio_tungstenite::accept_hdr_async_with_config(stream, read, config).await;
    // An error is a client that left: the drill's daily bread.
    if let (Ok(wire), Some(guest)) = (accepted, guest) {
        converse(wire, guest, Begin::Alone, &hall).await;
    }
}

/// Whether the client has closed its side.
async fn has_left(stream: &TcpStream) -> bool {
    let ready = stream.ready(Interest::READABLE).await;
    !matches!(ready, Ok(ready) if !ready.is_read_closed())
}
