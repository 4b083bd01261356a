//! How many GETs a second go over becalm-redis, beside redis's own connection? Rounds that take turns, on a server of this machine.
//!
//! `throughput [redis | stream | becalm]` runs one of them alone, for those who count its instructions and its writes: redis's own, redis's own
//! over a stream that was opened as becalm-redis opens it, and becalm-redis.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{AsyncCommands, AsyncConnectionConfig, Client, IntoConnectionInfo};
use tokio::net::TcpStream;
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
    let only = std::env::args().nth(1);
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
    let client = Client::open(&*url).expect("an address");
    let own = client
        .get_multiplexed_async_connection()
        .await
        .expect("connected");
    let stream = over_a_stream(&url).await;
    println!("| tasks | redis's own | over a stream | becalm-redis | share | of a stream's |");
    println!("|--:|--:|--:|--:|--:|--:|");
    for tasks in [1, 64] {
        let mut times = [Vec::new(), Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            let is_wanted = |name: &str| only.as_deref().is_none_or(|only| only == name);
            if is_wanted("redis") {
                times[0].push(round(&own, tasks).await);
            }
            if is_wanted("stream") {
                times[1].push(round(&stream, tasks).await);
            }
            if is_wanted("becalm") {
                times[2].push(round(&becalm, tasks).await);
            }
        }
        let [own, stream, becalm] = times.map(|mut times| {
            times.sort_unstable();
            let middle = times.get(times.len() / 2);
            middle.map_or(f64::NAN, |time| f64::from(CALLS) / time.as_secs_f64())
        });
        let (share, of_stream) = (becalm / own, becalm / stream);
        println!(
            "| {tasks} | {own:.0}/s | {stream:.0}/s | {becalm:.0}/s | {share:.2} | {of_stream:.2} |"
        );
    }
}

async fn over_a_stream(url: &str) -> MultiplexedConnection {
    let info = url.into_connection_info().expect("an address");
    let stream = TcpStream::connect(("127.0.0.1", PORT)).await;
    let stream = stream.expect("connected");
    stream.set_nodelay(true).expect("it is set");
    let config = AsyncConnectionConfig::new();
    let connection = MultiplexedConnection::new_with_config(info.redis_settings(), stream, config);
    let (connection, driver) = connection.await.expect("connected");
    tokio::spawn(driver);
    connection
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
