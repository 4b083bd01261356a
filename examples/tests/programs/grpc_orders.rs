//! Do the tonic client and server hold together when calls fail, and when there are too many?

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use becalm::{Bulkhead, Policy};
use becalm_examples::grpc_orders::{configured, orders, serve};
use becalm_examples::orders_service::{Order, Orders};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Response, Status};

use crate::within;

/// A shop that is out of order so often.
#[derive(Clone)]
struct Shop {
    failures: Arc<AtomicU32>,
    gets: Arc<AtomicU32>,
    places: Arc<AtomicU32>,
    /// Who has no permit waits for one.
    permits: Arc<Semaphore>,
}

impl Shop {
    fn new(failures: u32, permits: usize) -> Self {
        Self {
            failures: Arc::new(failures.into()),
            gets: Arc::default(),
            places: Arc::default(),
            permits: Arc::new(Semaphore::new(permits)),
        }
    }

    async fn answer(&self, order: Request<Order>) -> Result<Response<Order>, Status> {
        let _permit = self.permits.acquire().await.expect("it stays open");
        let less = |left: u32| left.checked_sub(1);
        let (set, get) = (Ordering::SeqCst, Ordering::SeqCst);
        match self.failures.fetch_update(set, get, less) {
            Ok(_) => Err(Status::unavailable("out of order")),
            Err(_) => Ok(Response::new(order.into_inner())),
        }
    }
}

#[tonic::async_trait]
impl Orders for Shop {
    async fn get(&self, order: Request<Order>) -> Result<Response<Order>, Status> {
        self.gets.fetch_add(1, Ordering::SeqCst);
        self.answer(order).await
    }

    async fn place(&self, order: Request<Order>) -> Result<Response<Order>, Status> {
        self.places.fetch_add(1, Ordering::SeqCst);
        self.answer(order).await
    }
}

/// A server that ends with its test, and a channel to it.
async fn start(shop: &Shop, places: Bulkhead) -> (Channel, Server) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let serving = serve(listener, shop.clone(), places);
    let running = tokio::spawn(async { serving.await.expect("it serves") });
    let endpoint = Endpoint::from_shared(format!("http://{address}")).expect("an address");
    (endpoint.connect_lazy(), Server(running))
}

struct Server(JoinHandle<()>);

impl Drop for Server {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn until(is_so: impl Fn() -> bool) {
    let wait = || tokio::time::sleep(Duration::from_millis(1));
    within(async {
        while !is_so() {
            wait().await;
        }
    })
    .await;
}

fn lamp() -> Order {
    let lines = "a lamp".to_owned();
    Order { lines }
}

#[tokio::test]
async fn what_may_be_done_twice_outlasts_failures_and_the_rest_is_done_once() {
    let shop = Shop::new(2, 100);
    let (channel, _server) = start(&shop, Bulkhead::calls(8)).await;
    let retrier = Policy::exponential(Duration::from_millis(10)).retrier();
    let mut client = orders(channel, &retrier.expect("valid")).expect("valid");
    let answer = within(client.get(lamp())).await.expect("an answer");
    assert_eq!(answer.into_inner(), lamp());
    assert_eq!(shop.gets.load(Ordering::SeqCst), 3);

    shop.failures.store(1, Ordering::SeqCst);
    let refused = within(client.place(lamp())).await.expect_err("it fails");
    assert_eq!(
        (refused.code(), refused.message()),
        (Code::Unavailable, "out of order")
    );
    assert_eq!(shop.places.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_service_config_names_the_methods_and_their_codes() {
    let shop = Shop::new(2, 100);
    let (channel, _server) = start(&shop, Bulkhead::calls(8)).await;
    let config = r#"{
        "methodConfig": [{
            "name": [{ "service": "shop.v1.Orders" }],
            "retryPolicy": {
                "maxAttempts": 4, "initialBackoff": "0.01s", "maxBackoff": "1s", "backoffMultiplier": 2,
                "retryableStatusCodes": ["UNAVAILABLE"]
            }
        }],
        "retryThrottling": { "maxTokens": 10, "tokenRatio": 0.1 }
    }"#;
    let mut client = configured(channel, config).expect("a config");
    within(client.place(lamp())).await.expect("an answer");
    assert_eq!(shop.places.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn what_is_shed_comes_back_when_the_server_says() {
    let shop = Shop::new(0, 0);
    let (channel, _server) = start(&shop, Bulkhead::calls(1)).await;
    let retrier = Policy::default().retrier().expect("valid");
    let client = orders(channel, &retrier).expect("valid");
    let get = || {
        let mut client = client.clone();
        async move { client.get(lamp()).await }
    };
    // The first has the place until the second was shed, which waits for at least a second then.
    let first = tokio::spawn(get());
    until(|| shop.gets.load(Ordering::SeqCst) > 0).await;
    let began = Instant::now();
    let second = tokio::spawn(get());
    until(|| retrier.waiting() > 0).await;
    shop.permits.add_permits(1);
    for call in [first, second] {
        let answer = within(call).await.expect("no panic");
        answer.expect("an answer");
    }
    let took = began.elapsed();
    assert!(took >= Duration::from_secs(1), "{took:?}");
    assert_eq!(
        shop.gets.load(Ordering::SeqCst),
        2,
        "what was shed did not reach the shop"
    );
}
