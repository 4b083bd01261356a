//! What does a server cost that is away, hangs or cuts: how long, how many dials, and what does the caller hear?

use std::future::IntoFuture;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use becalm::{Policy, StopReason};
use becalm_sqlx::{Database, Marker};
use sqlx::postgres::PgPoolOptions;
use sqlx::{Executor, PgPool};
use tokio::time::sleep;

use crate::proxy::Proxy;
use crate::server::{self, Postgres, free_port, run};
use crate::within;

/// Killed, and known to be away: over a pool whose connections are found dead, and that dials for a short time only.
async fn is_known_to_be_away(server: &mut Postgres, outages: Policy) -> Database<PgPool> {
    let pool = PgPoolOptions::new().test_before_acquire(false);
    let pool = pool.acquire_timeout(Duration::from_millis(200));
    let pool = pool.connect(&server.url()).await.expect("a pool");
    let outages = outages.retrier().expect("a policy");
    let database = Database::builder_over(pool).outages(outages).build();
    server.kill();
    let ask = database.transaction(|mut tx| async move { tx.execute("SELECT 1").await });
    let waits = tokio::time::timeout(Duration::from_secs(1), ask.into_future()).await;
    waits.expect_err("it waits");
    database
}

fn paced(server: &Postgres) -> becalm_sqlx::Builder {
    Database::builder(server.url().parse().expect("an address"))
}

#[tokio::test]
async fn a_wait_for_the_server_does_not_lengthen_the_deadline() {
    let Some(mut server) = Postgres::start(&[]).await else {
        return;
    };
    within(async {
        let outages = Policy::exponential(Duration::from_millis(50));
        let database = is_known_to_be_away(&mut server, outages).await;
        let began = Instant::now();
        let long = database.transaction(|mut tx| async move {
            tx.execute("SELECT 1").await?;
            sleep(Duration::from_secs(60)).await;
            Ok::<_, sqlx::Error>(())
        });
        let long = long.deadline(Duration::from_secs(6));
        let back = async {
            sleep(Duration::from_secs(3)).await;
            server.start_again().await;
        };
        let (ended, ()) = tokio::join!(long.into_future(), back);
        ended.expect_err("it is too long");
        assert!(
            began.elapsed() < Duration::from_millis(6_500),
            "{:?}",
            began.elapsed()
        );
    })
    .await;
}

#[tokio::test]
async fn a_conflict_after_a_wait_for_the_server_is_resolved() {
    let Some(mut server) = Postgres::start(&[]).await else {
        return;
    };
    within(async {
        let outages = Policy::exponential(Duration::from_millis(50));
        let outages = outages.attempt_timeout(Duration::from_secs(2));
        let database = is_known_to_be_away(&mut server, outages).await;
        let begun = AtomicU32::new(0);
        let begun = &begun;
        let stood_in_the_way = database.transaction(|mut tx| async move {
            if begun.fetch_add(1, Ordering::SeqCst) == 0 {
                let conflict = "DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40001'; END $$";
                tx.execute(conflict).await?;
            }
            Ok::<_, sqlx::Error>(())
        });
        let back = async {
            sleep(Duration::from_secs(4)).await;
            server.start_again().await;
        };
        let (ended, ()) = tokio::join!(stood_in_the_way.into_future(), back);
        ended.expect("a conflict is repeated");
    })
    .await;
}

#[tokio::test]
async fn a_mistake_of_the_client_is_not_repeated() {
    let Some(server) = Postgres::start(&[]).await else {
        return;
    };
    within(async {
        let unbound = paced(&server).build();
        let unbound = unbound.transaction(|mut tx| async move {
            let unbound = sqlx::query("SELECT $1::int");
            unbound.execute(&mut *tx).await.map(drop)
        });
        let gave_up = unbound.await.expect_err("nothing is bound");
        let said = gave_up.to_string();
        assert_eq!(gave_up.reason(), StopReason::Permanent, "{said}");
    })
    .await;
}

