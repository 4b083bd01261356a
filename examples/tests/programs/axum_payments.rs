//! Does the service pay once, shed what is too much, and end when all is done? Its bank is a server that stalls and
//! answers.

use std::time::Duration;

use becalm::{Budget, Bulkhead, Policy};
use becalm_examples::axum_payments::{Bank, payments, serve};
use becalm_reqwest::Client;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

use crate::reqwest_client::{Does, Server};
use crate::within;

/// A client whose attempts may take this long.
fn client(attempt: Duration) -> Client {
    let policy = Policy::exponential(Duration::from_millis(10)).budget(Budget::None);
    let retrier = policy.attempt_timeout(attempt).retrier();
    let retrier = retrier.expect("a valid policy");
    let client = Client::new(reqwest::Client::builder().no_proxy(), &retrier);
    client.expect("a client")
}

/// Longer than any test.
const PATIENT: Duration = Duration::from_secs(100);

struct Service {
    url: String,
    stop: oneshot::Sender<()>,
    ended: JoinHandle<std::io::Result<()>>,
}

impl Service {
    async fn start(bank: &Server, places: Bulkhead) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let tasks = TaskTracker::new();
        let bank = Bank {
            client: client(Duration::from_secs(1)),
            url: bank.address.clone(),
        };
        let payments = payments(bank, places, &tasks).expect("valid");
        let (stop, stopped) = oneshot::channel();
        let stopped = async { drop(stopped.await) };
        let ended = tokio::spawn(serve(listener, payments, tasks, stopped));
        Self { url, stop, ended }
    }

    /// A payment of alice's, not sent yet.
    fn payment(&self, client: &Client) -> becalm_reqwest::RequestBuilder {
        let payment = client.post(format!("{}/payments", self.url));
        payment.bearer_auth("alice").body("17 EUR").keyed()
    }

    /// The end of a service that was told to.
    async fn end(self) {
        self.stop.send(()).expect("it serves");
        let ended = within(self.ended).await.expect("no panic");
        ended.expect("it served");
    }
}

/// Comes back when the bank has seen so many requests.
async fn seen(bank: &Server, count: usize) {
    within(async {
        while bank.seen().len() < count {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_payment_that_its_client_repeats_is_one_to_the_bank() {
    // The client gives up its first attempts while the service waits for the bank.
    let script = [Does::Stall, Does::Answer(201, "paid")];
    let bank = Server::start(script).await;
    let service = Service::start(&bank, Bulkhead::adaptive().waiting(256)).await;
    let impatient = client(Duration::from_millis(300));
    let payment = service.payment(&impatient).attempts(100);
    let paid = within(payment.send()).await.expect("an answer");
    assert_eq!(paid.status(), 201);
    assert_eq!(paid.headers()["idempotency-replayed"], "true");
    assert_eq!(paid.text().await.expect("a body"), "paid");
    let requests = bank.seen();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0], requests[1], "one key, one body");
    service.end().await;
}

#[tokio::test]
async fn the_end_waits_for_a_payment_whose_client_has_left() {
    let bank = Server::start([Does::Stall, Does::Answer(201, "paid")]).await;
    let service = Service::start(&bank, Bulkhead::calls(10)).await;
    let patient = client(PATIENT);
    let payment = tokio::spawn(service.payment(&patient).send());
    seen(&bank, 1).await;
    payment.abort();
    assert!(payment.await.is_err_and(|left| left.is_cancelled()));
    service.end().await;
    assert_eq!(bank.seen().len(), 2);
}

#[tokio::test]
async fn what_is_too_much_is_shed_with_when_to_come_again_and_health_is_not() {
    let bank = Server::start([Does::Stall, Does::Answer(201, "paid")]).await;
    let service = Service::start(&bank, Bulkhead::calls(1)).await;
    let patient = client(PATIENT);
    let payment = tokio::spawn(service.payment(&patient).send());
    seen(&bank, 1).await;
    let rates = patient.get(format!("{}/rates", service.url)).attempts(1);
    let shed = within(rates.send()).await.expect("an answer");
    assert_eq!(shed.status(), 503);
    let after = shed.headers()["retry-after"].to_str().expect("a text");
    assert!((1..=3).contains(&after.parse::<u32>().expect("seconds")));
    let health = patient.get(format!("{}/health", service.url)).send();
    assert_eq!(within(health).await.expect("an answer").status(), 200);
    let paid = within(payment).await.expect("no panic").expect("an answer");
    assert_eq!(paid.status(), 201);
    service.end().await;
}

#[tokio::test]
async fn a_payment_without_a_key_is_refused() {
    let bank = Server::start([]).await;
    let service = Service::start(&bank, Bulkhead::calls(1)).await;
    let payment = client(PATIENT).post(format!("{}/payments", service.url));
    let refused = within(payment.bearer_auth("alice").send()).await;
    assert_eq!(refused.expect("an answer").status(), 400);
    service.end().await;
}
