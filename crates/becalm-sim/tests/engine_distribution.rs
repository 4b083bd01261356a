//! Do times have the distribution that was asked for, and the same bytes everywhere?

#![expect(clippy::cast_precision_loss)] // counts and nanoseconds of samples are far below 2^53

use std::time::Duration;

use becalm::rng::Random as _;
use becalm_sim::engine::{Distribution, Stream};

const DRAWS: usize = 100_000;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Sorted draws, in milliseconds.
fn sample(distribution: &Distribution) -> Vec<f64> {
    let mut random = Stream::of(11, 0);
    let mut draws: Vec<f64> = (0..DRAWS)
        .map(|_| distribution.draw(&mut random) as f64 / 1e6)
        .collect();
    draws.sort_by(f64::total_cmp);
    draws
}

fn mean(draws: &[f64]) -> f64 {
    draws.iter().sum::<f64>() / draws.len() as f64
}

fn deviation(draws: &[f64]) -> f64 {
    let mean = mean(draws);
    let squares = draws.iter().map(|draw| (draw - mean) * (draw - mean));
    (squares.sum::<f64>() / draws.len() as f64).sqrt()
}

/// The mean lies within four standard errors: a seed in 16 000 would fail.
fn assert_mean(distribution: &Distribution, expected: f64) {
    let draws = sample(distribution);
    let error = 4.0 * deviation(&draws) / (DRAWS as f64).sqrt();
    let found = mean(&draws);
    assert!(
        (found - expected).abs() <= error,
        "{distribution:?}: {found} instead of {expected}, four standard errors are {error}"
    );
    let told = distribution.mean() * 1000.0;
    assert!(
        (told - expected).abs() < 1e-9 * expected,
        "{distribution:?} tells {told}"
    );
}

/// As many draws are below this as should be, within four standard deviations of that number.
fn assert_share_below(distribution: &Distribution, bound: f64, share: f64) {
    let draws = sample(distribution);
    let below = draws.partition_point(|draw| *draw < bound) as f64;
    let expected = share * DRAWS as f64;
    let error = 4.0 * (expected * (1.0 - share)).sqrt();
    assert!(
        (below - expected).abs() <= error,
        "{distribution:?}: {below} below {bound} instead of {expected} within {error}"
    );
}

#[test]
fn an_exponential_has_its_mean_deviation_and_quantiles() {
    let distribution = Distribution::Exponential(ms(50));
    assert_mean(&distribution, 50.0);
    // The deviation's own error is sqrt((kurtosis - 1) / 4n) = sqrt(2 / n) of it: 0.45 %, four times.
    assert!((deviation(&sample(&distribution)) / 50.0 - 1.0).abs() < 0.018);
    for share in [0.01_f64, 0.25, 0.5, 0.9, 0.999] {
        assert_share_below(&distribution, -50.0 * (1.0 - share).ln(), share);
    }
}

#[test]
fn a_uniform_has_its_mean_ends_and_quantiles() {
    let distribution = Distribution::Uniform(ms(10), ms(30));
    assert_mean(&distribution, 20.0);
    for share in [0.1, 0.5, 0.9] {
        assert_share_below(&distribution, 10.0 + 20.0 * share, share);
    }
    let draws = sample(&distribution);
    assert!(draws[0] >= 10.0 && draws[DRAWS - 1] <= 30.0);
    // Both ends of a narrow one are reached.
    let narrow = Distribution::Uniform(Duration::from_nanos(5), Duration::from_nanos(7));
    let mut random = Stream::of(12, 0);
    let mut seen: Vec<u64> = (0..100).map(|_| narrow.draw(&mut random)).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, [5, 6, 7]);
}

#[test]
fn a_lognormal_has_its_median_mean_and_quantiles() {
    for sigma in [0.3, 1.0] {
        let distribution = Distribution::Lognormal {
            median: ms(20),
            sigma,
        };
        assert_mean(&distribution, 20.0 * (sigma * sigma / 2.0_f64).exp());
        // Quantiles of the normal distribution.
        for (normal, share) in [
            (-1.281_551_565_545, 0.1),
            (0.0, 0.5),
            (1.281_551_565_545, 0.9),
            (2.326_347_874_041, 0.99),
        ] {
            assert_share_below(&distribution, 20.0 * (sigma * normal).exp(), share);
        }
    }
}

#[test]
fn a_normal_has_its_first_four_moments() {
    let mut random = Stream::of(13, 0);
    let draws: Vec<f64> = (0..DRAWS).map(|_| random.normal()).collect();
    // Four times sqrt(var(x^k) / n), where var(x^k) is 1, 2, 15 and 96.
    for (power, expected, variance) in
        [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0)]
    {
        let moment = mean(
            &draws
                .iter()
                .map(|draw| draw.powi(power))
                .collect::<Vec<_>>(),
        );
        let error = 4.0 * f64::sqrt(variance / DRAWS as f64);
        assert!(
            (moment - expected).abs() <= error,
            "moment {power}: {moment}"
        );
    }
}

