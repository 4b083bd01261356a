//! Are the ends of a stream's numbers where they are said to be, and does nobody share a stream?
//!
//! Chance meets an end once in 2^53 draws: here a stream is made that begins with it.

use becalm::rng::{Random as _, SplitMix64};
use becalm_sim::engine::Stream;

const SEED: u64 = 3;

/// What `SplitMix64` adds to its state at each draw.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The stream whose first draw is this: `SplitMix64` maps its state to its draws one to one.
fn beginning_with(draw: u64) -> Stream {
    let start = SplitMix64::new(SEED).next_u64();
    let entity = state_before(state_before(draw)).wrapping_sub(start);
    let random = Stream::of(SEED, entity);
    assert_eq!(random.clone().next_u64(), draw);
    random
}

/// The state from which `SplitMix64` draws this.
fn state_before(draw: u64) -> u64 {
    let z = unshift(draw, 31).wrapping_mul(inverse(0x94d0_49bb_1331_11eb));
    let z = unshift(z, 27).wrapping_mul(inverse(0xbf58_476d_1ce4_e5b9));
    unshift(z, 30).wrapping_sub(STEP)
}

/// What gives this when it is combined with itself, shifted right by so many bits.
fn unshift(mixed: u64, bits: u32) -> u64 {
    let mut z = mixed;
    for _ in 0..64 / bits {
        z = mixed ^ (z >> bits);
    }
    z
}

/// Of an odd number modulo 2^64: each step of Newton's doubles the bits that are right, from three.
fn inverse(odd: u64) -> u64 {
    (0..5).fold(odd, |x, _| {
        x.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(x)))
    })
}

#[test]
fn the_lowest_draw_is_above_zero_and_no_chance_at_all() {
    let lowest = || beginning_with(0);
    // A step of 2^-53.
    assert_eq!(lowest().unit().to_bits(), (f64::EPSILON / 2.0).to_bits());
    assert!(!lowest().chance(0.0));
    let at_zero = lowest().exponential();
    assert!(at_zero > 0.0 && at_zero < 1e-14, "{at_zero}");
    assert_eq!(lowest().below(1000), 0);
}

#[test]
fn the_highest_draw_is_one_and_within_certainty() {
    let highest = || beginning_with(u64::MAX);
    assert_eq!(highest().unit().to_bits(), 1.0_f64.to_bits());
    assert!(highest().chance(1.0));
    for bound in [1, 2, 1000, u64::MAX] {
        assert_eq!(highest().below(bound), bound - 1);
    }
    assert_eq!(highest().below(0), 0);
}

#[test]
fn no_entity_repeats_what_another_draws() {
    let draws = |entity| {
        let mut random = Stream::of(SEED, entity);
        (0..20).map(move |_| random.next_u64())
    };
    let mut all: Vec<u64> = (0..1000).flat_map(draws).collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 20_000);
}

/// The lowest layer of a ziggurat has the lowest eight bits 0, and ends in the tail.
#[test]
fn a_draw_at_the_end_of_the_lowest_layer_is_in_the_tail() {
    let end = u64::MAX << 8;
    let tail = beginning_with(end).exponential();
    assert!((7.69..45.0).contains(&tail), "{tail}");
    let [low, high] = [1 << 63, end >> 1 & end].map(|draw| beginning_with(draw).normal());
    assert!((-9.0..-3.65).contains(&low), "{low}");
    assert!((3.65..9.0).contains(&high), "{high}");
}

#[test]
fn a_normal_number_is_finite_at_every_draw_in_a_long_row() {
    let mut random = Stream::of(SEED, 1);
    // The largest of 100 000 is 4.4 on average, and above 7 once in ten million such rows.
    let most = (0..100_000)
        .map(|_| random.normal().abs())
        .fold(0.0, f64::max);
    assert!((3.5..7.0).contains(&most), "{most}");
}
