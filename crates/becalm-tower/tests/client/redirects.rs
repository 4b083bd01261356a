//! What goes along with a redirect to another server? Neither key nor scope, if what follows it stands above; and what has a key and
//! was not done does not look done.

use becalm::StopReason;
use becalm::run::Last;
use becalm_http_faults::{Does, Server, Version, within};
use becalm_tower::client::{Failed, RetryLayer, RetryOptions, ScopeLayer};
use http::{Method, Request};
use http_body_util::{Empty, Full};
use hyper::body::Bytes;
use tower::{Service, ServiceBuilder};
use tower_http::follow_redirect::{FollowRedirectLayer, policy};

use crate::hyper::{hyper, retrier};

#[tokio::test]
async fn neither_a_key_nor_a_scope_leaves_its_server() {
    for (method, status) in [(Method::GET, 302), (Method::GET, 307), (Method::POST, 303)] {
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

/// With what follows redirects, with what follows those within a server, and without either; of a body that can be sent again and one that
/// cannot.
#[tokio::test]
async fn a_keyed_request_that_is_redirected_is_an_error_and_not_an_answer() {
    for (method, status) in [
        (Method::POST, 301),
        (Method::POST, 302),
        (Method::POST, 307),
        (Method::PATCH, 308),
        (Method::PUT, 307),
        (Method::DELETE, 302),
    ] {
        for (of_layer, body) in [(true, ""), (true, "2 apples"), (false, "2 apples")] {
            for stays in [true, false] {
                let other = Server::start(Version::Http1, [Does::Answer(200)]).await;
                let location = if stays {
                    "/elsewhere".into()
                } else {
                    other.url()
                };
                let redirects = Does::AnswerWith(status, "location", location);
                let server = Server::start(Version::Http1, [Does::Answer(503), redirects]).await;
                let mut client = ServiceBuilder::new()
                    .option_layer(of_layer.then(FollowRedirectLayer::new))
                    .layer(RetryLayer::new(&retrier()))
                    .service(hyper(Version::Http1, 0));
                let request = Request::builder().method(&method).uri(server.url());
                let request = request.extension(RetryOptions::new().keyed());
                let request = request.body(Full::new(Bytes::from(body))).expect("valid");
                let failed = within(client.call(request))
                    .await
                    .map(|answer| answer.status());
                let case = format!("{method} {status} {of_layer} {body:?} {stays}");
                let gave_up = failed.expect_err(&case);
                assert_eq!(gave_up.reason(), StopReason::Permanent, "{case}");
                let Last::Error(Failed::Redirected(head)) = gave_up.last() else {
                    panic!("{case}: {gave_up}");
                };
                assert!(head.headers().contains_key("location"), "{case}");
                assert!(gave_up.to_string().contains("was not done"), "{gave_up}");
                assert_eq!((server.count(), other.count()), (2, 0), "{case}");
            }
        }
    }
}

/// What has no key is as it was: followed where it can be, and else the answer.
#[tokio::test]
async fn without_a_key_a_redirect_is_an_answer() {
    let other = Server::start(Version::Http1, [Does::Answer(200)]).await;
    let leaves = || [Does::AnswerWith(307, "location", other.url())];
    for method in [Method::POST, Method::GET] {
        let server = Server::start(Version::Http1, leaves()).await;
        let mut client = ServiceBuilder::new()
            .layer(FollowRedirectLayer::with_policy(policy::SameOrigin::new()))
            .layer(RetryLayer::new(&retrier()))
            .service(hyper(Version::Http1, 0));
        let request = Request::builder().method(&method).uri(server.url());
        let request = request.body(Empty::<Bytes>::new()).expect("valid");
        let answer = within(client.call(request)).await.expect("an answer");
        assert_eq!((answer.status().as_u16(), other.count()), (307, 0));
    }
}
