//! How many handshakes does a server take in a second, and what does a client need for one?

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::child::Process;
use crate::clients::{At, Becalm, Client, Default, Fast, Tuned};
use crate::median;
use crate::messages::{beside, one_thread};
use crate::promises::Promises;
use crate::servers::Kind;

pub fn print(promises: &mut Promises) {
    servers(promises);
    clients();
}

/// Servers with two threads under clients that connect, shake hands and are gone, in rounds that take turns.
fn servers(promises: &mut Promises) {
    const ROUNDS: usize = 9;
    let runtime = Runtime::new().expect("a runtime");
    let servers = Kind::ALL.map(|kind| Process::server(kind, 2));
    let mut rates = Kind::ALL.map(|_| Vec::new());
    let mut costs = Kind::ALL.map(|_| Vec::new());
    for _ in 0..ROUNDS {
        for (((server, address), rates), costs) in servers.iter().zip(&mut rates).zip(&mut costs) {
            let (busy, began) = (server.busy(), Instant::now());
            let count = f64::from(runtime.block_on(storm(*address)));
            rates.push(count / began.elapsed().as_secs_f64());
            costs.push((server.busy() - busy) / count);
        }
    }
    println!(
        "| server | handshakes/s, its clients on the same two cores | µs of a core for one | two cores would take |"
    );
    println!("|---|--:|--:|--:|");
    for ((kind, rates), costs) in Kind::ALL.into_iter().zip(rates).zip(costs) {
        let (rate, cost) = (median(rates), median(costs));
        let alone = 2.0 / cost;
        println!(
            "| {} | {rate:.0} | {:.1} | {alone:.0} |",
            kind.name(),
            cost * 1e6
        );
        if kind == Kind::Becalm {
            promises.at_least("server: handshakes/s on two cores", alone, 20_000.0);
        }
    }
    println!();
}

/// The handshakes of half a second.
async fn storm(server: SocketAddr) -> u32 {
    const AT_ONCE: usize = 64;
    let (count, until) = (
        Arc::new(AtomicU32::new(0)),
        Instant::now() + Duration::from_millis(500),
    );
    let mut tasks = JoinSet::new();
    for _ in 0..AT_ONCE {
        let count = Arc::clone(&count);
        tasks.spawn(async move {
            while Instant::now() < until {
                shake_hands(server).await;
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    tasks.join_all().await;
    count.load(Ordering::Relaxed)
}

/// As cheap as a client can be, and with a reset, so that no port is kept.
async fn shake_hands(server: SocketAddr) {
    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    let mut stream = TcpStream::connect(server).await.expect("it listens");
    stream.write_all(REQUEST).await.expect("it reads");
    let mut answer = [0; 512];
    let mut length = 0;
    while !answer[..length].ends_with(b"\r\n\r\n") {
        let read = stream.read(&mut answer[length..]).await;
        length += read.expect("an answer");
    }
    assert!(answer.starts_with(b"HTTP/1.1 101"));
    stream.set_zero_linger().expect("a socket");
}

/// Of dials one after the other, on the thread of the server.
fn clients() {
    const ROUNDS: usize = 101;
    let runtime = one_thread();
    let server = At::new(beside(&runtime, Kind::Tuned));
    let mut times = [const { Vec::new() }; 4];
    for _ in 0..ROUNDS {
        times[0].push(dials::<Default>(&runtime, &server));
        times[1].push(dials::<Tuned>(&runtime, &server));
        times[2].push(dials::<Fast>(&runtime, &server));
        times[3].push(dials::<Becalm>(&runtime, &server));
    }
    println!("| client | µs for a dial, the server's part with it |");
    println!("|---|--:|");
    let names = [Default::NAME, Tuned::NAME, Fast::NAME, Becalm::NAME];
    for (name, times) in names.into_iter().zip(times) {
        println!("| {name} | {:.1} |", median(times) * 1e6);
    }
    println!();
}

fn dials<C: Client>(runtime: &Runtime, at: &At) -> f64 {
    const DIALS: u32 = 20;
    let began = Instant::now();
    runtime.block_on(async {
        for _ in 0..DIALS {
            drop(C::open(at).await);
        }
    });
    began.elapsed().as_secs_f64() / f64::from(DIALS)
}
