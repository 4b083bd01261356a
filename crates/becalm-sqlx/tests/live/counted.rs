//! How many statements and round trips does a transaction take, beside sqlx's own?

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use becalm_sqlx::pool::Manager;
use becalm_sqlx::{Database, Marker, Resolve, Source, Status};
use sqlx::Connection;
use sqlx::postgres::PgConnectOptions;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

use super::server::{self, Postgres, run};

/// Counts what a server answers: statements that are complete, and messages that it has served. What the pools ask beside is not counted.
#[derive(Default)]
struct Counted {
    statements: AtomicU32,
    trips: AtomicU32,
}

impl Counted {
    async fn proxy(server: u16) -> (u16, Arc<Self>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let counted = Arc::<Self>::default();
        let shared = Arc::clone(&counted);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(("127.0.0.1", server)).await;
                let (from_server, mut to_server) = server.expect("it is there").into_split();
                let (mut from_client, to_client) = client.into_split();
                tokio::spawn(
                    async move { tokio::io::copy(&mut from_client, &mut to_server).await },
                );
                tokio::spawn(Arc::clone(&shared).answers(from_server, to_client));
            }
        });
        (port, counted)
    }

    async fn answers(self: Arc<Self>, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
        let (mut head, mut is_asked) = ([0; 5], false);
        while from.read_exact(&mut head).await.is_ok() {
            let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
            let mut rest = vec![0; length as usize - 4];
            from.read_exact(&mut rest).await.expect("a message");
            match head[0] {
                b'C' => self.statements.fetch_add(1, Ordering::SeqCst),
                // An answer to a pool that asks whether the connection is alive says nothing else.
                b'Z' if is_asked => self.trips.fetch_add(1, Ordering::SeqCst),
                _ => 0,
            };
            is_asked = head[0] != b'Z';
            let message = [&head[..], &rest].concat();
            if to.write_all(&message).await.is_err() {
                return;
            }
        }
    }

    /// What has come since the last time: statements, round trips.
    fn since(&self) -> (u32, u32) {
        let since = |counter: &AtomicU32| counter.swap(0, Ordering::SeqCst);
        (since(&self.statements), since(&self.trips))
    }
}

const WRITE: &str = "UPDATE cell SET value = value + 1";

/// What a transaction takes more than one of sqlx's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beside {
    /// How a lost answer is resolved.
    pub resolve: &'static str,
    /// Statements and round trips of the first over its connection.
    pub first: (u32, u32),
    /// Of a later one.
    pub later: (u32, u32),
}

/// A transaction's first and third over its connection.
async fn counts<S: Source>(
    database: &Database<S>,
    resolve: Resolve,
    counted: &Counted,
) -> [(u32, u32); 2] {
    let mut all = Vec::new();
    for _ in 0..3 {
        counted.since();
        let write = database
            .transaction(|mut tx| async move { sqlx::query(WRITE).execute(&mut *tx).await });
        write.resolve(resolve.clone()).await.expect("it is done");
        all.push(counted.since());
    }
    [all[0], all[2]]
}

/// Each way to resolve a lost answer, over sqlx's pool and over the paced one.
pub async fn beside_sqlxs_own(server: &Postgres) -> Vec<Beside> {
    let tables = [
        "CREATE TABLE cell (value int)",
        "INSERT INTO cell VALUES (0)",
        &Marker::new().ddl(),
    ];
    run(server, &tables).await;
    let (port, counted) = Counted::proxy(server.port()).await;
    let pool = server::pool(port, 1).await;
    let mut own = (0, 0);
    for _ in 0..3 {
        counted.since();
        let mut tx = pool.begin().await.expect("it begins");
        sqlx::query(WRITE)
            .execute(&mut *tx)
            .await
            .expect("it is written");
        tx.commit().await.expect("it is committed");
        own = counted.since();
    }
    let options: PgConnectOptions = server::url(port).parse().expect("an address");
    let paced = Manager::new(options).pool(1);
    let mut warm = paced.get().await.expect("a connection");
    warm.ping().await.expect("it answers");
    sqlx::query(WRITE)
        .execute(&mut *warm)
        .await
        .expect("it is prepared");
    drop(warm);
    let (over_sqlxs, over_paced) = (Database::over(pool), Database::over(paced));
    let mut all = Vec::new();
    for (name, resolve) in [
        ("Stop", Resolve::Stop),
        ("Marker", Marker::new().into()),
        ("Status", Status::new().into()),
    ] {
        for counts in [
            counts(&over_sqlxs, resolve.clone(), &counted).await,
            counts(&over_paced, resolve.clone(), &counted).await,
        ] {
            let beside = |(statements, trips)| (statements - own.0, trips - own.1);
            let [first, later] = counts.map(beside);
            all.push(Beside {
                resolve: name,
                first,
                later,
            });
        }
    }
    all
}
