//! Does a server that gets more than it can do go on doing what it can?

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use becalm::bulkhead::{Gradient, Limit};
use becalm::rng::Seed;
use becalm::throttle::Priority;
use becalm::time::TokioSleeper;
use becalm::{Budget, Bulkhead, Failure, Policy};
use becalm_tower::server::{AdmissionLayer, ArrivingBody, BufferedBody};
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, sleep_until};
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::scope::believing;
use crate::servers::payment;

const WORKERS: usize = 10;
const WORK: Duration = Duration::from_millis(10);
/// Requests a second.
const CAPACITY: u32 = 1000;

fn layer(waiting: u32) -> AdmissionLayer {
    let places = Bulkhead::calls(10).waiting(waiting);
    let layer = AdmissionLayer::new(places).expect("valid");
    layer.clock(TokioSleeper::new()).seed(Seed::fixed(1))
}

/// Does what it was asked even if nobody waits for it any more.
fn server<B: 'static>()
-> impl Service<Request<B>, Response = Response<Full<Bytes>>, Error = Infallible, Future: Send>
+ Clone
+ Send
+ Sync
+ 'static {
    let workers = Arc::new(Semaphore::new(WORKERS));
    service_fn(move |_: Request<B>| {
        let workers = Arc::clone(&workers);
        let work = tokio::spawn(async move {
            let _worker = workers.acquire_owned().await;
            sleep(WORK).await;
        });
        async move {
            let _ = work.await;
            Ok(Response::new(Full::<Bytes>::default()))
        }
    })
}

/// Calls a second that succeed at three times the capacity, each with up to four attempts of 200 ms.
async fn goodput<S, D>(server: S) -> u32
where
    S: Service<Request<String>, Response = Response<D>, Error = Infallible, Future: Send>,
    S: Clone + Send + Sync + 'static,
    D: Send,
{
    let policy = Policy::exponential(Duration::from_millis(50)).budget(Budget::None);
    let policy = policy.attempt_timeout(Duration::from_millis(200));
    let retrier = policy
        .builder()
        .seed(Seed::fixed(1))
        .build()
        .expect("valid");
    let (start, good) = (Instant::now(), Arc::new(AtomicU32::new(0)));
    let second = Duration::from_secs(1);
    for number in 0..9 * CAPACITY {
        sleep_until(start + second * number / (3 * CAPACITY)).await;
        let (retrier, server, good) = (retrier.clone(), server.clone(), Arc::clone(&good));
        tokio::spawn(async move {
            let call = retrier.retry(|_| {
                let answer = server.clone().oneshot(Request::new(String::new()));
                async move {
                    match answer.await {
                        Ok(answer) if answer.status() == 200 => Ok(()),
                        _ => Err((Failure::transient(), "shed")),
                    }
                }
            });
            let is_late = call.await.is_err() || start.elapsed() < second;
            good.fetch_add(u32::from(!is_late), Ordering::SeqCst);
        });
    }
    good.load(Ordering::SeqCst) / 2
}

#[tokio::test(start_paused = true)]
async fn at_three_times_its_capacity_a_server_does_what_it_can_and_without_the_layer_nothing() {
    let with = goodput(layer(100).layer(server())).await;
    assert!(with >= CAPACITY * 9 / 10, "{with}");
    let without = goodput(server()).await;
    assert!(without <= CAPACITY / 10, "{without}");
}

#[tokio::test(start_paused = true)]
async fn an_adaptive_limit_finds_out_what_the_server_can_do() {
    let mut gradient = Gradient::default();
    gradient.initial = 60;
    let places = Bulkhead::limited(Limit::Gradient(gradient)).waiting(100);
    let layer = AdmissionLayer::new(places).expect("valid");
    let layer = layer.clock(TokioSleeper::new()).seed(Seed::fixed(1));
    let with = goodput(layer.layer(server())).await;
    assert!(with >= CAPACITY * 9 / 10, "{with}");
    // It settles at 16 or 17 for ten workers, and halves that while it measures.
    assert!((8..=20).contains(&layer.limit()), "{}", layer.limit());
}

