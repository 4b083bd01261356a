//! How many calls succeed beside a service that is away at times, and how many fail that begin while it is?

use std::rc::Rc;
use std::time::Duration;

use becalm::budget::WhenSpent;
use becalm::{Budget, Policy};
use reqwest::Method;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use crate::away::{Away, Course, Part, length};
use crate::clients::{Client, Times, over_hyper, over_reqwest};

const TIMES: Times = Times {
    base: Duration::from_millis(100),
    cap: Duration::from_secs(20),
    attempt: Duration::from_millis(300),
};

/// Away for 700 ms of each 2 s.
const OFTEN: Course = &[
    (Part::Serves, 1_300),
    (Part::Refuses, 200),
    (Part::Hangs, 200),
    (Part::Gone, 300),
];
const CALLERS: u32 = 200;
/// After the end of a call where a caller waits for it, otherwise after its beginning.
const PAUSE: Duration = Duration::from_millis(200);
const FOR: Duration = Duration::from_secs(20);

/// Away once, behind more than the time that fills a budget.
const ONCE: [(&str, Course); 3] = [
    (
        "answers 503 for 0.1 s",
        &[(Part::Serves, 8_000), (Part::Refuses, 100)],
    ),
    (
        "answers 503 for 0.2 s",
        &[(Part::Serves, 8_000), (Part::Refuses, 200)],
    ),
    (
        "hangs for 0.7 s",
        &[(Part::Serves, 8_000), (Part::Hangs, 700)],
    ),
];
const TURNS: u32 = 3;
const CALLS_EVERY: Duration = Duration::from_millis(1);
/// An attempt of theirs may take longer.
const PATIENT: Times = Times {
    attempt: Duration::from_millis(500),
    ..TIMES
};

pub async fn print() {
    println!(
        "\n| | calls that succeed | a second | attempts a call | where callers wait: calls that succeed | a second | attempts a call |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|");
    for (name, client) in OFTEN_BY {
        print!("| {name}");
        for waits in [false, true] {
            let (share, a_second, attempts) = callers(client(), waits).await;
            print!(" | {share:.1} % | {a_second:.0} | {attempts:.2}");
        }
        println!(" |");
    }
    println!("\n| | one attempt | becalm-reqwest | without a budget |\n|---|--:|--:|--:|");
    for (name, course) in ONCE {
        print!("| {name}");
        for client in ONCE_BY {
            print!(" | {:.1} %", failed(client(), course).await);
        }
        println!(" |");
    }
    println!();
}

/// Each is made when it is its turn: a budget measures its rate from then on.
type Make = fn() -> Client;

const OFTEN_BY: [(&str, Make); 6] = [
    ("reqwest", || Client::Reqwest(over_reqwest::bare(TIMES))),
    ("reqwest, with its `retry`", || {
        Client::Reqwest(over_reqwest::own(TIMES))
    }),
    ("reqwest-retry", || {
        Client::Middleware(over_reqwest::middleware(TIMES))
    }),
    ("tower's `retry`", || {
        Client::Tower(over_hyper::tower(TIMES))
    }),
    ("becalm-reqwest", || becalm(TIMES, policy(TIMES))),
    ("becalm-reqwest, `when_spent = \"wait\"`", || {
        let policy = policy(TIMES).deadline(Duration::from_secs(3));
        becalm(TIMES, policy.when_spent(WhenSpent::Wait))
    }),
];

const ONCE_BY: [Make; 3] = [
    || Client::Reqwest(over_reqwest::bare(PATIENT)),
    || becalm(PATIENT, policy(PATIENT)),
    || becalm(PATIENT, policy(PATIENT).budget(Budget::None)),
];

fn policy(times: Times) -> Policy {
    Policy::exponential(times.base).cap(times.cap)
}

fn becalm(times: Times, policy: Policy) -> Client {
    let retrier = policy.retrier().expect("a valid policy");
    Client::BecalmReqwest(over_reqwest::becalm_by(times, &retrier))
}

/// The share of the calls that succeed, how many of them there are in a second, and the attempts for each call.
async fn callers(client: Client, waits: bool) -> (f64, f64, f64) {
    let away = Away::start(OFTEN);
    let url = format!("http://shop.test:{}/", away.address.port());
    let client = Rc::new(client);
    let end = Instant::now() + FOR;
    let mut callers = JoinSet::new();
    for number in 0..CALLERS {
        let (client, url) = (client.clone(), url.clone());
        callers.spawn_local(async move {
            sleep(PAUSE * number / CALLERS).await;
            caller(client, url, end, waits).await
        });
    }
    let ended = callers.join_all().await.concat();
    #[expect(clippy::cast_precision_loss, reason = "some thousands")]
    let [calls, succeeded, attempts] = [
        ended.len() as f64,
        ended.iter().filter(|is_success| **is_success).count() as f64,
        away.attempts() as f64,
    ];
    (
        100.0 * succeeded / calls,
        succeeded / FOR.as_secs_f64(),
        attempts / calls,
    )
}

/// Whether each call succeeded.
async fn caller(client: Rc<Client>, url: String, end: Instant, waits: bool) -> Vec<bool> {
    let (mut calls, mut ended) = (JoinSet::new(), Vec::new());
    while Instant::now() < end {
        let (client, url) = (client.clone(), url.clone());
        calls.spawn_local(async move { succeeds(&client, &url).await });
        if waits {
            ended.extend(calls.join_next().await.map(|call| call.expect("it ends")));
        }
        sleep(PAUSE).await;
    }
    ended.extend(calls.join_all().await);
    ended
}

async fn succeeds(client: &Client, url: &str) -> bool {
    let answer = client.call(Method::GET, url, None).await;
    answer.is_some_and(|status| status.is_success())
}

/// The share that fails of the calls that begin while the service is away; they begin one by one, however the
/// earlier ones end.
async fn failed(client: Client, course: Course) -> f64 {
    let away = Away::start(course);
    let url = format!("http://shop.test:{}/", away.address.port());
    let client = Rc::new(client);
    let end = Instant::now() + length(course) * TURNS;
    let mut ticks = interval(CALLS_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut calls = JoinSet::new();
    while Instant::now() < end {
        ticks.tick().await;
        let is_away = away.at(Instant::now()) != Part::Serves;
        let (client, url) = (client.clone(), url.clone());
        calls.spawn_local(async move { (is_away, succeeds(&client, &url).await) });
    }
    let begun_away = calls
        .join_all()
        .await
        .into_iter()
        .filter(|(is_away, _)| *is_away);
    let (succeeded, failed): (Vec<_>, Vec<_>) = begun_away.partition(|(_, is_success)| *is_success);
    #[expect(clippy::cast_precision_loss, reason = "some hundreds")]
    let [succeeded, failed] = [succeeded, failed].map(|calls| calls.len() as f64);
    100.0 * failed / (succeeded + failed)
}
