//! How few processors may a service have, if its requests share them and none waits?
//!
//! Of one that makes them W + k, k too many, each has W / (W + k) of a processor until k are over. If nobody comes, that takes it
//! x - ln(1 + x) of its time longer, with x = k / W; those that do come make it longer by 1 / (1 - load). With many too many it is
//! 1 / (2 - load) of the x that it would have waited in one queue (E. G. Coffman, R. R. Muntz, H. Trotter, Waiting Time Distributions for
//! Processor-Sharing Systems, 1970, for one processor). That is less than a queue takes, so that fewer requests show it later: what looks
//! as if it never filled the service may be one that is full.

use crate::number::least;
use crate::tally::Tally;

/// A normal distribution exceeds so many standard deviations in one of two hundred.
const SURELY: f64 = 2.58;

/// The fewest processors that these stretches of a log do not exclude, by the requests that found fewer than `free` others; each
/// has a mean time of its own.
#[expect(clippy::cast_precision_loss)]
pub fn fewest(windows: &[&Tally], free: usize) -> usize {
    let rows = || windows.iter().flat_map(|it| &it.rows);
    let requests: u64 = rows().map(|row| row.requests).sum();
    let found = rows().map(|row| row.numbers).sum::<f64>() / requests.max(1) as f64;
    let is_possible = |processors: usize, extreme: usize| {
        let load = (found / processors as f64).min(0.9);
        let slowed = |at: usize| {
            let more = (at + 1).saturating_sub(processors) as f64 / processors as f64;
            ((more - more.ln_1p()) / (1.0 - load)).min(more / (2.0 - load))
        };
        let (mut requests, mut times, mut spread) = (0.0, 0.0, 0.0);
        let (mut together, mut alone) = (0.0, 0.0);
        for tally in windows {
            let rows = || {
                let rows = tally.rows.iter().enumerate();
                let rows = rows.map(|(group, row)| (least(group), row));
                rows.take_while(|(at, _)| *at < free)
                    .map(|(at, row)| (slowed(at), row.requests as f64, row.clipped[extreme]))
            };
            let n: f64 = rows().map(|(_, n, _)| n).sum();
            if n < 2.0 {
                continue;
            }
            let mean = rows().map(|(by, n, _)| by * n).sum::<f64>() / n;
            let time = rows().map(|(_, _, it)| it.sum).sum::<f64>() / n;
            for (by, n, row) in rows() {
                alone += n * (by - mean).powi(2);
                together += (by - mean) * (row.sum - n * time);
                spread += row.squares - n * time * time;
            }
            requests += n;
            times += n * time;
        }
        let mean = times / requests.max(1.0);
        // As much longer as it would be with so few is one mean.
        let times_as_much = together / alone.max(1e-9);
        let error = (spread.max(0.0) / requests.max(1.0) / alone.max(1e-9)).sqrt();
        times_as_much + SURELY * error >= mean
    };
    let possible = |it: &usize| (0..2).any(|extreme| is_possible(*it, extreme));
    (1..free).find(possible).unwrap_or(free)
}
