//! Does the last acknowledged write stand where a `COMMIT` arrives late, when its connection was given up long ago?

use std::time::Duration;

use becalm::Policy;
use becalm_sqlx::{Database, Failed, Marker, Resolve, Status};
use sqlx::{Connection, PgConnection, PgPool};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::proxy::Proxy;
use crate::server::{self, Postgres, run};
use crate::within;

/// Writes a value into the cell of a case.
async fn write(
    database: &Database<PgPool>,
    case: i32,
    value: i32,
) -> Result<(), becalm::GaveUp<Failed>> {
    let write = database.transaction(|mut tx| async move {
        for statement in [
            "INSERT INTO written VALUES ($1, $2)",
            "UPDATE cell SET value = $2 WHERE id = $1",
        ] {
            let statement = sqlx::query(statement).bind(case).bind(value);
            statement.execute(&mut *tx).await?;
        }
        Ok::<_, sqlx::Error>(())
    });
    write.await
}

/// The `COMMIT` of the first write is held back for so long, of which an attempt waits for a part only. When its call has ended another
/// writes. Whether the first was acknowledged.
async fn held_back(port: u16, case: i32, resolve: Resolve, millis: u32) -> bool {
    let proxy = Proxy::to(port).await;
    let outages =
        Policy::exponential(Duration::from_millis(10)).attempt_timeout(Duration::from_millis(300));
    let database = Database::builder_over(server::pool(proxy.port(), 2).await);
    let database = database.outages(outages.retrier().expect("a policy"));
    let database = database.resolve(resolve.clone()).build();
    proxy.hold_commits(1, millis);
    let first = write(&database, case, 1).await;
    let other = Database::over(server::pool(port, 1).await);
    write(&other, case, 2).await.expect("it is written");
    // The one that was held back has arrived by now, and done what it does.
    sleep(Duration::from_millis(u64::from(millis) + 300)).await;
    let mut plain = PgConnection::connect(&server::url(port)).await;
    let plain = plain.as_mut().expect("a connection");
    let value = sqlx::query_scalar::<_, i32>("SELECT value FROM cell WHERE id = $1");
    let value = value.bind(case).fetch_one(&mut *plain).await;
    let told = format!("{resolve:?}, held back for {millis} ms: {first:?}");
    assert_eq!(value.expect("a row"), 2, "{told}");
    let times = "SELECT count(*) FROM written WHERE id = $1 AND value = 1";
    let times = sqlx::query_scalar::<_, i64>(times).bind(case);
    let times = times.fetch_one(plain).await.expect("a count");
    match &first {
        Ok(()) => assert!(times >= 1, "{told}"),
        Err(gave_up) => {
            let says_so = gave_up.error().is_some_and(Failed::may_have_committed);
            assert!(says_so || times == 0, "{told}");
        }
    }
    // Who says that twice is no harm may have it twice.
    assert!(times <= 1 || resolve == Resolve::Idempotent, "{told}");
    first.is_ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_acknowledged_write_stands_when_a_commit_comes_late() {
    let Some(server) = Postgres::start(&["max_connections=100"]).await else {
        return;
    };
    within(async {
        let tables = [
            "CREATE TABLE cell AS SELECT id, 0 AS value FROM generate_series(0, 99) AS id",
            "CREATE TABLE written (id int, value int)",
            &Marker::new().ddl(),
        ];
        run(&server, &tables).await;
        let (port, mut cases, mut case) = (server.port(), JoinSet::new(), 0);
        for millis in [100, 700, 2_000, 5_000] {
            for resolve in [
                Resolve::Stop,
                Resolve::Idempotent,
                Marker::new().into(),
                Status::new().into(),
            ] {
                case += 1;
                cases.spawn(async move {
                    let is_done = held_back(port, case, resolve.clone(), millis).await;
                    println!("{resolve:?}, held back for {millis} ms: done is {is_done}");
                    // It asks for longer than that.
                    assert!(is_done || !matches!(resolve, Resolve::Status(_)));
                });
            }
        }
        cases.join_all().await;
    })
    .await;
}
