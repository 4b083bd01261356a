//! Does the code of the front page run as it is printed there?

use becalm_reqwest::{Client, Policy, reqwest};
use std::time::Duration;

use crate::reqwest_client::{Does, Server};
use crate::within;

#[rustfmt::skip] // lines of the front page are longer than the code's
async fn order(url: String) -> Result<String, Box<dyn std::error::Error>> {
    let http = || reqwest::Client::builder().timeout(Duration::from_secs(10)); // for an attempt and the body of its answer
    let shop = Client::new(http, &Policy::default().retrier()?)?; // one for each service
    let order = shop.get(url).send().await?.error_for_status()?.text().await?; // repeated where that is safe
    Ok(order)
}

#[tokio::test]
async fn the_front_page_works() {
    let script = [Does::HangUp, Does::Answer(200, "17")];
    let server = Server::start(script).await;
    let answer = within(order(server.url("/orders/17"))).await;
    assert_eq!(answer.expect("an answer"), "17");
    assert_eq!(server.seen().len(), 2);
}

#[test]
fn the_front_page_is_what_is_compiled_here() {
    let page = include_str!("../../../README.md");
    let here = include_str!("front_page.rs");
    let code = page.split("```rust\n").nth(1).expect("code");
    let code = code.split("```").next().expect("its end");
    assert!(code.lines().count() <= 6, "{code}");
    for line in code.lines() {
        assert!(here.contains(line), "not compiled here: {line}");
    }
}
