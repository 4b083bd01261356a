//! What if a connection of hyper's client is dead without a word? The next attempt of the call goes elsewhere, and other calls
//! follow when it is proved silent. Counted, not timed.

use std::time::Duration;

use becalm::Attempt;
use becalm_http_faults::{Does, Proxy, Server, Silence, Version, quick, retrier, within};
use becalm_tower::client::{CollectLayer, Elsewhere, RetryLayer};
use http::{Request, Response};
use http_body_util::Empty;
use hyper::body::Bytes;
use tower::{Layer, Service};

use crate::hyper::hyper;

const VERSIONS: [Version; 2] = [Version::Http1, Version::Http2];

fn request(port: u16) -> Request<Empty<Bytes>> {
    let request = Request::get(format!("http://shop.test:{port}/orders"));
    request.body(Empty::new()).expect("valid")
}

fn attempt<D>(answer: &Response<D>) -> u32 {
    answer.extensions().get().map_or(1, Attempt::number)
}

#[tokio::test]
async fn a_connection_that_forwards_nothing_any_more_costs_one_attempt_of_one_call() {
    for version in VERSIONS {
        for silence in [Silence::Requests, Silence::Answers, Silence::All] {
            let server = Server::start(version, []).await;
            let proxy = Proxy::start(server.port).await;
            let client = Elsewhere::new(move || hyper(version, 0));
            let policy = quick().attempt_timeout(Duration::from_secs(2));
            let client = RetryLayer::new(&retrier(&policy)).layer(client);
            let get = async || {
                let answer = within(client.clone().call(request(proxy.port))).await;
                attempt(&answer.expect("an answer"))
            };
            let case = format!("{version:?}, {silence:?}");
            assert_eq!(get().await, 1);
            proxy.silence(silence);
            assert_eq!(get().await, 2, "{case}");
            for _ in 0..20 {
                assert_eq!(get().await, 1, "{case}");
            }
            assert_eq!(proxy.dials(), 2, "{case}");
        }
    }
}

#[tokio::test]
async fn an_answer_that_stops_in_its_body_is_silent_where_bodies_are_collected_below() {
    for version in VERSIONS {
        let script = [Does::Answer(200), Does::CloseInResponse];
        let server = Server::start(version, script).await;
        let proxy = Proxy::start(server.port).await;
        let collects = move || CollectLayer::new(100).layer(hyper::<Empty<Bytes>>(version, 0));
        let policy = quick().attempt_timeout(Duration::from_secs(2));
        let layer = RetryLayer::new(&retrier(&policy));
        let client = layer.layer(Elsewhere::new(collects));
        let get = async || {
            let answer = within(client.clone().call(request(proxy.port))).await;
            attempt(&answer.expect("an answer"))
        };
        assert_eq!([get().await, get().await, get().await], [1, 2, 1]);
        assert_eq!(proxy.dials(), 2, "{version:?}");
    }
}
