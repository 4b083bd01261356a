//! Does a chain of `reqwest-middleware` repeat its requests as the client does?

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use becalm::call::CallOptions;
use becalm::classify::Verdict;
use becalm::run::{Last, Stopped};
use becalm::{Attempt, Failure, GaveUp, Hedge, IdempotencyKey, Operation, Policy, StopReason};
use becalm_http_faults::sent_once::{Case, everywhere};
use becalm_http_faults::{Does, Proxy, Server, Silence, Version, bytes, quick, retrier, within};
use becalm_reqwest::RetryMiddleware;
use http::Extensions;
use reqwest::{Body, Method, Request, Response};
use reqwest_middleware::{
    ClientBuilder, ClientWithMiddleware, Error, Middleware, Next, RequestBuilder, Result,
};

use crate::clients::{VERSIONS, builder};

/// What is to stand below, and the middleware over it.
fn parts(version: Version, refused: usize, policy: &Policy) -> (ClientBuilder, RetryMiddleware) {
    let mut retries = RetryMiddleware::new(&retrier(policy));
    let http = retries.client(builder(version, refused));
    (ClientBuilder::new(http.expect("a client")), retries)
}

fn client(policy: &Policy) -> ClientWithMiddleware {
    let (http, retries) = parts(Version::Http1, 0, policy);
    http.with(retries).build()
}

fn keyed(request: RequestBuilder) -> RequestBuilder {
    request.with_extension(Operation::Keyed(IdempotencyKey::random()))
}

fn gave_up(error: &Error) -> &GaveUp<Error> {
    let Error::Middleware(error) = error else {
        panic!("{error:?}");
    };
    error.downcast_ref().expect("the record of a call")
}

