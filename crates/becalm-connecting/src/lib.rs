//! How often does each client dial, whatever goes wrong while it connects? For the tests of all drivers.
//!
//! [`Fault`] is a row of the matrix and [`Client`] a column. A cell is one call, or one wait for a connection, of a client
//! beside a [`Server`] of its own on loopback, which counts the connections that it accepts.

#![forbid(unsafe_code)]

mod authority;
mod clients;
mod fault;
mod server;

use std::time::{Duration, Instant};

use becalm::{Budget, Jitter, Policy};

pub use authority::Authority;
pub use clients::Client;
pub use fault::{Alert, Certificate, Fault, Reply};
pub use server::{Door, Server};

/// How often a client of this policy tries, where trying again may help.
pub const ATTEMPTS: u32 = 3;

/// What a proxy asks for where it asks for a wait.
pub const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Where a client connects to, and whom it trusts.
#[derive(Debug)]
pub struct Target<'a> {
    /// A name or an address.
    pub host: &'a str,
    /// Its port.
    pub port: u16,
    /// Whether the proxy speaks SOCKS, and not HTTP.
    pub is_socks: bool,
    /// The port of the proxy on loopback, if it goes through one.
    pub proxy: Option<u16>,
    /// Whose certificates it trusts.
    pub authority: &'a Authority,
    /// How it asks, where it speaks HTTP: in a way that is repeated only if it was proved not to have been sent.
    pub method: http::Method,
    /// When it tries again.
    pub policy: Policy,
    /// How long a dial may take.
    pub longest: Duration,
}

/// What one cell has shown.
#[derive(Debug)]
pub struct Seen {
    /// How often the driver says that it has tried.
    pub attempts: u32,
    /// The connections that the server has accepted; `None` where there is no server to count them.
    pub dials: Option<u32>,
    /// The shortest time between two of them.
    pub shortest_wait: Option<Duration>,
    /// How the driver says that it has failed.
    pub error: String,
}

/// This client beside this fault; `None` where the fault is none that this client can meet.
///
/// # Panics
///
/// The client cannot be built, or hangs.
pub async fn cell(client: Client, fault: Fault, authority: &Authority) -> Option<Seen> {
    if !client.meets(fault) {
        return None;
    }
    let server = Server::start(fault, client.door(), authority);
    // No server but one that is silent is so slow, on any machine.
    let longest = match fault {
        Fault::Silent => Duration::from_millis(500),
        _ => Duration::from_secs(60),
    };
    let through_proxy = fault.is_of_proxy();
    let target = Target {
        host: match fault {
            Fault::NoSuchName => "nothing.invalid",
            // TCP to the address of a broadcast is refused by the system itself.
            Fault::Unreachable => "255.255.255.255",
            _ => "127.0.0.1",
        },
        port: if through_proxy { 443 } else { server.port() },
        is_socks: matches!(fault, Fault::Socks(_)),
        proxy: through_proxy.then(|| server.port()),
        authority,
        method: match (client, fault) {
            // What cuts an attempt does not know that it was connecting.
            (Client::HyperRustls, Fault::Silent) => http::Method::GET,
            _ => http::Method::POST,
        },
        policy: Policy::fixed(Duration::from_millis(1))
            .jitter(Jitter::None)
            .attempts(ATTEMPTS)
            .attempt_timeout(longest)
            .budget(Budget::None),
        longest,
    };
    let called = tokio::time::timeout(Duration::from_secs(120), client.call(&target)).await;
    let (attempts, error) = called.unwrap_or_else(|_| panic!("{client}, {fault}: it hangs"));
    let is_dialled = !matches!(
        fault,
        Fault::NoSuchName | Fault::Unreachable | Fault::Refused
    );
    if is_dialled {
        server.accepts(attempts).await;
    }
    let accepted = server.accepted();
    Some(Seen {
        attempts,
        dials: is_dialled.then(|| u32::try_from(accepted.len()).unwrap_or(u32::MAX)),
        shortest_wait: shortest(&accepted),
        error,
    })
}

fn shortest(moments: &[Instant]) -> Option<Duration> {
    moments.windows(2).map(|pair| pair[1] - pair[0]).min()
}
