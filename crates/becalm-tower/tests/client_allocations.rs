//! What does a request allocate that succeeds at once? Its copy, and nothing else.

use std::convert::Infallible;
use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use allocation_counter::measure;
use becalm::{Attempt, Policy};
use becalm_tower::client::RetryLayer;
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
fn a_success_allocates_the_copy_of_the_request_and_one_place_for_its_body() {
    let copy = allocations(|| {
        let (head, ()) = request(()).into_parts();
        let mut copy = head.clone();
        copy.extensions.insert(black_box(None::<Attempt>));
        black_box((head, copy));
    });
    assert_eq!(of_request(Empty::<Bytes>::new), copy);
    let body = Bytes::from_static(b"a lamp");
    assert_eq!(of_request(|| Full::new(body.clone())), copy + 1);
}
