//! What follows when the answer to `COMMIT` is lost? Deterministic first, then by chance and in numbers.

use std::future::IntoFuture;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use becalm::{Policy, StopReason};
use becalm_sqlx::{Database, Failed, Marker, Resolve, Status};
use sqlx::{PgConnection, PgPool};

use crate::proxy::Proxy;
use crate::server::{self, Postgres, run};
use crate::within;
use crate::writers::{Way, cut, killed};

struct Shop {
    server: Postgres,
    proxy: Proxy,
    database: Database<PgPool>,
}

async fn shop() -> Option<Shop> {
    let server = Postgres::start(&[]).await?;
    run(
        &server,
        &["CREATE TABLE done (attempt int)", &Marker::new().ddl()],
    )
    .await;
    let proxy = Proxy::to(server.port()).await;
    let database = Database::over(server::pool(proxy.port(), 2).await);
    Some(Shop {
        server,
        proxy,
        database,
    })
}

impl Shop {
    /// Writes the number of its attempt and returns it.
    async fn write(&self, resolve: impl Into<Resolve>) -> Result<i32, becalm::GaveUp<Failed>> {
        let attempts = &Mutex::new(0);
        let write = self.database.transaction(|mut tx| async move {
            let attempt = {
                let mut attempts = attempts.lock().expect("unpoisoned");
                *attempts += 1;
                *attempts
            };
            let insert = sqlx::query("INSERT INTO done VALUES ($1)").bind(attempt);
            insert.execute(&mut *tx).await.map(|_| attempt)
        });
        write.resolve(resolve).await
    }

    async fn done(&self) -> Vec<i32> {
        let all = sqlx::query_scalar("SELECT attempt FROM done ORDER BY attempt");
        let rows = all.fetch_all(&mut self.server.plain().await).await;
        rows.expect("rows")
    }
}

#[tokio::test]
async fn without_a_way_to_know_a_lost_answer_stops_the_call() {
    let Some(shop) = shop().await else { return };
    within(async {
        shop.proxy.lose_answers(1);
        let gave_up = shop.write(Resolve::Stop).await.expect_err("nobody knows");
        let ended = (gave_up.reason(), gave_up.attempts());
        assert_eq!(ended, (StopReason::NotIdempotent, 1));
        assert!(
            matches!(gave_up.error(), Some(Failed::InDoubt(_))),
            "{gave_up}"
        );
        assert_eq!(shop.done().await, [1]);
        // Who says that twice is no harm has it twice.
        shop.proxy.lose_answers(1);
        assert_eq!(
            shop.write(Resolve::Idempotent).await.expect("it is done"),
            2
        );
        assert_eq!(shop.done().await, [1, 1, 2]);
    })
    .await;
}

#[tokio::test]
async fn a_repetition_that_fails_does_not_hide_what_may_have_been_committed() {
    let Some(shop) = shop().await else { return };
    within(async {
        let once = ["CREATE UNIQUE INDEX ON done (attempt)"];
        run(&shop.server, &once).await;
        shop.proxy.lose_answers(1);
        let write = shop.database.transaction(|mut tx| async move {
            let insert = sqlx::query("INSERT INTO done VALUES (1)");
            insert.execute(&mut *tx).await.map(drop)
        });
        let gave_up = write.idempotent().await.expect_err("it meets its own row");
        let ended = (gave_up.reason(), gave_up.attempts());
        assert_eq!(ended, (StopReason::Permanent, 2), "{gave_up}");
        assert_eq!(shop.done().await, [1]);
        let Some(failed @ Failed::RepeatedInDoubt(last)) = gave_up.error() else {
            panic!("{gave_up}");
        };
        assert!(failed.may_have_committed() && !last.may_have_committed());
        assert!(matches!(**last, Failed::Body(_)), "{gave_up}");
    })
    .await;
}

#[tokio::test]
async fn a_repetition_meets_its_own_marker_and_returns_what_was_committed() {
    let Some(shop) = shop().await else { return };
    within(async {
        shop.proxy.lose_answers(1);
        assert_eq!(shop.write(Marker::new()).await.expect("it is done"), 1);
        assert_eq!(shop.done().await, [1]);
        // One that did not arrive is done by the second.
        shop.proxy.lose_commits(1);
        assert_eq!(shop.write(Marker::new()).await.expect("it is done"), 2);
        assert_eq!(shop.done().await, [1, 2]);
        run(&shop.server, &[&Marker::new().cleanup(Duration::ZERO)]).await;
        let left = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM becalm_marker");
        let left = left.fetch_one(&mut shop.server.plain().await).await;
        assert_eq!(left.expect("a count"), 0);
    })
    .await;
}

