//! Does any command run twice whose answer was lost?

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use becalm::Policy;
use becalm_redis::{Builder, Connection};
use redis::{AsyncCommands, Commands};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::proxy::Proxy;
use crate::server::Server;

const TASKS: usize = 32;
const CUTS: usize = 8;

fn connection(url: &str) -> Connection {
    let policy = Policy::exponential(Duration::from_millis(20))
        .attempts(20)
        .deadline(Duration::from_secs(30))
        .budget(becalm::Budget::None);
    let commands = policy.retrier().expect("a valid policy");
    let builder = Builder::new(url).expect("an address").commands(commands);
    let fast = becalm::reconnect::Pacer::new(100, Duration::from_secs(1), 10).expect("a rate");
    builder.pacer(fast).build().expect("valid settings")
}

/// What came of counting a field of its own for each increment, through cuts that take answers away and a kill: how many fields
/// were counted twice, how many were acknowledged and are not there, and how many increments failed.
async fn counted(wrap: impl Fn(Connection) -> Connection) -> [usize; 3] {
    let mut server = Server::started(&[]);
    let proxy = Proxy::to(server.port()).await;
    let redis = wrap(connection(&proxy.url()));
    let is_over = Arc::new(AtomicBool::new(false));
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let (mut redis, is_over) = (redis.clone(), Arc::clone(&is_over));
        tasks.spawn(async move {
            let (mut acknowledged, mut failed) = (Vec::new(), 0);
            for number in 0.. {
                if is_over.load(Ordering::SeqCst) {
                    break;
                }
                let field = format!("{task}-{number}");
                match redis.hincr::<_, _, _, u64>("fields", &field, 1).await {
                    Ok(_) => acknowledged.push(field),
                    Err(_) => failed += 1,
                }
            }
            (acknowledged, failed)
        });
    }
    for _ in 0..CUTS {
        sleep(Duration::from_millis(30)).await;
        proxy.swallow();
        sleep(Duration::from_millis(5)).await;
        proxy.cut();
    }
    sleep(Duration::from_millis(30)).await;
    server.kill();
    proxy.cut();
    server.start();
    let _ = server.plain();
    sleep(Duration::from_millis(100)).await;
    is_over.store(true, Ordering::SeqCst);
    let ended = tasks.join_all().await;
    let there: HashMap<String, u64> = server.plain().hgetall("fields").expect("fields");
    let acknowledged = ended.iter().flat_map(|(acknowledged, _)| acknowledged);
    [
        there.values().filter(|times| **times > 1).count(),
        acknowledged
            .filter(|field| !there.contains_key(*field))
            .count(),
        ended.iter().map(|(_, failed)| failed).sum(),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_runs_twice_and_nothing_acknowledged_is_lost() {
    let [twice, lost, failed] = counted(|redis| redis).await;
    assert_eq!([twice, lost], [0, 0]);
    assert!(failed > 0, "no answer was taken away");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_its_owner_calls_repeatable_is_not_so_runs_twice() {
    let [twice, lost, failed] = counted(|redis| redis.repeatable()).await;
    assert!(twice > 0, "no answer was taken away");
    assert_eq!([lost, failed], [0, 0]);
}
