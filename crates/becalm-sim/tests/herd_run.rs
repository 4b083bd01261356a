//! Is a herd that is followed client by client the same as one that is run event by event?

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use becalm::reconnect::{Next, Reconnect, Reconnector};
use becalm::support::{Lone, Position};
use becalm::{Budget, Failure, Jitter, Policy, call::Decision, time::Instant};
use becalm_sim::engine::Stream;
use becalm_sim::herd::{Formula, Herd, Reconnects, run};
use becalm_sim::oracle::herd as oracle;
use proptest::prelude::*;

const SECOND: u64 = 1_000_000_000;

/// What the plainest simulation counts.
#[derive(Debug, Default, PartialEq)]
struct Plain {
    attempts: Vec<u32>,
    connected: Vec<u32>,
    gave_up: u64,
    waiting: u64,
    last: u64,
}

/// Every attempt in order of time, one heap, nothing clever.
fn plainly(herd: &Herd, lone: &Lone, seed: u64) -> Plain {
    let nanos = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap();
    let mut plain = Plain::default();
    let mut heap = BinaryHeap::new();
    let mut clients = Vec::new();
    for index in 0..herd.clients as usize {
        let mut random = Stream::of(seed, index as u64);
        let spread = nanos(herd.spread);
        let lost = if spread == 0 { 0 } else { random.below(spread) };
        clients.push((random, Position::FIRST_TRY, lost));
        heap.push(Reverse((lost, true, index)));
    }
    let mut tokens_until = 0;
    while let Some(Reverse((at, is_loss, index))) = heap.pop() {
        if at >= nanos(herd.horizon) {
            plain.waiting += 1;
            continue;
        }
        let (random, position, lost) = &mut clients[index];
        if !is_loss {
            let bucket = usize::try_from(at / nanos(herd.bucket)).unwrap();
            plain
                .attempts
                .resize(plain.attempts.len().max(bucket + 1), 0);
            plain.connected.resize(plain.attempts.len(), 0);
            plain.attempts[bucket] += 1;
            let is_in = at >= nanos(herd.outage)
                && herd.accepts_per_second.is_none_or(|rate| {
                    let each = SECOND / rate;
                    let used: u64 = tokens_until;
                    let fits = used.max(at) + each <= at + (SECOND / 10).max(each);
                    if fits {
                        tokens_until = used.max(at) + each;
                    }
                    fits
                });
            if is_in {
                plain.connected[bucket] += 1;
                plain.last = at;
                continue;
            }
        }
        let deadline = lone.deadline(Instant::from_nanos(*lost));
        let now = Instant::from_nanos(at);
        match lone.on_failure(position, now, deadline, &Failure::transient(), random) {
            Decision::RetryIn(wait) => heap.push(Reverse((at + nanos(wait), false, index))),
            _ => plain.gave_up += 1,
        }
    }
    plain
}

fn seen(record: &Reconnects) -> Plain {
    Plain {
        attempts: record.attempts.clone(),
        connected: record.connected.clone(),
        gave_up: record.gave_up,
        waiting: record.waiting,
        last: record.last,
    }
}

fn millis(range: std::ops::Range<u64>) -> impl Strategy<Value = Duration> {
    range.prop_map(Duration::from_millis)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn following_each_client_alone_changes_nothing(
        clients in 1..60_u32, outage in millis(0..9000), spread in millis(0..3000),
        accepts in proptest::option::of(1..200_u64), horizon in millis(1..30_000),
        jitter in prop::sample::select(Jitter::SAMPLES), attempts in prop_oneof![Just(Policy::UNLIMITED), 1..8_u32],
        deadline in proptest::option::of(millis(1..20_000)), seed: u64,
    ) {
        let mut policy = Policy::exponential(Duration::from_millis(400))
            .cap(Duration::from_secs(3))
            .jitter(jitter)
            .attempts(attempts)
            .budget(Budget::None);
        policy.deadline = deadline;
        let lone = Lone::new(policy, Duration::ZERO).expect("a valid policy");
        let mut herd = Herd::of(clients);
        (herd.outage, herd.spread, herd.horizon) = (outage, spread, horizon);
        herd.accepts_per_second = accepts;
        let record = run(&herd, &lone, seed).expect("a valid herd");
        prop_assert_eq!(seen(&record), plainly(&herd, &lone, seed));

        let attempts = u64::from(record.attempts.iter().sum::<u32>());
        prop_assert_eq!((record.events, record.attempts()), (attempts, attempts));
        let back = record.downtime.len();
        prop_assert_eq!(back, u64::from(record.connected.iter().sum::<u32>()));
        prop_assert_eq!(back + record.gave_up + record.waiting, u64::from(clients));
        prop_assert_eq!(record.after_outage.len(), back);
        prop_assert!(!record.is_cut_short);
    }
}

