//! What is left of a drill when it is over? Everything that reports are made of.

use std::time::Duration;

use becalm_report::format::plain;
use becalm_report::{Cell, Colour, Table};

use super::judgement::{Contender, Judgement, Verdict, tenths};
use super::setup::Setup;
use super::statistics::{Measured, PhaseFigures};

/// What the words over the table mean.
pub const LEGEND: &str = "goodput/s, amplification: before > during > after the fault; peak: most \
                          requests in 10 ms; stale: work done for clients that had left";

/// A drill that is over.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub setup: Setup,
    pub seed: u64,
    pub contenders: Vec<Contender>,
    pub judgement: Judgement,
    /// By how much the load generator was late at worst.
    pub lateness: Duration,
    /// The command that repeats the drill.
    pub command: String,
}

impl Outcome {
    /// The figures side by side.
    pub fn table(&self) -> Table {
        let header = [
            "policy",
            "goodput/s",
            "amplification",
            "peak",
            "stale",
            "outcome",
        ];
        let rows = self.contenders.iter().map(|contender| {
            let measured = &contender.measured;
            let stale = measured.served_nobody;
            [
                Cell::new(&*contender.variant.title).colour(contender.variant.colour),
                phases(measured, |phase| plain(phase.goodput().round())).into(),
                phases(measured, |phase| share(phase.amplification())).into(),
                plain(measured.peak_arrivals.into()).into(),
                stale
                    .map_or("-".into(), |share| format!("{:.0}%", share * 100.0))
                    .into(),
                ending(contender, &self.setup),
            ]
        });
        rows.fold(Table::new(header), Table::row)
    }
}

fn phases(measured: &Measured, figure: impl Fn(&PhaseFigures) -> String) -> String {
    measured.phases.each_ref().map(figure).join(" > ")
}

fn share(amplification: Option<f64>) -> String {
    amplification.map_or("-".into(), |share| format!("{share:.2}"))
}

/// What became of a policy, in a few words.
fn ending(contender: &Contender, setup: &Setup) -> Cell {
    let measured = &contender.measured;
    let colour = match contender.verdict {
        Verdict::Storm => Colour::Red,
        Verdict::Recovered => Colour::Green,
        Verdict::Neither => Colour::Orange,
    };
    let words = if measured.storm_outlives(setup) {
        format!("storm > {}", tenths(setup.after))
    } else if let Some(time) = measured.recovered {
        format!("back in {}", tenths(time))
    } else if !measured.storm.is_zero() {
        format!("storm {}", tenths(measured.storm))
    } else {
        "not back".into()
    };
    Cell::new(words).colour(colour)
}

#[cfg(test)]
pub mod tests {
    use super::super::judgement::judge;
    use super::super::judgement::tests::contenders;
    use super::super::setup::tests::usual;
    use super::super::statistics::tests::protected;
    use super::*;
    use becalm_report::terminal::Painter;

    /// The usual drill as it should end.
    pub fn outcome() -> Outcome {
        let (setup, contenders) = (usual(), contenders(&protected()));
        Outcome {
            judgement: judge(&contenders, &setup, Duration::ZERO),
            setup,
            seed: 7,
            contenders,
            lateness: Duration::from_millis(2),
            command: "becalm drill --seed 7".into(),
        }
    }

    #[test]
    fn the_table_holds_the_figures_of_every_policy() {
        let text = outcome().table().to_terminal(Painter::Plain);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 5);
        for words in [
            "no backoff",
            "260 > 2 > 2",
            "1.00 > 4.00 > 4.00",
            "storm > 7.0 s",
        ] {
            assert!(lines[1].contains(words), "{text}");
        }
        for words in [
            "becalm's default",
            "260 > 0 > 227",
            "1.00 > 1.12 > 1.01",
            "back in 1.9 s",
        ] {
            assert!(lines[4].contains(words), "{text}");
        }
        let fits = |line: &&str| line.chars().count() < 80;
        assert!(lines.iter().all(fits), "{text}");
    }
}