#[tokio::test]
async fn a_repetition_waits_for_its_marker_as_long_as_it_is_patient() {
    let Some(shop) = shop().await else { return };
    within(async {
        let settings = ["ALTER ROLE shop SET lock_timeout = '7s'"];
        run(&shop.server, &settings).await;
        let shop = Shop {
            database: Database::over(server::pool(shop.proxy.port(), 2).await),
            ..shop
        };
        let marker = Marker::new().patience(Duration::from_millis(100));
        shop.proxy.lose_commits(1);
        let ask = shop.database.transaction(|mut tx| async move {
            let ask = sqlx::query_scalar::<_, String>("SHOW lock_timeout");
            ask.fetch_one(&mut *tx).await
        });
        let asked = ask.resolve(marker.clone()).await;
        assert_eq!(asked.expect("a setting"), "7s", "the body has its own");
        shop.proxy.leave_open();
        shop.proxy.lose_commits(1);
        let began = Instant::now();
        let gave_up = shop.write(marker).await.expect_err("the first never ends");
        assert!(
            matches!(gave_up.error(), Some(Failed::InDoubt(_))),
            "{gave_up}"
        );
        assert_eq!(gave_up.attempts(), 4, "{gave_up}");
        assert!(began.elapsed() < Duration::from_secs(6), "{gave_up}");
    })
    .await;
}

#[tokio::test]
async fn the_status_tells_what_was_committed_and_what_was_not() {
    let Some(shop) = shop().await else { return };
    within(async {
        shop.proxy.lose_answers(1);
        assert_eq!(shop.write(Status::new()).await.expect("it is done"), 1);
        assert_eq!(shop.done().await, [1]);
        shop.proxy.lose_commits(1);
        assert_eq!(shop.write(Status::new()).await.expect("it is done"), 2);
        assert_eq!(shop.done().await, [1, 2]);
        // Who may not see the checkpointer does not know whether it has restarted.
        run(
            &shop.server,
            &["CREATE ROLE blind LOGIN", "GRANT ALL ON done TO blind"],
        )
        .await;
        let blind = server::url(shop.proxy.port()).replace("shop@", "blind@");
        let blind = Shop {
            database: Database::over(PgPool::connect(&blind).await.expect("a pool")),
            ..shop
        };
        blind.proxy.lose_answers(1);
        let gave_up = blind.write(Status::new()).await.expect_err("nobody knows");
        assert_eq!(gave_up.reason(), StopReason::NotIdempotent, "{gave_up}");
        blind.proxy.lose_commits(1);
        assert_eq!(blind.write(Status::new()).await.expect("it is done"), 2);
    })
    .await;
}

#[tokio::test]
async fn an_attempt_timeout_takes_no_time_from_the_question_for_the_status() {
    let Some(shop) = shop().await else { return };
    within(async {
        let outages = Policy::default().attempt_timeout(Duration::from_millis(400));
        let database = Database::builder_over(shop.database.source().clone());
        let database = database.outages(outages.retrier().expect("a policy"));
        let shop = Shop {
            database: database.build(),
            ..shop
        };
        shop.proxy.stall_answers(1);
        assert_eq!(shop.write(Status::new()).await.expect("it is done"), 1);
        assert_eq!(shop.done().await, [1]);
    })
    .await;
}

#[tokio::test]
async fn after_a_crash_of_one_backend_committed_is_not_believed() {
    let Some(shop) = shop().await else { return };
    within(async {
        shop.proxy.lose_answers(1);
        let crash = async {
            // Its answer is lost by now, and the one who would ask cannot.
            while shop.done().await.is_empty() {}
            shop.server.crash_a_backend().await;
            shop.proxy.pass();
        };
        shop.proxy.hold_after_loss();
        let (ended, ()) = tokio::join!(shop.write(Status::new()), crash);
        let gave_up = ended.expect_err("the checkpointer is another");
        assert_eq!(gave_up.reason(), StopReason::NotIdempotent, "{gave_up}");
        assert!(
            matches!(gave_up.error(), Some(Failed::InDoubt(_))),
            "{gave_up}"
        );
        assert_eq!(shop.done().await, [1]);
    })
    .await;
}

