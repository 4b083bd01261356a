//! Does Redis keep the budget of a fleet by the rule, whatever happens to it?

use std::sync::Arc;
use std::time::Duration;

use becalm::budget::{Burst, RetryBudget};
use becalm::rng::{Random, SplitMix64};
use becalm::time::Instant;
use becalm::{Budget, Failure};
use becalm_fleet::budget::{Alone, Bucket, Exchange, Exchanges, Fleet, FleetBudget, Step, Store};
use becalm_redis::{Connection, FleetBucket};
use redis::{Commands, RedisResult, cmd};
use tokio::time::{sleep, timeout};

use crate::proxy::Proxy;
use crate::server::Server;

/// A process without time and IO: its exchanges say what the test wants them to.
struct Process {
    budget: FleetBudget,
    exchanges: Exchanges,
    now: Instant,
}

impl Process {
    fn new(fleet: Fleet, random: u64) -> Self {
        let budget = FleetBudget::new(fleet).expect("a valid fleet");
        let exchanges = budget.exchanges(SplitMix64::new(random), Instant::ZERO);
        Self {
            budget,
            exchanges,
            now: Instant::ZERO,
        }
    }

    /// Its next exchange, with so many calls that succeeded and retries that were wanted. The last is lost if it is out.
    fn next(&mut self, earned: u64, wanted: u64) -> Exchange {
        for _ in 0..earned {
            self.budget.deposit(self.now);
        }
        for _ in 0..wanted {
            let _ = self.budget.withdraw(self.now, &Failure::transient());
        }
        loop {
            match self.exchanges.poll(&self.budget, self.now) {
                Step::Send(exchange) => return exchange,
                Step::WaitUntil(at) => self.now = at,
                _ => unreachable!("there are two steps"),
            }
        }
    }
}

fn quick(burst: f64) -> Fleet {
    let budget = Budget::ratio(0.1).burst(burst).floor_per_second(0.0);
    Fleet::new(budget)
        .period(Duration::from_millis(100))
        .gap(Duration::from_millis(70))
        .lease(Duration::from_millis(300))
}

#[tokio::test]
async fn the_script_grants_what_the_pure_function_grants_in_a_thousand_sequences() {
    let server = Server::started(&["--appendonly", "no"]);
    let redis = Connection::open(&server.url()).expect("an address");
    let mut random = SplitMix64::new(17);
    let mut below = move |bound: u64| random.next_u64() % bound;
    let mut granted = 0;
    for sequence in 0..1000 {
        let [ratio, burst, floor, part] = [1, 1000, 100, 1].map(|most| {
            #[expect(clippy::cast_precision_loss)]
            let share = (below(1 << 20) + 1) as f64 / f64::from(1 << 20);
            share * f64::from(most)
        });
        // In time, so short that the store looks at every few exchanges.
        let burst = match sequence % 2 {
            0 => Burst::Tokens(burst.max(1.0)),
            _ => Burst::Earned {
                span: Duration::from_micros(below(1000) + 1),
                min: burst.max(1.0),
            },
        };
        let budget = Budget::ratio(ratio).burst(burst).floor_per_second(floor);
        let fleet = Fleet::new(budget).part(part);
        let store = FleetBucket::new(&redis, &format!("sequence {sequence}"));
        let mut bucket = Bucket::default();
        let own = Fleet::new(Budget::ratio(ratio));
        let mut processes = [0, 1, 2].map(|it| Process::new(own, sequence * 3 + it));
        let mut sent: Vec<Exchange> = Vec::new();
        for _ in 0..8 {
            let exchange = if !sent.is_empty() && below(3) == 0 {
                // Again, the last or an earlier one.
                sent[usize::try_from(below(sent.len() as u64)).expect("few")]
            } else {
                let process = &mut processes[usize::try_from(below(3)).expect("few")];
                process.next(below(300), below(300))
            };
            let got = store.exchange(&fleet, &exchange).await.expect("an answer");
            let expected = bucket.exchange(&fleet, got.at, &exchange);
            assert_eq!(
                got, expected,
                "sequence {sequence}: {exchange:?} of {fleet:?}"
            );
            sent.push(exchange);
            granted += u64::from(got.granted);
        }
    }
    assert!(granted > 100_000, "{granted}");
}

