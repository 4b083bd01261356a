//! How many processes does a drill of reconnects take, and may each of them have as many open files as that asks?

use std::fmt;

use serde::{Deserialize, Serialize};

/// The most clients of one server: half of the ports between two addresses. From there on Linux takes long to find a
/// free one, and a listening socket that is handed over has one address.
const PER_SERVER: u32 = 14_000;

/// The most clients in one process: one thread keeps up with so many.
const PER_FLEET: u32 = 5_000;

/// The most servers.
const MOST_SERVERS: u32 = 16;

/// Open files of a process that are no sockets of clients. The one that starts the others has no more than these.
const OTHERS: u64 = 128;

/// The processes of a drill beside the one that holds it. Each server has clients of its own, as many as any other, and a port of its
/// own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Processes {
    pub servers: u32,
    pub fleets: u32,
}

impl Default for Processes {
    fn default() -> Self {
        Self {
            servers: 1,
            fleets: 1,
        }
    }
}

impl Processes {
    /// As few as will do for so many clients, if each may have this many open files.
    ///
    /// # Errors
    ///
    /// More servers would be needed than can be had.
    pub fn of(clients: u32, allowed: u64) -> Result<Self, TooFew> {
        let room = room(allowed);
        let servers = clients.div_ceil(room.clamp(1, PER_SERVER));
        if room == 0 || servers > MOST_SERVERS {
            return Err(TooFew { clients, allowed });
        }
        Ok(Self {
            servers,
            fleets: clients.div_ceil(room.min(PER_FLEET)),
        })
    }

    /// Which server a client is of.
    pub fn server_of(self, client: u32) -> usize {
        (client % self.servers) as usize
    }
}

/// For how many clients a process has descriptors. A connection that is refused, or whose other end has gone, keeps its own for a while: half
/// as many again.
fn room(allowed: u64) -> u32 {
    let room = allowed.saturating_sub(OTHERS).saturating_mul(2) / 3;
    u32::try_from(room).unwrap_or(u32::MAX)
}

/// How many descriptors a process needs that has so many clients.
fn descriptors(clients: u32) -> u64 {
    (u64::from(clients) * 3).div_ceil(2) + OTHERS
}

/// The limit on open files is too low for so many clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooFew {
    clients: u32,
    allowed: u64,
}

impl fmt::Display for TooFew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { clients, allowed } = *self;
        let needed = descriptors(clients.div_ceil(MOST_SERVERS));
        let possible = room(allowed).saturating_mul(MOST_SERVERS);
        write!(
            f,
            "--clients {clients} take {MOST_SERVERS} servers with {needed} open files each, and this system allows \
             {allowed}; raise the hard limit (ulimit -Hn) to {needed}"
        )?;
        if possible > 0 {
            write!(f, ", or lower --clients to {possible}")?;
        }
        Ok(())
    }
}

impl std::error::Error for TooFew {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_few_as_the_limit_and_the_ports_allow() {
        let of = |clients, allowed| {
            let processes = Processes::of(clients, allowed).unwrap();
            (processes.servers, processes.fleets)
        };
        assert_eq!(of(1, 1_024), (1, 1));
        assert_eq!(of(10_000, 20_000), (1, 2));
        assert_eq!(of(100_000, 20_000), (8, 20));
        assert_eq!(of(100_000, u64::MAX), (8, 20));
        assert_eq!(of(10_000, 4_096), (4, 4));
    }

    #[test]
    fn too_low_a_limit_is_refused_with_what_would_do() {
        for (clients, allowed) in [(100_000, 4_096), (2_000, 200), (1, 0), (1, 129)] {
            let refused = Processes::of(clients, allowed).unwrap_err();
            let needed = descriptors(clients.div_ceil(MOST_SERVERS));
            let words = refused.to_string();
            assert!(words.contains(&format!("-Hn) to {needed}")), "{words}");
            assert!(Processes::of(clients, needed).is_ok(), "{words}");
            assert!(Processes::of(clients, needed - 1).is_err(), "{words}");
            let possible = room(allowed) * MOST_SERVERS;
            let ends = format!("or lower --clients to {possible}");
            assert_eq!(words.ends_with(&ends), possible > 0, "{words}");
            assert!(possible == 0 || Processes::of(possible, allowed).is_ok());
        }
    }

    #[test]
    fn every_server_has_as_many_clients_as_any_other() {
        let processes = Processes::of(100_000, 20_000).unwrap();
        let mut clients = [0; 8];
        for client in 0..100_000 {
            clients[processes.server_of(client)] += 1;
        }
        assert_eq!(clients, [12_500; 8]);
    }
}
