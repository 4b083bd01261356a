//! What does the client hold of a service that makes callers wait? Nothing that others wait for, and no more clones than
//! calls.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use becalm::rate::AdaptiveRate;
use becalm::{Bulkhead, Jitter, StopReason};
use becalm_http_faults::quick;
use becalm_tower::client::{Boxed, ReplayBody, RetryLayer};
use http::{Request, Response};
use http_body_util::{Empty, Full};
use hyper::body::Bytes;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tower::buffer::Buffer;
use tower::limit::ConcurrencyLimit;
use tower::util::BoxCloneService;
use tower::{Layer, Service, ServiceBuilder, ServiceExt};

use crate::made_up::{MadeUp, answers, request};

type Body = Empty<Bytes>;
type Waited = BoxCloneService<Request<ReplayBody<Body>>, Response<Body>, io::Error>;

/// Of six calls made at once by clones of one client, whose service fails every other request.
async fn all_are_answered(service: Waited) {
    let retrier = quick().retrier().expect("a valid policy");
    let client = RetryLayer::new(&retrier).layer(service);
    let mut calls = JoinSet::new();
    for _ in 0..6 {
        let mut client = client.clone();
        calls.spawn(async move { client.call(Request::new(Body::new())).await });
    }
    let ended = timeout(Duration::from_secs(60), calls.join_all()).await;
    for answer in ended.expect("nobody waits for a place that nobody uses") {
        assert_eq!(answer.expect("an answer").status(), 200);
    }
}

/// Takes a while, and fails every other request.
async fn every_other(count: Arc<AtomicUsize>) -> io::Result<Response<Body>> {
    let fails = count.fetch_add(1, Ordering::SeqCst) % 2 == 0;
    sleep(Duration::from_millis(10)).await;
    let mut answer = Response::new(Body::new());
    if fails {
        *answer.status_mut() = http::StatusCode::SERVICE_UNAVAILABLE;
    }
    Ok(answer)
}

#[tokio::test(start_paused = true)]
async fn a_place_that_was_waited_for_is_used_or_given_back() {
    let count = Arc::<AtomicUsize>::default();
    let limited = ServiceBuilder::new()
        .concurrency_limit(1)
        .service_fn(move |_| every_other(Arc::clone(&count)));
    all_are_answered(limited.boxed_clone()).await;
}

#[tokio::test(start_paused = true)]
async fn a_place_in_a_buffer_is_used_or_given_back() {
    let count = Arc::<AtomicUsize>::default();
    let buffered = ServiceBuilder::new()
        .buffer(1)
        .service_fn(move |_| every_other(Arc::clone(&count)));
    all_are_answered(buffered.map_err(io::Error::other).boxed_clone()).await;
}

/// Cannot be made ready once.
#[derive(Debug, Clone)]
struct Unready(Arc<AtomicUsize>);

impl<B> Service<Request<B>> for Unready {
    type Response = Response<Body>;
    type Error = io::Error;
    type Future = Ready<io::Result<Response<Body>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.0.fetch_add(1, Ordering::SeqCst) == 0 {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<B>) -> Self::Future {
        ready(Ok(Response::new(Body::new())))
    }
}

#[tokio::test(start_paused = true)]
async fn a_place_in_front_of_what_cannot_be_made_ready_is_not_held_while_its_call_waits() {
    let limited = ServiceBuilder::new()
        .concurrency_limit(1)
        .service(Unready(Arc::default()));
    let hour = Duration::from_secs(3600);
    let policy = becalm::Policy::exponential(hour).jitter(becalm::Jitter::None);
    let retrier = policy.retrier().expect("a valid policy");
    let mut client = RetryLayer::new(&retrier).layer(limited);
    let waiting = tokio::spawn(client.call(Request::new(Body::new())));
    sleep(Duration::from_secs(1)).await;
    let other = timeout(
        Duration::from_secs(1),
        client.call(Request::new(Body::new())),
    )
    .await;
    assert_eq!(
        other
            .expect("nobody holds the place")
            .expect("an answer")
            .status(),
        200
    );
    waiting.abort();
}

#[tokio::test(start_paused = true)]
async fn what_is_above_sheds_while_the_service_below_has_no_place() {
    let slow = |_| async {
        sleep(Duration::from_secs(1)).await;
        Ok::<_, io::Error>(Response::new(Body::new()))
    };
    let mut client = ServiceBuilder::new()
        .load_shed()
        .layer(RetryLayer::new(&quick().retrier().expect("a valid policy")))
        .concurrency_limit(1)
        .service_fn(slow);
    let request = || Request::new(Body::new());
    let mut other = client.clone();
    let first = client.ready().await.expect("ready").call(request());
    let first = tokio::spawn(first);
    let shed = other.ready().await.expect("ready").call(request()).await;
    let shed = shed.expect_err("there is one place");
    assert!(shed.is::<tower::load_shed::error::Overloaded>(), "{shed}");
    let answer = first.await.expect("no panic").expect("an answer");
    assert_eq!(answer.status(), 200);
    let answer = other.ready().await.expect("ready").call(request()).await;
    assert_eq!(answer.expect("the place is free").status(), 200);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_made_ready_has_failed_an_attempt_and_is_asked_no_more_often() {
    for (attempts, asked) in [(1, 1), (4, 2)] {
        let service = Unready(Arc::default());
        let count = Arc::clone(&service.0);
        let retrier = quick()
            .attempts(attempts)
            .retrier()
            .expect("a valid policy");
        let mut client = RetryLayer::new(&retrier).layer(service);
        let ready = ServiceExt::<Request<Body>>::ready(&mut client).await;
        let ended = ready.expect("ready").call(Request::new(Body::new())).await;
        assert_eq!(ended.is_ok(), attempts > 1);
        if let Err(gave_up) = ended {
            assert!(gave_up.error().is_some(), "{gave_up}");
        }
        assert_eq!(count.load(Ordering::SeqCst), asked);
    }
}

/// Never ready.
#[derive(Clone)]
struct Refusing;

impl<B> Service<Request<B>> for Refusing {
    type Response = Response<Body>;
    type Error = io::Error;
    type Future = Ready<io::Result<Response<Body>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Err(io::ErrorKind::ConnectionRefused.into()))
    }

    fn call(&mut self, _: Request<B>) -> Self::Future {
        ready(Ok(Response::new(Body::new())))
    }
}

