//! Is a herd that is followed client by client the same as one that is run event by event?

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use becalm::lone::{Lone, Position};
use becalm::{Budget, Failure, Jitter, Policy, call::Decision, time::Instant};
use becalm_sim::engine::Stream;
use becalm_sim::herd::{Formula, Herd, Reconnects, run};
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

fn any_jitter() -> impl Strategy<Value = Jitter> {
    prop_oneof![
        Just(Jitter::None),
        Just(Jitter::Full),
        Just(Jitter::Equal),
        Just(Jitter::Decorrelated),
        Just(Jitter::Additive(Duration::from_millis(300))),
    ]
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
        jitter in any_jitter(), attempts in prop_oneof![Just(Policy::UNLIMITED), 1..8_u32],
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
