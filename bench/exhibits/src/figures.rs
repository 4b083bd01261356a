//! What was measured of one variant, in figures?

use std::ops::Range;
use std::time::Duration;

use crate::course::{Held, Outage, first_since};
use crate::told::{Line, Report};
use becalm_drill::ws::clock::bucket;

/// Processes that come back within this time of each other come back in one instant: a busy machine takes so long to give all of
/// them their turn.
pub const IN_STEP: Duration = Duration::from_millis(50);

/// The figures of one variant.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Figures {
    pub report: Report,
    /// Increments that were sent again, and failed, because CLIENT KILL broke their connection; and sent again in all.
    pub thrown_out_again: u64,
    pub thrown_out_failed: u64,
    pub again: u64,
    /// The most dials of one process in any second in which the server was down.
    pub most_dials: usize,
    /// From the moment at which the server answers after the long outage until each process has an answer, in order.
    pub back: Vec<Duration>,
    /// How far apart the first and the last process came back, for each time that the server was killed.
    pub apart: Vec<Duration>,
    /// How far apart their second dials were after it, which is to say their first waits.
    pub dials_apart: Vec<Duration>,
}

impl Figures {
    /// The figures of what was measured.
    pub fn of(held: &Held) -> Self {
        let (from, to) = held.thrown_out;
        let within = bucket(from)..bucket(to) + 1;
        let all = 0..usize::MAX;
        let returns = |outage: &Outage| {
            let answers = held.lines.iter();
            let mut firsts: Vec<_> = answers
                .filter_map(|lines| first_since(lines, outage.begun))
                .collect();
            firsts.sort_unstable();
            firsts
        };
        let long = held.outages.first().copied().unwrap_or_default();
        let back = returns(&long).into_iter();
        let second_dials = |outage: &Outage| {
            let dials = held.dials.iter();
            let seconds =
                dials.filter_map(|all| all.iter().filter(|at| **at >= outage.killed).nth(1));
            let mut seconds: Vec<_> = seconds.copied().collect();
            seconds.sort_unstable();
            seconds
        };
        let span = |times: Vec<Duration>| Some(times.last()?.saturating_sub(*times.first()?));
        let apart = held.outages.iter().map(returns).filter_map(span);
        let dials_apart = held.outages.iter().map(second_dials).filter_map(span);
        Self {
            report: held.report,
            thrown_out_again: count(held, within.clone(), |line| line.again),
            thrown_out_failed: count(held, within, |line| line.failed),
            again: count(held, all, |line| line.again),
            most_dials: most_dials(held),
            back: back.map(|at| at.saturating_sub(long.up)).collect(),
            apart: apart.collect(),
            dials_apart: dials_apart.collect(),
        }
    }

    /// When the last process was back after the long outage.
    pub fn all_back(&self) -> Duration {
        self.back.last().copied().unwrap_or_default()
    }

    /// How often all processes came back in one instant.
    pub fn in_step(&self) -> usize {
        self.apart.iter().filter(|apart| **apart <= IN_STEP).count()
    }

    /// How far apart they came back in the middle.
    pub fn usually_apart(&self) -> Duration {
        middle(&self.apart)
    }

    /// How far apart their first waits ended, in the middle.
    pub fn waits_usually_apart(&self) -> Duration {
        middle(&self.dials_apart)
    }
}

fn middle(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn count(held: &Held, buckets: Range<usize>, of: impl Fn(&Line) -> u32) -> u64 {
    let lines = held.lines.iter().flatten();
    let within = lines.filter(|line| buckets.contains(&line.bucket));
    within.map(|line| u64::from(of(line))).sum()
}

fn most_dials(held: &Held) -> usize {
    let windows = held.dials.iter().flat_map(|dials| {
        held.outages.iter().map(|outage| {
            let down = || {
                dials
                    .iter()
                    .filter(|at| (outage.killed..outage.up).contains(at))
            };
            let second = |from: Duration| from..from + Duration::from_secs(1);
            let within = |from| down().filter(|at| second(from).contains(at)).count();
            down().map(|from| within(*from)).max().unwrap_or(0)
        })
    });
    windows.max().unwrap_or(0)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    fn line(first: u64, again: u32, failed: u32) -> Line {
        Line {
            bucket: bucket(ms(first)),
            answered: 9,
            first: Some(ms(first)),
            failed,
            again,
        }
    }

    /// Two processes, thrown out at 4 s, killed at 6 s and at 12 s.
    pub fn held() -> Held {
        let outage = |at| Outage {
            killed: ms(at),
            begun: ms(at + 4_000),
            up: ms(at + 4_010),
        };
        Held {
            dials: vec![
                vec![
                    ms(10),
                    ms(6_100),
                    ms(6_200),
                    ms(6_900),
                    ms(7_150),
                    ms(10_200),
                ],
                vec![ms(10), ms(6_050), ms(10_500)],
            ],
            lines: vec![
                vec![
                    line(100, 0, 0),
                    line(4_100, 3, 2),
                    line(10_200, 1, 0),
                    line(16_300, 0, 0),
                ],
                vec![
                    line(120, 0, 0),
                    line(4_200, 2, 1),
                    line(10_510, 0, 1),
                    line(16_304, 0, 0),
                ],
            ],
            thrown_out: (ms(4_000), ms(5_000)),
            outages: vec![outage(6_000), outage(12_000)],
            report: Report {
                all: 1_000,
                failed: 4,
                failed_applied: 1,
                ..Report::default()
            },
            start: ms(100),
            end: ms(17_000),
        }
    }

    #[test]
    fn figures_are_those_of_what_befell_the_server() {
        let figures = Figures::of(&held());
        assert_eq!(
            (figures.thrown_out_again, figures.thrown_out_failed),
            (5, 3)
        );
        assert_eq!((figures.again, figures.most_dials), (6, 3));
        assert_eq!(figures.back, [ms(190), ms(500)]);
        assert_eq!(figures.apart, [ms(310), ms(4)]);
        assert_eq!((figures.in_step(), figures.usually_apart()), (1, ms(310)));
        assert_eq!(figures.dials_apart, [ms(4_300)]);
    }
}
