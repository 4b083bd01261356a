//! How long does a message take there and back?

use std::net::SocketAddr;
use std::time::Instant;

use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

use crate::clients::{At, Becalm, Client, Default, Fast, Tuned};
use crate::median;
use crate::promises::Promises;
use crate::servers::Kind;

/// Many and short, so that most are over before something else has its turn.
const ROUNDS: usize = 305;
const MESSAGES: u32 = 100;

/// One thread for both sides: neither waits for a core that sleeps, which takes ten times as long as a message.
pub fn one_thread() -> Runtime {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime")
}

pub fn beside(runtime: &Runtime, kind: Kind) -> SocketAddr {
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"));
    let listener = listener.expect("a port");
    let address = listener.local_addr().expect("an address");
    runtime.spawn(kind.serve(listener));
    address
}

pub fn print(promises: &mut Promises) {
    let runtime = one_thread();
    let server = At::new(beside(&runtime, Kind::Tuned));
    let mut default = runtime.block_on(Default::open(&server));
    let mut tuned = runtime.block_on(Tuned::open(&server));
    let mut fast = runtime.block_on(Fast::open(&server));
    let mut becalm = runtime.block_on(Becalm::open(&server));
    let mut times = [const { Vec::new() }; 4];
    for _ in 0..ROUNDS {
        times[0].push(round(&runtime, &mut default));
        times[1].push(round(&runtime, &mut tuned));
        times[2].push(round(&runtime, &mut fast));
        times[3].push(round(&runtime, &mut becalm));
    }
    let ratio = beside_each_other(&times[3], &times[1]);
    let names = [Default::NAME, Tuned::NAME, Fast::NAME, Becalm::NAME];
    println!("| client | µs there and back |");
    println!("|---|--:|");
    for (name, times) in names.into_iter().zip(times) {
        println!("| {name} | {:.2} |", median(times) * 1e6);
    }
    promises.at_most(
        "client: a message's time, times that of tokio-tungstenite",
        ratio,
        1.05,
    );

    println!("\n| server | µs there and back |");
    println!("|---|--:|");
    let mut sockets =
        Kind::ALL.map(|kind| runtime.block_on(Tuned::open(&At::new(beside(&runtime, kind)))));
    let mut times = Kind::ALL.map(|_| Vec::new());
    for _ in 0..ROUNDS {
        for (socket, times) in sockets.iter_mut().zip(&mut times) {
            times.push(round(&runtime, socket));
        }
    }
    let [tuned, .., becalm] = &times;
    let ratio = beside_each_other(becalm, tuned);
    promises.at_most(
        "server: a message's time, times that of tokio-tungstenite",
        ratio,
        1.05,
    );
    for (kind, times) in Kind::ALL.into_iter().zip(times) {
        println!("| {} | {:.2} |", kind.name(), median(times) * 1e6);
    }
    println!();
}

/// The median of what rounds took, each as a part of what the round beside it took: what slows one slows both.
fn beside_each_other(these: &[f64], beside: &[f64]) -> f64 {
    median(
        these
            .iter()
            .zip(beside)
            .map(|(this, that)| this / that)
            .collect(),
    )
}

fn round<C: Client>(runtime: &Runtime, socket: &mut C) -> f64 {
    let began = Instant::now();
    runtime.block_on(async {
        for _ in 0..MESSAGES {
            socket.echo().await;
        }
    });
    began.elapsed().as_secs_f64() / f64::from(MESSAGES)
}
