//! Where does the drill's server listen, so that it can listen there again?

use std::net::{Ipv4Addr, SocketAddr, TcpListener};

/// The ports below those that Linux and the BSDs give to clients. A client that dials a port of theirs while nobody
/// listens may be given just that port, and then be connected with itself.
const PORTS: std::ops::Range<u16> = 10_000..30_000;

/// How many are tried.
const TRIES: u16 = 200;

/// From half of the ports between two addresses on, Linux takes long to find a free one: the clients dial several
/// addresses, where the system has them (Linux has all of 127.0.0.0/8).
const ADDRESSES: u8 = 4;

/// Addresses of the loopback interface with one port, on which nobody listens.
///
/// # Errors
///
/// A sentence.
pub fn choose(seed: u64) -> Result<Vec<SocketAddr>, String> {
    let all = u64::from(PORTS.end - PORTS.start);
    let first = u16::try_from(seed % all).unwrap_or(0);
    for step in 0..TRIES {
        let port = PORTS.start + (first + step * 97) % (PORTS.end - PORTS.start);
        let addresses =
            (1..=ADDRESSES).map(|last| SocketAddr::from((Ipv4Addr::new(127, 0, 0, last), port)));
        let free: Vec<_> = addresses
            .filter(|it| TcpListener::bind(it).is_ok())
            .collect();
        if free.contains(&(Ipv4Addr::LOCALHOST, port).into()) {
            return Ok(free);
        }
    }
    Err(format!(
        "no port of 127.0.0.1 from {} to {} is free; allow this process to open sockets",
        PORTS.start, PORTS.end
    ))
}

/// A socket that listens there and is handed to one server after the other, as a socket unit of systemd does.
///
/// # Errors
///
/// A sentence.
pub fn listen(addresses: &[SocketAddr]) -> Result<TcpListener, String> {
    let listener = TcpListener::bind(addresses);
    listener.map_err(|error| format!("cannot listen on {addresses:?}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_is_taken_is_passed_over() {
        let first = choose(7).unwrap();
        assert!(
            first
                .iter()
                .all(|it| it.ip().is_loopback() && PORTS.contains(&it.port()))
        );
        let _taken = TcpListener::bind(first[0]).unwrap();
        let second = choose(7).unwrap();
        assert_ne!(first[0].port(), second[0].port());
    }
}
