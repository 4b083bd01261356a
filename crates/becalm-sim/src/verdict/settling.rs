//! Is a service that is not back still on its way when a run ends?

use crate::engine::float;
use crate::record::Recording;
use crate::scenario::Phases;

/// Stretches of what is after the triggers that are compared with each other.
const STRETCHES: usize = 8;
/// Of the 28 pairs of these stretches, how many more have to rise than fall. By chance alone one course in a
/// thousand does.
const IN_ORDER: i32 = 24;
/// As many are enough where no more is offered than can be served: then what waits has to shrink, and only chance hides it.
const UNPRESSED: i32 = 12;
/// The part of itself that what waits has to shrink by, and the part of the calls that have to succeed more: less
/// is no way back.
const MOVED: f64 = 0.05;

/// Whether what waits still shrinks as the run ends, or more and more calls succeed: by the test for a trend of
/// H. B. Mann (*Nonparametric Tests Against Trend*, Econometrica 13, 1945), which asks nothing of how they vary.
pub(super) fn is_settling(
    phases: &Phases,
    recording: &Recording,
    calls: &[u64],
    succeeded: &[u64],
    pressure: f64,
) -> bool {
    let after = phases.after.start..phases.settled;
    let each = after.len() / STRETCHES;
    let first = after.end - each * STRETCHES;
    let stretches = (0..STRETCHES).map(|it| first + it * each..first + (it + 1) * each);
    let waits = |bucket: usize| -> u64 {
        let queues = recording.services.iter();
        let waits = queues.filter_map(|it| it.queue.get(bucket));
        waits.map(|it| u64::from(*it)).sum()
    };
    let sum = |of: &[u64], these: std::ops::Range<usize>| -> f64 {
        float(of.get(these).unwrap_or_default().iter().sum())
    };
    let waiting: Vec<f64> = stretches
        .clone()
        .map(|it| float(it.map(waits).sum()))
        .collect();
    let shares: Vec<f64> = stretches
        .map(|it| sum(succeeded, it.clone()) / sum(calls, it).max(1.0))
        .collect();
    let ends = |of: &[f64]| {
        let ends = of.first().zip(of.last());
        ends.map_or((0.0, 0.0), |(first, last)| (*first, *last))
    };
    let (longest, shortest) = ends(&waiting);
    let (least, most) = ends(&shares);
    let enough = if pressure < 1.0 { UNPRESSED } else { IN_ORDER };
    let shrinks = trend(&waiting) <= -enough && shortest < (1.0 - MOVED) * longest;
    let rises = trend(&shares) >= IN_ORDER && most > least + MOVED;
    shrinks || rises
}

/// How many more pairs of these values rise than fall.
fn trend(values: &[f64]) -> i32 {
    let pairs = values.iter().enumerate().flat_map(|(at, earlier)| {
        let later = values.iter().skip(at + 1);
        later.map(move |later| i32::from(later > earlier) - i32::from(later < earlier))
    });
    pairs.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s4_a_trend_is_what_hardly_any_order_by_chance_has() {
        assert_eq!(trend(&[8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0]), -28);
        assert_eq!(trend(&[8.0, 7.0, 6.0, 4.0, 5.0, 3.0, 1.0, 2.0]), -24);
        assert_eq!(trend(&[5.0; 8]), 0);
        // Of the 40 320 orders of eight values, those with two pairs or fewer out of order.
        let mut orders = [0_u32; 3];
        orders[0] = 1;
        for more in 1..8 {
            let before = orders;
            for (pairs, count) in orders.iter_mut().enumerate() {
                *count = (0..=pairs.min(more)).map(|it| before[pairs - it]).sum();
            }
        }
        assert_eq!(orders.iter().sum::<u32>(), 35);
    }
}
