//! What does a call allocate that succeeds at once? A copy of its address, a list of its fields, and the box in which tonic has
//! every body.

use std::convert::Infallible;
use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use allocation_counter::measure;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use tonic::body::Body;
use tower::{Layer, Service, service_fn};

use crate::channels::{idempotent, policy, unknown};
use crate::orders::GET;

fn allocations(mut run: impl FnMut()) -> u64 {
    run(); // what is made once
    measure(run).count_total
}

fn request() -> Request<Body> {
    let request = Request::post(GET).header("te", "trailers");
    let messages = Full::new(Bytes::from_static(b"a lamp"));
    request.body(Body::new(messages)).expect("valid")
}

fn of_call<E: std::fmt::Debug>(
    mut channel: impl Service<Request<Body>, Response = Response<Body>, Error = E>,
) -> u64 {
    allocations(|| {
        let mut call = pin!(channel.call(request()));
        let polled = call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(polled, Poll::Ready(Ok(_))));
    })
}

#[test]
fn a_success_allocates_a_list_of_its_fields_and_the_box_of_its_body() {
    let answer = |_| std::future::ready(Ok::<_, Infallible>(Response::new(Body::empty())));
    let copy = allocations(|| {
        let (head, _) = request().into_parts();
        let mut fields = Vec::with_capacity(head.headers.len());
        let all = head.headers.iter();
        fields.extend(all.map(|(name, value)| (name.clone(), value.clone())));
        black_box((head.uri.clone(), fields, head));
    });
    let bare = of_call(service_fn(answer));
    let copied = copy - allocations(|| drop(black_box(request())));
    for layer in [unknown(policy()), idempotent(policy())] {
        let layered = of_call(layer.layer(service_fn(answer)));
        assert_eq!(layered, bare + copied + 1);
    }
}
