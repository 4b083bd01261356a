//! Where does a name lead? First some times where nobody listens, then to this machine.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The addresses of `shop.test` and all other names but `nowhere.test`, for the resolver of a client.
#[derive(Debug, Clone)]
pub struct Addresses {
    refused: Arc<AtomicUsize>,
}

impl Addresses {
    /// So many connections are refused first.
    pub fn refusing(times: usize) -> Self {
        Self {
            refused: Arc::new(times.into()),
        }
    }

    /// The next address, without its port.
    ///
    /// # Errors
    ///
    /// Nobody has this name.
    pub fn of(&self, name: &str) -> io::Result<SocketAddr> {
        if name == "nowhere.test" {
            return Err(io::Error::other("no such name"));
        }
        let count = |left: usize| left.checked_sub(1);
        let refused = &self.refused;
        let is_refused = refused.fetch_update(Ordering::SeqCst, Ordering::SeqCst, count);
        Ok(match is_refused {
            Ok(_) => (Ipv6Addr::LOCALHOST, 0).into(), // servers listen on IPv4
            Err(_) => (Ipv4Addr::LOCALHOST, 0).into(),
        })
    }
}