#[test]
fn a_bimodal_has_its_shares() {
    let distribution = Distribution::Bimodal {
        fast: ms(5),
        slow: ms(500),
        slow_share: 0.02,
    };
    assert_mean(&distribution, 14.9);
    assert_share_below(&distribution, 6.0, 0.98);
}

#[test]
fn measured_times_are_equally_likely() {
    let distribution = Distribution::Empirical(vec![ms(1), ms(2), ms(9)]);
    assert_mean(&distribution, 4.0);
    assert_share_below(&distribution, 1.5, 1.0 / 3.0);
    assert_share_below(&distribution, 2.5, 2.0 / 3.0);
}

#[test]
fn what_has_no_chance_in_it_draws_none() {
    let mut random = Stream::of(14, 0);
    let before = random.clone();
    assert_eq!(Distribution::Constant(ms(3)).draw(&mut random), 3_000_000);
    assert_eq!(random, before);
}

#[test]
fn no_distribution_panics_or_wraps() {
    let mut random = Stream::of(15, 0);
    let longest = Distribution::Uniform(Duration::ZERO, Duration::MAX);
    // All 20 in the lower half: one in a million.
    assert!((0..20).any(|_| longest.draw(&mut random) > u64::MAX / 2));
    let past_the_clock = Distribution::Constant(Duration::MAX);
    assert_eq!(past_the_clock.draw(&mut random), u64::MAX);
    for distribution in [
        longest,
        Distribution::Uniform(ms(9), ms(1)),
        Distribution::Exponential(Duration::MAX),
        Distribution::Lognormal {
            median: Duration::MAX,
            sigma: f64::NAN,
        },
        Distribution::Empirical(Vec::new()),
    ] {
        for _ in 0..100 {
            distribution.draw(&mut random);
        }
        assert!(
            !distribution.mean().is_nan() || matches!(distribution, Distribution::Lognormal { .. })
        );
    }
    assert_eq!(
        Distribution::Uniform(ms(9), ms(1)).draw(&mut random),
        9_000_000
    );
    assert_eq!(Distribution::Empirical(Vec::new()).draw(&mut random), 0);
}

#[test]
fn chance_knows_never_and_always() {
    let mut random = Stream::of(16, 0);
    assert!((0..1000).all(|_| !random.chance(0.0)));
    assert!((0..1000).all(|_| random.chance(1.0)));
    let hits = (0..DRAWS).filter(|_| random.chance(0.3)).count() as f64;
    // Four standard deviations of a binomial.
    assert!((hits - 30_000.0).abs() < 4.0 * f64::sqrt(DRAWS as f64 * 0.21));
}

#[test]
fn entities_and_seeds_have_streams_of_their_own() {
    let firsts = |seed: u64| (0..1000).map(move |entity| Stream::of(seed, entity).next_u64());
    let mut all: Vec<u64> = (0..10).flat_map(firsts).collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 10_000);
}

/// FNV-1a over the first thousand draws.
fn digest(mut draw: impl FnMut(&mut Stream) -> u64) -> u64 {
    let mut random = Stream::of(2026, 1);
    (0..1000)
        .flat_map(|_| draw(&mut random).to_le_bytes())
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
}

/// These bytes are equal in every build and on every platform: a change of one of them changes every
/// recorded run.
#[test]
fn the_first_thousand_draws_are_these() {
    let of = |distribution: Distribution| digest(move |random| distribution.draw(random));
    let found = [
        digest(Stream::next_u64),
        digest(|random| random.unit().to_bits()),
        digest(|random| random.exponential().to_bits()),
        digest(|random| random.normal().to_bits()),
        of(Distribution::Exponential(ms(50))),
        of(Distribution::Uniform(ms(10), ms(30))),
        of(Distribution::Lognormal {
            median: ms(20),
            sigma: 0.7,
        }),
        of(Distribution::Bimodal {
            fast: ms(5),
            slow: ms(500),
            slow_share: 0.02,
        }),
        of(Distribution::Empirical(vec![ms(1), ms(2), ms(9)])),
    ];
    let expected = [
        0x20c5_3b15_3877_15fa,
        0xd01a_2809_be3b_5c6f,
        0xaa12_05ea_d798_0f91,
        0x7387_c21e_3dde_3ff8,
        0x8d9a_3c1a_ddc1_22e2,
        0x3a71_492a_e501_e0f3,
        0x27a1_db35_01e9_cc7f,
        0xdbdf_9192_67b3_53b5,
        0xf23d_bb2e_aea2_ab71,
    ];
    assert_eq!(found, expected);
}
