//! How much does the target serve, if clients that never pause ask it? More of them, until more bring no
//! more.
//!
//! A closed loop: each client waits for its answer before it asks again, so that what is measured lasts
//! and no queue grows without bound.

use std::time::Duration;

use serde::Serialize;

use super::rung::Rung;

/// More clients on each rung than on the one before, so many times.
const STEP: u32 = 2;

/// The most clients: more than most services work on at once.
pub const MOST: u32 = 512;

/// By how much the best rung must be surpassed for the service to have had more to give.
const MORE: f64 = 1.05;

/// Rungs in a row that bring no more: of one alone it may be chance.
const LEVEL: usize = 2;

/// Below this share of good answers the target is overloaded.
const GOOD: f64 = 0.95;

/// From this share of what may be asked on, it is the drill that ends the climb.
const ALL: f64 = 0.9;

/// Why the climb ended; the names in the JSON document are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ended {
    /// More clients brought no more answers.
    Level,
    /// Answers failed.
    Failing,
    /// `--max-rate` allows no more.
    #[serde(rename = "max-rate")]
    Rate,
    /// `--max-time` is over.
    #[serde(rename = "max-time")]
    Time,
    /// There were as many clients as there may be.
    Clients,
}

impl Ended {
    /// Whether the target may have more to give than was seen.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Rate | Self::Time | Self::Clients)
    }
}

/// The clients of the next rung, or why there is none. `left` is the time that is left, and `each` that
/// of a rung.
pub fn next(rungs: &[Rung], most_rate: f64, left: Duration, each: Duration) -> Result<u32, Ended> {
    let Some(last) = rungs.last() else {
        return Ok(1);
    };
    if is_failing(last) {
        Err(Ended::Failing)
    } else if is_level(rungs) {
        Err(Ended::Level)
    } else if last.rate() >= ALL * most_rate {
        Err(Ended::Rate)
    } else if last.clients >= MOST {
        Err(Ended::Clients)
    } else if left < each {
        Err(Ended::Time)
    } else {
        Ok(last.clients * STEP)
    }
}

fn is_level(rungs: &[Rung]) -> bool {
    let Some(before) = rungs.len().checked_sub(LEVEL).filter(|it| *it > 0) else {
        return false;
    };
    let (before, last) = rungs.split_at(before);
    let best = best(before);
    last.iter().all(|rung| rung.rate() < MORE * best)
}

/// Those on which the target was not overloaded: what it gives otherwise is not what it can serve.
fn served(rungs: &[Rung]) -> impl Iterator<Item = &Rung> {
    rungs.iter().filter(|rung| !is_failing(rung))
}

/// Whether the target was overloaded.
pub fn is_failing(rung: &Rung) -> bool {
    rung.good_share() < GOOD
}

fn best(rungs: &[Rung]) -> f64 {
    served(rungs).map(Rung::rate).fold(0.0, f64::max)
}

/// The rungs that are as good as the best: their mean is what the target can serve, as the best of several
/// is so by chance, too.
pub fn plateau(rungs: &[Rung]) -> impl Iterator<Item = &Rung> {
    let least = best(rungs) / MORE;
    served(rungs).filter(move |rung| rung.rate() >= least && rung.rate() > 0.0)
}

/// Answers per second that the target can serve; none where it gave none.
pub fn capacity(rungs: &[Rung]) -> Option<f64> {
    let rates: Vec<_> = plateau(rungs).map(Rung::rate).collect();
    #[expect(clippy::cast_precision_loss)] // a dozen
    let count = rates.len() as f64;
    (count > 0.0).then(|| rates.iter().sum::<f64>() / count)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// The climb of a service that gives so much to each number of clients.
    fn climb(gives: impl Fn(u32) -> (u64, u64), most: f64) -> (Vec<Rung>, Ended) {
        let mut rungs = Vec::new();
        loop {
            match next(&rungs, most, 100 * SECOND, SECOND) {
                Ok(clients) => {
                    let (good, bad) = gives(clients);
                    rungs.push(Rung::counted(clients, good, bad, SECOND));
                }
                Err(ended) => return (rungs, ended),
            }
        }
    }

    #[test]
    fn the_climb_ends_where_more_clients_bring_no_more() {
        let four_workers = |clients: u32| (85 * u64::from(clients.min(4)), 0);
        let (rungs, ended) = climb(four_workers, 500.0);
        let clients: Vec<_> = rungs.iter().map(|it| it.clients).collect();
        assert_eq!((clients, ended), (vec![1, 2, 4, 8, 16], Ended::Level));
        assert!((capacity(&rungs).unwrap() - 340.0).abs() < 1e-9);
        assert_eq!(plateau(&rungs).next().unwrap().clients, 4);
    }

    #[test]
    fn a_climb_that_something_else_ends_is_open() {
        let (rungs, ended) = climb(|clients| (100 * u64::from(clients).min(480), 0), 500.0);
        assert_eq!(ended, Ended::Rate);
        assert_eq!(rungs.len(), 4);
        let (_, ended) = climb(|clients| (u64::from(clients), 0), 5_000.0);
        assert_eq!(ended, Ended::Clients);
        assert!(ended.is_open() && !Ended::Level.is_open());
        let one = [Rung::counted(1, 100, 0, SECOND)];
        assert_eq!(next(&one, 500.0, SECOND / 2, SECOND), Err(Ended::Time));
    }

    #[test]
    fn answers_that_fail_end_it_and_none_is_no_capacity() {
        let failing_from_8 =
            |clients: u32| (u64::from(clients) * 100, 100 * u64::from(clients / 8));
        let (rungs, ended) = climb(failing_from_8, 5_000.0);
        assert_eq!((rungs.len(), ended), (4, Ended::Failing));
        let clients: Vec<_> = plateau(&rungs).map(|it| it.clients).collect();
        assert_eq!((clients, capacity(&rungs)), (vec![4], Some(400.0)));
        let (rungs, ended) = climb(|_| (0, 10), 500.0);
        assert_eq!((capacity(&rungs), ended), (None, Ended::Failing));
    }

    #[test]
    fn names_in_the_document_are_stable() {
        let all = [
            (Ended::Level, "level"),
            (Ended::Failing, "failing"),
            (Ended::Rate, "max-rate"),
            (Ended::Time, "max-time"),
            (Ended::Clients, "clients"),
        ];
        for (ended, name) in all {
            assert_eq!(serde_json::to_value(ended).unwrap(), name);
        }
    }
}