#[test]
fn the_door_lets_in_as_many_as_it_says() {
    let mut herd = Herd::of(3000);
    herd.outage = Duration::from_secs(5);
    herd.accepts_per_second = Some(100);
    let policy = Policy::fixed(Duration::from_secs(1))
        .attempts(Policy::UNLIMITED)
        .budget(Budget::None);
    let lone = Lone::new(policy, Duration::ZERO).expect("a valid policy");
    let record = run(&herd, &lone, 1).expect("a valid herd");
    // Never more than its tenth in advance and one for each 10 ms; and no fewer, while enough push.
    let (mut all, mut allowed) = (0, 10);
    for count in record.connected.iter().skip(50) {
        (all, allowed) = (all + count, allowed + 10);
        assert!(all <= allowed, "{all} in, {allowed} allowed");
        assert!(all + 10 >= allowed.min(2500), "{all} in, {allowed} allowed");
    }
    assert_eq!(all, 3000);
    assert!(record.connected.iter().take(50).all(|count| *count == 0));
}

#[test]
fn a_policy_without_a_delay_comes_to_an_end() {
    let policy = Policy::fixed(Duration::ZERO)
        .attempts(Policy::UNLIMITED)
        .budget(Budget::None);
    let lone = Lone::new(policy, Duration::ZERO).expect("a valid policy");
    for accepts in [None, Some(1)] {
        let mut herd = Herd::of(10);
        (herd.most_attempts, herd.accepts_per_second) = (1000, accepts);
        for outage in [Duration::from_secs(1), Duration::ZERO] {
            herd.outage = outage;
            let record = run(&herd, &lone, 1).expect("a valid herd");
            let is_endless = !outage.is_zero() || accepts.is_some();
            assert_eq!(record.is_cut_short, is_endless);
            assert!(record.events <= 1010, "{}", record.events);
        }
    }
}

#[test]
fn a_connection_that_outlives_the_run_is_not_given_up() {
    let mut herd = Herd::of(100);
    (herd.spread, herd.horizon) = (Duration::from_secs(10), Duration::from_secs(1));
    let lone = Lone::new(Policy::default().attempts(1), Duration::ZERO).unwrap();
    let record = run(&herd, &lone, 1).unwrap();
    assert!(record.gave_up > 0 && record.waiting > record.gave_up);
    assert_eq!(record.gave_up + record.waiting, 100);
}

#[test]
fn a_client_that_is_added_shifts_nobody_else() {
    let attempts = |clients| {
        let mut herd = Herd::of(clients);
        herd.outage = Duration::from_secs(20);
        let lone = Lone::new(Policy::default().attempts(9), Duration::ZERO).unwrap();
        run(&herd, &lone, 3).unwrap().attempts
    };
    let (few, more) = (attempts(50), attempts(51));
    let added: u32 = more.iter().sum::<u32>() - few.iter().sum::<u32>();
    assert_eq!(added, 8, "its own");
    assert!(few.iter().zip(&more).all(|(few, more)| few <= more));
}

