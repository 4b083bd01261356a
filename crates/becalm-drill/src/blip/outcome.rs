//! What did the budget save, and what did it cost? Decided by the measured figures alone.

use std::ops::Range;
use std::time::Duration;

use becalm::support::Human;
use becalm_report::format::plain;
use becalm_report::{Cell, Table};

use super::length;
use crate::ledger::{Count, Recording};
use crate::setup::Setup;
use crate::show::Section;
use crate::statistics::{amplification, count};
use crate::tail::{AMPLIFICATION, Variant};

/// What the words over the table mean.
const LEGEND: &str = "calls, failed: of those that began while the service refused; amplification: attempts / first tries, of the whole part";

/// Of how many calls that fail with one attempt one may fail.
const SAVES: u64 = 4;

/// One policy of the third part with its figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Caller {
    pub variant: Variant,
    pub recording: Recording,
    /// The calls that began while the service refused.
    pub calls: u64,
    /// Those among them that did not succeed.
    pub failed: u64,
}

impl Caller {
    /// Measures one policy.
    pub fn new(variant: Variant, recording: Recording, blip: Range<Duration>) -> Self {
        let calls = recording.within(Count::Call, blip.clone());
        let succeeded = recording.within(Count::SucceededOf, blip);
        Self {
            failed: calls.saturating_sub(succeeded),
            variant,
            recording,
            calls,
        }
    }

    /// Attempts / first tries; 0 without a first try.
    pub fn amplification(&self) -> f64 {
        amplification(&self.recording).unwrap_or_default()
    }
}

/// The third part when it is over.
#[derive(Debug, Clone, PartialEq)]
pub struct BlipOutcome {
    pub callers: Vec<Caller>,
    /// By how much the load generator was late at worst.
    pub lateness: Duration,
    /// The budget did what it is in the drill to show.
    pub as_expected: bool,
    /// A sentence or two, made of measured figures.
    pub conclusion: String,
}

impl BlipOutcome {
    /// Judges the third part.
    pub fn new(callers: Vec<Caller>, setup: &Setup, lateness: Duration) -> Self {
        let (as_expected, conclusion) = match &*callers {
            [alone, unlimited, protected] => (
                as_expected(alone, protected),
                conclusion(alone, unlimited, protected, setup),
            ),
            _ => (false, String::new()),
        };
        Self {
            callers,
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
        let table = Table::new(["policy", "calls", "failed", "retries", "amplification"]);
        let table = self.callers.iter().fold(table, |table, caller| {
            table.row([
                Cell::new(&*caller.variant.title).colour(caller.variant.colour),
                plain(count(caller.calls)).into(),
                plain(count(caller.failed)).into(),
                plain(count(caller.recording.total(Count::Retry))).into(),
                format!("{:.3}", caller.amplification()).into(),
            ])
        });
        (table, LEGEND)
    }
}

fn as_expected(alone: &Caller, protected: &Caller) -> bool {
    alone.failed > 0
        && SAVES * protected.failed <= alone.failed
        && protected.amplification() < AMPLIFICATION
}

fn conclusion(alone: &Caller, unlimited: &Caller, protected: &Caller, setup: &Setup) -> String {
    let expected = if as_expected(alone, protected) {
        ""
    } else {
        ", which is not what was expected"
    };
    format!(
        "The service of a busy client answered 503 for {}. Of the {} calls that began meanwhile {} failed with one attempt, \
         {} without a budget, and {} under {}, for {:.1} % more attempts in all {}{expected}.",
        Human(setup.blip),
        alone.calls,
        alone.failed,
        unlimited.failed,
        protected.failed,
        protected.variant.title,
        (protected.amplification() - 1.0) * 100.0,
        Human(length(setup)),
    )
}

#[cfg(test)]
pub mod tests {
    use super::super::{blip, variants};
    use super::*;
    use crate::setup::tests::usual;
    use becalm::Policy;
    use std::collections::BTreeMap;

    /// 3,100 calls. A hundred begin in the blip: all of these fail with one attempt, and `failed` with retries.
    pub fn outcome(failed: u32, retries: u32) -> BlipOutcome {
        let setup = usual();
        let [alone, unlimited, protected] = variants(&Policy::default(), setup.client_timeout);
        let callers = vec![
            caller(alone, 100, 0),
            caller(unlimited, 2, 210),
            caller(protected, failed, retries),
        ];
        BlipOutcome::new(callers, &setup, Duration::ZERO)
    }

    fn caller(variant: Variant, failed: u32, retries: u32) -> Caller {
        let in_blip = |before, meanwhile| {
            let mut buckets = vec![0; 620];
            (buckets[0], buckets[510]) = (before, meanwhile);
            buckets
        };
        let counts = |kind| match kind {
            Count::Call | Count::FirstTry => in_blip(3_000, 100),
            Count::Succeeded | Count::SucceededOf => in_blip(3_000, 100 - failed),
            Count::Retry => in_blip(0, retries),
            _ => in_blip(0, 0),
        };
        let recording = Recording::of(counts, BTreeMap::new(), 0);
        Caller::new(variant, recording, blip(&usual()))
    }

    #[test]
    fn calls_that_are_saved_for_little_are_as_expected_and_said_in_figures() {
        let outcome = outcome(3, 205);
        assert!(outcome.as_expected);
        for words in [
            "503 for 200ms",
            "Of the 100 calls that began meanwhile 100 failed with one attempt",
            "2 without a budget, and 3 under becalm's default",
            "6.6 % more attempts in all 6.2s.",
        ] {
            assert!(outcome.conclusion.contains(words), "{}", outcome.conclusion);
        }
    }

    #[test]
    fn calls_that_are_lost_and_a_load_that_grows_are_said_plainly() {
        for (failed, retries) in [(26, 205), (3, 400)] {
            let outcome = outcome(failed, retries);
            assert!(!outcome.as_expected);
            let said = outcome.conclusion;
            assert!(said.contains("not what was expected"), "{said}");
        }
    }
}
