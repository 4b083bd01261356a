//! The code on the front page compiles, runs, and is what stands there.
#![cfg(feature = "tokio")]

use std::io;

use becalm::{Policy, Retrier};
use std::{sync::LazyLock, time::Duration};

struct Client;

impl Client {
    #[expect(clippy::unused_async)] // as a client would
    async fn fetch(&self, id: u32, within: Option<Duration>) -> io::Result<u32> {
        assert!(within.is_some_and(|left| left <= Duration::from_secs(30)));
        Ok(id)
    }
}

#[expect(clippy::unnecessary_wraps, clippy::trivially_copy_pass_by_ref)] // as a query would
fn query(rows: &u32) -> io::Result<u32> {
    Ok(*rows)
}

#[rustfmt::skip] // one line of the front page is wider than the code
static ORDERS: LazyLock<Retrier> = LazyLock::new(|| {
    Policy::exponential(Duration::from_millis(100)) // full jitter, 4 attempts, cap 20 s, a 10 % budget: safe as it stands
        .deadline(Duration::from_secs(30))
        .retrier()
        .expect("a valid policy")
});

#[tokio::test]
async fn the_front_page_works() -> Result<(), Box<dyn std::error::Error>> {
    let (client, id, conn) = (Client, 17, 3);
    let order = ORDERS
        .retry(|attempt| client.fetch(id, attempt.timeout()))
        .await?; // async
    let rows = ORDERS.retry_blocking(|_| query(&conn))?; // blocking
    assert_eq!((order, rows), (17, 3));
    Ok(())
}

#[test]
fn the_front_page_is_what_is_compiled_here() {
    let squeeze = |text: &str| text.split_whitespace().collect::<String>();
    let page = include_str!("../../../../README.md");
    let code = page
        .split("```rust")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    let code = code.expect("the front page shows code");
    let here = squeeze(include_str!("readme.rs"));
    for part in code.split("\n\n") {
        assert!(here.contains(&squeeze(part)), "not compiled here:\n{part}");
    }
}
