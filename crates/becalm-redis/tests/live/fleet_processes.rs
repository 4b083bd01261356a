//! Do fifty live instances in five processes retry what the simulator says of them?

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use becalm::budget::RetryBudget;
use becalm::call::Decision;
use becalm::rng::{Random, SplitMix64};
use becalm::support::{Lone, Position};
use becalm::time::Instant;
use becalm::{Failure, Policy};
use becalm_fleet::budget::FleetBudget;
use becalm_redis::{Connection, FleetBucket};
use becalm_sim::leases::{Budgeting, Processes, run};
use tokio::task::JoinSet;

use crate::server::Server;

const CHILDREN: u32 = 5;
const INSTANCES: u32 = 50;
/// Of one child: the address, its number, when it begins, and what fails.
const MEMBER: &str = "BECALM_FLEET_MEMBER";

/// A tenth fails at 60 %, or everything.
fn fleet(failing: f64, failures: f64) -> Processes {
    let mut fleet = Processes::of(INSTANCES, 1000.0);
    (fleet.failing, fleet.failures) = (failing, failures);
    fleet.horizon = Duration::from_secs(25);
    fleet
}

fn lone() -> Lone {
    let policy = Policy::exponential(Duration::from_millis(100));
    Lone::new(policy, Duration::ZERO).expect("a valid policy")
}

#[tokio::test]
#[ignore = "a minute: scripts/prove fleet"]
async fn in_full_fifty_instances_agree_with_the_simulation() {
    for (what, failing, failures) in [("a tenth", 0.1, 0.6), ("everything", 1.0, 1.0)] {
        let server = Server::started(&["--appendonly", "no"]);
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let begins = now.expect("after 1970").as_millis() + 2000;
        let children: Vec<_> = (0..CHILDREN)
            .map(|child| {
                let url = server.url();
                let told = format!("{url} {child} {begins} {failing} {failures}");
                Command::new(std::env::current_exe().expect("this program"))
                    .args([
                        "--exact",
                        "fleet_processes::member",
                        "--ignored",
                        "--nocapture",
                    ])
                    .env(MEMBER, told)
                    .stdout(Stdio::piped())
                    .spawn()
                    .expect("it runs")
            })
            .collect();
        let mut live = 0.0;
        for child in children {
            let output = child.wait_with_output().expect("it ends");
            let told = String::from_utf8(output.stdout).expect("text");
            let granted = told.lines().find_map(|line| line.strip_prefix("granted "));
            live += granted.expect("it tells").parse::<f64>().expect("a number");
        }
        let fleet = fleet(failing, failures);
        let runs = [1, 2, 3, 4, 5].map(|seed| {
            let record = run(&fleet, Budgeting::Fleet, &lone(), seed);
            record
                .expect("a valid fleet")
                .granted_between(Duration::ZERO, fleet.horizon)
        });
        let simulated = runs.iter().sum::<f64>() / 5.0;
        println!("{what} fails: {live} retries, {simulated} by the simulation ({runs:?})");
        assert!((live / simulated - 1.0).abs() < 0.15, "{what}");
    }
}

/// One of the five processes.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
#[ignore = "a part of another test"]
async fn member() {
    let Ok(told) = std::env::var(MEMBER) else {
        return;
    };
    let words: Vec<&str> = told.split(' ').collect();
    let [url, child, begins, failing, failures] = words[..] else {
        panic!("{told}");
    };
    let child: u32 = child.parse().expect("a number");
    let number = |word: &str| word.parse::<f64>().expect("a number");
    let fleet = fleet(number(failing), number(failures));
    let begins = Duration::from_millis(begins.parse().expect("a time"));
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    tokio::time::sleep(begins.saturating_sub(now.expect("after 1970"))).await;
    let mut instances = JoinSet::new();
    for index in (0..INSTANCES).filter(|index| index % CHILDREN == child) {
        instances.spawn(instance(url.to_owned(), fleet.clone(), index));
    }
    let granted: u64 = instances.join_all().await.into_iter().sum();
    println!("\ngranted {granted}");
}

/// Calls as the simulator's, in the time of this machine; how many retries were granted.
async fn instance(url: String, fleet: Processes, index: u32) -> u64 {
    let redis = Connection::open(&url).expect("an address");
    let budget = Arc::new(FleetBudget::new(fleet.fleet).expect("a valid fleet"));
    tokio::spawn(budget.keep(FleetBucket::new(&redis, "orders")));
    let lone = lone();
    let mut random = SplitMix64::new(u64::from(index) + 77);
    let share = fleet.shares()[index as usize];
    let began = std::time::Instant::now();
    let (mut next, mut granted) = (0.0, 0);
    // When each is due, in seconds.
    let mut retries: Vec<(f64, Position)> = Vec::new();
    while began.elapsed() < fleet.horizon {
        let now = began.elapsed().as_secs_f64();
        let mut due = Vec::new();
        while next <= now {
            due.push(Position::FIRST_TRY);
            next += -unit(&mut random).ln() / (fleet.load * share);
        }
        retries.retain(|(at, position)| {
            if *at <= now {
                due.push(*position);
            }
            *at > now
        });
        let is_failing = fleet.is_failing(index) && now >= fleet.fails_from.as_secs_f64();
        for mut position in due {
            if !(is_failing && unit(&mut random) <= fleet.failures) {
                budget.deposit(Instant::ZERO);
                continue;
            }
            let failure = Failure::transient();
            let (zero, never) = (Instant::ZERO, Instant::NEVER);
            let decision = lone.on_failure(&mut position, zero, never, &failure, &mut random);
            if let Decision::RetryIn(delay) = decision
                && budget.withdraw(zero, &failure).is_some()
            {
                granted += 1;
                retries.push((now + delay.as_secs_f64(), position));
            }
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    granted
}

/// A number in (0, 1].
fn unit(random: &mut SplitMix64) -> f64 {
    let high = u32::try_from(random.next_u64() >> 32).unwrap_or(u32::MAX);
    (f64::from(high) + 1.0) / 4_294_967_296.0
}
