//! What does a proxy cost that breaks nothing? Figures of this machine, by hand: `scripts/prove drill-proxy`.
//!
//! Beside it stands HAProxy, which also opens a connection to the service for each of a client's. A proxy is one more process that
//! waits for a core: on a machine whose cores others take, that wait is above a millisecond for either.

use std::net::SocketAddr;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use super::super::target::front;
use super::service::Service;
use super::{Client, Proxy};

/// Requests a second, shared by [`CLIENTS`].
const RATE: u32 = 3_000;

/// Each has a thread, and waits for its answer.
const CLIENTS: u32 = 16;

/// Directly and through each proxy by turns, so that what else is done on the machine falls on all. The turn in the middle counts.
const TURNS: usize = 15;
const TURN: Duration = Duration::from_secs(1);

/// What a proxy may add at p99.
const BAR: Duration = Duration::from_millis(1);

/// As a multiple of what HAProxy adds in this run, where that is more.
const BESIDE: f64 = 2.0;

/// How long each answer took, from the moment at which it was asked for; what was due earlier and not yet asked for is left out.
fn turn(address: SocketAddr, keeps: bool) -> Vec<Duration> {
    let every = Duration::from_secs(1) * CLIENTS / RATE;
    let clients = (0..CLIENTS).map(|number| {
        thread::spawn(move || {
            let began = Instant::now() + every * number / CLIENTS;
            let mut client = None;
            let mut took = Vec::new();
            let mut due = Duration::ZERO;
            while due < TURN {
                let wait = (began + due).saturating_duration_since(Instant::now());
                thread::sleep(wait);
                let asked = Instant::now();
                let mut speaks = client.take().unwrap_or_else(|| Client::to(address));
                speaks.get("id");
                assert_eq!(speaks.answer().0, 200);
                took.push(asked.elapsed());
                client = keeps.then_some(speaks);
                due += every;
            }
            took
        })
    });
    let clients: Vec<_> = clients.collect();
    clients
        .into_iter()
        .flat_map(|it| it.join().unwrap())
        .collect()
}

#[test]
#[ignore = "figures: scripts/prove drill-proxy"]
fn in_full() {
    let service = Service::start();
    let folder = tempfile::tempdir().unwrap();
    let haproxy = haproxy(folder.path(), service.address);
    let mut missed = Vec::new();
    for keeps in [true, false] {
        let mut proxy = Proxy::start("hold", service.address, "Http");
        let mut ways = vec![
            ("direct", service.address),
            ("through the proxy", proxy.address),
        ];
        ways.extend(haproxy.as_ref().map(|(_, at)| ("through HAProxy", *at)));
        let mut tails = vec![Vec::new(); ways.len()];
        let mut middles = tails.clone();
        for _ in 0..TURNS {
            for (way, (name, address)) in ways.iter().enumerate() {
                let began = Instant::now();
                let mut took = turn(*address, keeps);
                #[expect(clippy::cast_precision_loss)]
                let rate = took.len() as f64 / began.elapsed().as_secs_f64();
                assert!(rate > 0.9 * f64::from(RATE), "{name}: {rate}/s");
                took.sort();
                middles[way].push(took[took.len() / 2]);
                tails[way].push(took[took.len() * 99 / 100]);
            }
        }
        println!(
            "{}",
            if keeps {
                "kept connections"
            } else {
                "a connection for each request"
            }
        );
        let added: Vec<_> = (0..ways.len())
            .map(|way| {
                let pairs = tails[way].iter().zip(&tails[0]);
                middle(pairs.map(|(it, direct)| it.saturating_sub(*direct)))
            })
            .collect();
        for (way, (name, _)) in ways.iter().enumerate() {
            let (least, most) = (tails[way].iter().min(), tails[way].iter().max());
            println!(
                "  {name}: p50 {:.2?}, p99 {:.2?} ({:.2?} to {:.2?}): {:.2?} more",
                middle(middles[way].iter().copied()),
                middle(tails[way].iter().copied()),
                least.unwrap(),
                most.unwrap(),
                added[way]
            );
        }
        assert_eq!(proxy.seen()["counts"]["unreachable"], 0);
        let may = added.get(2).map_or(BAR, |it| it.mul_f64(BESIDE).max(BAR));
        if added[1] >= may {
            missed.push(format!("p99 + {:?}, may be {may:?}", added[1]));
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
}

fn middle(of: impl Iterator<Item = Duration>) -> Duration {
    let mut sorted: Vec<_> = of.collect();
    sorted.sort();
    sorted[sorted.len() / 2]
}

/// HAProxy in front of the service, with as many threads as the machine has cores; `None` where it is not installed.
fn haproxy(folder: &std::path::Path, service: SocketAddr) -> Option<(front::Server, SocketAddr)> {
    let port = front::free();
    let path = folder.join("haproxy.cfg");
    let text = format!(
        "defaults\n mode http\n timeout connect 5s\n timeout client 30s\n timeout server 30s\n\
         frontend clients\n bind 127.0.0.1:{port}\n default_backend service\n\
         backend service\n server one {service}\n"
    );
    std::fs::write(&path, text).unwrap();
    let mut command = Command::new("haproxy");
    command.arg("-db").arg("-f").arg(&path);
    let server = front::started(command, port, "haproxy, Debian's package haproxy")?;
    Some((server, SocketAddr::from(([127, 0, 0, 1], port))))
}