#[tokio::test]
async fn a_repetition_does_not_wait_for_the_row_of_an_attempt_that_was_cut() {
    let Some(server) = Postgres::start(&[]).await else {
        return;
    };
    within(async {
        run(&server, &[&Marker::new().ddl()]).await;
        let proxy = Proxy::to(server.port()).await;
        proxy.leave_open(); // the server does not hear of it
        let database = Database::builder(server::url(proxy.port()).parse().expect("an address"));
        let database = database.resolve(Marker::new()).build();
        let (begun, proxy) = (AtomicU32::new(0), &proxy);
        let begun = &begun;
        let write = database.transaction(|mut tx| async move {
            if begun.fetch_add(1, Ordering::SeqCst) == 0 {
                proxy.cut();
            }
            tx.execute("SELECT 1").await.map(drop)
        });
        let ended = tokio::time::timeout(Duration::from_secs(10), write.into_future()).await;
        ended.expect("it waits for nobody").expect("it is done");
    })
    .await;
}

#[tokio::test]
async fn a_server_that_does_not_exist_is_waited_for_as_long_as_is_set_and_named() {
    let nowhere = server::url(free_port());
    let database = Database::builder(nowhere.parse().expect("an address"));
    let database = database.patience(Duration::from_millis(500)).build();
    let began = Instant::now();
    let ask = database.transaction(|mut tx| async move { tx.execute("SELECT 1").await });
    let ended = tokio::time::timeout(Duration::from_secs(20), ask.into_future()).await;
    let said = ended
        .expect("its patience has ended")
        .expect_err("there is none");
    let said = said.to_string();
    assert!(
        began.elapsed() < Duration::from_secs(8),
        "{:?}",
        began.elapsed()
    );
    assert!(said.contains("refused"), "{said}");
    // One that has less time than its patience hears it too.
    let ask = database.transaction(|mut tx| async move { tx.execute("SELECT 1").await });
    let ask = ask.deadline(Duration::from_millis(700));
    let said = ask.await.expect_err("there is none").to_string();
    assert!(said.contains("refused"), "{said}");
}

#[tokio::test]
async fn patience_may_be_without_end() {
    let Some(server) = Postgres::start(&[]).await else {
        return;
    };
    let database = paced(&server).patience(Duration::MAX).build();
    let ask = database.transaction(|mut tx| async move { tx.execute("SELECT 1").await });
    ask.await.expect("it is there");
}

#[tokio::test]
async fn a_question_that_is_not_answered_keeps_no_place_in_the_pool() {
    let Some(server) = Postgres::start(&[]).await else {
        return;
    };
    within(async {
        let proxy = Proxy::to(server.port()).await;
        let pool = PgPoolOptions::new().max_connections(1);
        let pool = pool.test_before_acquire(false);
        let pool = pool.acquire_timeout(Duration::from_secs(1));
        let pool = pool
            .connect(&server::url(proxy.port()))
            .await
            .expect("a pool");
        let outages = Policy::exponential(Duration::from_millis(50)).attempts(1);
        let database = Database::builder_over(pool.clone());
        let database = database.outages(outages.retrier().expect("a policy"));
        let database = database.patience(Duration::from_millis(300)).build();
        // One is found dead, so that the next is asked for; and its server is silent.
        proxy.cut();
        proxy.cut_begins();
        proxy.mute_questions();
        let ask = database.transaction(|mut tx| async move { tx.execute("SELECT 1").await });
        ask.await.expect_err("it is silent");
        proxy.hear_all();
        sleep(Duration::from_millis(500)).await;
        pool.acquire().await.expect("there is room");
    })
    .await;
}

#[tokio::test]
async fn a_server_that_cuts_each_begin_is_asked_a_bounded_number_of_times() {
    let Some(server) = Postgres::start(&[]).await else {
        return;
    };
    within(async {
        let proxy = Proxy::to(server.port()).await;
        proxy.cut_begins();
        let pool = server::pool(proxy.port(), 10).await;
        let ask = Database::over(pool);
        let ask = ask.transaction(|mut tx| async move { tx.execute("SELECT 1").await });
        let ended = tokio::time::timeout(Duration::from_secs(20), ask.into_future()).await;
        let begins = proxy.begins();
        ended
            .unwrap_or_else(|_| panic!("{begins} BEGINs, and no end"))
            .expect_err("it never begins");
        assert!(begins <= 30, "{begins}");
    })
    .await;
}
