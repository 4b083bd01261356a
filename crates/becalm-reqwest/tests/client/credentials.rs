//! Who fetches credentials, how often, and what is sent again with them?

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use becalm_http_faults::{Does, Pieces, Seen, Server, Version, quick, within};
use becalm_reqwest::Client;
use reqwest::header::HeaderValue;
use reqwest::{Body, Method};

use crate::clients::client_builder;

/// A client that fetches these for this server, one after the other, and then none; and how often it
/// has.
fn client_of(server: &Server, fetched: &'static [&str]) -> (Client, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&count);
    let origin = format!("http://shop.test:{}", server.port);
    let client = client_builder(&quick()).credentials(&origin, move || {
        let at = counter.fetch_add(1, Ordering::SeqCst);
        // Others come meanwhile.
        async move {
            tokio::task::yield_now().await;
            fetched.get(at).map(|text| HeaderValue::from_static(text))
        }
    });
    (client.build().expect("a client"), count)
}

#[tokio::test]
async fn credentials_are_renewed_once_for_all_who_wait() {
    let server = Server::start(Version::Http1, []).await;
    server.want("second");
    let (client, fetched) = client_of(&server, &["first", "second"]);
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let sent = client.post(server.url()).body("a lamp").attempts(1).send();
        calls.spawn(sent);
    }
    for answer in within(calls.join_all()).await {
        assert_eq!(answer.expect("an answer").status(), 200);
    }
    assert_eq!(fetched.load(Ordering::SeqCst), 2);
    let accepted = server
        .seen()
        .into_iter()
        .filter(|seen| seen.header("authorization") == Some("second"));
    assert_eq!(accepted.count(), 20);
}

#[tokio::test]
async fn a_second_401_is_the_answer_and_so_is_the_first_where_there_is_nothing_to_send_again() {
    for (fetched, is_stream, sent) in [
        (&["first", "second"][..], false, 2),
        (&["first"], false, 1),
        (&["first", "second"], true, 1),
    ] {
        let server = Server::start(Version::Http1, []).await;
        server.want("third");
        let (client, _) = client_of(&server, fetched);
        let request = client.put(server.url());
        let request = if is_stream {
            request.body(Body::wrap(Pieces::new(100, 10)))
        } else {
            request.body("a lamp")
        };
        let answer = within(request.send()).await.expect("an answer");
        assert_eq!(
            (answer.status().as_u16(), server.count()),
            (401, sent),
            "{fetched:?}"
        );
    }
}

#[tokio::test]
async fn what_could_not_be_fetched_is_fetched_for_the_next_request() {
    let server = Server::start(Version::Http1, []).await;
    let (client, fetched) = client_of(&server, &[]);
    for expected in [1, 2] {
        within(client.get(server.url()).send())
            .await
            .expect("an answer");
        assert_eq!(fetched.load(Ordering::SeqCst), expected);
    }
}

#[tokio::test]
async fn a_403_is_never_repeated_and_fetches_nothing() {
    let server = Server::start(Version::Http1, [Does::Answer(403)]).await;
    let (client, fetched) = client_of(&server, &["first", "second"]);
    let answer = within(client.get(server.url()).send())
        .await
        .expect("an answer");
    assert_eq!((answer.status().as_u16(), server.count()), (403, 1));
    assert_eq!(fetched.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn credentials_go_to_their_server_alone_and_not_over_a_requests_own() {
    let other = Server::start(Version::Http1, []).await;
    let leaves = Does::AnswerWith(302, "location", other.url());
    let server = Server::start(Version::Http1, [Does::Answer(200), leaves]).await;
    let (client, _) = client_of(&server, &["first"]);
    let own = client.get(server.url()).header("authorization", "own");
    within(own.send()).await.expect("an answer");
    for url in [server.url(), other.url()] {
        within(client.request(Method::GET, url).send())
            .await
            .expect("an answer");
    }
    let sent = |server: &Server| -> Vec<Option<String>> {
        let said = |seen: &Seen| seen.header("authorization").map(str::to_owned);
        server.seen().iter().map(said).collect()
    };
    assert_eq!(
        sent(&server),
        [Some("own".to_owned()), Some("first".to_owned())]
    );
    assert_eq!(sent(&other), [None, None]);
}
