//! What does a request cost?

use std::time::{Duration, Instant};

use reqwest::Method;
use tokio::runtime::Runtime;

use crate::clients::{Client, NAMES, Times};
use crate::server::Server;

const TIMES: Times = Times {
    base: Duration::from_millis(1),
    cap: Duration::from_millis(10),
    attempt: Duration::from_secs(30),
};

/// Of a GET that is answered at once, over a connection that stays: the median of rounds that take
/// turns.
pub fn print(runtime: &Runtime, server: &Server) {
    const ROUNDS: usize = 61;
    const CALLS: u32 = 500;
    let url = format!("http://shop.test:{}/", server.address.port());
    let clients = Client::over_reqwest(TIMES);
    let mut times = [const { Vec::new() }; 4];
    for _ in 0..ROUNDS {
        for (client, times) in clients.iter().zip(&mut times) {
            let began = Instant::now();
            runtime.block_on(async {
                for _ in 0..CALLS {
                    client.call(Method::GET, &url, None).await;
                }
            });
            times.push(began.elapsed() / CALLS);
            server.take_seen();
        }
    }
    println!("| | a GET takes | more than reqwest | allocations |");
    println!("|---|---|---|---|");
    let mut bare = Duration::ZERO;
    for (((name, _), client), mut times) in NAMES.iter().zip(&clients).zip(times) {
        times.sort_unstable();
        let median = times[times.len() / 2];
        if bare.is_zero() {
            bare = median;
        }
        let more = median.as_secs_f64() - bare.as_secs_f64();
        let counted = allocation_counter::measure(|| {
            runtime.block_on(async {
                for _ in 0..CALLS {
                    client.call(Method::GET, &url, None).await;
                }
            });
        });
        let allocations = counted.count_total / u64::from(CALLS);
        println!(
            "| {name} | {median:.1?} | {:.2} µs | {allocations} |",
            more * 1e6
        );
    }
}
