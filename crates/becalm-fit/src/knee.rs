//! How many workers does a service have?
//!
//! With the true number of workers, service times are the same whatever a request found: that is the test of each number.
//! With fewer, those of requests that waited look shorter than the others, because they began before; with more, longer.

use std::time::Duration;

use crate::differences::{Difference, USUAL, differences, is_apart};
use crate::number::{group, least};
use crate::sharing;
use crate::tally::{Row, Tally};

/// What a log says about the workers.
#[derive(Debug, Clone, PartialEq)]
pub struct Workers {
    /// The fewest that the log allows.
    pub low: u32,
    /// The most likely; the fewest where there is no upper end, or one far above.
    pub value: u32,
    /// The most that it allows. `None`: it shows no upper end.
    pub high: Option<u32>,
    /// Whether none is allowed: no single queue explains the log.
    pub is_misfit: bool,
    /// Of those that waited for one of so many workers, the share that ended before their turn.
    pub early: f64,
    /// How far service times may differ for that: by which of the shares that are tolerated, from the smallest on.
    pub tolerance: usize,
}

/// The largest of those statistics is hardly ever smaller than this by chance.
const WELL: f64 = 1.0;
/// A statistic that is larger than another by at most this factor is as good: both are made of the same requests, and
/// a worker fewer than the truth makes it larger by far more. Of the sixty logs in `tests` one more interval holds the truth with a tenth than
/// with nothing; a quarter makes no further one, and no interval of another log wider.
const NEARLY: f64 = 1.1;
/// Service times of full and idle workers differ by a share of them without a knee: what is done before and after a worker has a
/// request, caches, locks. The first of these that allows any number of workers.
const TOLERANCES: [f64; 7] = [0.004, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04];
/// Of those that waited, the share that may end before their turn, as the steps of the log's clock have it.
const IN_ORDER: f64 = 0.03;
/// By this factor the ends of an interval may differ before the lower one is taken for the value.
const WIDE: f64 = 1.25;
/// So many requests have to have waited in order: of fewer nobody knows whether there is a queue at all.
const TESTED: u64 = 100;
/// So many have to have waited before their times are compared with each other's alone.
const COMPARED: u64 = 200;

/// The workers that these stretches of a log allow, each with a mean service time of its own, where the log tells moments in
/// such steps. `None` of fewer than a hundred requests.
pub fn workers(windows: &[&Tally], step: Duration) -> Option<Workers> {
    let step = step.as_secs_f64() * 1e6;
    let requests: u64 = windows.iter().map(|it| it.requests()).sum();
    if requests < 100 {
        return None;
    }
    let groups = windows.iter().map(|it| it.rows.len()).max().unwrap_or(0);
    let tested: Vec<Vec<Difference>> = (1..=groups)
        .map(|it| differences(windows, it, step))
        .collect();
    let is_in_order: Vec<bool> = (1..=groups)
        .map(|it| early(windows, it) < IN_ORDER)
        .collect();
    let misfits =
        |tolerance: f64| -> Vec<f64> { tested.iter().map(|it| misfit(it, tolerance)).collect() };
    let allowed = |tolerance: f64| -> Vec<usize> {
        let usual = misfits(tolerance).into_iter().zip(&is_in_order).zip(1..);
        let in_order = usual.filter(|((_, is_in_order), _)| **is_in_order);
        let in_order: Vec<(f64, usize)> = in_order.map(|((it, _), at)| (it, at)).collect();
        let is_usual = |it: &(f64, usize)| it.0 < USUAL;
        let Some(first) = in_order.iter().position(is_usual) else {
            return Vec::new();
        };
        // One fewer that is hardly worse is no worse: chance decides between them.
        let nearly = in_order[..first].iter().filter(|it| it.0 < NEARLY * USUAL);
        let usual = in_order[first..].iter().filter(|it| is_usual(it));
        nearly.chain(usual).map(|it| it.1).collect()
    };
    let allowed = TOLERANCES.into_iter().map(allowed).enumerate();
    let (tolerance, allowed) = allowed
        .map(|(at, it)| (at, Some(it)))
        .find(|(_, it)| it.as_ref().is_some_and(|it| !it.is_empty()))
        .unwrap_or((TOLERANCES.len(), None));
    // What is done before and after a worker has a request may be a greater share of it, where no other number explains the times.
    let apart = || {
        let each = (1..=groups).zip(&is_in_order).filter(|it| *it.1);
        let each = each.map(|it| it.0);
        let each = each.filter(|it| waited(windows, *it) >= COMPARED);
        let apart: Vec<usize> = each.filter(|it| is_apart(windows, *it, step)).collect();
        (apart.len() == 1).then_some(apart)
    };
    let allowed = allowed.or_else(apart).unwrap_or_default();
    let (first, last) = (allowed.first().copied(), allowed.last().copied());
    // Where windows apart leave a choice, all of them together may know better.
    let mut total = Tally::default();
    for window in windows {
        total.merge(window);
    }
    let together = |at: &usize| misfit(&differences(&[&total], *at, step), TOLERANCES[0]);
    let together: Vec<_> = allowed.iter().map(|it| (*it, together(it))).collect();
    // The fewest of those that fit well: more would be a guess to the optimistic side.
    let fits_well = together.iter().find(|it| it.1 < WELL);
    let smallest = together.iter().map(|it| it.1).fold(f64::MAX, f64::min);
    let best = fits_well.or_else(|| together.iter().find(|it| it.1 <= NEARLY * smallest));
    let best = best.map(|it| it.0);
    let best = best.unwrap_or_else(|| {
        let each = misfits(TOLERANCES[0]).into_iter().zip(1..);
        each.min_by(|a, b| a.0.total_cmp(&b.0)).map_or(1, |it| it.1)
    });
    let is_open = last == Some(groups) || waited(windows, best) < TESTED;
    let low = number(first.unwrap_or(best));
    let low = if is_open { shared(windows, low) } else { low };
    let high = (!is_open).then(|| number(last.unwrap_or(best)));
    let is_wide = high.is_none_or(|high| f64::from(high) > WIDE * f64::from(low));
    let at = if is_wide { group(low as usize) } else { best };
    Some(Workers {
        low,
        value: number(at),
        high,
        is_misfit: first.is_none(),
        early: early(windows, at),
        tolerance,
    })
}

