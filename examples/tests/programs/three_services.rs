//! Do retries of services in a row add up, and do deadlines reach the last? Real services on loopback; the
//! caller, `front` and `orders` retry, and `stock` fails.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::map_request;
use axum::routing::get;
use becalm::scope::Nested;
use becalm::{Budget, Policy, StopReason};
use becalm_examples::three_services::{client, serve, service};
use becalm_reqwest::Client;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

use crate::within;

/// The caller, and the services below it, which end with it.
struct Chain {
    caller: Client,
    url: String,
    /// The `becalm-scope` of each request: at `front`, at `orders`, at `stock`.
    scopes: [Scopes; 3],
    _services: JoinSet<()>,
}

type Scopes = Arc<Mutex<Vec<String>>>;

impl Chain {
    /// The policies of the caller, of `front` and of `orders`, above this service.
    async fn start([caller, front, orders]: [Policy; 3], stock: Router) -> Self {
        let scopes: [Scopes; 3] = Default::default();
        let mut services = JoinSet::new();
        let mut start = async |service: Router, scopes: &Scopes| {
            let scopes = Arc::clone(scopes);
            let note = map_request(move |request| noted(request, Arc::clone(&scopes)));
            let (origin, serving) = serve(service.layer(note)).await.expect("a port");
            services.spawn(async { serving.await.expect("it serves") });
            origin
        };
        let next = |origin: &str, policy| client(origin, policy).expect("a client");
        let stock = start(stock, &scopes[2]).await;
        let orders = start(service(next(&stock, orders), stock), &scopes[1]).await;
        let front = start(service(next(&orders, front), orders), &scopes[0]).await;
        Self {
            caller: next(&front, caller),
            url: front,
            scopes,
            _services: services,
        }
    }

    /// Whether the call succeeded.
    async fn call(&self) -> bool {
        let answer = self.caller.get(&self.url).send().await;
        answer.is_ok_and(|answer| answer.status() == StatusCode::OK)
    }

    fn requests_of_stock(&self) -> usize {
        self.scopes[2].lock().expect("unpoisoned").len()
    }
}

/// A service takes its time, so that each is seen to hand on less than it had.
async fn noted(request: Request, scopes: Scopes) -> Request {
    sleep(Duration::from_millis(2)).await;
    let scope = request.headers().get("becalm-scope").expect("a scope");
    let scope = scope.to_str().expect("a text").to_owned();
    scopes.lock().expect("unpoisoned").push(scope);
    request
}

/// Succeeds at every so many requests; 0 is never.
fn succeeds_every(nth: usize) -> Router {
    let count = Arc::new(AtomicUsize::new(0));
    let answer = move || {
        let number = 1 + count.fetch_add(1, Ordering::SeqCst);
        let is_success = number.checked_rem(nth) == Some(0);
        std::future::ready(if is_success {
            StatusCode::OK
        } else {
            StatusCode::SERVICE_UNAVAILABLE
        })
    };
    Router::new().route("/", get(answer))
}

fn quick(nested: Nested, budget: Budget) -> Policy {
    let policy = Policy::exponential(Duration::from_millis(1));
    policy.nested(nested).budget(budget)
}

fn three(policy: &Policy) -> [Policy; 3] {
    std::array::from_fn(|_| policy.clone())
}

#[tokio::test]
async fn three_layers_of_four_attempts_add_up_and_multiply_only_where_they_may() {
    for (nested, expected) in [
        (Nested::Allow, 64),
        (Nested::Nearest, 10),
        (Nested::Outermost, 4),
    ] {
        let policy = quick(nested, Budget::None);
        let chain = Chain::start(three(&policy), succeeds_every(0)).await;
        assert!(!within(chain.call()).await);
        assert_eq!(chain.requests_of_stock(), expected, "{nested:?}");
    }
}