#[test]
fn the_formula_of_others_loses_its_jitter_at_the_cap() {
    let mut random = Stream::of(1, 0);
    let formula = Formula::GOOGLE_CLOUD;
    for retry in 0..5 {
        let least = SECOND << retry;
        let delays: Vec<u64> = (0..100)
            .map(|_| formula.delay(retry, &mut random))
            .collect();
        assert!(
            delays
                .iter()
                .all(|delay| (least..=least + SECOND).contains(delay))
        );
        assert!(delays.windows(2).any(|pair| pair[0] != pair[1]));
    }
    for retry in [5, 6, 63, 64, 65, u32::MAX] {
        assert!((0..100).all(|_| formula.delay(retry, &mut random) == 32 * SECOND));
    }
}

/// When each of these dials in each 100 ms, and when it is back, if the server refuses for so long: the machine
/// that ships, one for each client.
fn machines(settings: &Reconnect, clients: u64, outage: Duration) -> (Vec<u32>, Vec<f64>) {
    let (mut dials, mut back) = (Vec::new(), Vec::new());
    let lost = Instant::ZERO.after(Duration::from_secs(100));
    let up = lost.after(outage);
    for client in 0..clients {
        let random = Stream::of(77, client);
        let mut machine = Reconnector::<(), _>::new(settings.clone(), random, Instant::ZERO)
            .expect("valid settings");
        let Next::Dial(first) = machine.next(Instant::ZERO) else {
            panic!("it waits for nothing")
        };
        assert!(machine.opened(first.id, Instant::ZERO));
        let mut now = lost;
        machine.failed(first.id, now, &Failure::transient());
        loop {
            match machine.next(now) {
                Next::Wait(until) => now = until,
                Next::Dial(dial) => {
                    let bucket = (now.since(lost).as_millis() / 100) as usize;
                    dials.resize(dials.len().max(bucket + 1), 0);
                    dials[bucket] += 1;
                    if now >= up {
                        back.push(now.since(up).as_secs_f64());
                        break;
                    }
                    machine.failed(dial.id, now, &Failure::transient().unsent());
                }
                other => panic!("{other:?}"),
            }
        }
    }
    back.sort_by(f64::total_cmp);
    (dials, back)
}

/// What is drawn is what is shown: the machine of real connections, the storm and the closed form agree.
#[test]
fn reconnectors_come_back_as_the_herd_and_pen_and_paper_say() {
    let (clients, outage) = (20_000_u32, Duration::from_secs(90));
    let settings = Reconnect::default();
    let (dials, back) = machines(&settings, clients.into(), outage);
    let mut herd = Herd::of(clients);
    herd.outage = outage;
    let lone = Lone::new(settings.policy, Duration::ZERO).expect("a valid policy");
    let record = run(&herd, &lone, 1).expect("a valid herd");

    let near = |got: f64, expected: f64, most: f64| {
        assert!(
            (got / expected - 1.0).abs() <= most,
            "{got}, not {expected}"
        );
    };
    let peak = f64::from(dials.iter().copied().max().unwrap());
    near(peak, f64::from(record.peak_from(Duration::ZERO).1), 0.2);
    // The fullest 100 ms are the last before the base.
    let share = oracle::full_jitter_before_base(1.0, 0.9, 1.0);
    near(peak, f64::from(clients) * share, 0.2);
    near(peak, f64::from(dials[9]), 0.2);
    // At the cap of 30 s, from a minute on, in each of many tenths of a second.
    let late = &dials[600..900];
    let late_peak = f64::from(late.iter().copied().max().unwrap());
    near(
        late_peak,
        f64::from(record.peak_from(Duration::from_secs(60)).1),
        0.2,
    );
    let mean = f64::from(late.iter().sum::<u32>()) / 300.0;
    near(
        mean,
        f64::from(clients) * oracle::steady_rate(15.0) / 10.0,
        0.05,
    );
    for (share, rank) in [(0.5, 10_000), (0.99, 19_800)] {
        let at = back[rank];
        near(at, oracle::reconnected_full(30.0, share), 0.05);
        let storm = record.after_outage.quantile(share).expect("all are back");
        near(at, Duration::from_nanos(storm).as_secs_f64(), 0.05);
    }
}