#[tokio::test(start_paused = true)]
async fn a_buffer_whose_worker_is_gone_is_not_asked_again() {
    let (without_worker, worker) = Buffer::pair(Refusing, 1);
    drop(worker);
    for buffer in [without_worker, Buffer::new(Refusing, 1)] {
        let retrier = quick().retrier().expect("a valid policy");
        let mut client = ServiceBuilder::new()
            .layer(RetryLayer::new(&retrier))
            .map_err(Boxed::new)
            .service(buffer);
        let gave_up = client.call(Request::new(Body::new())).await;
        let gave_up = gave_up.expect_err("no worker, no answer");
        let seen = (gave_up.reason(), gave_up.attempts());
        assert_eq!(seen, (StopReason::Permanent, 1), "{gave_up}");
    }
}

/// Answers at once, 503 so often, and counts its clones.
#[derive(Debug, Default)]
struct Counted {
    clones: Arc<AtomicUsize>,
    fails: Arc<AtomicUsize>,
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        self.clones.fetch_add(1, Ordering::SeqCst);
        Self {
            clones: Arc::clone(&self.clones),
            fails: Arc::clone(&self.fails),
        }
    }
}

impl Counted {
    fn answer(fails: &AtomicUsize) -> Response<Body> {
        let mut answer = Response::new(Body::new());
        let count = |left: usize| left.checked_sub(1);
        let order = Ordering::SeqCst;
        if fails.fetch_update(order, order, count).is_ok() {
            *answer.status_mut() = http::StatusCode::SERVICE_UNAVAILABLE;
        }
        answer
    }
}

impl<B> Service<Request<B>> for Counted {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<B>) -> Self::Future {
        ready(Ok(Counted::answer(&self.fails)))
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_that_is_ready_is_cloned_once_for_a_call_however_often_it_is_repeated() {
    let retrier = quick().retrier().expect("a valid policy");
    let service = Counted::default();
    let (clones, fails) = (Arc::clone(&service.clones), Arc::clone(&service.fails));
    let mut client = RetryLayer::new(&retrier).layer(service);
    for failures in [0, 2] {
        fails.store(failures, Ordering::SeqCst);
        clones.store(0, Ordering::SeqCst);
        let answer = client.call(Request::new(Body::new())).await;
        let answer = answer.expect("an answer");
        assert_eq!(answer.status(), 200);
        let attempt = answer.extensions().get::<becalm::Attempt>();
        let made = attempt.map_or(1, |attempt| attempt.number() as usize);
        assert_eq!((made, attempt.is_some()), (failures + 1, failures > 0));
        assert_eq!(clones.load(Ordering::SeqCst), 1);
    }
}

/// Three clients ask for a place below, and the first call is made again: its retry passes the bulkhead before it has that place.
#[tokio::test(start_paused = true)]
async fn who_waits_in_the_bulkhead_holds_no_place_that_a_retry_needs() {
    let policy = quick().jitter(Jitter::None).attempt_timeout(None);
    let policy = policy.bulkhead(Bulkhead::calls(1).waiting(10));
    let fails = Arc::new(AtomicUsize::new(1));
    let busy_once = move |_| {
        let fails = Arc::clone(&fails);
        async move {
            sleep(Duration::from_millis(10)).await;
            Ok::<_, Infallible>(Counted::answer(&fails))
        }
    };
    let client = ServiceBuilder::new()
        .layer(RetryLayer::new(&policy.retrier().expect("a valid policy")))
        .concurrency_limit(1)
        .service_fn(busy_once);
    let began = Instant::now();
    let mut calls = JoinSet::new();
    for _ in 0..3 {
        let mut client = client.clone();
        calls.spawn(async move {
            let ready = client.ready().await.expect("ready");
            ready.call(Request::new(Body::new())).await
        });
    }
    for answer in calls.join_all().await {
        assert_eq!(answer.expect("an answer").status(), 200);
    }
    let took = began.elapsed().as_millis();
    assert!((40..45).contains(&took), "one by one: {took}");
}

#[tokio::test(start_paused = true)]
async fn a_first_attempt_that_is_paced_holds_no_place() {
    let mut limited = ConcurrencyLimit::new(MadeUp::new([answers(429)]), 1);
    let policy = quick().attempts(1).rate(AdaptiveRate::cubic());
    let retrier = policy.retrier().expect("a valid policy");
    let mut client = RetryLayer::new(&retrier).layer(limited.clone());
    for is_paced in [false, true] {
        let ready = ServiceExt::<Request<Full<Bytes>>>::ready(&mut client).await;
        let mut call = Box::pin(ready.expect("ready").call(request("GET", "")));
        if is_paced {
            let wait = timeout(Duration::from_millis(1), call.as_mut()).await;
            assert!(wait.is_err(), "after a 429 it waits for its turn");
            let place = ServiceExt::<Request<ReplayBody<Body>>>::ready(&mut limited);
            let place = timeout(Duration::from_millis(1), place).await;
            place.expect("it is free").expect("ready");
            limited = limited.clone();
        }
        let status = if is_paced { 200 } else { 429 };
        assert_eq!(call.await.expect("an answer").status(), status);
    }
}