/// What may reach `stock` of so many calls: each of three layers sends a tenth more than it is asked, and
/// the ten that its budget begins with.
fn bound(calls: usize) -> usize {
    (0..3).fold(calls, |asked, _| asked + asked.div_ceil(10) + 10)
}

#[tokio::test]
async fn budgets_bound_the_requests_of_the_last_whatever_the_rule() {
    const CALLS: usize = 100;
    let ratio = Policy::default().budget;
    let mut tasks = JoinSet::new();
    for (nested, budget, is_bounded) in [
        (Nested::Nearest, ratio, true),
        (Nested::Outermost, ratio, true),
        (Nested::Allow, ratio, true),
        (Nested::Allow, Budget::None, false),
    ] {
        tasks.spawn(async move {
            let chain = Chain::start(three(&quick(nested, budget)), succeeds_every(3)).await;
            for _ in 0..CALLS {
                chain.call().await;
            }
            let count = chain.requests_of_stock();
            assert_eq!(count <= bound(CALLS), is_bounded, "{nested:?}: {count}");
        });
    }
    within(tasks.join_all()).await;
}

#[tokio::test]
async fn each_service_hands_on_less_time_than_it_has() {
    let policy = quick(Nested::Nearest, Budget::None).attempts(2);
    let caller = policy.clone().deadline(Duration::from_secs(20));
    let chain = Chain::start([caller, policy.clone(), policy], succeeds_every(0)).await;
    assert!(!within(chain.call()).await);
    let [front, orders, stock] = chain.scopes.each_ref().map(|scopes| {
        let scopes = scopes.lock().expect("unpoisoned").clone();
        let remaining = |scope: &String| {
            let (_, millis) = scope.split_once("remaining=")?;
            millis.parse::<u64>().ok()
        };
        let remaining = scopes.iter().map(remaining).collect::<Option<Vec<_>>>();
        remaining.expect("each says what remains")
    });
    assert_eq!([front.len(), orders.len(), stock.len()], [2, 3, 4]);
    let (front, orders, stock) = (front[0], orders[0], stock[0]);
    assert!(
        20_000 > front && front > orders && orders > stock,
        "{front} {orders} {stock}"
    );
}

/// Counts the requests that are worked on.
struct Running(Arc<AtomicUsize>);

