//! What does a proxy cost that breaks nothing? Figures of this machine, by hand: `scripts/prove drill-proxy`.

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use super::service::Service;
use super::{Client, Proxy};

/// Requests a second, shared by [`CLIENTS`].
const RATE: u32 = 3_000;

/// Each has a thread, and waits for its answer.
const CLIENTS: u32 = 16;

/// With and without the proxy by turns, so that what else is done on the machine falls on both.
const TURNS: usize = 10;
const TURN: Duration = Duration::from_secs(1);

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
    for keeps in [true, false] {
        let mut proxy = Proxy::start("hold", service.address, "Http");
        let mut took = [Vec::new(), Vec::new()];
        let mut lasted = [Duration::ZERO; 2];
        for number in 0..2 * TURNS {
            let through = number % 2;
            let began = Instant::now();
            took[through].extend(turn([service.address, proxy.address][through], keeps));
            lasted[through] += began.elapsed();
        }
        let kept = if keeps {
            "kept connections"
        } else {
            "a connection for each request"
        };
        let mut at = [[Duration::ZERO; 2]; 2];
        for (through, name) in ["direct", "through the proxy"].into_iter().enumerate() {
            let sorted = &mut took[through];
            sorted.sort();
            at[through] = [50, 99].map(|percent| sorted[sorted.len() * percent / 100]);
            #[expect(clippy::cast_precision_loss)]
            let rate = sorted.len() as f64 / lasted[through].as_secs_f64();
            println!(
                "{kept}, {name}: {rate:.0}/s, p50 {:.2?}, p99 {:.2?}",
                at[through][0], at[through][1]
            );
            assert!(rate > 0.9 * f64::from(RATE), "the load is {RATE}/s");
        }
        let added = at[1][1].saturating_sub(at[0][1]);
        assert!(added < Duration::from_millis(1), "p99 + {added:?}");
        assert_eq!(proxy.seen()["counts"]["unreachable"], 0);
    }
}