#[tokio::test(start_paused = true)]
async fn the_least_critical_are_shed_first() {
    let service = layer(100).priority(|head| match head.uri.path() {
        "/payments" => Priority::CriticalPlus,
        "/orders" => Priority::Critical,
        _ => Priority::Sheddable,
    });
    // On average 10 ms, from 1 to 19: else all places fall free at once, and then none for longer than the target.
    let worked = Arc::new(AtomicU32::new(0));
    let service = service.layer(service_fn(move |_: Request<_>| {
        let turn = worked.fetch_add(1, Ordering::SeqCst);
        async move {
            sleep(Duration::from_millis(u64::from(1 + turn * 7 % 19))).await;
            Ok::<_, Infallible>(Response::new(Full::<Bytes>::default()))
        }
    }));
    let (start, second) = (Instant::now(), Duration::from_secs(1));
    let mut calls = Vec::new();
    // Payments and orders are 80 % of the capacity, reports twice as much as it.
    for number in 0..28 * CAPACITY / 10 {
        sleep_until(start + second * number / (28 * CAPACITY / 10)).await;
        let path = ["/payments", "/orders"].get(number as usize % 7);
        let path = path.copied().unwrap_or("/reports");
        let request = Request::get(path).body(String::new()).expect("valid");
        let answer = service.clone().oneshot(request);
        let status = async { answer.await.expect("infallible").status() };
        calls.push((path, tokio::spawn(status)));
    }
    let (mut served, mut all) = ([0; 3], [0; 3]);
    for (path, call) in calls {
        let class = match path {
            "/payments" => 0,
            "/orders" => 1,
            _ => 2,
        };
        all[class] += 1;
        served[class] += u32::from(call.await.expect("no panic") == 200);
    }
    assert_eq!(all, [400, 400, 2000]);
    assert!(served[0] >= 396 && served[1] >= 396, "{served:?}");
    assert!((150..=250).contains(&served[2]), "{served:?}");
}

#[tokio::test(start_paused = true)]
async fn in_a_full_queue_the_newest_of_the_least_critical_goes_for_one_that_is_more_so() {
    let layer = layer(2).priority(|head| match head.uri.path() {
        "/payments" => Priority::Critical,
        _ => Priority::Sheddable,
    });
    let service = layer.layer(server());
    let mut running = Vec::new();
    for path in [&["/reports"; 12][..], &["/payments"]].concat() {
        let answer = service
            .clone()
            .oneshot(Request::get(path).body(String::new()).expect("valid"));
        let status = async { answer.await.expect("infallible").status().as_u16() };
        running.push(tokio::spawn(status));
        tokio::task::yield_now().await;
    }
    let mut got = Vec::new();
    for answer in running {
        got.push(answer.await.expect("no panic"));
    }
    assert_eq!(got, [&[200; 11][..], &[503, 200]].concat());
}

/// What a request with these lines is told, which is shed.
async fn told<S, D>(service: &S, lines: &[(&'static str, &'static str)]) -> HeaderMap
where
    S: Service<Request<String>, Response = Response<D>, Error = Infallible> + Clone,
{
    let mut request = Request::new(String::new());
    for (name, value) in lines {
        let value = value.parse().expect("valid");
        request.headers_mut().insert(*name, value);
    }
    let shed = service.clone().oneshot(request).await;
    shed.expect("infallible").into_parts().0.headers
}

