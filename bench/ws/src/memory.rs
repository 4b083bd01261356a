//! What does an idle connection hold in memory?

use std::net::SocketAddr;

use crate::child::Process;
use crate::clients::{Becalm, Client, Default, Fast, Tuned};
use crate::promises::Promises;
use crate::servers::Kind;

const CONNECTIONS: u32 = 5_000;

pub fn print(promises: &mut Promises) {
    println!("| client | bytes resident for a connection |");
    println!("|---|--:|");
    row(Default::NAME, of_client::<Default>());
    let tuned = row(Tuned::NAME, of_client::<Tuned>());
    row(Fast::NAME, of_client::<Fast>());
    let becalm = row(Becalm::NAME, of_client::<Becalm>());
    promises.at_most("client: KB for an idle connection", becalm / 1024.0, 7.0);
    promises.at_most(
        "client: memory, times that of tokio-tungstenite",
        becalm / tuned,
        1.15,
    );

    println!("\n| server | bytes resident for a connection |");
    println!("|---|--:|");
    let sizes = Kind::ALL.map(|kind| row(kind.name(), of_server(kind)));
    let size = |of: Kind| sizes[of as usize];
    let becalm = size(Kind::Becalm);
    promises.at_most("server: KB for an idle connection", becalm / 1024.0, 7.0);
    promises.at_most(
        "server: memory, times that of tokio-tungstenite",
        becalm / size(Kind::Tuned),
        1.15,
    );
    println!();
}

fn row(name: &str, bytes: f64) -> f64 {
    println!("| {name} | {bytes:.0} |");
    bytes
}

fn of_client<C: Client>() -> f64 {
    let (_server, address) = Process::server(Kind::Tuned, 1);
    let mut clients = warm::<C>(address);
    let before = clients.resident();
    clients.more(CONNECTIONS);
    (clients.resident() - before) / f64::from(CONNECTIONS)
}

fn of_server(kind: Kind) -> f64 {
    let (server, address) = Process::server(kind, 1);
    let mut clients = warm::<Tuned>(address);
    let before = server.resident();
    clients.more(CONNECTIONS);
    (server.resident() - before) / f64::from(CONNECTIONS)
}

/// What comes with the first connections is not what a connection takes.
fn warm<C: Client>(server: SocketAddr) -> Process {
    let mut clients = Process::clients::<C>(server);
    clients.more(500);
    clients
}
