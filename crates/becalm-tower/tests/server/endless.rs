//! What do a client that sends half a body, and a handler whose answer does not end, hold of a server?

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use becalm::time::TokioSleeper;
use becalm_tower::server::{BufferedBody, IdempotencyLayer, MemoryStore};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::{Request, Response};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tower::{Layer, Service, ServiceExt, service_fn};

/// How many of these bodies there are.
type Alive = Arc<AtomicUsize>;

/// A body that sends its pieces, then nothing more, and does not end.
struct Endless {
    pieces: usize,
    piece: usize,
    announced: Option<u64>,
    alive: Alive,
}

impl Endless {
    fn new(pieces: usize, piece: usize, announced: Option<u64>, alive: &Alive) -> Self {
        alive.fetch_add(1, Ordering::SeqCst);
        Self {
            pieces,
            piece,
            announced,
            alive: Arc::clone(alive),
        }
    }
}

impl Drop for Endless {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.pieces == 0 {
            return Poll::Pending;
        }
        self.pieces -= 1;
        Poll::Ready(Some(Ok(Frame::data(Bytes::from(vec![7; self.piece])))))
    }

    fn size_hint(&self) -> SizeHint {
        self.announced
            .map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

fn layer() -> IdempotencyLayer<MemoryStore> {
    let store = MemoryStore::new().clock(TokioSleeper::new());
    IdempotencyLayer::new(store).clock(TokioSleeper::new())
}

fn post<B>(user: &str, key: &str, body: B) -> Request<B> {
    let request = Request::post("http://shop.example/payments")
        .header("authorization", user)
        .header("idempotency-key", format!("\"{key}\""));
    request.body(body).expect("valid")
}

/// A handler whose answers do not end.
fn endless(
    layer: &IdempotencyLayer<MemoryStore>,
    announced: Option<u64>,
    alive: &Alive,
) -> impl Service<
    Request<Full<Bytes>>,
    Response = Response<BufferedBody<Endless>>,
    Error = Infallible,
    Future: Send,
> + Clone
+ use<> {
    let alive = Arc::clone(alive);
    layer.layer(service_fn(move |_: Request<BufferedBody<Full<Bytes>>>| {
        let answer = Response::new(Endless::new(3, 10, announced, &alive));
        async { Ok::<_, Infallible>(answer) }
    }))
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_end_lets_go_of_key_and_task() {
    for (announced, seconds) in [(None, 1), (Some(100), 10)] {
        let alive = Alive::default();
        let service = endless(&layer(), announced, &alive);
        let pay = || service.clone().oneshot(post("a", "1", Full::default()));
        assert!(timeout(Duration::from_millis(100), pay()).await.is_err());
        let left = Instant::now();
        // The client has left; the key is taken as long as the body is read.
        let again = pay().await.expect("an answer");
        assert_eq!(again.status(), 409);
        assert!(again.headers().contains_key("retry-after"));
        while alive.load(Ordering::SeqCst) > 0 {
            sleep(Duration::from_millis(50)).await;
            let most = Duration::from_secs(seconds) + Duration::from_millis(100);
            assert!(left.elapsed() <= most, "{announced:?}");
        }
        // It is done, and not done again.
        let again = pay().await.expect("an answer");
        assert_eq!(again.status(), 409);
        assert_eq!(again.headers()["becalm-retry"], "do-not-retry");
    }
}

/// What hangs after its effect.
#[tokio::test(start_paused = true)]
async fn a_handler_without_a_head_is_dropped_and_never_done_again() {
    for stays in [true, false] {
        let (alive, layer) = (
            Alive::default(),
            layer().handler_time(Duration::from_secs(7)),
        );
        let (runs, held) = (Alive::default(), Arc::clone(&alive));
        let counted = Arc::clone(&runs);
        let service = layer.layer(service_fn(move |_: Request<BufferedBody<Full<Bytes>>>| {
            counted.fetch_add(1, Ordering::SeqCst);
            let hangs = Endless::new(0, 0, None, &held);
            async move {
                sleep(Duration::from_secs(3600)).await;
                Ok::<_, Infallible>(Response::new(hangs))
            }
        }));
        let pay = |key| service.clone().oneshot(post("a", key, Full::default()));
        let start = Instant::now();
        if stays {
            let answer = pay("1").await.expect("an answer");
            assert_eq!(
                (answer.status().as_u16(), start.elapsed().as_secs()),
                (504, 7)
            );
            assert_eq!(answer.headers()["becalm-retry"], "do-not-retry");
        } else {
            let left = timeout(Duration::from_secs(1), pay("1")).await;
            assert!(left.is_err());
            assert_eq!(pay("1").await.expect("an answer").status(), 409);
            sleep(Duration::from_secs(7)).await;
        }
        assert_eq!(alive.load(Ordering::SeqCst), 0, "dropped");
        sleep(Duration::from_secs(60)).await;
        for _ in 0..3 {
            let again = pay("1").await.expect("an answer");
            assert_eq!(again.status(), 504);
            assert_eq!(again.headers()["becalm-retry"], "do-not-retry");
        }
        assert_eq!(runs.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn who_waits_gets_an_answer_that_does_not_end_as_it_comes() {
    let alive = Alive::default();
    let service = endless(&layer(), None, &alive);
    let start = Instant::now();
    let answer = service.oneshot(post("a", "1", Full::default())).await;
    let mut body = answer.expect("an answer").into_body();
    assert_eq!(start.elapsed().as_secs(), 10);
    let frame = body.frame().await.expect("a frame").expect("no error");
    assert_eq!(frame.into_data().expect("data").len(), 30);
    assert!(
        timeout(Duration::from_secs(60), body.frame())
            .await
            .is_err()
    );
    drop(body);
    assert_eq!(alive.load(Ordering::SeqCst), 0);
}

/// What says how much it got.
fn echo<B: Body<Data = Bytes, Error = Infallible> + Send + Unpin + 'static>(
    layer: &IdempotencyLayer<MemoryStore>,
) -> impl Service<
    Request<B>,
    Response = Response<BufferedBody<Full<Bytes>>>,
    Error = Infallible,
    Future: Send,
> + Clone
+ use<B> {
    layer.layer(service_fn(|request: Request<BufferedBody<B>>| async {
        let body = request.into_body().collect().await.expect("infallible");
        let answer = body.to_bytes().len().to_string();
        Ok::<_, Infallible>(Response::new(Full::from(answer)))
    }))
}

#[tokio::test(start_paused = true)]
async fn half_a_body_is_waited_for_as_long_as_is_set() {
    let alive = Alive::default();
    let layer = layer().body_time(Duration::from_secs(7));
    let start = Instant::now();
    let half = Endless::new(5, 100, Some(1000), &alive);
    let late = echo(&layer).oneshot(post("a", "1", half)).await;
    assert_eq!(late.expect("an answer").status(), 408);
    assert_eq!(
        (start.elapsed().as_secs(), alive.load(Ordering::SeqCst)),
        (7, 0)
    );
}

#[tokio::test(start_paused = true)]
async fn sixteen_callers_with_all_the_half_bodies_they_may_have_leave_room() {
    let (layer, alive) = (layer(), Alive::default());
    let mut half = Vec::new();
    for caller in 0..16 {
        let user = format!("stranger {caller}");
        for size in (7..20).rev().map(|bits| 1 << bits) {
            while half.len() < 10_000 {
                let body = Endless::new(1, size, None, &alive);
                let key = format!("half {}", half.len());
                let mut request = Box::pin(echo(&layer).oneshot(post(&user, &key, body)));
                let polled = poll_fn(|context| Poll::Ready(request.as_mut().poll(context)));
                if let Poll::Ready(answer) = polled.await {
                    assert_eq!(answer.expect("an answer").status(), 503);
                    break;
                }
                half.push(request);
            }
        }
        // The longest body that is read.
        for length in [1000, 1 << 20] {
            let order = Full::from(vec![7; length]);
            let request = post("honest", &format!("{caller} {length}"), order);
            let answer = echo(&layer).oneshot(request).await.expect("an answer");
            let held = half.len();
            assert_eq!(answer.status(), 200, "{held} of {caller} and before");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_thousand_half_bodies_hold_what_may_wait_and_others_are_answered() {
    for callers in [1, 10, 1000] {
        let alive = Alive::default();
        let layer = layer().waiting_bytes(8 << 20);
        let mut half = JoinSet::new();
        for number in 0..1000 {
            // Less than a whole one by a byte.
            let body = Endless::new(63, 16 << 10, Some(1 << 20), &alive);
            let caller = format!("stranger {}", number % callers);
            let request = post(&caller, &format!("half {number}"), body);
            let answer = echo(&layer).oneshot(request);
            half.spawn(async { answer.await.expect("an answer") });
        }
        sleep(Duration::from_secs(1)).await;
        let mut refused = 0;
        while let Some(answer) = half.try_join_next() {
            let answer = answer.expect("no panic");
            assert_eq!(answer.status(), 503);
            assert!(answer.headers().contains_key("retry-after"));
            refused += 1;
        }
        let waiting = alive.load(Ordering::SeqCst);
        println!("{callers} callers: {waiting} half bodies wait, {refused} are refused");
        assert!(
            waiting + refused == 1000 && waiting << 20 <= 8 << 20,
            "{waiting}"
        );
        // A payment of everybody else.
        for user in 0..100 {
            let order = Full::from(vec![7; 1000]);
            let request = post(&format!("user {user}"), &format!("of {user}"), order);
            let answer = echo(&layer).oneshot(request).await.expect("an answer");
            assert_eq!(answer.status(), 200);
        }
        sleep(Duration::from_secs(30)).await;
        assert_eq!(alive.load(Ordering::SeqCst), 0);
    }
}
