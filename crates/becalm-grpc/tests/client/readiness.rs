//! Is a client ready as its channel is, so that what is above may shed?

use std::future::{Ready, pending, poll_fn, ready};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use becalm::rate::AdaptiveRate;
use http::{Request, Response};
use tonic::Status;
use tonic::body::Body;
use tower::limit::ConcurrencyLimit;
use tower::{Layer, Service, service_fn};

use crate::channels::{policy, unknown};
use crate::within;

#[tokio::test]
async fn a_client_has_no_place_where_its_channel_has_none() {
    let stalls = service_fn(|_: Request<Body>| pending::<io::Result<Response<Body>>>());
    let mut client = unknown(policy()).layer(ConcurrencyLimit::new(stalls, 1));
    let mut other = client.clone();
    let is_ready = within(poll_fn(|context| client.poll_ready(context))).await;
    is_ready.expect("there is one place");
    let call = client.call(Request::new(Body::empty()));
    let has_place = poll_fn(|context| Poll::Ready(other.poll_ready(context).is_ready())).await;
    assert!(!has_place);
    drop(call);
    let is_ready = within(poll_fn(|context| other.poll_ready(context))).await;
    is_ready.expect("the place is free again");
}

/// Has no room, and cannot be made ready when it is asked so often.
#[derive(Clone)]
struct Busy(Arc<AtomicUsize>);

impl Service<Request<Body>> for Busy {
    type Response = Response<Body>;
    type Error = io::Error;
    type Future = Ready<io::Result<Response<Body>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let is_last = self.0.fetch_sub(1, Ordering::SeqCst) == 1;
        let gone = || Err(io::ErrorKind::ConnectionReset.into());
        Poll::Ready(if is_last { gone() } else { Ok(()) })
    }

    fn call(&mut self, _: Request<Body>) -> Self::Future {
        ready(Ok(Status::resource_exhausted("no room").into_http()))
    }
}

/// A call is paced after one that was throttled. What its channel said when it was asked is kept meanwhile.
#[tokio::test(start_paused = true)]
async fn a_first_attempt_that_is_paced_holds_no_place_and_fails_as_its_channel_did() {
    for (ready_times, fails) in [(usize::MAX, false), (3, true)] {
        let channel = Busy(Arc::new(AtomicUsize::new(ready_times)));
        let mut limited = ConcurrencyLimit::new(channel, 1);
        let paced = policy().attempts(1).rate(AdaptiveRate::cubic());
        let mut client = unknown(paced).layer(limited.clone());
        for is_paced in [false, true] {
            let is_ready = within(poll_fn(|context| client.poll_ready(context))).await;
            is_ready.expect("a place");
            let mut call = Box::pin(client.call(Request::new(Body::empty())));
            let polled = poll_fn(|context| Poll::Ready(call.as_mut().poll(context))).await;
            assert_eq!(polled.is_pending(), is_paced);
            let ended = match polled {
                Poll::Ready(ended) => ended,
                Poll::Pending => {
                    let place = poll_fn(|context| limited.poll_ready(context));
                    within(place).await.expect("it is free");
                    limited = limited.clone();
                    within(call).await
                }
            };
            assert_eq!(ended.is_err(), is_paced && fails, "{ended:?}");
        }
    }
}
