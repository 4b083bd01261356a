//! What does a contest take on average?

use becalm::rng::Random;
use becalm::support::Lone;

use super::{Contest, Trial, run};
use crate::engine::{Stream, each_in_order, float};
use crate::invalid::InvalidParameter;

/// The mean of many trials.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct Trials {
    /// Writes in a trial.
    pub calls: Mean,
    /// Until the last client has succeeded, in milliseconds.
    pub time: Mean,
    /// Clients that gave up in a trial.
    pub lost: Mean,
    /// Clients that gave up, in all trials.
    pub gave_up: u64,
    /// Messages in all trials.
    pub events: u64,
}

/// A mean, and how far it may be off.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Mean {
    /// The mean.
    pub value: f64,
    /// Its standard error: the deviation of one trial over the root of the number of trials.
    pub error: f64,
}

/// Runs this many trials, each with a seed of its own. The number of threads does not change the
/// result.
///
/// # Errors
///
/// A contest that cannot be simulated is refused.
pub fn trials(
    contest: &Contest,
    lone: &Lone,
    seed: u64,
    trials: u32,
    threads: usize,
) -> Result<Trials, InvalidParameter> {
    let indices: Vec<u64> = (0..u64::from(trials)).collect();
    let one = |index: &u64| run(contest, lone, Stream::of(seed, *index).next_u64());
    let all = each_in_order(&indices, threads, one);
    let all = all.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(Trials {
        calls: mean(&all, |trial| float(trial.calls)),
        time: mean(&all, |trial| float(trial.time) / 1e6),
        lost: mean(&all, |trial| float(trial.gave_up)),
        gave_up: all.iter().map(|trial| trial.gave_up).sum(),
        events: all.iter().map(|trial| trial.events).sum(),
    })
}

fn mean(all: &[Trial], of: impl Fn(&Trial) -> f64) -> Mean {
    let count = float(all.len().max(1) as u64);
    let value = all.iter().map(&of).sum::<f64>() / count;
    let off = |trial: &Trial| (of(trial) - value) * (of(trial) - value);
    let variance = all.iter().map(off).sum::<f64>() / (count - 1.0).max(1.0);
    Mean {
        value,
        error: (variance / count).sqrt(),
    }
}
