//! Do layers that are put together in another order than they should be do their work, or say so?

use std::convert::Infallible;
use std::time::Duration;

use becalm::Bulkhead;
use becalm::support::HasPlace;
use becalm::time::TokioSleeper;
use becalm_tower::server::{
    AdmissionLayer, ArrivingBody, BufferedBody, IdempotencyLayer, MemoryStore, ScopeLayer,
};
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::{Body, Bytes};
use tokio::time::{sleep, timeout};
use tower::{Layer, Service, ServiceExt, service_fn};

const WORK: Duration = Duration::from_secs(1);

fn places(many: u32) -> AdmissionLayer {
    let layer = AdmissionLayer::new(Bulkhead::calls(many)).expect("valid");
    layer.clock(TokioSleeper::new())
}

/// Works for a second, and has a place.
fn handler<B: Body + Send + 'static>()
-> impl Service<Request<B>, Response = Response<Full<Bytes>>, Error = Infallible, Future: Send>
+ Clone
+ Send
+ use<B> {
    service_fn(|request: Request<B>| {
        let has_place = request.extensions().get::<HasPlace>().is_some();
        async move {
            sleep(WORK).await;
            assert!(has_place);
            Ok(Response::new(Full::<Bytes>::default()))
        }
    })
}

fn post() -> Request<Full<Bytes>> {
    let request = Request::post("http://shop.example/payments")
        .header("authorization", "a")
        .header("idempotency-key", "\"1\"");
    request.body(Full::default()).expect("valid")
}

/// As a handle on the router and on one of its routes.
#[tokio::test(start_paused = true)]
async fn one_place_is_enough_for_a_layer_that_is_put_twice() {
    let (layer, between) = (places(1), places(1));
    let twice = layer.layer(between.layer(layer.layer(handler::<
        ArrivingBody<ArrivingBody<ArrivingBody<Full<Bytes>>>>,
    >())));
    let answered = tokio::spawn(twice.clone().oneshot(post()));
    sleep(WORK / 2).await;
    assert_eq!((layer.running(), between.running()), (1, 1));
    assert_eq!(
        twice.oneshot(post()).await.expect("infallible").status(),
        503
    );
    let answer = answered.await.expect("no panic").expect("infallible");
    assert_eq!(answer.status(), 200);
    assert_eq!((layer.running(), between.running()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn what_is_done_once_by_a_layer_that_is_put_twice_is_done() {
    let once = IdempotencyLayer::new(MemoryStore::new().clock(TokioSleeper::new()));
    let other = IdempotencyLayer::new(MemoryStore::new().clock(TokioSleeper::new()));
    let layer = places(1);
    let service = once.layer(other.layer(once.layer(layer.layer(handler::<
        ArrivingBody<BufferedBody<BufferedBody<BufferedBody<Full<Bytes>>>>>,
    >()))));
    for is_repetition in [false, true] {
        let answer = service.clone().oneshot(post()).await.expect("infallible");
        assert_eq!(answer.status(), 200);
        let is_replayed = answer.headers().contains_key("idempotency-replayed");
        assert_eq!(is_replayed, is_repetition);
    }
}

#[tokio::test(start_paused = true)]
async fn clones_of_a_store_are_one_store() {
    let store = MemoryStore::new().clock(TokioSleeper::new());
    let once = || IdempotencyLayer::new(store.clone());
    let layer = places(1);
    let service = once().layer(once().layer(layer.layer(handler::<
        ArrivingBody<BufferedBody<BufferedBody<Full<Bytes>>>>,
    >())));
    let answer = service.oneshot(post()).await.expect("infallible");
    assert_eq!(answer.status(), 200);
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_goes_on_without_its_client_keeps_its_places() {
    let (layer, outer) = (places(1), places(2));
    let store = MemoryStore::new().clock(TokioSleeper::new());
    let once = IdempotencyLayer::new(store).clock(TokioSleeper::new());
    let service = outer.layer(layer.layer(once.layer(handler::<
        BufferedBody<ArrivingBody<ArrivingBody<Full<Bytes>>>>,
    >())));
    let left = timeout(WORK / 2, service.clone().oneshot(post())).await;
    assert!(left.is_err(), "its client leaves");
    assert_eq!((layer.running(), outer.running()), (1, 1));
    let other = service.clone().oneshot(post()).await.expect("infallible");
    assert_eq!(other.status(), 503);
    sleep(WORK).await;
    assert_eq!((layer.running(), outer.running()), (0, 0));
    let again = service.oneshot(post()).await.expect("infallible");
    assert_eq!(again.status(), 200);
    assert!(again.headers().contains_key("idempotency-replayed"));
    assert_eq!((layer.running(), outer.running()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn an_answer_inside_of_a_place_ends_it() {
    let layer = places(1);
    let store = MemoryStore::new().clock(TokioSleeper::new());
    let once = IdempotencyLayer::new(store).clock(TokioSleeper::new());
    let service = layer.clone().hold_bodies();
    let service = service.layer(once.layer(handler::<BufferedBody<ArrivingBody<Full<Bytes>>>>()));
    let answer = service.oneshot(post()).await.expect("infallible");
    // Held by the body.
    assert_eq!(layer.running(), 1);
    drop(answer);
    assert_eq!(layer.running(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_scope_inside_of_admission_is_told() {
    let (layer, scope) = (places(1), ScopeLayer::from_callers(|_| true));
    let outside = scope.layer(layer.layer(handler::<ArrivingBody<Full<Bytes>>>()));
    assert_eq!(
        outside.oneshot(post()).await.expect("infallible").status(),
        200
    );
    assert_eq!(layer.misplaced(), 0);
    let inside = layer.layer(scope.layer(handler::<ArrivingBody<Full<Bytes>>>()));
    for count in 1..3 {
        let answer = inside.clone().oneshot(post()).await.expect("infallible");
        assert_eq!((answer.status().as_u16(), layer.misplaced()), (200, count));
    }
}
