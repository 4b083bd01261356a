//! Where does the drill's server listen, so that it can listen there again?

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use tokio::net::TcpSocket;

/// The ports below those that Linux and the BSDs give to clients. A client that dials a port of theirs while nobody
/// listens may be given just that port, and then be connected with itself.
const PORTS: std::ops::Range<u16> = 10_000..30_000;

/// How many are tried.
const TRIES: u16 = 200;

/// From half of the ports between two addresses on, Linux takes long to find a free one: the clients dial several
/// addresses, where the system has them (Linux has all of 127.0.0.0/8).
const ADDRESSES: u8 = 4;

/// Where one server listens: addresses of the loopback interface with one port, which is nobody else's while this is there.
#[derive(Debug)]
pub struct Ground {
    pub addresses: Vec<SocketAddr>,
    /// What is handed to one server after the other, if it is to be.
    pub socket: Option<TcpListener>,
    /// Bound, and not listening: who dials them is refused.
    _held: Vec<TcpSocket>,
}

impl Ground {
    /// Takes a free port.
    ///
    /// # Errors
    ///
    /// A sentence.
    pub fn take() -> Result<Self, String> {
        let all = PORTS.end - PORTS.start;
        let first = u16::try_from(std::process::id() % u32::from(all)).unwrap_or(0);
        for step in 0..TRIES {
            let port = PORTS.start + (first + step * 97) % all;
            let addresses =
                (1..=ADDRESSES).map(|last| (Ipv4Addr::new(127, 0, 0, last), port).into());
            let held = addresses.filter_map(|address| Some((address, hold(address).ok()?)));
            let (addresses, held): (Vec<SocketAddr>, _) = held.unzip();
            if addresses
                .first()
                .is_some_and(|it| it.ip() == Ipv4Addr::LOCALHOST)
            {
                return Ok(Self {
                    addresses,
                    socket: None,
                    _held: held,
                });
            }
        }
        Err(format!(
            "no port of 127.0.0.1 from {} to {} is free; allow this process to open sockets",
            PORTS.start, PORTS.end
        ))
    }

    /// Listens on the first address, with a socket that is handed to one server after the other, as a socket unit of systemd
    /// is.
    ///
    /// # Errors
    ///
    /// A sentence.
    pub fn listen(mut self) -> Result<Self, String> {
        self.addresses.truncate(1);
        let refused = |error| format!("cannot listen on {:?}: {error}", self.addresses);
        self.socket = Some(TcpListener::bind(&*self.addresses).map_err(refused)?);
        Ok(self)
    }
}

/// Nobody else has it; from then on a server may listen there.
fn hold(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(address)?;
    socket.set_reuseaddr(true)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_is_taken_is_passed_over_and_its_server_can_listen() {
        let first = Ground::take().unwrap();
        let second = Ground::take().unwrap();
        assert!(
            first
                .addresses
                .iter()
                .all(|it| it.ip().is_loopback() && PORTS.contains(&it.port()))
        );
        assert_ne!(first.addresses[0].port(), second.addresses[0].port());
        let mut first = first.listen().unwrap();
        first.socket = None;
        let first = first.listen().unwrap();
        let socket = first.socket.unwrap();
        assert_eq!(socket.local_addr().unwrap(), first.addresses[0]);
    }
}
