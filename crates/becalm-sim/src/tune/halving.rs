//! Which of many are good, with few runs?

use super::front::ranks;
use super::objectives::Objectives;

/// A round: more runs for those that are left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Round {
    /// Which round it is, from 0.
    pub(super) number: u64,
    /// Runs of each case in this round.
    pub(super) runs: u32,
}

/// Runs all in rounds of growing length, and keeps the better half after each, but the first
/// `always`, which stay to the end, and never fewer than `least`. Returns the places of those that
/// are left, with what is known of them.
///
/// Better is a lower share of lost runs, then a lower rank ([`ranks`]), then the earlier place.
pub(super) fn halve(
    all: usize,
    always: usize,
    least: usize,
    rounds: &[u32],
    mut attempt: impl FnMut(usize, Round) -> Objectives,
) -> Vec<(usize, Objectives)> {
    let mut left: Vec<usize> = (0..all).collect();
    let mut known = Vec::new();
    for (number, runs) in (0..).zip(rounds) {
        let round = Round {
            number,
            runs: *runs,
        };
        known = left
            .iter()
            .map(|place| (*place, attempt(*place, round)))
            .collect();
        let is_last = usize::try_from(number).is_ok_and(|it| it + 1 == rounds.len());
        if !is_last {
            left = better_half(&known, always, least);
        }
    }
    known
}

/// How many of so many a round keeps, beside those that always stay.
pub(super) fn kept(all: usize, least: usize) -> usize {
    all.div_ceil(2).max(least)
}

fn better_half(known: &[(usize, Objectives)], always: usize, least: usize) -> Vec<usize> {
    let rounded: Vec<Objectives> = known.iter().map(|(_, it)| it.rounded()).collect();
    let mut order: Vec<(f64, usize, usize)> = known
        .iter()
        .zip(ranks(&rounded))
        .map(|((place, it), rank)| (it.lost, rank, *place))
        .collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let keep = kept(known.len(), least);
    let best = order.into_iter().enumerate();
    let mut kept: Vec<usize> = best
        .filter(|(at, (_, _, place))| *at < keep || *place < always)
        .map(|(_, (_, _, place))| place)
        .collect();
    kept.sort_unstable();
    kept
}
