//! Do the retries inside a request know of those of its caller, and the caller of them?

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use becalm::time::{FakeSleeper, Sleeper, TokioSleeper};
use becalm::{Budget, Failure, Policy, Retrier, Scope};
use becalm_tower::server::{BufferedBody, ScopeLayer};
use http::{HeaderMap, Request, Response};
use http_body::Body;
use http_body_util::Full;
use hyper::body::Bytes;
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::servers::layer;

type Heard = Arc<Mutex<Vec<Scope>>>;

fn request(lines: &[(&'static str, &str)]) -> Request<Full<Bytes>> {
    let mut request = Request::post("/").body(Full::default()).expect("valid");
    for (name, value) in lines {
        let value = value.parse().expect("valid");
        request.headers_mut().append(*name, value);
    }
    request
}

/// Believes who says "me".
pub fn believing() -> ScopeLayer {
    let layer = ScopeLayer::from_callers(|head| head.headers.contains_key("me"));
    layer.clock(TokioSleeper::new())
}

/// Tries something that fails, and answers this status.
fn failing<B: Body>(
    retrier: &Retrier,
    heard: &Heard,
    status: u16,
) -> impl Service<Request<B>, Response = Response<Full<Bytes>>, Error = Infallible, Future: Send>
+ Clone
+ Send
+ 'static
+ use<B> {
    let (retrier, heard) = (retrier.clone(), Arc::clone(heard));
    service_fn(move |_: Request<B>| {
        let (retrier, heard) = (retrier.clone(), Arc::clone(&heard));
        async move {
            let failed = retrier.retry(|_| {
                heard.lock().expect("unpoisoned").push(Scope::current());
                std::future::ready(Err::<(), _>((Failure::transient(), "no")))
            });
            let _ = failed.await;
            let answer = Response::builder().status(status);
            Ok(answer.body(Full::default()).expect("valid"))
        }
    })
}

fn retrier(budget: Budget) -> Retrier {
    let policy = Policy::exponential(Duration::from_millis(1)).budget(budget);
    policy.retrier().expect("a valid policy")
}

async fn attempts(lines: &[(&'static str, &str)]) -> usize {
    let heard = Heard::default();
    let service = believing().layer(failing(&retrier(Budget::None), &heard, 500));
    service.oneshot(request(lines)).await.expect("infallible");
    let heard = heard.lock().expect("unpoisoned");
    heard.len()
}

#[tokio::test(start_paused = true)]
async fn retries_inside_heed_the_attempt_of_a_known_caller_and_of_no_other() {
    let second = ("becalm-scope", "attempt=2, repeated");
    assert_eq!(attempts(&[("me", ""), second]).await, 1);
    assert_eq!(
        attempts(&[("me", ""), ("x-envoy-attempt-count", "3")]).await,
        1
    );
    assert_eq!(
        attempts(&[("me", ""), ("becalm-scope", "attempt=1, repeated")]).await,
        4
    );
    assert_eq!(attempts(&[second]).await, 4);
    assert_eq!(attempts(&[("me", "")]).await, 4);
}

#[tokio::test]
async fn the_time_that_a_known_caller_has_left_is_the_requests() {
    let clock = FakeSleeper::new();
    let layer = believing().clock(clock.clone());
    let deadline = |lines: &'static [(&'static str, &str)]| {
        let (layer, clock) = (layer.clone(), clock.clone());
        async move {
            let id = clock.clock();
            let handler = service_fn(move |request: Request<Full<Bytes>>| async move {
                let is_said = request.headers().contains_key("becalm-scope");
                Ok::<_, Infallible>((Scope::current().deadline(id), is_said))
            });
            let handler = handler.map_response(Response::new);
            let answer = layer.layer(handler).oneshot(request(lines)).await;
            answer.expect("infallible").into_body()
        }
    };
    let in_70_ms = clock.now().after(Duration::from_millis(70));
    assert_eq!(
        deadline(&[("me", ""), ("becalm-scope", "remaining=70")]).await,
        (Some(in_70_ms), true)
    );
    // What is not believed is taken away, so that nobody hands it on.
    assert_eq!(
        deadline(&[("becalm-scope", "remaining=70")]).await,
        (None, false)
    );
}

/// What a failed answer of this status tells.
async fn told(lines: &[(&'static str, &str)], status: u16) -> HeaderMap {
    let (heard, broke) = (Heard::default(), retrier(Budget::ratio(0.1)));
    let broke_from = broke.clone();
    // Spends what there is.
    for _ in 0..20 {
        let _ = broke_from
            .retry(|_| std::future::ready(Err::<(), _>((Failure::transient(), "no"))))
            .await;
    }
    let service = believing().layer(failing(&broke, &heard, status));
    let answer = service.oneshot(request(lines)).await;
    answer.expect("infallible").into_parts().0.headers
}

#[tokio::test(start_paused = true)]
async fn a_known_caller_is_told_in_a_failed_answer_why_a_layer_below_could_not_retry() {
    let headers = told(&[("me", "")], 503).await;
    assert_eq!(headers["becalm-retry"], "gave-up=budget_exhausted");
    assert!(told(&[("me", "")], 200).await.is_empty());
    assert!(told(&[], 503).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_scope_goes_through_the_task_of_a_request_with_a_key_and_comes_back() {
    let heard = Heard::default();
    let forbidding = service_fn({
        let heard = Arc::clone(&heard);
        move |_: Request<BufferedBody<Full<Bytes>>>| {
            let heard = Arc::clone(&heard);
            async move {
                heard.lock().expect("unpoisoned").push(Scope::current());
                Scope::NONE.telling(becalm::StopReason::DoNotRetry).report();
                let answer = Response::builder().status(503);
                Ok::<_, Infallible>(answer.body(Full::<Bytes>::default()).expect("valid"))
            }
        }
    });
    let service = believing().layer(layer().layer(forbidding));
    let lines = [
        ("me", ""),
        ("becalm-scope", "attempt=3"),
        ("authorization", "Bearer alice"),
        ("idempotency-key", "\"1\""),
    ];
    let answer = service.oneshot(request(&lines)).await.expect("infallible");
    assert_eq!(answer.headers()["becalm-retry"], "do-not-retry");
    assert_eq!(answer.headers()["x-should-retry"], "false");
    let heard = heard.lock().expect("unpoisoned");
    assert_eq!(
        heard
            .iter()
            .map(|scope| scope.attempt())
            .collect::<Vec<_>>(),
        [3]
    );
}

#[tokio::test]
async fn the_attempts_of_known_callers_are_told_for_a_histogram() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let hook = Arc::clone(&told);
    let layer =
        believing().on_attempt(move |attempt| hook.lock().expect("unpoisoned").push(attempt));
    let handler =
        service_fn(|_: Request<Full<Bytes>>| async { Ok::<_, Infallible>(Response::new(())) });
    for lines in [
        &[("me", "")][..],
        &[("me", ""), ("becalm-scope", "attempt=2, repeated")],
        &[("becalm-scope", "attempt=7")],
        &[("me", ""), ("grpc-previous-rpc-attempts", "3")],
    ] {
        let service = layer.layer(handler);
        service.oneshot(request(lines)).await.expect("infallible");
    }
    assert_eq!(*told.lock().expect("unpoisoned"), [1, 2, 4]);
}
