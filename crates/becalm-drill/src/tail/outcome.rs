//! What did the hedge gain, and what did it cost? Decided by the measured figures alone.

use std::time::Duration;

use becalm_report::format::plain;
use becalm_report::{Cell, Table};

use super::{RATE, SLOW, Tail, Variant, WARM_UP};
use crate::latencies::{Latencies, Sorted};
use crate::ledger::{Count, Recording};
use crate::show::Section;
use crate::statistics::{amplification, count};

/// What the words over the table mean.
const LEGEND: &str = "p50 to p99: the latency that this share of the calls did not exceed, in ms, \
                      from the second second on; amplification: attempts / first tries";

/// At what share of the other's a hedge must keep the 99th percentile.
const GAIN: f64 = 0.5;

/// Below which the amplification must stay: what a 10 % budget allows, the ten that it
/// begins with included.
pub const AMPLIFICATION: f64 = 1.12;

/// One policy of the second part with its figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Racer {
    pub variant: Variant,
    pub recording: Recording,
    /// Of the calls that count.
    pub latencies: Sorted,
}

impl Racer {
    /// Measures one policy.
    pub fn new(variant: Variant, recording: Recording, latencies: &Latencies, tail: &Tail) -> Self {
        Self {
            variant,
            recording,
            latencies: latencies.of(WARM_UP..tail.length),
        }
    }

    /// Attempts / first tries; 0 without a first try.
    pub fn amplification(&self) -> f64 {
        amplification(&self.recording).unwrap_or_default()
    }

    fn p99(&self) -> Duration {
        self.latencies.quantile(0.99).unwrap_or_default()
    }
}

/// The second part when it is over.
#[derive(Debug, Clone, PartialEq)]
pub struct TailOutcome {
    pub racers: Vec<Racer>,
    /// By how much the load generator was late at worst.
    pub lateness: Duration,
    /// The hedge did what it is in the drill to show.
    pub as_expected: bool,
    /// A sentence or two, made of measured figures.
    pub conclusion: String,
}

impl TailOutcome {
    /// Judges the second part.
    pub fn new(racers: Vec<Racer>, lateness: Duration) -> Self {
        let (as_expected, conclusion) = match &*racers {
            [alone, hedged] => (as_expected(alone, hedged), conclusion(alone, hedged)),
            _ => (false, String::new()),
        };
        Self {
            racers,
            lateness,
            as_expected,
            conclusion,
        }
    }

    /// The figures, and what they say.
    pub fn section(&self) -> Section {
        Section::new(self.table(), &self.conclusion)
    }

    /// The figures side by side, and what their words mean.
    pub fn table(&self) -> (Table, &'static str) {
        let header = [
            "policy",
            "p50",
            "p95",
            "p99",
            "worst",
            "hedges",
            "amplification",
        ];
        let table = Table::new(header);
        let table = self.racers.iter().fold(table, |table, racer| {
            let at = |share| latency(racer.latencies.quantile(share)).into();
            let title = Cell::new(&*racer.variant.title).colour(racer.variant.colour);
            table.row([
                title,
                at(0.5),
                at(0.95),
                at(0.99),
                at(1.0),
                plain(count(racer.recording.total(Count::Hedge))).into(),
                format!("{:.3}", racer.amplification()).into(),
            ])
        });
        (table, LEGEND)
    }
}

/// Milliseconds to a tenth, or none.
fn latency(latency: Option<Duration>) -> String {
    latency.map_or("-".into(), |it| format!("{:.1}", it.as_secs_f64() * 1e3))
}

fn as_expected(alone: &Racer, hedged: &Racer) -> bool {
    alone.p99() >= SLOW
        && hedged.latencies.len() > 0
        && hedged.p99().as_secs_f64() <= GAIN * alone.p99().as_secs_f64()
        && hedged.amplification() < AMPLIFICATION
}

fn conclusion(alone: &Racer, hedged: &Racer) -> String {
    let (before, after) = (alone.p99(), hedged.p99());
    let extra =
        (hedged.amplification() / alone.amplification().max(f64::MIN_POSITIVE) - 1.0) * 100.0;
    let p99 = if as_expected(alone, hedged) {
        format!(
            "the 99th percentile fell from {} ms to {} ms",
            latency(Some(before)),
            latency(Some(after))
        )
    } else {
        format!(
            "the 99th percentile was {} ms, and {} ms without it, which is not what was expected",
            latency(Some(after)),
            latency(Some(before))
        )
    };
    format!(
        "One request in {} took {} ms. With a hedge ({}) {p99}, for {extra:.1} % more attempts at \
         {} calls a second.",
        super::EVERY,
        SLOW.as_millis(),
        hedged
            .variant
            .policy
            .hedge
            .map_or_else(String::new, |hedge| hedge.to_string()),
        plain(RATE)
    )
}

#[cfg(test)]
pub mod tests {
    use super::super::variants;
    use super::*;
    use becalm::Policy;
    use std::collections::BTreeMap;

    /// A thousand calls of 8 ms, but for 25 of 410 ms without and of 20 ms with a hedge.
    pub fn racers() -> Vec<Racer> {
        let [alone, hedged] = <[Variant; 2]>::try_from(variants(&Policy::default())).unwrap();
        vec![racer(alone, 410, 0), racer(hedged, 20, 50)]
    }

    fn racer(variant: Variant, slow: u64, hedges: u32) -> Racer {
        let mut latencies = Latencies::default();
        for call in 0..1_000 {
            let took = if call % 40 == 0 { slow } else { 8 };
            latencies.add(WARM_UP, Duration::from_millis(took));
        }
        let counts = |kind| match kind {
            Count::Call | Count::FirstTry | Count::Succeeded => vec![1_000],
            Count::Hedge => vec![hedges],
            _ => vec![0],
        };
        Racer {
            variant,
            recording: Recording::of(counts, BTreeMap::new(), 0),
            latencies: latencies.of(WARM_UP..WARM_UP * 2),
        }
    }

    #[test]
    fn a_tail_that_is_cut_for_little_is_as_expected_and_said_in_figures() {
        let outcome = TailOutcome::new(racers(), Duration::ZERO);
        assert!(outcome.as_expected);
        for words in [
            "One request in 40 took 400 ms",
            "from 410.0 ms to 20.0 ms",
            "5.0 % more attempts",
        ] {
            assert!(outcome.conclusion.contains(words), "{}", outcome.conclusion);
        }
    }

    #[test]
    fn a_tail_that_stays_and_a_load_that_grows_are_said_plainly() {
        let [alone, hedged] = <[Racer; 2]>::try_from(racers()).unwrap();
        let stays = racer(hedged.variant.clone(), 300, 50);
        let costly = racer(hedged.variant.clone(), 20, 200);
        let no_tail = racer(alone.variant.clone(), 200, 0);
        for racers in [
            vec![alone.clone(), stays],
            vec![alone, costly],
            vec![no_tail, hedged],
        ] {
            let outcome = TailOutcome::new(racers, Duration::ZERO);
            assert!(!outcome.as_expected);
            let said = outcome.conclusion;
            assert!(said.contains("not what was expected"), "{said}");
        }
    }
}