fn shared(windows: &[&Tally], low: u32) -> u32 {
    u32::try_from(sharing::fewest(windows, low as usize)).unwrap_or(low)
}

fn number(group: usize) -> u32 {
    u32::try_from(least(group)).unwrap_or(u32::MAX)
}

/// The mean service time if there are so many workers, in microseconds, and its standard error; `None` of no requests.
#[expect(clippy::cast_precision_loss)]
pub fn mean_time(tally: &Tally, workers: u32) -> Option<(f64, f64)> {
    let at = group(workers as usize);
    let (alone, waited) = tally.rows.split_at(at.min(tally.rows.len()));
    let served = waited.iter().filter_map(|row| row.served.get(at));
    let served: f64 = served.map(|it| it.sum).sum();
    let requests = |rows: &[Row]| rows.iter().map(|row| row.requests).sum::<u64>() as f64;
    let (free, all) = (requests(alone), requests(alone) + requests(waited));
    if all < 1.0 {
        return None;
    }
    // Those whose client left would have taken longer: as for exponential times that are cut off, theirs count, and they do not.
    let sum: f64 = alone.iter().map(|row| row.times.sum + row.left).sum();
    // Of those that began at once, some found a worker free.
    let had_to_wait = tally.waited.get(at).map_or(0, |it| it.requests);
    if all - had_to_wait as f64 >= ENOUGH {
        let mean = (sum + served) / all;
        let squares: f64 = alone.iter().map(|row| row.times.squares).sum();
        let variance = if free >= ENOUGH {
            (squares / free - (sum / free).powi(2)).max(0.0)
        } else {
            mean * mean // as of exponential times
        };
        return Some((mean, (variance / all).sqrt()));
    }
    // Nearly all waited, and only what the workers do together is seen: R(n) = S(n+1)/W.
    let numbers: f64 = waited
        .iter()
        .map(|row| row.numbers + row.requests as f64)
        .sum();
    let times: f64 = waited.iter().map(|row| row.times.sum).sum();
    let each = times / numbers.max(1.0);
    let mean = each * f64::from(workers);
    // One busy period; departures from it come independently of each other, as those of exponential times do.
    Some((mean, mean / all.sqrt()))
}

/// The mean time of all requests, with their waits, in microseconds, and its standard error; `None` of no requests.
#[expect(clippy::cast_precision_loss)]
pub fn time_taken(tally: &Tally) -> Option<(f64, f64)> {
    let all = tally.requests() as f64;
    let rows = || tally.rows.iter();
    let mean = rows().map(|row| row.times.sum + row.left).sum::<f64>() / all;
    let squares = rows().map(|row| row.times.squares).sum::<f64>() / all;
    (all >= 1.0).then(|| (mean, ((squares - mean * mean).max(0.0) / all).sqrt()))
}

/// So many requests that found a free worker tell what a service time is.
const ENOUGH: f64 = 200.0;

/// By how many standard errors service times differ at the number at which they differ most, beyond the share of them that is
/// tolerated.
fn misfit(differences: &[Difference], tolerance: f64) -> f64 {
    let each = differences.iter().map(|it| it.beyond(tolerance));
    each.fold(0.0, f64::max)
}

/// How many waited for one of so many workers.
fn waited(windows: &[&Tally], workers: usize) -> u64 {
    let each = windows.iter().filter_map(|it| it.waited.get(workers));
    each.map(|it| it.requests).sum()
}

/// Of those that waited for one of so many workers: the share that ended before their turn.
#[expect(clippy::cast_precision_loss)]
fn early(windows: &[&Tally], workers: usize) -> f64 {
    let each = windows.iter().filter_map(|it| it.waited.get(workers));
    let early: u64 = each.map(|it| it.early).sum();
    match waited(windows, workers) {
        // Of so few, one is much.
        0..50 => 0.0,
        waited => early as f64 / waited as f64,
    }
}
