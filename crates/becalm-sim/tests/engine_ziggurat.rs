//! Are what a ziggurat draws exponential and normal numbers, in every part of their range?

use becalm_sim::engine::Stream;

const DRAWS: u32 = 8_000_000;
const BINS: u32 = 1000;

/// How many draws there are for each thousandth of the distribution, whose value at a draw this is.
fn bins(below: impl Fn(f64) -> f64, mut draw: impl FnMut() -> f64) -> Vec<f64> {
    let mut bins = vec![0.0; BINS as usize];
    for _ in 0..DRAWS {
        let bin = below(draw()) * f64::from(BINS);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // in 0..=BINS
        let bin = (bin as usize).min(BINS as usize - 1);
        bins[bin] += 1.0;
    }
    bins
}

/// Every decile within 0.5 %, which is 4.7 of its standard deviations, the hundredth at either end within five of
/// its, and chi squared of all thousandths within five of its.
fn assert_even(bins: &[f64]) {
    let expected = f64::from(DRAWS / BINS);
    for (number, decile) in bins.chunks(BINS as usize / 10).enumerate() {
        let off = decile.iter().sum::<f64>() / f64::from(DRAWS / 10) - 1.0;
        assert!(off.abs() < 0.005, "decile {number} is off by {off}");
    }
    let hundredth = BINS as usize / 100;
    for end in [&bins[..hundredth], &bins[bins.len() - hundredth..]] {
        let (of_it, expected) = (end.iter().sum::<f64>(), f64::from(DRAWS / 100));
        assert!(
            (of_it - expected).abs() < 5.0 * (0.99 * expected).sqrt(),
            "an end has {of_it} instead of {expected}"
        );
    }
    let chi: f64 = bins
        .iter()
        .map(|it| (it - expected) * (it - expected) / expected)
        .sum();
    let freedom = f64::from(BINS - 1);
    assert!(
        (chi - freedom).abs() < 5.0 * (2.0 * freedom).sqrt(),
        "chi squared is {chi}"
    );
}

/// So many draws are beyond each bound as should be, within five standard deviations: it begins in the tail's layer.
fn assert_tail(share: impl Fn(f64) -> f64, from: f64, mut draw: impl FnMut() -> f64) {
    let bounds = [1.0, 1.03, 1.1, 1.3].map(|times| times * from);
    let mut beyond = [0.0; 4];
    for _ in 0..DRAWS {
        let x = draw();
        for (count, bound) in beyond.iter_mut().zip(bounds) {
            *count += f64::from(u8::from(x > bound));
        }
    }
    for (count, bound) in beyond.into_iter().zip(bounds) {
        let expected = share(bound) * f64::from(DRAWS);
        assert!(
            (count - expected).abs() < 5.0 * expected.sqrt(),
            "{count} beyond {bound} instead of {expected}"
        );
    }
}

#[test]
fn exponential_numbers_are_even_in_every_thousandth() {
    let mut random = Stream::of(21, 0);
    assert_even(&bins(|x| -libm::expm1(-x), || random.exponential()));
}

#[test]
fn normal_numbers_are_even_in_every_thousandth() {
    let mut random = Stream::of(22, 0);
    assert_even(&bins(below_normal, || random.normal()));
}

#[test]
fn exponential_numbers_have_their_moments() {
    let mut random = Stream::of(23, 0);
    // Factorials, and what x^k varies by: (2k)! - k!².
    assert_moments(
        &[
            (1, 1.0, 1.0),
            (2, 2.0, 20.0),
            (3, 6.0, 684.0),
            (4, 24.0, 39_744.0),
        ],
        || random.exponential(),
    );
}

#[test]
fn normal_numbers_have_their_moments() {
    let mut random = Stream::of(24, 0);
    assert_moments(
        &[(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0)],
        || random.normal(),
    );
}

/// Power, moment and variance of each: within five standard errors.
fn assert_moments(expected: &[(i32, f64, f64)], mut draw: impl FnMut() -> f64) {
    let mut sums = vec![0.0; expected.len()];
    for _ in 0..DRAWS {
        let x = draw();
        for (sum, (power, ..)) in sums.iter_mut().zip(expected) {
            *sum += x.powi(*power);
        }
    }
    for (sum, (power, moment, variance)) in sums.iter().zip(expected) {
        let (found, error) = (
            sum / f64::from(DRAWS),
            5.0 * (variance / f64::from(DRAWS)).sqrt(),
        );
        assert!((found - moment).abs() < error, "moment {power}: {found}");
    }
}

#[test]
fn tails_are_as_thick_as_they_should_be() {
    let mut random = Stream::of(25, 0);
    assert_tail(|x| libm::exp(-x), 7.69, || random.exponential());
    assert_tail(|x| 2.0 * below_normal(-x), 3.65, || random.normal().abs());
}

fn below_normal(x: f64) -> f64 {
    libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2) / 2.0
}