#[tokio::test]
async fn an_emptied_server_begins_with_a_tenth_and_without_the_script() {
    let server = Server::started(&[]);
    let redis = Connection::open(&server.url()).expect("an address");
    let fleet = quick(200.0);
    let store = FleetBucket::new(&redis, "orders");
    let mut process = Process::new(fleet, 1);
    let first = process.next(5000, 400);
    let answer = store.exchange(&fleet, &first).await.expect("an answer");
    assert_eq!((answer.granted, answer.instances), (100, 1));
    let () = cmd("FLUSHALL").exec(&mut server.plain()).expect("flushed");
    let () = cmd("SCRIPT")
        .arg("FLUSH")
        .exec(&mut server.plain())
        .expect("flushed");
    let second = process.next(0, 400);
    let answer = store.exchange(&fleet, &second).await.expect("an answer");
    assert_eq!(
        (answer.granted, answer.instances),
        (10, 1),
        "half of a tenth"
    );
    let ends = server
        .plain()
        .pttl::<_, i64>("becalm:{fleet:orders}:bucket")
        .expect("a time");
    assert!(ends > 3_000_000, "{ends}");
}

#[tokio::test]
async fn an_exchange_whose_answer_was_lost_is_sent_again_and_counted_once() {
    let server = Server::started(&[]);
    let proxy = Proxy::to(server.port()).await;
    let redis = Connection::open(&proxy.url()).expect("an address");
    let fleet = quick(1000.0);
    let store = Arc::new(FleetBucket::new(&redis, "orders"));
    let mut process = Process::new(fleet, 1);
    let first = process.next(0, 0);
    let _ = store.exchange(&fleet, &first).await.expect("an answer");
    let before = tokens(&server).expect("a bucket");
    proxy.swallow();
    let second = process.next(1000, 25);
    let sending = tokio::spawn({
        let store = Arc::clone(&store);
        async move { store.exchange(&fleet, &second).await }
    });
    // It has been counted, and the answer swallowed.
    while tokens(&server).expect("a bucket").to_bits() == before.to_bits() {
        sleep(Duration::from_millis(2)).await;
    }
    proxy.cut();
    let answer = sending.await.expect("no panic").expect("an answer");
    assert!(proxy.connects() > 1, "it was sent again");
    assert!(answer.granted > 0 && answer.granted == second.ask);
    let after = tokens(&server).expect("a bucket");
    let expected = before + 100.0 - f64::from(answer.granted);
    assert!((after - expected).abs() < 1e-9, "{after} {expected}");
}

#[tokio::test]
async fn the_keys_of_a_bucket_lie_in_one_slot_whatever_its_name() {
    let server = Server::with_all_slots("5000");
    let redis = Connection::open(&server.url()).expect("an address");
    let fleet = quick(100.0);
    for name in ["orders", "", "}", "a}b", "{"] {
        let first = Process::new(fleet, 1).next(0, 0);
        let answer = FleetBucket::new(&redis, name)
            .exchange(&fleet, &first)
            .await;
        assert_eq!(answer.expect(name).instances, 1, "{name}");
    }
}

fn tokens(server: &Server) -> RedisResult<f64> {
    server
        .plain()
        .hget("becalm:{fleet:orders}:bucket", "tokens")
}

/// Waits until it is so, for at most half a minute.
async fn until(what: &str, is_so: impl Fn() -> bool) {
    let waiting = async {
        while !is_so() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(30), waiting).await.expect(what);
}

