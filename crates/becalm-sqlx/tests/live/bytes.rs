//! Is a transaction told as it ended, at whichever byte of its conversation the connection is cut?

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use becalm::{Budget, Policy};
use becalm_sqlx::{Database, Failed, Marker, Resolve, Status};
use sqlx::{PgConnection, PgPool};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

use crate::server::{self, Postgres, run};
use crate::within;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Client,
    Server,
}

/// How many bytes of a side still come through, from the `BEGIN` on.
type Left = Mutex<Option<(Side, usize)>>;

#[derive(Default)]
struct State {
    next: Left,
    was_cut: AtomicBool,
}

/// Cuts the connection of the next `BEGIN` behind so many bytes.
struct Cutter {
    port: u16,
    state: Arc<State>,
}

impl Cutter {
    async fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let state = Arc::<State>::default();
        let shared = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(pass(client, server, Arc::clone(&shared)));
            }
        });
        Self { port, state }
    }

    fn cut(&self, side: Side, bytes: usize) {
        self.state.was_cut.store(false, Ordering::SeqCst);
        *self.state.next.lock().expect("unpoisoned") = Some((side, bytes));
    }

    fn has_cut(&self) -> bool {
        self.state.was_cut.load(Ordering::SeqCst)
    }
}

async fn pass(client: TcpStream, server: u16, state: Arc<State>) {
    let server = TcpStream::connect(("127.0.0.1", server)).await;
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.expect("Postgres").into_split();
    let left = Left::default();
    tokio::select! {
        () = copy(Side::Client, from_client, to_server, &state, &left) => (),
        () = copy(Side::Server, from_server, to_client, &state, &left) => (),
    }
}

async fn copy(
    side: Side,
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    state: &State,
    left: &Left,
) {
    let mut piece = vec![0; 4096];
    while let Ok(read @ 1..) = from.read(&mut piece).await {
        let mut passes = read;
        {
            let mut left = left.lock().expect("unpoisoned");
            if side == Side::Client && piece[..read].windows(5).any(|it| it == b"BEGIN") {
                *left = state.next.lock().expect("unpoisoned").take();
            }
            if let Some((_, bytes)) = left.as_mut().filter(|it| it.0 == side) {
                passes = read.min(*bytes);
                *bytes -= passes;
            }
        }
        state.was_cut.fetch_or(passes < read, Ordering::SeqCst);
        let is_whole = to.write_all(&piece[..passes]).await.is_ok();
        if !is_whole || passes < read {
            return;
        }
    }
}

/// How many transactions were cut, and how they ended.
#[derive(Debug, Default)]
struct Found {
    cuts: u32,
    done: u32,
    in_doubt: u32,
    failed: u32,
}

async fn count(plain: &mut PgConnection, id: i64) -> i64 {
    let rows = sqlx::query_scalar("SELECT count(*) FROM done WHERE id = $1").bind(id);
    rows.fetch_one(plain).await.expect("a count")
}

/// Cuts at each so-manieth byte of both sides, by each way to resolve a doubt, until a conversation is over before its cut.
async fn each(step: usize) -> Option<Found> {
    let server = Postgres::start(&[]).await?;
    run(
        &server,
        &["CREATE TABLE done (id bigint)", &Marker::new().ddl()],
    )
    .await;
    let cutter = Cutter::to(server.port()).await;
    let policy = Policy::exponential(Duration::from_millis(1)).budget(Budget::None);
    let outages = policy.retrier().expect("a valid policy");
    let database: Database<PgPool> = Database::builder_over(server::pool(cutter.port, 2).await)
        .outages(outages)
        .build();
    let mut plain = server.plain().await;
    let (mut found, mut id) = (Found::default(), 0);
    for way in [
        Resolve::Stop,
        Resolve::Idempotent,
        Marker::new().into(),
        Status::new().into(),
    ] {
        for side in [Side::Client, Side::Server] {
            for bytes in (0..).step_by(step) {
                id += 1;
                cutter.cut(side, bytes);
                let insert = database.transaction(|mut tx| async move {
                    let insert = sqlx::query("INSERT INTO done VALUES ($1)").bind(id);
                    insert.execute(&mut *tx).await.map(drop)
                });
                let told = insert.resolve(way.clone()).await;
                let rows = count(&mut plain, id).await;
                let where_ = format!("{way:?}, {side:?}, byte {bytes}: {told:?}, {rows} rows");
                match &told {
                    Ok(()) if matches!(way, Resolve::Idempotent) => assert!(rows >= 1, "{where_}"),
                    Ok(()) => assert_eq!(rows, 1, "{where_}"),
                    Err(gave_up) if gave_up.error().is_some_and(Failed::may_have_committed) => {
                        assert!(rows <= 1, "{where_}");
                        found.in_doubt += 1;
                    }
                    Err(_) => {
                        assert_eq!(rows, 0, "{where_}");
                        found.failed += 1;
                    }
                }
                found.done += u32::from(told.is_ok());
                if !cutter.has_cut() {
                    break;
                }
                found.cuts += 1;
            }
        }
    }
    Some(found)
}

#[tokio::test(flavor = "multi_thread")]
async fn wherever_a_conversation_is_cut_a_transaction_is_told_as_it_ended() {
    within(async {
        let Some(found) = each(7).await else { return };
        assert!(
            found.cuts > 100 && found.in_doubt > 0 && found.failed == 0,
            "{found:?}"
        );
    })
    .await;
}

/// `scripts/prove commit-bytes`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes some minutes"]
async fn in_full() {
    let mut all = Found::default();
    for _ in 0..4 {
        let found = within(each(1)).await.expect("Postgres is installed");
        all.cuts += found.cuts;
        all.done += found.done;
        all.in_doubt += found.in_doubt;
        all.failed += found.failed;
    }
    println!("{all:?}: none done twice, lost or told wrongly");
}
