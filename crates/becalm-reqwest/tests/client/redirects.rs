//! What goes along with a redirect, and what does one prove?

use becalm::Effect;
use becalm_http_faults::{Does, Seen, Server, Version, quick, within};
use reqwest::{Method, redirect};

use crate::clients::{client, client_builder};

fn to(status: u16, location: impl Into<String>) -> Does {
    Does::AnswerWith(status, "location", location.into())
}

#[tokio::test]
async fn a_key_does_not_leave_its_server_and_what_has_none_does() {
    let other = Server::start(Version::Http1, []).await;
    for (is_keyed, method, status, expected) in [
        (true, Method::POST, 307, 307),
        (true, Method::GET, 302, 302),
        (false, Method::POST, 307, 200),
        (false, Method::GET, 302, 200),
    ] {
        let server = Server::start(Version::Http1, [to(status, other.url())]).await;
        let before = other.count();
        let mut request = client(Version::Http1, 0)
            .request(method, server.url())
            .body("a lamp");
        if is_keyed {
            request = request.keyed();
        }
        let answer = within(request.send()).await.expect("an answer");
        assert_eq!(answer.status(), expected);
        assert_eq!(
            server.seen()[0].header("idempotency-key").is_some(),
            is_keyed
        );
        assert_eq!(other.count() - before, usize::from(!is_keyed));
    }
    assert!(
        other
            .seen()
            .iter()
            .all(|seen| seen.header("idempotency-key").is_none())
    );
}

#[tokio::test]
async fn a_key_goes_along_within_its_server_and_stays_the_same() {
    let script = [
        to(307, "/elsewhere"),
        Does::Answer(503),
        to(308, "/elsewhere"),
    ];
    let server = Server::start(Version::Http1, script).await;
    let request = client(Version::Http1, 0)
        .post(server.url())
        .body("a lamp")
        .keyed();
    assert_eq!(
        within(request.send()).await.expect("an answer").status(),
        200
    );
    let seen = server.seen();
    let path = |seen: &Seen| seen.head.uri.path().to_owned();
    let paths: Vec<_> = seen.iter().map(path).collect();
    assert_eq!(paths, ["/orders", "/elsewhere", "/orders", "/elsewhere"]);
    let key = seen[0].header("idempotency-key");
    assert!(
        key.is_some()
            && seen
                .iter()
                .all(|seen| seen.header("idempotency-key") == key)
    );
}

#[tokio::test]
async fn a_scope_goes_to_its_servers_and_no_further() {
    let other = Server::start(Version::Http1, []).await;
    let server = Server::start(Version::Http1, [Does::Answer(503), to(302, other.url())]).await;
    let origin = format!("http://shop.test:{}", server.port);
    let client = client_builder(&quick())
        .scope_to([&*origin])
        .build()
        .expect("a client");
    let answer = within(client.get(server.url()).send())
        .await
        .expect("an answer");
    assert_eq!(answer.status(), 302);
    let seen = server.seen();
    let scopes = seen
        .iter()
        .map(|seen| seen.header("becalm-scope").expect("a scope"));
    let attempts: Vec<_> = scopes
        .map(|scope| scope.split(',').next().expect("a part"))
        .collect();
    assert_eq!(attempts, ["attempt=1", "attempt=2"]);

    let forwards = client.get(other.url()).header("becalm-scope", "attempt=9");
    within(forwards.send()).await.expect("an answer");
    let heard: Vec<_> = other.seen();
    assert_eq!(heard.len(), 1);
    assert_eq!(heard[0].header("becalm-scope"), None);
}

#[tokio::test]
async fn a_server_that_redirects_has_had_the_request() {
    for refusal in [None, Some(Does::Answer(425))] {
        for (method, expected) in [(Method::POST, 1), (Method::PUT, 2)] {
            let other = Server::start(Version::Http1, refusal.clone()).await;
            let url = match refusal {
                Some(_) => other.url(),
                None => format!("http://[::1]:{}/orders", other.port), // nobody listens
            };
            let script = [to(303, url.clone()), to(303, url)];
            let server = Server::start(Version::Http1, script).await;
            let request = client(Version::Http1, 0)
                .request(method, server.url())
                .attempts(2);
            let ended = within(request.body("a lamp").send()).await;
            assert_eq!(server.count(), expected, "{refusal:?}");
            if let Err(gave_up) = ended {
                let mut effects = gave_up.records().map(|record| record.effect);
                assert!(effects.all(|effect| effect == Effect::Unknown));
            }
        }
    }
}

#[tokio::test]
async fn the_redirect_policy_of_the_client_holds() {
    let script = [to(302, "/1"), to(302, "/2"), to(302, "/3")];
    let server = Server::start(Version::Http1, script.clone()).await;
    let client = client_builder(&quick()).redirect(redirect::Policy::none());
    let client = client.build().expect("a client");
    let answer = within(client.get(server.url()).send())
        .await
        .expect("an answer");
    assert_eq!((answer.status().as_u16(), server.count()), (302, 1));

    let server = Server::start(Version::Http1, script).await;
    let client = client_builder(&quick()).redirect(redirect::Policy::limited(1));
    let client = client.build().expect("a client");
    let gave_up = within(client.get(server.url()).send())
        .await
        .expect_err("too many");
    assert!(gave_up.error().is_some_and(reqwest::Error::is_redirect));
    assert_eq!((gave_up.attempts(), server.count()), (1, 2));
}
