//! Does a request obey the lists of its policy?

use becalm::StopReason;
use becalm::run::Stopped;
use becalm_http_faults::listed::{Listed, kinds, statuses_and_methods};
use becalm_http_faults::{Server, retrier};
use becalm_reqwest::Client;
use reqwest::Method;

use crate::clients::{VERSIONS, builder};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_kind_of_failure_is_repeated_where_it_is_listed_and_not_where_it_is_not() {
    for version in VERSIONS {
        kinds(*version, send).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statuses_and_methods_are_repeated_as_they_are_listed() {
    for version in VERSIONS {
        statuses_and_methods(*version, send).await;
    }
}

async fn send(listed: &Listed, server: &Server) -> Result<u16, StopReason> {
    let below = builder(listed.version, listed.refused);
    let client = Client::new(below, &retrier(&listed.policy)).expect("a client");
    let method = Method::from_bytes(listed.method.as_bytes()).expect("a method");
    let answer = client.request(method, server.url()).send().await;
    let answer = answer.map_err(|gave_up| gave_up.reason())?;
    match answer.extensions().get::<Stopped>() {
        Some(stopped) => Err(stopped.reason()),
        None => Ok(answer.status().as_u16()),
    }
}
