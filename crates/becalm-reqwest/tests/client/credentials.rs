//! Who fetches credentials, how often, and what is sent again with them?

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use becalm::policy::Mode;
use becalm::{Breaker, Budget, Policy, Scope};
use becalm_http_faults::{Does, Pieces, Seen, Server, Version, quick, retrier, within};
use becalm_reqwest::{Client, RequestBuilder};
use reqwest::header::HeaderValue;
use reqwest::{Body, Method};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::clients::client_builder;

/// A client that fetches these for this server, one after the other, and then none; and how often it
/// has.
fn client_of(server: &Server, fetched: &'static [&str]) -> (Client, Arc<AtomicUsize>) {
    client_with(
        server,
        &quick().budget(Budget::None),
        Duration::ZERO,
        fetched,
    )
}

/// One with this policy, whose logins take so long.
fn client_with(
    server: &Server,
    policy: &Policy,
    takes: Duration,
    fetched: &'static [&str],
) -> (Client, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&count);
    let origin = format!("http://shop.test:{}", server.port);
    let client = client_builder(policy).credentials(&origin, move || {
        let at = counter.fetch_add(1, Ordering::SeqCst);
        // Others come meanwhile.
        async move {
            sleep(takes).await;
            fetched.get(at).map(|text| HeaderValue::from_static(text))
        }
    });
    let client = client.login_timeout(Duration::from_secs(8));
    (client.build().expect("a client"), count)
}

/// Sends this number of requests at once. Their statuses; 0 for no answer.
async fn statuses(count: usize, request: impl Fn() -> RequestBuilder) -> Vec<u16> {
    let mut calls = JoinSet::new();
    for _ in 0..count {
        let sent = request().send();
        calls.spawn(async move { sent.await.map_or(0, |answer| answer.status().as_u16()) });
    }
    within(calls.join_all()).await
}

#[tokio::test]
async fn credentials_are_renewed_once_for_all_who_wait() {
    let server = Server::start(Version::Http1, []).await;
    server.want("second");
    let (client, fetched) = client_of(&server, &["first", "second"]);
    let statuses = statuses(20, || client.post(server.url()).body("a lamp")).await;
    assert_eq!(statuses, [200; 20]);
    assert_eq!(fetched.load(Ordering::SeqCst), 2);
    let accepted = server
        .seen()
        .into_iter()
        .filter(|seen| seen.header("authorization") == Some("second"));
    assert_eq!(accepted.count(), 20);
}

/// The server is well: it has refused a token that has ended.
#[tokio::test]
async fn a_token_that_ends_opens_no_breaker() {
    let server = Server::start(Version::Http1, []).await;
    server.want("second");
    let policy = quick()
        .budget(Budget::None)
        .breaker(Breaker::consecutive(1));
    let (client, _) = client_with(&server, &policy, Duration::ZERO, &["first", "second"]);
    let sent = statuses(20, || client.post(server.url()).body("a lamp")).await;
    assert_eq!(sent, [200; 20]);
}

