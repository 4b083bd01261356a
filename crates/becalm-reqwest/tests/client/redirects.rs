//! What goes along with a redirect, and what does one prove?

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use becalm::run::Stopped;
use becalm::{Budget, Effect, StopReason};
use becalm_http_faults::{Does, Pieces, Seen, Server, Version, quick, within};
use becalm_reqwest::{Client, RequestBuilder};
use reqwest::{Body, Method, redirect};

use crate::clients::{client, client_builder};

fn to(status: u16, location: impl Into<String>) -> Does {
    Does::AnswerWith(status, "location", location.into())
}

/// The status that the caller gets; `None` where the call is an error that says that nothing was done.
async fn ends(request: RequestBuilder) -> Option<u16> {
    match within(request.send()).await {
        Ok(answer) => Some(answer.status().as_u16()),
        Err(gave_up) => {
            let error = gave_up.error().expect("an error");
            let first: &(dyn Error + 'static) = error;
            let mut chain = std::iter::successors(Some(first), |&error| error.source());
            let said = chain.any(|error| error.to_string().contains("was not done"));
            assert!(
                said && (error.is_redirect() != error.is_decode()),
                "{error:?}"
            );
            assert_eq!(
                (gave_up.reason(), gave_up.attempts()),
                (StopReason::Permanent, 1)
            );
            None
        }
    }
}

#[tokio::test]
async fn a_key_does_not_leave_its_server_and_what_was_not_done_is_an_error() {
    let other = Server::start(Version::Http1, []).await;
    for (is_keyed, method, status, expected) in [
        (true, Method::POST, 301, None),
        (true, Method::POST, 302, None),
        (true, Method::POST, 303, Some(303)), // it was done
        (true, Method::POST, 307, None),
        (true, Method::POST, 308, None),
        (true, Method::PUT, 301, None),
        (true, Method::PUT, 307, None),
        (true, Method::PATCH, 308, None),
        (true, Method::DELETE, 302, None),
        (true, Method::GET, 302, Some(302)),
        (true, Method::HEAD, 307, Some(307)),
        (false, Method::POST, 307, Some(200)),
        (false, Method::PUT, 308, Some(200)),
        (false, Method::POST, 303, Some(200)),
        (false, Method::GET, 302, Some(200)),
    ] {
        let server = Server::start(Version::Http1, [to(status, other.url())]).await;
        let before = other.count();
        let mut request = client(Version::Http1, 0)
            .request(method.clone(), server.url())
            .body("a lamp");
        if is_keyed {
            request = request.keyed();
        }
        assert_eq!(ends(request).await, expected, "{method} {status}");
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
async fn a_keyed_post_that_would_become_a_get_is_not_done() {
    for (status, is_keyed, expected) in [
        (301, true, None),
        (302, true, None),
        (303, true, Some(200)),
        (307, true, Some(200)),
        (301, false, Some(200)), // as reqwest and browsers do
    ] {
        let server = Server::start(Version::Http1, [to(status, "/orders/")]).await;
        let client = client(Version::Http1, 0);
        let mut request = client.post(server.url()).body("a lamp");
        if is_keyed {
            request = request.header("idempotency-key", "\"its own\"");
        }
        assert_eq!(ends(request).await, expected, "{status}");
        assert_eq!(server.count(), 1 + usize::from(expected.is_some()));
    }
}

#[tokio::test]
async fn what_cannot_be_sent_where_a_redirect_leads_is_not_done() {
    let stream = || Body::wrap(Pieces::new(100, 10));
    for (does, is_stream, method, expected) in [
        (to(307, "/elsewhere"), true, Method::POST, None),
        (to(308, "/elsewhere"), true, Method::PUT, None),
        (to(307, "/elsewhere"), false, Method::POST, Some(200)),
        (Does::Answer(307), false, Method::POST, None),
        (Does::Answer(302), false, Method::DELETE, None),
        (Does::Answer(302), false, Method::GET, Some(302)),
        (Does::Answer(304), false, Method::PUT, Some(304)),
        (to(303, "/elsewhere"), true, Method::POST, Some(200)),
    ] {
        for is_made in [false, true] {
            let server = Server::start(Version::Http1, [does.clone()]).await;
            let client = client(Version::Http1, 0);
            let request = client.request(method.clone(), server.url());
            let request = match (is_stream, is_made) {
                (true, true) => request.body_with(stream),
                (true, false) => request.body(stream()),
                (false, _) => request.body("a lamp"),
            };
            assert_eq!(ends(request).await, expected, "{does:?} {method}");
        }
    }
}

#[tokio::test]
async fn a_post_that_tells_its_scope_is_not_done_where_it_is_sent_elsewhere() {
    let other = Server::start(Version::Http1, []).await;
    let server = Server::start(Version::Http1, [to(307, other.url())]).await;
    let origin = format!("http://shop.test:{}", server.port);
    let client = client_builder(&quick()).scope_to([&*origin]).build();
    let request = client.expect("a client").post(server.url()).body("a lamp");
    assert_eq!(ends(request).await, None);
    assert_eq!((server.count(), other.count()), (1, 0));
}

#[tokio::test]
async fn a_client_that_follows_none_gets_every_redirect() {
    for (does, is_stream, expected) in [
        (to(307, "http://elsewhere.test/"), false, 307),
        (to(302, "/elsewhere"), false, 302),
        (to(307, "/elsewhere"), true, 307),
        (to(308, "http://elsewhere.test/"), true, 308),
        (Does::Answer(302), false, 302), // without an address
        (Does::Answer(308), true, 308),
    ] {
        let server = Server::start(Version::Http1, [does.clone()]).await;
        let client = client_builder(&quick()).redirect(redirect::Policy::none());
        let request = client.build().expect("a client").post(server.url()).keyed();
        let request = if is_stream {
            request.body(Body::wrap(Pieces::new(100, 10)))
        } else {
            request.body("a lamp")
        };
        assert_eq!(ends(request).await, Some(expected), "{does:?} {is_stream}");
    }
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

/// A client with credentials for this server, and how often it has fetched them.
fn with_credentials(server: &Server) -> (Client, Arc<AtomicUsize>) {
    let logins = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&logins);
    let origin = format!("http://shop.test:{}", server.port);
    let client = client_builder(&quick().budget(Budget::None)).credentials(&origin, move || {
        let login = counter.fetch_add(1, Ordering::SeqCst);
        async move { format!("token {login}").parse().ok() }
    });
    (client.build().expect("a client"), logins)
}

#[tokio::test]
async fn a_401_after_a_redirect_does_not_prove_that_nothing_was_done() {
    for (status, is_keyed, expected, times) in [
        (302, false, 401, 1),
        (303, false, 401, 1),
        (303, true, 200, 2), // its key makes the second one safe
    ] {
        let script = [to(status, "/orders/17"), Does::Answer(401)];
        let server = Server::start(Version::Http1, script).await;
        let (client, _) = with_credentials(&server);
        let mut request = client.post(server.url()).body("a lamp");
        if is_keyed {
            request = request.keyed();
        }
        let answer = within(request.send()).await.expect("an answer");
        let seen = server.seen();
        let posts = seen.iter().filter(|seen| seen.head.method == Method::POST);
        assert_eq!(
            (answer.status().as_u16(), posts.count()),
            (expected, times),
            "{status} {is_keyed}"
        );
        if let Some(stopped) = answer.extensions().get::<Stopped>() {
            let mut effects = stopped.records().map(|record| record.effect);
            assert!(effects.all(|effect| effect == Effect::Unknown));
        }
    }
}

#[tokio::test]
async fn an_answer_says_nothing_of_credentials_that_another_server_has_had_removed() {
    let other = Server::start(Version::Http1, []).await;
    let leaves = to(302, other.url());
    let server = Server::start(Version::Http1, [leaves.clone(), Does::Answer(401)]).await;
    other.then([to(302, server.url()), to(302, server.url())]);
    let (client, logins) = with_credentials(&server);
    let get = async || {
        let answer = within(client.get(server.url()).send()).await;
        answer.expect("an answer").status().as_u16()
    };
    assert_eq!(get().await, 401);
    assert_eq!((server.count(), logins.load(Ordering::SeqCst)), (2, 1));

    // Nor is the second token accepted: the third login has to wait for at least 500 ms.
    let began = Instant::now();
    server.then([Does::Answer(401), leaves, Does::Answer(200)]);
    assert_eq!(get().await, 200);
    server.then([Does::Answer(401)]);
    let last = get().await;
    if began.elapsed() < Duration::from_millis(500) {
        assert_eq!((last, logins.load(Ordering::SeqCst)), (401, 2));
    }
    let sent = |server: &Server| -> Vec<Option<String>> {
        let said = |seen: &Seen| seen.header("authorization").map(str::to_owned);
        server.seen().iter().map(said).collect()
    };
    let [first, second] = [0, 1].map(|login| Some(format!("token {login}")));
    let expected = [
        first.clone(),
        None,
        first,
        second.clone(),
        None,
        second.clone(),
    ];
    assert_eq!(sent(&server)[..6], expected);
    assert_eq!(sent(&other), [None, None]);
}

#[tokio::test]
async fn credentials_do_not_go_to_another_name_of_their_server() {
    let server = Server::start(Version::Http1, []).await;
    let elsewhere = format!("http://elsewhere.test:{}/orders", server.port);
    server.then([to(302, &*elsewhere)]);
    let (client, _) = with_credentials(&server);
    for url in [server.url(), elsewhere] {
        within(client.get(url).send()).await.expect("an answer");
    }
    let seen = server.seen();
    let sent: Vec<_> = seen.iter().map(|it| it.header("authorization")).collect();
    assert_eq!(sent, [Some("token 0"), None, None]);
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
