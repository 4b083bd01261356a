//! How much memory does a run of a million clients take, each with a budget of its own?

mod worlds;

use becalm_sim::scenario::{Arrivals, Downstream, Population, Scenario, Service, Sharing};
use becalm_sim::world::run;
use worlds::{attempts, constant, ms};

/// A client that has never failed is a word: no state of a hundred words.
#[test]
#[cfg(target_os = "linux")]
fn s3_a_million_clients_behind_three_tiers_take_little_memory() {
    let policy = || attempts(3, ms(100)).budget(becalm::Budget::ratio(0.1));
    let tier = |name: &str| Service::new(name, Service::UNLIMITED, constant(5));
    let calls = |name: &str, below: &str| tier(name).calls(Downstream::new(below, policy()));
    let clients = Population::new("clients", "front", Arrivals::Poisson(5_000.0), policy())
        .clients(1_000_000)
        .sharing(Sharing::PerClient);
    let scenario = Scenario::new("tiers", ms(1_000))
        .service(tier("back"))
        .service(calls("middle", "back"))
        .service(calls("front", "middle"))
        .population(clients);
    let before = peak();
    let recording = run(&scenario, 1);
    assert!(recording.events > 10_000, "{}", recording.events);
    let took = peak() - before;
    assert!(took < 60_000, "{took} KiB");
}

/// The most memory that this process had, in KiB.
#[cfg(target_os = "linux")]
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells it");
    let line = status.lines().find_map(|it| it.strip_prefix("VmHWM:"));
    let words = line.and_then(|it| it.split_whitespace().next());
    words.and_then(|it| it.parse().ok()).expect("a number")
}