impl Running {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(count))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn work_for_nobody_stops() {
    let running = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&running);
    let hangs = move || async move {
        let _running = Running::new(&count);
        std::future::pending::<()>().await;
    };
    let policy = quick(Nested::Nearest, Budget::None);
    let caller = policy.clone().deadline(Duration::from_millis(500));
    let chain = Chain::start(
        [caller, policy.clone(), policy],
        Router::new().route("/", get(hangs)),
    )
    .await;
    let ended = within(chain.caller.get(&chain.url).send()).await;
    // The service in the middle may see the end of its time first.
    match ended {
        Ok(answer) => assert_eq!(answer.status(), StatusCode::GATEWAY_TIMEOUT),
        Err(gave_up) => assert_eq!(gave_up.reason(), StopReason::DeadlineExceeded),
    }
    within(async {
        while running.load(Ordering::SeqCst) > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(chain.requests_of_stock(), 1);
}

/// What happens to `stock`, and how often it is called.
struct Trial {
    workers: usize,
    /// How long one works on a request.
    takes: Duration,
    calls_every: Duration,
    /// How long it has worked before it hangs.
    before: Duration,
    hang: Duration,
    /// How many successes in a row say that it is back.
    in_a_row: usize,
    /// When there is nothing more to wait for, after the hang.
    limit: Duration,
}

struct Outcome {
    calls: usize,
    requests_of_stock: usize,
    /// From the end of the hang to the first of the calls that succeed in a row.
    back_after: Option<Duration>,
}

impl Trial {
    /// Workers that go on when nobody waits for them any more, and hang until then where they begin in the hang.
    fn stock(&self, hang: Instant) -> Router {
        let (takes, end) = (self.takes, hang + self.hang);
        let workers = Arc::new(Semaphore::new(self.workers));
        let answer = move || {
            let workers = Arc::clone(&workers);
            let work = tokio::spawn(async move {
                let _worker = workers.acquire_owned().await;
                if Instant::now() >= hang {
                    sleep_until(end).await;
                }
                sleep(takes).await;
            });
            async { drop(work.await) }
        };
        Router::new().route("/", get(answer))
    }

    async fn run(&self, policy: &Policy) -> Outcome {
        // Time-outs that grow outward.
        let policies =
            [1875, 750, 300].map(|ms| policy.clone().attempt_timeout(Duration::from_millis(ms)));
        let hang = Instant::now() + self.before;
        let chain = Arc::new(Chain::start(policies, self.stock(hang)).await);
        let mut calls: Vec<(Instant, Arc<AtomicUsize>)> = Vec::new();
        let mut ticks = tokio::time::interval(self.calls_every);
        let end = hang + self.hang;
        let mut tasks = JoinSet::new();
        let back = loop {
            let now = ticks.tick().await;
            let ended = Arc::new(AtomicUsize::new(0));
            calls.push((now, Arc::clone(&ended)));
            let chain = Arc::clone(&chain);
            tasks.spawn(async move {
                ended.store(1 + usize::from(chain.call().await), Ordering::SeqCst);
            });
            let late: Vec<_> = calls.iter().filter(|(began, _)| *began >= end).collect();
            let is_back = |run: &&[&(Instant, Arc<AtomicUsize>)]| {
                run.iter()
                    .all(|(_, ended)| ended.load(Ordering::SeqCst) == 2)
            };
            if let Some(run) = late.windows(self.in_a_row).find(is_back) {
                break Some(run[0].0 - end);
            }
            if now > end + self.limit {
                break None;
            }
        };
        tasks.shutdown().await;
        Outcome {
            calls: calls.len(),
            requests_of_stock: chain.requests_of_stock(),
            back_after: back,
        }
    }
}

#[tokio::test]
async fn after_a_hang_of_the_last_the_chain_comes_back() {
    let trial = Trial {
        workers: 4,
        takes: Duration::from_millis(40),
        calls_every: Duration::from_millis(17), // 60 % of what it can do
        before: Duration::from_millis(500),
        hang: Duration::from_secs(1),
        in_a_row: 20,
        limit: Duration::from_secs(40),
    };
    let outcome = within(trial.run(&Policy::default())).await;
    assert!(outcome.back_after.is_some());
    let (requests, calls) = (outcome.requests_of_stock, outcome.calls);
    assert!(requests <= bound(calls), "{requests} of {calls} calls");
}

/// `scripts/prove chain` prints the table of `docs/layers.md`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes, and a quiet machine"]
async fn chain_in_full() {
    let trial = Trial {
        workers: 10,
        takes: Duration::from_millis(20),
        calls_every: Duration::from_micros(3333), // 60 % of what it can do
        before: Duration::from_secs(5),
        hang: Duration::from_secs(2),
        in_a_row: 300,
        limit: Duration::from_secs(30),
    };
    println!("| | requests at `stock` for a call | back after, s |");
    println!("|---|--:|--:|");
    let default = Policy::default();
    for (name, policy) in [
        ("no retries", default.clone().attempts(1)),
        ("`nearest`, the default", default.clone()),
        ("`outermost`", default.clone().nested(Nested::Outermost)),
        ("`allow`", default.clone().nested(Nested::Allow)),
        (
            "`nearest`, no budgets",
            default.clone().budget(Budget::None),
        ),
    ] {
        let outcome = trial.run(&policy).await;
        #[expect(clippy::cast_precision_loss, reason = "some thousands")]
        let requests = outcome.requests_of_stock as f64 / outcome.calls as f64;
        let back = outcome.back_after.map_or("not within 30".into(), |back| {
            format!("{:.1}", back.as_secs_f64())
        });
        println!("| {name} | {requests:.2} | {back} |");
    }
}
