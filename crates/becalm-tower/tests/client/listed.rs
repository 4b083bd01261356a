//! Does a request obey the lists of its policy?

use becalm::StopReason;
use becalm::run::Stopped;
#[cfg(all(feature = "h2", feature = "hyper-util"))]
use becalm_http_faults::listed::kinds;
use becalm_http_faults::listed::{Listed, statuses_and_methods};
use becalm_http_faults::{Server, Version, retrier};
use becalm_tower::client::RetryLayer;
use http::Request;
use http_body_util::Empty;
use hyper::body::Bytes;
use tower::{Layer, Service};

use crate::hyper::hyper;

#[cfg(all(feature = "h2", feature = "hyper-util"))]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_kind_of_failure_is_repeated_where_it_is_listed_and_not_where_it_is_not() {
    kinds(Version::Http1, send).await;
    kinds(Version::Http2, send).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statuses_and_methods_are_repeated_as_they_are_listed() {
    statuses_and_methods(Version::Http1, send).await;
    statuses_and_methods(Version::Http2, send).await;
}

async fn send(listed: &Listed, server: &Server) -> Result<u16, StopReason> {
    let below = hyper(listed.version, listed.refused);
    let mut client = RetryLayer::new(&retrier(&listed.policy)).layer(below);
    let request = Request::builder().method(listed.method).uri(server.url());
    let request = request.body(Empty::<Bytes>::new()).expect("valid");
    let answer = client.call(request).await;
    let answer = answer.map_err(|gave_up| gave_up.reason())?;
    match answer.extensions().get::<Stopped>() {
        Some(stopped) => Err(stopped.reason()),
        None => Ok(answer.status().as_u16()),
    }
}