async fn send(case: &Case, server: &Server) {
    let (http, retries) = parts(case.version, case.refused(), &quick());
    let client = http.with(retries).build();
    let mut request = client.request(case.method.clone(), server.url());
    if case.has_key {
        request = keyed(request);
    }
    if case.length > 0 {
        request = request.body(bytes(case.length));
    }
    match request.send().await {
        Ok(answer) => {
            if case.is_cut() {
                server.hang_up();
            }
            assert_eq!(answer.bytes().await.is_err(), case.is_cut());
        }
        Err(error) => {
            let gave_up = gave_up(&error);
            // Where a connection is closed as it opens, hyper 1.12 over HTTP/2 may wait for ever.
            let is_cut = matches!(gave_up.last(), Last::AttemptTimeout);
            assert!(is_cut || gave_up.error().is_some(), "{gave_up}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_method_at_every_point() {
    everywhere(Version::Http1, send).await;
    #[cfg(feature = "h2")]
    everywhere(Version::Http2, send).await;
    #[cfg(feature = "h2")]
    becalm_http_faults::sent_once::refused_streams(true, send).await;
}

/// Counts what passes, and which attempts it is told of.
struct Counts(Arc<AtomicUsize>, Arc<AtomicUsize>);

#[async_trait::async_trait]
impl Middleware for Counts {
    async fn handle(
        &self,
        request: Request,
        extensions: &mut Extensions,
        next: Next<'_>,
    ) -> Result<Response> {
        self.0.fetch_add(1, Ordering::SeqCst);
        let attempt = extensions.get::<Attempt>();
        let number = attempt.map_or(0, |attempt| attempt.number() as usize);
        self.1.fetch_add(number, Ordering::SeqCst);
        extensions.insert(number);
        next.run(request, extensions).await
    }
}

#[tokio::test]
async fn what_is_above_runs_once_and_what_is_below_in_each_attempt() {
    let server = Server::start(Version::Http1, [Does::Answer(503), Does::Answer(503)]).await;
    let counts = || Counts(Arc::default(), Arc::default());
    let (above, below) = (counts(), counts());
    let seen = [&above.0, &above.1, &below.0, &below.1].map(Arc::clone);
    let (http, retries) = parts(Version::Http1, 0, &quick());
    let client = http.with(above).with(retries).with(below).build();
    let request = client.get(server.url()).build().expect("valid");
    let mut extensions = Extensions::new();
    let answer = client.execute_with_extensions(request, &mut extensions);
    let answer = within(answer).await.expect("an answer");
    let attempt = answer.extensions().get::<Attempt>();
    let number = attempt.map(Attempt::number);
    assert_eq!((answer.status().as_u16(), number), (200, Some(3)));
    let seen = seen.map(|count| count.load(Ordering::SeqCst));
    assert_eq!(seen, [1, 0, 3, 1 + 2 + 3]);
    // Of the attempt that succeeded.
    assert_eq!(extensions.get::<usize>(), Some(&3));
}

#[tokio::test]
async fn the_last_answer_comes_back_as_it_came_and_an_error_has_the_record() {
    for (status, reason, attempts) in [
        (503, StopReason::AttemptsExhausted, 4),
        (404, StopReason::Permanent, 1),
    ] {
        let server = Server::start(Version::Http1, [0; 4].map(|_| Does::Answer(status))).await;
        let answer = within(client(&quick()).get(server.url()).send()).await;
        let answer = answer.expect("an answer");
        let stopped = answer.extensions().get::<Stopped>().expect("a record");
        assert_eq!((stopped.reason(), stopped.attempts()), (reason, attempts));
        assert_eq!(answer.bytes().await.expect("a body"), bytes(2));
        assert_eq!(server.count(), attempts as usize);
    }
    let server = Server::start(Version::Http1, [0; 4].map(|_| Does::CloseAfterRequest)).await;
    let error = within(client(&quick()).get(server.url()).send()).await;
    let error = error.expect_err("no answer");
    let gave_up = gave_up(&error);
    assert_eq!(gave_up.attempts(), 4);
    assert!(
        matches!(gave_up.error(), Some(Error::Reqwest(_))),
        "{gave_up}"
    );
    assert!(error.to_string().contains("4 attempts"), "{error}");
}

#[tokio::test]
async fn all_calls_share_one_budget_and_obey_hints() {
    let server = Server::start(Version::Http1, vec![Does::Answer(503); 1000]).await;
    let client = client(&quick());
    for _ in 0..100 {
        let answer = within(client.get(server.url()).send()).await;
        assert_eq!(answer.expect("an answer").status(), 503);
    }
    assert!((100..=111).contains(&server.count()), "{}", server.count());
    for (name, value, reason) in [
        ("retry-after", "86400", StopReason::HintTooLong),
        ("x-should-retry", "false", StopReason::DoNotRetry),
    ] {
        let does = Does::AnswerWith(503, name, value.into());
        let server = Server::start(Version::Http1, [does]).await;
        let answer = within(self::client(&quick()).get(server.url()).send()).await;
        let answer = answer.expect("an answer");
        let stopped = answer.extensions().get::<Stopped>().expect("a record");
        assert_eq!((stopped.reason(), server.count()), (reason, 1));
    }
}

#[tokio::test]
async fn a_request_sets_its_own_and_its_key_stays() {
    let server = Server::start(Version::Http1, [Does::Answer(503), Does::Answer(503)]).await;
    let post = keyed(client(&quick()).post(server.url())).body("2 apples");
    let answer = within(post.send()).await.expect("an answer");
    assert_eq!(answer.status(), 200);
    let seen = server.seen();
    let keys: Vec<_> = seen.iter().map(|it| it.header("idempotency-key")).collect();
    assert_eq!(keys.len(), 3);
    assert!(
        keys[0].is_some() && keys.iter().all(|key| *key == keys[0]),
        "{keys:?}"
    );

    let server = Server::start(Version::Http1, [Does::Answer(503), Does::Answer(503)]).await;
    let two = CallOptions::new().attempts(2);
    let get = client(&quick()).get(server.url()).with_extension(two);
    assert_eq!(within(get.send()).await.expect("an answer").status(), 503);
    assert_eq!(server.count(), 2);

    let server = Server::start(Version::Http1, [Does::Stall]).await;
    let brief = CallOptions::new().deadline(Duration::from_millis(50));
    let get = client(&quick()).get(server.url()).with_extension(brief);
    let error = within(get.send()).await.expect_err("no answer in time");
    assert_eq!(gave_up(&error).reason(), StopReason::DeadlineExceeded);
}

#[tokio::test]
async fn a_body_that_streams_is_sent_once() {
    let server = Server::start(Version::Http1, [Does::Answer(503)]).await;
    let put = client(&quick()).put(server.url());
    let put = put.body(Body::wrap(String::from("a stream")));
    let answer = within(put.send()).await.expect("an answer");
    let stopped = answer.extensions().get::<Stopped>().expect("a record");
    let reason = StopReason::BodyNotReplayable;
    assert_eq!((stopped.reason(), server.count()), (reason, 1));
}

#[tokio::test]
async fn a_hedge_goes_through_the_chain_as_well() {
    let server = Server::start(Version::Http1, [Does::Stall]).await;
    let policy = quick().hedge(Hedge::after(Duration::from_millis(10)));
    let answer = within(client(&policy).get(server.url()).send()).await;
    let answer = answer.expect("the copy is answered");
    let attempt = answer.extensions().get::<Attempt>().expect("a later one");
    assert!(attempt.is_hedge() && server.count() == 2);
}

/// Neither leaves its server, if the client at the end is the one for this.
#[tokio::test]
async fn a_key_and_a_scope_stay_and_what_was_not_done_is_an_error() {
    let other = Server::start(Version::Http1, []).await;
    for (method, status, is_error) in [
        (Method::POST, 307, true),
        (Method::POST, 302, true),
        (Method::POST, 303, false),
        (Method::GET, 302, false),
    ] {
        let leaves = Does::AnswerWith(status, "location", other.url());
        let server = Server::start(Version::Http1, [Does::Answer(503), leaves]).await;
        let (http, retries) = parts(Version::Http1, 0, &quick());
        let origin = format!("http://shop.test:{}", server.port);
        let retries = retries.scope_to([&*origin]).expect("an origin");
        let client = http.with(retries).build();
        let url = format!("{origin}/orders");
        let sent = within(keyed(client.request(method, url)).send()).await;
        if is_error {
            let error = sent.expect_err("nothing was done");
            assert_eq!(gave_up(&error).reason(), StopReason::Permanent);
            assert!(error.to_string().contains("was not done"), "{error}");
        } else {
            assert_eq!(sent.expect("an answer").status(), status);
        }
        for (seen, attempt) in server.seen().iter().zip(1..) {
            let scope = seen.header("becalm-scope").expect("a scope");
            assert!(scope.contains(&format!("attempt={attempt}")), "{scope}");
        }
        assert_eq!((server.count(), other.count()), (2, 0));
    }
}

/// What is refused behind a redirect, or says so of another address, proves nothing of this request.
#[tokio::test]
async fn no_proof_is_taken_from_elsewhere() {
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await;
    let port = gone
        .expect("a port")
        .local_addr()
        .expect("an address")
        .port();
    let server = Server::start(
        Version::Http1,
        [303; 2].map(|status| {
            Does::AnswerWith(status, "location", format!("http://127.0.0.1:{port}/"))
        }),
    )
    .await;
    let guarded = client(&quick());
    let plain = builder(Version::Http1, 0).build().expect("a client");
    let retries = RetryMiddleware::new(&retrier(&quick()));
    let plain = ClientBuilder::new(plain).with(retries).build();
    for (client, sent) in [(guarded, 1), (plain, 2)] {
        let error = within(client.post(server.url()).body("2 apples").send()).await;
        let error = error.expect_err("nobody listens there");
        assert_eq!(gave_up(&error).reason(), StopReason::NotIdempotent);
        assert_eq!(server.count(), sent);
    }
}

/// Fails by itself, or says what an answer means.
struct Says(fn(&mut Response) -> Result<()>);

#[async_trait::async_trait]
impl Middleware for Says {
    async fn handle(
        &self,
        request: Request,
        extensions: &mut Extensions,
        next: Next<'_>,
    ) -> Result<Response> {
        let mut answer = next.run(request, extensions).await?;
        (self.0)(&mut answer)?;
        Ok(answer)
    }
}

#[tokio::test]
async fn a_connection_that_is_dead_without_a_word_costs_one_attempt() {
    for &version in VERSIONS {
        let server = Server::start(version, []).await;
        let proxy = Proxy::start(server.port).await;
        let policy = quick().attempt_timeout(Duration::from_secs(2));
        let (http, retries) = parts(version, 0, &policy);
        let client = http.with(retries).build();
        let url = format!("http://shop.test:{}/orders", proxy.port);
        let attempts = async || {
            let answer = within(client.get(&url).send()).await.expect("an answer");
            answer.extensions().get().map_or(1, Attempt::number)
        };
        assert_eq!(attempts().await, 1);
        proxy.silence(Silence::All);
        assert_eq!(attempts().await, 2, "{version:?}");
        assert_eq!((attempts().await, proxy.dials()), (1, 2), "{version:?}");
    }
}

#[tokio::test]
async fn a_judge_says_what_answers_mean_unless_another_middleware_does() {
    let fine: fn(&mut Response) -> Result<()> = |answer| {
        answer.extensions_mut().insert(Verdict::Success);
        Ok(())
    };
    let silent: fn(&mut Response) -> Result<()> = |_| Ok(());
    for (says, attempts) in [(silent, 4), (fine, 1)] {
        let server = Server::start(Version::Http1, []).await;
        let (http, retries) = parts(Version::Http1, 0, &quick());
        let retries = retries.judge(|answer| {
            let is_success = answer.status.is_success();
            is_success.then(|| Failure::transient().into())
        });
        let client = http.with(retries).with(Says(says)).build();
        let answer = within(client.get(server.url()).send()).await;
        assert_eq!(answer.expect("an answer").status(), 200);
        assert_eq!(server.count(), attempts);
    }
}

#[tokio::test]
async fn what_another_middleware_says_counts() {
    let fails: fn(&mut Response) -> Result<()> =
        |_| Err(Error::middleware(std::io::Error::other("no licence")));
    let judges: fn(&mut Response) -> Result<()> = |answer| {
        let busy: Verdict = Failure::throttled().into();
        answer.extensions_mut().insert(busy);
        Ok(())
    };
    for (says, attempts) in [(fails, 1), (judges, 4)] {
        let server = Server::start(Version::Http1, []).await;
        let (http, retries) = parts(Version::Http1, 0, &quick());
        let client = http.with(retries).with(Says(says)).build();
        let ended = within(client.get(server.url()).send()).await;
        assert_eq!((ended.is_ok(), server.count()), (attempts == 4, attempts));
    }
}
