//! Did each client do what it is in the drill to show?

use std::fmt::Write as _;
use std::time::Duration;

use becalm_report::format::plain;
use becalm_report::{Cell, Colour};

use crate::course::Held;
use crate::figures::Figures;
use crate::setup::Setup;
use crate::units::tenths;
use crate::variant::{Client, Variant};

/// What becalm-redis promises: dials of a process in a second, and the time until all are back. Its longest wait is a second, of
/// which a dial is the end.
const MOST_DIALS: usize = 10;
const BACK: Duration = Duration::from_millis(1_050);

/// A variant with what was measured.
#[derive(Debug, Clone)]
pub struct Contender {
    pub variant: Variant,
    pub held: Held,
    pub figures: Figures,
}

impl Contender {
    pub fn new(variant: Variant, held: Held) -> Self {
        let figures = Figures::of(&held);
        Self {
            variant,
            held,
            figures,
        }
    }

    /// What it should have shown and did not, in sentences.
    pub fn missed(&self, setup: &Setup) -> Vec<String> {
        let figures = &self.figures;
        let report = figures.report;
        let is_ours = self.variant.client != Client::Manager;
        let cannot_repeat = self.variant.client != Client::GateOff;
        // By chance one in a thousand times, of four processes.
        let is_fleet = setup.processes > 3 && figures.apart.len() > 4;
        let in_step = is_ours && is_fleet && figures.in_step() > 1;
        let asked = [
            (
                report.lost > 0,
                format!("{} answered increments were lost", report.lost),
            ),
            (
                cannot_repeat && report.twice > 0,
                format!("{} increments ran twice", report.twice),
            ),
            (
                !cannot_repeat && setup.cuts > 0 && report.twice == 0,
                "no increment ran twice".into(),
            ),
            (
                is_ours && figures.most_dials > MOST_DIALS,
                format!("a process dialled {} times in a second", figures.most_dials),
            ),
            (
                is_ours && figures.all_back() > BACK,
                format!(
                    "all were back after {} and not within 1 s",
                    tenths(figures.all_back())
                ),
            ),
            (
                in_step,
                format!(
                    "{} times all processes came back in one instant",
                    figures.in_step()
                ),
            ),
        ];
        asked
            .into_iter()
            .filter_map(|(is_so, words)| is_so.then_some(words))
            .collect()
    }

    /// In two or three words.
    pub fn verdict(&self) -> Cell {
        let report = self.figures.report;
        if report.lost + report.twice > 0 {
            Cell::new(format!(
                "{} twice, {} lost",
                number(report.twice),
                number(report.lost)
            ))
            .colour(Colour::Red)
        } else if self.figures.in_step() > self.figures.apart.len() / 2 {
            Cell::new("in one instant").colour(Colour::Orange)
        } else {
            Cell::new("once each, apart").colour(Colour::Green)
        }
    }
}

/// Whether all variants did what they are in the drill to show, and what they did, in a few sentences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    pub as_expected: bool,
    pub conclusion: String,
}

/// Judges all.
pub fn judge(contenders: &[Contender], setup: &Setup) -> Judgement {
    let mut conclusion = String::new();
    for contender in contenders {
        let figures = &contender.figures;
        let report = figures.report;
        let all = number(report.all);
        let _ = match contender.variant.client {
            Client::Manager => write!(
                conclusion,
                " ConnectionManager: the {} processes came back in one instant {} of {} times, {} ms apart in the middle.",
                setup.processes,
                figures.in_step(),
                figures.apart.len(),
                figures.usually_apart().as_millis()
            ),
            Client::GateOff => write!(
                conclusion,
                " Without the gate {} of {all} increments ran twice.",
                number(report.twice)
            ),
            Client::GateOn => write!(
                conclusion,
                " With it {} of {all} ran twice and {} answered ones were lost; {} were sent again that were proved unsent. \
                 All processes were back {} after the server, {} ms apart in the middle.",
                number(report.twice),
                number(report.lost),
                number(figures.again),
                tenths(figures.all_back()),
                figures.usually_apart().as_millis()
            ),
        };
    }
    let mut as_expected = true;
    for contender in contenders {
        let missed = contender.missed(setup);
        if !missed.is_empty() {
            as_expected = false;
            let (title, missed) = (contender.variant.title, missed.join("; "));
            let _ = write!(conclusion, " Not as expected with {title}: {missed}.");
        }
    }
    Judgement {
        as_expected,
        conclusion: conclusion.trim_start().to_owned(),
    }
}

/// A count, as people read it.
pub fn number(count: u64) -> String {
    #[expect(clippy::cast_precision_loss)] // exact up to 2^53
    let count = count as f64;
    plain(count)
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::figures::tests::held;
    pub use crate::setup::tests::usual;
    use crate::variant::ALL;

    /// The usual drill as it should end.
    pub fn judged() -> (Vec<Contender>, Judgement) {
        let contenders = ALL.map(|variant| {
            let mut contender = Contender::new(variant, held());
            let figures = &mut contender.figures;
            figures.report.twice = if variant.client == Client::GateOff {
                900
            } else {
                0
            };
            contender
        });
        let judgement = judge(&contenders, &usual());
        (contenders.into(), judgement)
    }

    type Change = fn(&mut Figures);

    #[test]
    fn each_client_is_held_to_what_it_is_there_to_show() {
        let setup = usual();
        let (contenders, judgement) = judged();
        assert!(judgement.as_expected, "{}", judgement.conclusion);
        for words in [
            "ConnectionManager: the 4 processes came back in one instant 1 of 2 times, 310 ms apart",
            "Without the gate 900 of 1",
            "With it 0 of 1",
            "6 were sent again that were proved unsent",
            "back 0.5 s after the server",
        ] {
            assert!(
                judgement.conclusion.contains(words),
                "{words}: {}",
                judgement.conclusion
            );
        }
        let changes: [(&str, Change, &str); 7] = [
            (
                "connection-manager",
                |it| it.report.twice = 1,
                "1 increments ran twice",
            ),
            (
                "gate-off",
                |it| it.report.twice = 0,
                "no increment ran twice",
            ),
            (
                "gate-off",
                |it| it.report.lost = 3,
                "3 answered increments were lost",
            ),
            (
                "gate-on",
                |it| it.report.twice = 2,
                "2 increments ran twice",
            ),
            (
                "gate-on",
                |it| it.most_dials = 11,
                "dialled 11 times in a second",
            ),
            (
                "gate-on",
                |it| it.back.push(Duration::from_secs(2)),
                "after 2.0 s",
            ),
            (
                "gate-on",
                |it| it.apart = vec![Duration::ZERO; 5],
                "in one instant",
            ),
        ];
        for (name, change, words) in changes {
            let found = contenders.iter().find(|it| it.variant.name == name);
            let mut contender = found.unwrap().clone();
            assert_eq!(contender.missed(&setup), [""; 0], "{name}");
            change(&mut contender.figures);
            let judgement = judge(&[contender], &setup);
            assert!(!judgement.as_expected);
            assert!(
                judgement.conclusion.contains(words),
                "{}",
                judgement.conclusion
            );
        }
    }
}
