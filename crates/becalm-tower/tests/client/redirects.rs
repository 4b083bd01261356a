//! What goes along with a redirect to another server? Neither key nor scope, if what follows it stands above.

use becalm_http_faults::{Does, Server, Version, within};
use becalm_tower::client::{RetryLayer, RetryOptions, ScopeLayer};
use http::{Method, Request};
use http_body_util::Empty;
use hyper::body::Bytes;
use tower::{Service, ServiceBuilder};
use tower_http::follow_redirect::FollowRedirectLayer;

use crate::hyper::{hyper, retrier};

#[tokio::test]
async fn neither_a_key_nor_a_scope_leaves_its_server() {
    for (method, status) in [(Method::GET, 302), (Method::POST, 303), (Method::PUT, 307)] {
        let other = Server::start(Version::Http1, [Does::Answer(503)]).await;
        let leaves = Does::AnswerWith(status, "location", other.url());
        let server = Server::start(Version::Http1, [Does::Answer(503), leaves]).await;
        let origin = format!("http://shop.test:{}", server.port);
        let mut client = ServiceBuilder::new()
            .layer(FollowRedirectLayer::new())
            .layer(RetryLayer::new(&retrier()))
            .layer(ScopeLayer::to([&*origin]).expect("an origin"))
            .service(hyper(Version::Http1, 0));
        let mut request = Request::new(Empty::<Bytes>::new());
        *request.method_mut() = method;
        *request.uri_mut() = server.url().parse().expect("valid");
        request.extensions_mut().insert(RetryOptions::new().keyed());
        let answer = within(client.call(request)).await.expect("an answer");
        assert_eq!((answer.status(), server.count()), (http::StatusCode::OK, 2));
        for seen in server.seen() {
            assert!(seen.header("idempotency-key").is_some());
            assert!(seen.header("becalm-scope").is_some());
        }
        assert_eq!(other.count(), 2);
        for seen in other.seen() {
            assert_eq!(seen.header("idempotency-key"), None);
            assert_eq!(seen.header("becalm-scope"), None);
        }
    }
}