#[tokio::test]
async fn a_server_that_is_killed_leaves_each_its_own_share_and_comes_back_as_one_budget() {
    let mut server = Server::started(&[]);
    let redis = Connection::open(&server.url()).expect("an address");
    let budget = Arc::new(FleetBudget::new(quick(100.0)).expect("a valid fleet"));
    let keeping = tokio::spawn(budget.keep(FleetBucket::new(&redis, "orders")));
    let retry = || {
        budget
            .withdraw(Instant::ZERO, &Failure::transient())
            .is_some()
    };
    until("it is heard of", || budget.gauges().answered > 0).await;
    for _ in 0..2000 {
        budget.deposit(Instant::ZERO);
    }
    assert!(retry() && !retry(), "its one token");
    until("more is leased", || budget.gauges().held >= 1.0).await;
    server.kill();
    until("it is alone", || budget.gauges().alone == Some(Alone::Safe)).await;
    while retry() {}
    for _ in 0..2 {
        (0..10).for_each(|_| budget.deposit(Instant::ZERO));
        assert!(retry() && !retry(), "a tenth of its own");
    }
    server.start();
    until("it leases again", || budget.gauges().alone.is_none()).await;
    assert!(budget.gauges().lost > 0);
    until("it wants more", || retry() || budget.gauges().held >= 1.0).await;
    // The task ends with the last who holds the budget.
    drop(budget);
    timeout(Duration::from_secs(10), keeping)
        .await
        .expect("it ends")
        .expect("no panic");
}

#[tokio::test]
async fn a_slow_store_delays_no_retry() {
    let server = Server::started(&[]);
    let redis = Connection::open(&server.url()).expect("an address");
    let fleet = quick(100.0).lease(Duration::from_secs(10));
    let budget = Arc::new(FleetBudget::new(fleet).expect("a valid fleet"));
    let _keeping = tokio::spawn(budget.keep(FleetBucket::new(&redis, "orders")));
    until("it is heard of", || budget.gauges().answered > 0).await;
    let () = cmd("CLIENT")
        .arg("PAUSE")
        .arg(400)
        .exec(&mut server.plain())
        .expect("it pauses");
    let before = budget.gauges();
    let failure = Failure::transient();
    let asked = (0..1000).filter(|_| budget.withdraw(Instant::ZERO, &failure).is_some());
    assert_eq!(asked.count(), 1, "at once: nothing here could wait");
    assert_eq!(budget.gauges().alone, None, "{before:?}");
    let answered = before.answered;
    until("the store is back", || budget.gauges().answered > answered).await;
}

/// A process of a small fleet.
struct Member {
    budget: Arc<FleetBudget>,
    _redis: Connection,
}

#[tokio::test]
async fn all_of_a_fleet_make_no_more_retries_than_its_law_when_everything_fails() {
    const MEMBERS: u32 = 8;
    let server = Server::started(&["--appendonly", "no"]);
    let fleet = quick(40.0);
    let members: Vec<Member> = (0..MEMBERS)
        .map(|_| {
            let redis = Connection::open(&server.url()).expect("an address");
            let budget = Arc::new(FleetBudget::new(fleet).expect("a valid fleet"));
            drop(tokio::spawn(
                budget.keep(FleetBucket::new(&redis, "orders")),
            ));
            Member {
                budget,
                _redis: redis,
            }
        })
        .collect();
    let is_known = |it: &Member| it.budget.gauges().instances == Some(MEMBERS);
    until("all know each other", || members.iter().all(is_known)).await;
    let succeed = |times: u32| {
        for member in &members {
            for _ in 0..times {
                member.budget.deposit(Instant::ZERO);
            }
        }
    };
    succeed(100); // 80 tokens
    // All of it has been reported: nothing is earned between two exchanges.
    let answered = || members.iter().map(|it| it.budget.gauges().answered);
    let before: Vec<u64> = answered().collect();
    until("all is reported", || {
        answered()
            .zip(&before)
            .all(|(now, before)| now > before + 1)
    })
    .await;
    assert_eq!(tokens(&server), Ok(40.0));
    let failure = Failure::transient();
    let retries = || {
        let granted = |it: &&Member| it.budget.withdraw(Instant::ZERO, &failure).is_some();
        u32::try_from(members.iter().filter(granted).count()).expect("few")
    };
    let mut all = 0;
    // Until nobody has got anything for ten periods.
    let mut quiet = 0;
    while quiet < 100 {
        let granted = retries();
        quiet = if granted > 0 { 0 } else { quiet + 1 };
        all += granted;
        sleep(Duration::from_millis(10)).await;
    }
    let most = 40 + MEMBERS;
    assert!((most - 2..=most).contains(&all), "{all} of {most}");
}
