//! 600 messages at 100 a second, 20 of them poison, 3 consumers, 6 s without the dependency.

use std::time::Duration;

use becalm::{Breaker, Jitter, Policy};
use becalm_fleet::consumer::Consume;

use crate::world::{History, Message, World};

const OUTAGE: std::ops::Range<u64> = 1_000..7_000;

fn queue(seed: u64) -> World {
    let policy = Policy::exponential(Duration::from_millis(200))
        .jitter(Jitter::Equal)
        .attempts(5)
        .deadline(Duration::from_secs(40));
    let message = |number: u64| Message {
        published: number * 10,
        is_poison: number % 30 == 17,
        key: None,
    };
    World {
        consume: Consume::new(policy),
        is_ladder: false,
        consumers: 3,
        concurrency: 1,
        handling: 3,
        outages: vec![OUTAGE],
        messages: (0..600).map(message).collect(),
        until: 120_000,
        seed,
    }
}

#[derive(Debug)]
struct Figures {
    good_handled: usize,
    poison_dead: usize,
    deliveries_of_good: usize,
    most_in_a_second: usize,
    last_handled: u64,
}

fn figures(world: &World) -> Figures {
    let histories = world.run();
    let both = || histories.iter().zip(&world.messages);
    let of = |is_poison| {
        both()
            .filter(move |it| it.1.is_poison == is_poison)
            .map(|it| it.0)
    };
    let deliveries = |it: &History| it.deliveries.clone();
    let all: Vec<u64> = histories.iter().flat_map(deliveries).collect();
    let within = |from: u64| {
        all.iter()
            .filter(|it| (from..from + 1_000).contains(*it))
            .count()
    };
    Figures {
        good_handled: of(false).filter(|it| it.is_handled()).count(),
        poison_dead: of(true).filter(|it| it.is_dead()).count(),
        deliveries_of_good: of(false).map(|it| it.deliveries.len()).sum(),
        last_handled: of(false)
            .filter_map(|it| it.ended)
            .map(|it| it.0)
            .max()
            .unwrap_or(0),
        // The handlers that begin shortly before it fail in it.
        most_in_a_second: (OUTAGE.start..OUTAGE.end - 1_000)
            .map(within)
            .max()
            .unwrap_or(0),
    }
}

#[test]
fn every_good_message_is_handled_and_every_poisoned_one_is_dead() {
    for seed in 0..5 {
        let figures = figures(&queue(seed));
        println!("{figures:?}");
        assert!(figures.last_handled < 20_000, "{figures:?}");
        assert_eq!((figures.good_handled, figures.poison_dead), (580, 20));
        assert!(
            figures.deliveries_of_good * 10 <= 580 * 11,
            "{}",
            figures.deliveries_of_good
        );
        assert!(
            figures.most_in_a_second <= 15,
            "{}",
            figures.most_in_a_second
        );
    }
}

/// The witness that the world can lose messages.
#[test]
fn what_counts_attempts_for_each_message_alone_loses_good_ones() {
    let mut ladder = queue(0);
    ladder.is_ladder = true;
    ladder.consume.pause = Breaker::consecutive(1_000_000);
    let figures = figures(&ladder);
    assert!(figures.good_handled < 400, "{}", figures.good_handled);
    assert!(
        figures.most_in_a_second > 200,
        "{}",
        figures.most_in_a_second
    );
}
