//! What does a request allocate that succeeds, and how large is its future? What a repetition needs to know of it, and nothing else.

use std::convert::Infallible;
use std::future::poll_fn;
use std::hint::black_box;
use std::mem;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use allocation_counter::measure;
use becalm::Policy;
use becalm_tower::client::{ReplayBody, RetryLayer, ScopeLayer};
use http::{Request, Response};
use http_body_util::{Empty, Full};
use hyper::body::{Body, Bytes};
use tower::{Layer, Service, service_fn};

fn allocations(mut run: impl FnMut()) -> u64 {
    run(); // what is made once
    measure(run).count_total
}

fn of_request<B: Body + Unpin>(body: impl Fn() -> B) -> u64 {
    let answer = |_| std::future::ready(Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new())));
    let retrier = Policy::default().retrier().expect("a valid policy");
    let mut client = RetryLayer::new(&retrier).layer(service_fn(answer));
    allocations(|| {
        let request = request(body());
        let mut call = pin!(client.call(request));
        let polled = call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(polled, Poll::Ready(Ok(_))));
    })
}

fn request<B>(body: B) -> Request<B> {
    let request = Request::get("http://shop.example/orders").header("accept", "text/plain");
    request.body(body).expect("valid")
}

#[test]
fn a_success_allocates_its_address_a_list_of_its_fields_and_one_place_for_its_body() {
    let copied = allocations(|| {
        let request = request(());
        let mut fields = Vec::with_capacity(request.headers().len());
        let all = request.headers().iter();
        fields.extend(all.map(|(name, value)| (name.clone(), value.clone())));
        black_box((request.uri().clone(), fields, request));
    });
    assert_eq!(of_request(Empty::<Bytes>::new), copied);
    let body = Bytes::from_static(b"a lamp");
    assert_eq!(of_request(|| Full::new(body.clone())), copied + 1);
}

/// An answer that has to be waited for.
fn soon<B>(_: Request<B>) -> impl Future<Output = Result<Response<Empty<Bytes>>, Infallible>> {
    let mut is_asked = false;
    poll_fn(move |context| {
        if mem::replace(&mut is_asked, true) {
            return Poll::Ready(Ok(Response::default()));
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
}

#[tokio::test]
async fn a_request_with_headers_scope_and_time_limits_allocates_four_times() {
    let policy = Policy::default()
        .attempt_timeout(Duration::from_secs(2))
        .deadline(Duration::from_secs(10));
    let scope = ScopeLayer::to(["http://shop.example"]).expect("an origin");
    let retries = RetryLayer::new(&policy.retrier().expect("a valid policy"));
    let mut client = retries.layer(scope.layer(service_fn(soon::<ReplayBody<Empty<Bytes>>>)));
    let made = allocations(|| drop(black_box(request(Empty::<Bytes>::new()))));
    let more = allocations(|| {
        let mut call = pin!(client.call(request(Empty::<Bytes>::new())));
        let context = &mut Context::from_waker(Waker::noop());
        assert!(call.as_mut().poll(context).is_pending());
        assert!(call.as_mut().poll(context).is_ready());
    });
    // A list of the fields, what shares the one value, a timer, and the scope.
    assert_eq!(more, made + 4);
}

#[test]
fn what_is_rare_is_not_in_the_future() {
    let retrier = Policy::default().retrier().expect("a valid policy");
    let mut client = RetryLayer::new(&retrier).layer(service_fn(|_| {
        std::future::ready(Ok::<_, Infallible>(Response::new(Full::<Bytes>::default())))
    }));
    let size = size_of_val(&client.call(request(Full::<Bytes>::default())));
    assert!(size <= 640, "{size}");
}
