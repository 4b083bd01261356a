//! What if the connection of a channel is dead without a word? The next attempt of the call goes elsewhere, and other calls follow
//! when it is proved silent. Counted, not timed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use becalm::Attempt;
use becalm_grpc::client::{Elsewhere, Retry};
use becalm_http_faults::{Proxy, Silence};
use tokio::task::JoinSet;
use tonic::transport::{Channel, Endpoint};
use tower::Layer;

use crate::channels::{idempotent, policy};
use crate::orders::{Order, OrdersClient};
use crate::raw::{Does, Raw};
use crate::server::Server;
use crate::within;

type Client = OrdersClient<Retry<Elsewhere<Channel>>>;

/// What is on this port.
fn channel(port: u16) -> Elsewhere<Channel> {
    let endpoint = Endpoint::from_shared(format!("http://127.0.0.1:{port}"));
    let endpoint = endpoint.expect("an address");
    Elsewhere::new(move || endpoint.connect_lazy())
}

/// A client whose attempts are cut after this number of seconds.
fn client(channel: &Elsewhere<Channel>, limit: u64) -> Client {
    let policy = policy().attempt_timeout(Duration::from_secs(limit));
    OrdersClient::new(idempotent(policy).layer(channel.clone()))
}

fn port(origin: &str) -> u16 {
    let (_, port) = origin.rsplit_once(':').expect("a port");
    port.parse().expect("a port")
}

/// The attempt that has brought the answer, if it was not the first.
async fn get(mut client: Client) -> u32 {
    let answer = within(client.get(Order::of("a lamp"))).await;
    let answer = answer.expect("an answer");
    answer.extensions().get().map_or(1, Attempt::number)
}

#[tokio::test]
async fn a_connection_that_forwards_nothing_any_more_costs_one_attempt_of_one_call() {
    for silence in [Silence::Requests, Silence::Answers, Silence::All] {
        let server = Server::start([]).await;
        let proxy = Proxy::start(port(&server.origin)).await;
        let client = client(&channel(proxy.port), 2);
        assert_eq!(get(client.clone()).await, 1);
        proxy.silence(silence);
        assert_eq!(get(client.clone()).await, 2, "{silence:?}");
        for _ in 0..20 {
            assert_eq!(get(client.clone()).await, 1, "{silence:?}");
        }
        assert_eq!(proxy.dials(), 2, "{silence:?}");
    }
}

#[tokio::test]
async fn calls_of_a_method_that_is_not_repeated_leave_it_as_well() {
    let server = Server::start([]).await;
    let proxy = Proxy::start(port(&server.origin)).await;
    let client = client(&channel(proxy.port), 1);
    let import = async || {
        let orders = tokio_stream::iter([Order::of("a lamp")]);
        within(client.clone().import(orders)).await
    };
    import().await.expect("an answer");
    proxy.silence(Silence::All);
    for _ in 0..2 {
        import().await.expect_err("nothing comes");
    }
    for _ in 0..10 {
        import().await.expect("an answer");
    }
    assert_eq!(proxy.dials(), 2);
}

#[tokio::test]
async fn a_stream_that_is_silent_alone_costs_one_attempt_of_one_call() {
    let (server, _deaths) = Raw::start([Does::BeginsAndFails("0"), Does::Stalls]).await;
    let proxy = Proxy::start(port(&server.origin())).await;
    let client = client(&channel(proxy.port), 2);
    assert_eq!(get(client.clone()).await, 1);
    assert_eq!(get(client.clone()).await, 2);
    for _ in 0..20 {
        assert_eq!(get(client.clone()).await, 1);
    }
    assert_eq!((proxy.dials(), server.count()), (2, 23));
}

#[tokio::test]
async fn a_thousand_calls_beside_a_slow_one_are_not_cancelled_and_it_makes_no_dials() {
    let (server, _deaths) = Raw::start([Does::BeginsAndFails("0"), Does::Stalls]).await;
    let proxy = Proxy::start(port(&server.origin())).await;
    let channel = channel(proxy.port);
    let (slow, client) = (client(&channel, 2), client(&channel, 50));
    assert_eq!(get(client.clone()).await, 1);
    let first = Arc::new(AtomicUsize::new(0));
    let others = async {
        while server.count() < 2 {
            tokio::task::yield_now().await; // the slow one is the first
        }
        let mut others = JoinSet::new();
        for _ in 0..1000 {
            let (client, first) = (client.clone(), Arc::clone(&first));
            others.spawn(async move {
                let is_first = get(client).await == 1;
                first.fetch_add(usize::from(is_first), Ordering::SeqCst);
            });
        }
        others.join_all().await
    };
    let (slow, _) = within(async { tokio::join!(get(slow), others) }).await;
    assert_eq!((slow, first.load(Ordering::SeqCst)), (2, 1000));
    assert_eq!(server.count(), 1003);
    assert_eq!(get(client).await, 1);
    assert_eq!(proxy.dials(), 1);
}