#[tokio::test]
async fn a_call_of_one_attempt_is_one_request() {
    let server = Server::start(Version::Http1, []).await;
    server.want("second");
    let (client, fetched) = client_of(&server, &["first", "second"]);
    let request = || client.post(server.url()).body("a lamp").attempts(1);
    assert_eq!(statuses(20, request).await, [401; 20]);
    assert_eq!(server.count(), 20);
    // The next call has the new ones.
    assert_eq!(statuses(1, request).await, [200]);
    assert_eq!(fetched.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn the_budget_pays_what_is_sent_again_and_logins_become_rarer() {
    let server = Server::start(Version::Http1, []).await;
    server.want("never");
    let tokens: &[&str] = &["token"; 1000];
    let (client, fetched) = client_with(&server, &quick(), Duration::ZERO, tokens);
    let began = Instant::now();
    for at_once in [1, 50, 400, 549] {
        let statuses = statuses(at_once, || client.post(server.url()).body("a lamp")).await;
        assert!(statuses.iter().all(|status| *status == 401), "{statuses:?}");
    }
    assert!(server.count() <= 1000 + 10, "{} requests", server.count());
    let logins = fetched.load(Ordering::SeqCst);
    let allowed = logins_since(began);
    assert!((2..=allowed).contains(&logins), "{logins} logins");
}

/// The most logins that begin and bring nothing: two at once, and then one a pause, each half as long as it may be.
fn logins_since(began: Instant) -> usize {
    let elapsed = began.elapsed();
    let pauses = [500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000].into_iter();
    let ends = pauses.scan(Duration::ZERO, |end, pause| {
        *end += Duration::from_millis(pause);
        Some(*end)
    });
    2 + ends.filter(|end| *end <= elapsed).count()
}

#[tokio::test]
async fn a_login_that_fails_is_not_repeated_by_each_call() {
    let server = Server::start(Version::Http1, []).await;
    server.want("never");
    let (client, fetched) = client_of(&server, &[]);
    let began = Instant::now();
    for _ in 0..100 {
        assert_eq!(statuses(10, || client.get(server.url())).await, [401; 10]);
    }
    assert_eq!(server.count(), 1000);
    let (logins, allowed) = (fetched.load(Ordering::SeqCst), logins_since(began));
    assert!((2..=allowed).contains(&logins), "{logins} logins");
}

#[tokio::test]
async fn what_was_refused_once_is_sent_while_no_login_brings_another() {
    let server = Server::start(Version::Http1, []).await;
    let (client, fetched) = client_of(&server, &["first"]);
    for (wants, status, logins, sent) in [
        ("first", 200, 1, 1),
        ("other", 401, 2, 2),
        ("other", 401, 3, 3),
        ("first", 200, 3, 4),
        ("first", 200, 3, 5),
    ] {
        server.want(wants);
        assert_eq!(statuses(1, || client.get(server.url())).await, [status]);
        let counted = (fetched.load(Ordering::SeqCst), server.count());
        assert_eq!(counted, (logins, sent));
    }
    let all = server.seen();
    assert!(
        all.iter()
            .all(|seen| seen.header("authorization") == Some("first"))
    );
}

#[tokio::test]
async fn a_login_that_is_slower_than_all_attempts_succeeds_once_for_all() {
    for first in ["good", "old"] {
        let server = Server::start(Version::Http1, []).await;
        server.want("good");
        let fetched: &'static [&str] = if first == "old" {
            &["old", "good"]
        } else {
            &["good"]
        };
        let policy = quick()
            .attempts(3)
            .attempt_timeout(Duration::from_millis(200))
            .budget(Budget::None);
        let (client, logins) = client_with(&server, &policy, Duration::from_secs(1), fetched);
        // The one that asks first leaves.
        let leaves = client.get(server.url()).deadline(Duration::from_millis(50));
        let left = within(leaves.send()).await.expect_err("no login in time");
        assert_eq!(
            (left.reason(), left.attempts()),
            (becalm::StopReason::DeadlineExceeded, 0)
        );
        let request = || client.post(server.url()).body("a lamp");
        assert_eq!(statuses(20, request).await, [200; 20], "{first}");
        assert_eq!(logins.load(Ordering::SeqCst), fetched.len());
    }
}

#[tokio::test]
async fn a_login_that_hangs_ends_with_its_own_time_limit() {
    let server = Server::start(Version::Http1, []).await;
    let (client, logins) = client_with(&server, &quick(), Duration::from_secs(3600), &["late"]);
    let began = Instant::now();
    // Without credentials the server is asked all the same.
    assert_eq!(statuses(100, || client.get(server.url())).await, [200; 100]);
    assert!(began.elapsed() >= Duration::from_secs(8));
    assert_eq!(logins.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_login_ends_no_later_for_a_call_than_the_call_around_it() {
    let server = Server::start(Version::Http1, []).await;
    let (client, _) = client_with(&server, &quick(), Duration::from_secs(3600), &["late"]);
    let around = retrier(&quick().deadline(Duration::from_millis(100)));
    let scope = around.retry(async |_| Ok::<_, std::io::Error>(Scope::current()));
    let scope = within(scope).await.expect("a scope");
    let began = Instant::now();
    let ended = within(scope.wrap(client.get(server.url()).send())).await;
    let reason = ended.expect_err("no login in time").reason();
    assert_eq!(reason, becalm::StopReason::DeadlineExceeded);
    assert!(began.elapsed() < Duration::from_secs(6));
}

#[tokio::test]
async fn a_policy_that_looks_on_cuts_no_login() {
    let server = Server::start(Version::Http1, []).await;
    server.want("good");
    let policy = quick().mode(Mode::Observe);
    let (client, _) = client_with(&server, &policy, Duration::from_millis(300), &["good"]);
    let request = client.get(server.url()).deadline(Duration::from_millis(50));
    let answer = within(request.send()).await.expect("an answer");
    assert_eq!(answer.status().as_u16(), 200);
}

#[tokio::test]
async fn a_login_that_panics_has_failed() {
    let server = Server::start(Version::Http1, []).await;
    let origin = format!("http://shop.test:{}", server.port);
    let client = client_builder(&quick()).credentials(&origin, || async { panic!("as told") });
    let client = client.build().expect("a client");
    assert_eq!(statuses(5, || client.get(server.url())).await, [200; 5]);
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
        assert_eq!(
            answer.bytes().await.expect("a body"),
            becalm_http_faults::bytes(2)
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
