//! How many GETs a second go over becalm-redis, beside redis's own connection? Rounds that take turns, on a server of this machine.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{AsyncCommands, Client};
use tokio::task::JoinSet;

const PORT: u16 = 16_391;
const ROUNDS: usize = 21;
const CALLS: u32 = 20_000;

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
    }
}

#[tokio::main(flavor = "multi_thread", worker_threads = 1)]
async fn main() {
    let mut server = Command::new("redis-server");
    server.args([
        "--bind",
        "127.0.0.1",
        "--port",
        &PORT.to_string(),
        "--save",
        "",
    ]);
    let started = server.stdout(Stdio::null()).spawn();
    let _server = Server(started.expect("redis-server runs"));
    let url = format!("redis://127.0.0.1:{PORT}");
    let becalm = becalm_redis::Connection::open(&url).expect("an address");
    let () = becalm.clone().set("stock", 17).await.expect("it is set");
    let client = Client::open(url).expect("an address");
    let bare = client
        .get_multiplexed_async_connection()
        .await
        .expect("connected");
    println!("| tasks | redis's own | becalm-redis | share |");
    println!("|--:|--:|--:|--:|");
    for tasks in [1, 64] {
        let (mut own, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            own.push(round::<MultiplexedConnection>(&bare, tasks).await);
            ours.push(round(&becalm, tasks).await);
        }
        let [own, ours] = [own, ours].map(|mut times| {
            times.sort_unstable();
            f64::from(CALLS) / times[ROUNDS / 2].as_secs_f64()
        });
        println!("| {tasks} | {own:.0}/s | {ours:.0}/s | {:.2} |", ours / own);
    }
}

async fn round<C>(connection: &C, tasks: u32) -> Duration
where
    C: ConnectionLike + Clone + Send + Sync + 'static,
{
    let began = Instant::now();
    let mut running = JoinSet::new();
    for _ in 0..tasks {
        let mut connection = connection.clone();
        running.spawn(async move {
            for _ in 0..CALLS / tasks {
                let stock: u32 = connection.get("stock").await.expect("an answer");
                assert_eq!(stock, 17);
            }
        });
    }
    running.join_all().await;
    began.elapsed()
}