#[tokio::test(start_paused = true)]
async fn when_most_requests_are_retries_known_callers_are_told_not_to_come_back() {
    let layer = layer(0);
    let service = believing().layer(layer.layer(server()));
    let mut running = Vec::new();
    for _ in 0..10 {
        running.push(tokio::spawn(
            service.clone().oneshot(Request::new(String::new())),
        ));
    }
    tokio::task::yield_now().await;
    assert_eq!((layer.running(), layer.waiting()), (10, 0));
    let (me, retry) = (("me", ""), ("becalm-scope", "attempt=2, repeated"));
    let grpc = ("content-type", "application/grpc");
    for _ in 0..1000 {
        // A caller that is not known is not counted.
        assert!(!told(&service, &[retry]).await.contains_key("becalm-retry"));
    }
    let headers = told(&service, &[me, retry]).await;
    assert!(!headers.contains_key("becalm-retry"));
    for _ in 0..1000 {
        told(&service, &[me, retry]).await;
    }
    for lines in [&[me, retry][..], &[me]] {
        let headers = told(&service, lines).await;
        assert_eq!(headers["becalm-retry"], "do-not-retry");
        assert_eq!(headers["x-should-retry"], "false");
        assert!(headers.contains_key("retry-after"));
        let hint = becalm::http::hint(&headers, std::time::SystemTime::now);
        assert_eq!(hint, Some(becalm::Hint::Stop));
    }
    let headers = told(&service, &[me, grpc]).await;
    assert_eq!(headers["grpc-retry-pushback-ms"], "-1");
    let headers = told(&service, &[grpc]).await;
    assert_ne!(headers["grpc-retry-pushback-ms"], "-1");
    assert!(!told(&service, &[]).await.contains_key("becalm-retry"));
    // First tries are most again.
    for _ in 0..1000 {
        told(&service, &[me]).await;
    }
    let headers = told(&service, &[me, retry]).await;
    assert!(!headers.contains_key("becalm-retry"));
}

/// How long each of a number that come at once had to wait, in ms; `None` where it was shed.
async fn waits(layer: &AdmissionLayer, count: usize) -> Vec<Option<u128>> {
    let start = Instant::now();
    let service = layer.layer(service_fn(|_: Request<_>| async {
        sleep(WORK).await;
        Ok::<_, Infallible>(Response::new(Full::<Bytes>::default()))
    }));
    let calls = (0..count).map(|_| {
        let service = service.clone();
        tokio::spawn(async move {
            let answer = service
                .oneshot(Request::new(String::new()))
                .await
                .expect("infallible");
            (answer.status() == 200).then(|| start.elapsed().saturating_sub(WORK).as_millis())
        })
    });
    let mut waits = Vec::new();
    for call in calls.collect::<Vec<_>>() {
        waits.push(call.await.expect("no panic"));
    }
    waits
}

#[tokio::test(start_paused = true)]
async fn a_burst_waits_its_turn_and_beyond_the_queue_is_shed_at_once() {
    let waits = waits(&layer(80), 100).await;
    let served = |wait| waits.iter().filter(|it| **it == wait).count();
    for turn in 0..9 {
        assert_eq!(served(Some(turn * 10)), 10, "{waits:?}");
    }
    assert_eq!(served(None), 10);
}

#[tokio::test(start_paused = true)]
async fn a_burst_waits_as_long_as_a_queue_that_stands_where_that_is_longer() {
    let layer = layer(80).interval(Duration::from_millis(1));
    let layer = layer.target(Duration::from_millis(30));
    let waits = waits(&layer, 100).await;
    // At the end of the wait a place falls free, and the two are not in order.
    let longest = waits.iter().flatten().max();
    assert!((Some(&20)..=Some(&30)).contains(&longest), "{waits:?}");
}

#[tokio::test(start_paused = true)]
async fn in_a_queue_that_stands_nobody_waits_longer_than_the_target() {
    let layer = layer(1000);
    // Not empty for longer than the interval.
    let burst = tokio::spawn({
        let layer = layer.clone();
        async move { waits(&layer, 300).await }
    });
    let mut bursts = Vec::new();
    for _ in 0..3 {
        sleep(Duration::from_millis(45)).await;
        let layer = layer.clone();
        bursts.push(tokio::spawn(async move { waits(&layer, 100).await }));
    }
    let shed = |waits: &[Option<u128>]| waits.iter().filter(|wait| wait.is_none()).count();
    let burst = burst.await.expect("no panic");
    assert!(shed(&burst) > 150);
    let last = bursts.pop().expect("three").await.expect("no panic");
    assert!(last.iter().flatten().all(|wait| *wait <= 5), "{last:?}");
    assert!(shed(&last) >= 80);
}

