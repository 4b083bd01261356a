//! Is the front of a set what no other beats?

use becalm::rng::Random;
use becalm_sim::engine::Stream;
use becalm_sim::tune::{Objectives, front, ranks};

/// Few different values, so that there are ties and doubles.
fn sample(count: usize, random: &mut Stream) -> Vec<Objectives> {
    let mut value = || f64::from(u8::try_from(random.next_u64() % 5).unwrap());
    (0..count)
        .map(|_| Objectives::new(value(), value(), value(), value()))
        .collect()
}

/// By the definition: no other is nowhere worse and somewhere better.
fn by_hand(all: &[Objectives]) -> Vec<usize> {
    let values = |it: &Objectives| [it.lost, it.load, it.failed, it.latency];
    (0..all.len())
        .filter(|one| {
            let one = values(&all[*one]);
            !all.iter().any(|other| {
                let other = values(other);
                (0..4).all(|at| other[at] <= one[at]) && (0..4).any(|at| other[at] < one[at])
            })
        })
        .collect()
}

#[test]
fn the_front_is_that_of_brute_force() {
    let mut random = Stream::of(5, 1);
    for round in 0..300 {
        let all = sample(round % 40, &mut random);
        assert_eq!(front(&all), by_hand(&all));
    }
}

#[test]
fn ranks_peel_one_front_after_the_other() {
    let mut random = Stream::of(5, 2);
    for round in 0..100 {
        let all = sample(round % 30, &mut random);
        let ranks = ranks(&all);
        let mut left: Vec<usize> = (0..all.len()).collect();
        let mut rank = 0;
        while !left.is_empty() {
            let objectives: Vec<Objectives> = left.iter().map(|it| all[*it]).collect();
            let peeled: Vec<usize> = by_hand(&objectives).iter().map(|it| left[*it]).collect();
            for place in &peeled {
                assert_eq!(ranks[*place], rank);
            }
            left.retain(|it| !peeled.contains(it));
            rank += 1;
        }
    }
}

#[test]
fn what_differs_by_less_than_matters_is_the_same() {
    let one = Objectives::new(0.0, 1.101, 0.0201, 250.0);
    let other = Objectives::new(0.0, 1.099, 0.0199, 251.0);
    assert_eq!(one.rounded(), other.rounded());
    let worse = Objectives::new(0.0, 1.101, 0.0201, 260.0);
    assert!(one.rounded().beats(&worse.rounded()));
    let never = Objectives::new(0.0, 1.0, 1.0, f64::INFINITY);
    assert!(never.rounded().latency.is_infinite());
}
