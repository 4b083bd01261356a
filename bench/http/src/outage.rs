//! How much do clients ask of a service that hangs, and how soon is it back?

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use reqwest::Method;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval};

use crate::clients::{Client, NAMES, Times};
use crate::server::Server;

const TIMES: Times = Times {
    base: Duration::from_millis(100),
    cap: Duration::from_secs(20),
    attempt: Duration::from_millis(300),
};

/// 70 % of what the workers can do.
const CALLS_EVERY: Duration = Duration::from_micros(2857);
/// More than the time that fills a budget.
const BEFORE: Duration = Duration::from_secs(6);
const HANG: Duration = Duration::from_secs(2);
/// When there is nothing more to wait for.
const LIMIT: Duration = Duration::from_secs(20);
/// So many successes in a row mean that the service is back.
const IN_A_ROW: usize = 300;

const FAILED: u8 = 1;
const SUCCEEDED: u8 = 2;

pub async fn print(server: &Server) {
    println!("\n| | requests for a call while the service hangs | back after, s |\n|---|---|---|");
    for (number, (name, _)) in NAMES.iter().enumerate() {
        // Made when it is its turn: a budget measures its rate from then on.
        let client = Client::all(TIMES).into_iter().nth(number);
        let client = client.expect("each has a name");
        let (requests, back) = outage(server, client).await;
        let back = back.map_or(format!("not within {}", LIMIT.as_secs()), |back| {
            format!("{:.1}", back.as_secs_f64())
        });
        println!("| {name} | {requests:.2} | {back} |");
    }
    println!();
}

/// The requests for a call that comes in the hang, and the time from its end to the first of the calls that
/// succeed in a row.
async fn outage(server: &Server, client: Client) -> (f64, Option<Duration>) {
    let url = format!("http://shop.test:{}/work", server.address.port());
    let client = Rc::new(client);
    let hang = Instant::now() + BEFORE;
    let end = hang + HANG;
    server.hang(hang.into(), end.into());
    server.take_seen();
    let mut calls: Vec<(Instant, Arc<AtomicU8>)> = Vec::new();
    let mut tasks = JoinSet::new();
    let mut ticks = interval(CALLS_EVERY);
    let back = loop {
        let now = ticks.tick().await;
        let ended = Arc::new(AtomicU8::new(0));
        calls.push((now, Arc::clone(&ended)));
        let (client, url) = (Rc::clone(&client), url.clone());
        tasks.spawn_local(async move {
            let answer = client.call(Method::GET, &url, None).await;
            let is_success = answer.is_some_and(|status| status.is_success());
            ended.store(
                if is_success { SUCCEEDED } else { FAILED },
                Ordering::Relaxed,
            );
        });
        while tasks.try_join_next().is_some() {}
        let late = &calls[calls.partition_point(|(began, _)| *began < end)..];
        let mut run = 0;
        let first = late.iter().position(|(_, ended)| {
            run = if ended.load(Ordering::Relaxed) == SUCCEEDED {
                run + 1
            } else {
                0
            };
            run == IN_A_ROW
        });
        if let Some(last) = first {
            break Some(late[last + 1 - IN_A_ROW].0 - end);
        }
        if now > end + LIMIT {
            break None;
        }
    };
    tasks.shutdown().await;
    let in_hang = |at: Instant| (hang..end).contains(&at);
    let requests = server
        .take_seen()
        .into_iter()
        .filter(|at| in_hang((*at).into()))
        .count();
    let calls = calls.iter().filter(|(began, _)| in_hang(*began)).count();
    #[expect(clippy::cast_precision_loss, reason = "some thousands")]
    (requests as f64 / calls as f64, back)
}
