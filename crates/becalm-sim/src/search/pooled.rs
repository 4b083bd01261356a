//! Where does a falling share cross one half, if it was only sampled?

use super::proportion::Proportion;

/// A value that was tried, and how many runs survived it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// What was tried.
    pub value: f64,
    /// What happened to it.
    pub survived: Proportion,
}

/// Where the share of survivors crosses one half, by isotonic regression; `None` if it does not
/// within the points.
///
/// More cannot be survived than less, so neighbours that say otherwise are pooled until the shares
/// fall: the maximum-likelihood estimate under that order (M. Ayer et al., *An empirical distribution
/// function for sampling with incomplete information*, Annals of Mathematical Statistics 26, 1955).
/// Between two points the share is taken as linear in the logarithm of the value.
pub fn half(points: &[Point]) -> Option<f64> {
    let mut sorted: Vec<&Point> = points.iter().collect();
    sorted.sort_by(|a, b| a.value.total_cmp(&b.value));
    // Blocks of (successes, runs, points).
    let mut blocks: Vec<(u64, u64, usize)> = Vec::with_capacity(sorted.len());
    for point in &sorted {
        let survived = point.survived;
        let mut block = (
            u64::from(survived.successes),
            u64::from(survived.runs),
            1_usize,
        );
        while let Some(&(successes, runs, length)) = blocks.last() {
            // As shares: the one before is at least as high, so the order holds.
            if successes * block.1 >= block.0 * runs {
                break;
            }
            blocks.pop();
            block = (block.0 + successes, block.1 + runs, block.2 + length);
        }
        blocks.push(block);
    }
    #[expect(clippy::cast_precision_loss)] // counts of runs
    let shares = blocks.iter().flat_map(|&(successes, runs, length)| {
        std::iter::repeat_n(successes as f64 / runs.max(1) as f64, length)
    });
    let fitted: Vec<(f64, f64)> = sorted.iter().map(|it| it.value).zip(shares).collect();
    fitted.windows(2).find_map(|pair| match *pair {
        [(low, above), (high, below)] if above >= 0.5 && below < 0.5 => {
            let part = (above - 0.5) / (above - below);
            Some(low * libm::pow(high / low, part))
        }
        _ => None,
    })
}
