//! How many statements and round trips does a transaction of becalm-sqlx take more than sqlx's own? Counted, so that no neighbour
//! makes a promise missed.

use crate::bars::Bar;

/// Between client and server, by the very code of becalm-sqlx's test.
#[path = "../../crates/becalm-sqlx/tests/live/counted.rs"]
mod counted;
#[expect(
    dead_code,
    clippy::duration_suboptimal_units,
    reason = "the tests of becalm-sqlx kill it, too, and build with older compilers"
)]
#[path = "../../crates/becalm-sqlx/tests/live/server.rs"]
mod server;

use counted::Beside;

/// The promises of `docs/transactions.md`, over sqlx's pool and the paced one. Where no Postgres is installed, they count as missed.
pub fn bars() -> Vec<Bar> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let all = runtime.block_on(async {
        let server = server::Postgres::start(&[]).await?;
        Some(counted::beside_sqlxs_own(&server).await)
    });
    let all = all.unwrap_or_default();
    let most = |resolve: &str, figure: fn(&Beside) -> u32| {
        let of_it = all.iter().filter(|one| one.resolve == resolve);
        of_it.map(figure).max().map_or(u64::MAX, u64::from)
    };
    vec![
        Bar::at_most_count(
            "round trips of a transaction more than sqlx's own, `Resolve::Stop`",
            most("Stop", |one| one.later.1.max(one.first.1)),
            1,
        ),
        Bar::at_most_count(
            "its statements",
            most("Stop", |one| one.later.0.max(one.first.0)),
            1,
        ),
        Bar::at_most_count(
            "round trips with a `Marker`",
            most("Marker", |one| one.later.1.max(one.first.1)),
            2,
        ),
        Bar::at_most_count(
            "its statements, the marker's row among them",
            most("Marker", |one| one.later.0.max(one.first.0)),
            2,
        ),
        Bar::at_most_count(
            "round trips with `Status`, after a connection's first",
            most("Status", |one| one.later.1),
            1,
        ),
        Bar::at_most_count("its statements", most("Status", |one| one.later.0), 1),
        Bar::at_most_count(
            "round trips with `Status`, a connection's first: which server is it?",
            most("Status", |one| one.first.1),
            2,
        ),
        Bar::at_most_count("its statements", most("Status", |one| one.first.0), 2),
    ]
}
