//! Is a client ready as its channel is, so that what is above may shed?

use std::future::{pending, poll_fn};
use std::io;
use std::task::Poll;

use http::{Request, Response};
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