#[tokio::test(start_paused = true)]
async fn what_is_shed_is_told_when_to_come_again_each_at_a_time_of_its_own() {
    let layer = layer(0).retry_after(Duration::from_secs(2), Duration::from_secs(20));
    let service = layer.layer(server());
    let mut running = Vec::new();
    for _ in 0..10 {
        running.push(tokio::spawn(
            service.clone().oneshot(Request::new(String::new())),
        ));
    }
    tokio::task::yield_now().await;
    let mut told = Vec::new();
    for _ in 0..50 {
        let shed = service.clone().oneshot(Request::new(String::new())).await;
        let shed = shed.expect("infallible");
        assert_eq!(shed.status(), 503);
        let seconds = shed.headers()["retry-after"].to_str().expect("a text");
        told.push(seconds.parse::<u64>().expect("seconds"));
    }
    assert!(
        told.iter().all(|seconds| (2..=20).contains(seconds)),
        "{told:?}"
    );
    told.sort_unstable();
    told.dedup();
    assert!(told.len() > 10, "{told:?}");

    let mut grpc = Request::new(String::new());
    let kind = "application/grpc+proto".parse().expect("valid");
    grpc.headers_mut().insert("content-type", kind);
    let shed = service.clone().oneshot(grpc).await.expect("infallible");
    assert_eq!(
        (shed.status().as_u16(), &shed.headers()["grpc-status"]),
        (200, &"8".parse().expect("valid"))
    );
    let pushback = shed.headers()["grpc-retry-pushback-ms"]
        .to_str()
        .expect("a text");
    assert!((2000..=20_000).contains(&pushback.parse::<u32>().expect("ms")));
    assert!(
        shed.into_body()
            .collect()
            .await
            .expect("a body")
            .to_bytes()
            .is_empty()
    );
}

#[tokio::test(start_paused = true)]
async fn a_place_is_held_until_the_answer_is_over_or_dropped() {
    let service = layer(0).hold_bodies().layer(server());
    let mut answers = Vec::new();
    for _ in 0..10 {
        let answer = service.clone().oneshot(Request::new(String::new())).await;
        answers.push(answer.expect("infallible"));
    }
    let status = || async {
        let answer = service.clone().oneshot(Request::new(String::new())).await;
        answer.expect("infallible").status().as_u16()
    };
    assert_eq!(status().await, 503);
    drop(answers.pop());
    assert_eq!(status().await, 200);
    // One whose client leaves gives its place back, too.
    let left = tokio::time::timeout(WORK / 2, status()).await;
    assert!(left.is_err());
    assert_eq!(status().await, 200);
}

#[tokio::test(start_paused = true)]
async fn a_handler_whose_client_left_keeps_its_place() {
    let service = crate::servers::layer().layer(layer(0).layer(service_fn(
        |_: Request<ArrivingBody<BufferedBody<Full<Bytes>>>>| async {
            sleep(WORK).await;
            Ok::<_, Infallible>(Response::new(Full::<Bytes>::default()))
        },
    )));
    let status = |key: &str| {
        let answer = service.clone().oneshot(payment(key, ""));
        async move { answer.await.expect("infallible").status().as_u16() }
    };
    for number in 0..10 {
        let left = tokio::time::timeout(Duration::ZERO, status(&number.to_string()));
        assert!(left.await.is_err());
    }
    assert_eq!(status("next").await, 503);
    sleep(WORK).await;
    assert_eq!(status("next").await, 200);
}