/// Postgres hands out the number of a transaction again that a crash has taken away before it was in the log. What this test calls the
/// naive check is the witness: it would report as done what was lost.
#[tokio::test]
async fn after_a_crash_committed_may_be_said_of_another_and_is_not_believed() {
    let Some(mut shop) = shop().await else { return };
    within(async {
        shop.proxy.lose_commits(1);
        shop.proxy.hold_after_loss();
        let number = &Mutex::new(None);
        let write = shop.database.transaction(|mut tx| async move {
            let ask = sqlx::query_scalar::<_, String>("SELECT pg_current_xact_id()::text");
            let asked = ask.fetch_one(&mut *tx).await?;
            *number.lock().expect("unpoisoned") = Some(asked);
            Ok::<_, sqlx::Error>(())
        });
        let write = write.resolve(Status::new()).into_future();
        let crash = async {
            shop.proxy.is_held().await;
            shop.server.kill();
            shop.server.start_again().await;
            let number = number.lock().expect("unpoisoned").clone();
            let number = number.expect("it has one");
            let mut plain = shop.server.plain().await;
            let status = loop {
                // Others take numbers, and so this one.
                let take = sqlx::query("SELECT pg_current_xact_id()");
                take.execute(&mut plain).await.expect("a number");
                let naive = sqlx::query_scalar::<_, String>("SELECT pg_xact_status($1::xid8)");
                match naive.bind(&number).fetch_one(&mut plain).await {
                    Ok(status) => break status,
                    Err(error) => assert!(error.to_string().contains("in the future"), "{error}"),
                }
            };
            assert_eq!(status, "committed", "the witness");
            shop.proxy.pass();
        };
        let (ended, ()) = tokio::join!(write, crash);
        let gave_up = ended.expect_err("it is another's");
        assert_eq!(gave_up.reason(), StopReason::NotIdempotent, "{gave_up}");
    })
    .await;
}

#[tokio::test]
async fn a_doubt_that_nobody_could_end_is_what_the_call_ends_with() {
    let Some(mut shop) = shop().await else { return };
    within(async {
        shop.proxy.lose_answers(1);
        shop.proxy.hold_after_loss();
        let kill = async {
            while done(&mut shop.server.plain().await).await.is_empty() {}
            shop.server.kill();
            shop.proxy.pass();
        };
        let database = shop.database.clone();
        let write = database.transaction(|mut tx| async move {
            let insert = sqlx::query("INSERT INTO done VALUES (1)");
            insert.execute(&mut *tx).await.map(drop)
        });
        let write = write
            .resolve(Marker::new())
            .deadline(Duration::from_secs(3));
        let (ended, ()) = tokio::join!(write, kill);
        let gave_up = ended.expect_err("there is no server");
        assert!(
            matches!(gave_up.error(), Some(Failed::InDoubt(_))),
            "{gave_up}"
        );
        assert!(gave_up.attempts() > 1, "{gave_up}");
    })
    .await;
}

async fn done(plain: &mut PgConnection) -> Vec<i32> {
    let all = sqlx::query_scalar("SELECT attempt FROM done");
    all.fetch_all(plain).await.expect("rows")
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_and_killed_by_marker_none_is_done_twice_or_lost_or_misreported() {
    within(async {
        for found in [
            cut(&Way::Marker, 8, 5).await,
            killed(&Way::Marker, 8, 2).await,
        ] {
            let Some(found) = found else { return };
            found.by_marker();
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_and_killed_by_status_none_is_done_twice_or_lost() {
    within(async {
        for found in [
            cut(&Way::Status, 8, 5).await,
            killed(&Way::Status, 8, 2).await,
        ] {
            let Some(found) = found else { return };
            found.by_status();
        }
    })
    .await;
}

/// `scripts/prove commit`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes some minutes"]
async fn commit_in_full() {
    within(async {
        for way in [Way::Blind, Way::Stop, Way::Naive, Way::Status, Way::Marker] {
            let cut = cut(&way, 24, 60).await.expect("Postgres is installed");
            println!("{way:?}, 60 cuts:     {cut}");
            let killed = killed(&way, 24, 20).await.expect("Postgres is installed");
            println!("{way:?}, 20 SIGKILLs: {killed}");
            for found in [cut, killed] {
                match way {
                    Way::Marker => found.by_marker(),
                    Way::Status => found.by_status(),
                    Way::Stop => found.by_stopping(),
                    // Witnesses of what goes wrong; by chance, so that nothing is asked of them.
                    Way::Blind | Way::Naive => (),
                }
            }
        }
    })
    .await;
}
