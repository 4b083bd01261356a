//! What has become of a variant? Decided by the measured figures alone.

use std::fmt::Write as _;
use std::time::Duration;

use becalm_report::format::plain;
use becalm_report::{Cell, Colour};

use super::course::Held;
use super::setup::Setup;
use super::tally::Count;
use super::told::Report;
use super::variant::{Role, Variant};
use crate::drill::judged::tenths;

/// By how much more than the least time the last client may be late.
const LATEST: f64 = 1.1;

/// Which share of the clients stays connected in a drain.
const CONNECTED: f64 = 0.995;

/// The figures of one variant.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    /// From the moment at which a server listens again until all clients have a connection.
    pub back: Option<Duration>,
    /// The clients that have one at the end.
    pub open: u32,
    /// The fewest that had one since the fault.
    pub least: u32,
    /// The most connections that the servers had at once.
    pub most_active: u32,
    /// Dials since a server listens again, all and those of the client that made most.
    pub dials: u64,
    pub most_dials: u32,
    /// The most dials in 100 ms, since then.
    pub peak: u32,
    /// Dials that found nobody, of the whole course; that the server refused; that took too long; that ended in another way.
    pub unconnected: u64,
    pub refused: u64,
    pub timed_out: u64,
    pub broken: u64,
    /// Handshakes that a server did since it listens again, and those of them for clients that had left.
    pub handshakes: u64,
    pub wasted: u64,
    pub gave_up: u64,
    /// Connections since the fault that went on with their session, and that had to begin anew.
    pub resumed: u64,
    pub cold: u64,
    /// Messages that were sent and answered, that were lost, and that came twice.
    pub messages: u64,
    pub lost: u64,
    pub doubled: u64,
    /// How often a client had two connections or dials at once.
    pub two_live: u32,
}

impl Figures {
    /// The figures of what was measured.
    pub fn of(held: &Held) -> Self {
        let Held {
            recording,
            marks,
            report,
        } = held;
        let end = marks.end.unwrap_or_default();
        let fault = marks.fault.unwrap_or(end);
        let up = marks.up.unwrap_or(end);
        let since_fault = |count| recording.within(count, fault..end);
        let since_up = |count| recording.within(count, up..end);
        let Report {
            open,
            full_since,
            dials,
            most_dials,
            lost,
            doubled,
            two_live,
            messages,
        } = *report;
        Self {
            back: full_since.map(|at| at.saturating_sub(up)),
            open,
            least: recording.least_open(fault..end),
            most_active: recording.active.iter().copied().max().unwrap_or(0),
            dials,
            most_dials,
            peak: recording.peak(Count::Dial, up..end),
            unconnected: since_fault(Count::Unconnected),
            refused: since_fault(Count::Refused),
            timed_out: since_fault(Count::TimedOut),
            broken: since_fault(Count::Broken),
            handshakes: since_up(Count::Handshake),
            wasted: since_up(Count::Wasted),
            gave_up: since_fault(Count::GaveUp),
            resumed: since_fault(Count::Resumed),
            cold: since_fault(Count::Cold),
            messages,
            lost,
            doubled,
            two_live,
        }
    }

    /// What must hold for every variant, in sentences where it does not.
    fn broken_laws(&self, setup: &Setup) -> Vec<String> {
        let laws = [
            (self.lost, "messages were lost"),
            (self.doubled, "messages came twice"),
            (
                self.two_live.into(),
                "times a client had two connections or dials at once",
            ),
            (self.gave_up, "clients gave up"),
            (
                self.most_active.saturating_sub(setup.clients).into(),
                "connections were more than there are clients",
            ),
        ];
        let broken = laws.into_iter().filter(|(count, _)| *count > 0);
        broken
            .map(|(count, words)| format!("{count} {words}"))
            .collect()
    }

    /// In two or three words.
    pub fn verdict(&self, setup: &Setup) -> Cell {
        match self.back {
            Some(back) => Cell::new(format!("back in {}", tenths(back))).colour(Colour::Green),
            None => Cell::new(format!(
                "down, {} of {}",
                plain(self.open.into()),
                plain(setup.clients.into())
            ))
            .colour(Colour::Red),
        }
    }

    /// The name of the verdict in the JSON document.
    pub fn name(&self) -> &'static str {
        if self.back.is_some() { "back" } else { "down" }
    }
}

/// One variant with what was measured.
#[derive(Debug, Clone, PartialEq)]
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

    /// What stands beside the time in which all were back.
    fn praise(&self) -> Option<String> {
        let figures = &self.figures;
        (self.variant.role == Role::Appointments).then(|| {
            format!(
                "at most {} dials of each client, {} handshakes for nobody",
                figures.most_dials, figures.wasted
            )
        })
    }

    /// What it is in the drill to show, and did not: sentences, none if it did.
    pub fn missed(&self, setup: &Setup) -> Vec<String> {
        let figures = &self.figures;
        let mut missed = figures.broken_laws(setup);
        let all = u64::from(setup.clients);
        let mut asked = |is_so: bool, otherwise: &dyn Fn() -> String| {
            if !is_so {
                missed.push(otherwise());
            }
        };
        if self.variant.role == Role::Storm {
            asked(figures.back.is_none(), &|| {
                format!(
                    "all were back after {}",
                    tenths(figures.back.unwrap_or_default())
                )
            });
            return missed;
        }
        let wasted = || {
            format!(
                "{} handshakes were for clients that had left",
                figures.wasted
            )
        };
        let is_little = figures.wasted * 100 <= figures.handshakes;
        let bound = setup.floor().mul_f64(LATEST);
        let back = figures.back;
        asked(back.is_some(), &|| {
            format!("{} of {all} clients were back", figures.open)
        });
        match self.variant.role {
            Role::Storm => (),
            Role::Back => asked(is_little, &wasted),
            Role::Appointments | Role::HandOver | Role::Sessions => {
                asked(back.is_none_or(|back| back <= bound), &|| {
                    format!(
                        "all were back after {} and not within {}",
                        tenths(back.unwrap_or_default()),
                        tenths(bound)
                    )
                });
                // Those who have dialled during the outage lose their patience soon after it, some of them in the work.
                let is_bound = self.variant.role != Role::HandOver;
                asked(figures.wasted == 0 || is_little && !is_bound, &wasted);
                asked(figures.most_dials <= 2, &|| {
                    format!("a client dialled {} times", figures.most_dials)
                });
            }
            Role::Drain => {
                let share = f64::from(figures.least) / f64::from(setup.clients);
                asked(share >= CONNECTED, &|| {
                    format!("only {:.2} % were connected throughout", share * 100.0)
                });
                asked(figures.wasted == 0, &wasted);
                asked(figures.dials == all && figures.most_dials == 1, &|| {
                    format!(
                        "{} dials, up to {} of one client",
                        figures.dials, figures.most_dials
                    )
                });
            }
        }
        if self.variant.role == Role::Sessions {
            asked(figures.resumed == all && figures.cold == 0, &|| {
                format!(
                    "{} sessions went on, and {} began anew",
                    figures.resumed, figures.cold
                )
            });
        }
        if self.variant.role == Role::HandOver {
            asked(figures.unconnected == 0, &|| {
                format!("{} dials found nobody", figures.unconnected)
            });
        }
        missed
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
    let storms = contenders
        .iter()
        .filter(|it| it.variant.role == Role::Storm);
    let down: Vec<_> = storms.filter(|it| it.figures.back.is_none()).collect();
    if let Some(best) = down.iter().max_by_key(|it| it.figures.open) {
        let _ = write!(
            conclusion,
            "Where the server lets in whoever comes it does not come back: {} after it was up again at most {} \
             of {} clients had a connection.",
            tenths(setup.watch()),
            plain(best.figures.open.into()),
            plain(setup.clients.into())
        );
    }
    for contender in contenders {
        if let (Some(back), Some(words)) = (contender.figures.back, contender.praise()) {
            let _ = write!(
                conclusion,
                " With {} all were back {} after the server was up, where {} is the least: {words}.",
                contender.variant.title,
                tenths(back),
                tenths(setup.floor()),
            );
        }
    }
    let mut as_expected = true;
    for contender in contenders {
        let missed = contender.missed(setup);
        if !missed.is_empty() {
            as_expected = false;
            let _ = write!(
                conclusion,
                " Not as expected with {}: {}.",
                contender.variant.title,
                missed.join("; ")
            );
        }
    }
    Judgement {
        as_expected,
        conclusion: conclusion.trim_start().to_owned(),
    }
}

#[cfg(test)]
pub mod tests {
    use super::super::clock::BUCKET;
    use super::super::course::Marks;
    use super::super::recording::Recording;
    pub use super::super::setup::tests::usual;
    use super::super::tally::{KINDS, Line};
    use super::super::variant;
    use super::*;

    /// Ten seconds of the usual drill, in which nobody is connected from the second second on, but 400 at the end.
    fn down() -> Held {
        let mut recording = Recording::default();
        for bucket in 0..102 {
            let level = if bucket < 10 { 2_000 } else { 0 };
            let mut counts = [0; KINDS];
            let is_up = bucket >= 40;
            counts[Count::Dial as usize] = if is_up { 50 } else { 0 };
            counts[Count::Handshake as usize] = if is_up { 10 } else { 0 };
            counts[Count::Wasted as usize] = if is_up { 9 } else { 0 };
            recording.add_server(&Line {
                bucket,
                level,
                counts,
            });
            recording.add_clients(&Line {
                bucket,
                level,
                counts: [0; KINDS],
            });
        }
        Held {
            recording,
            marks: Marks {
                start: Duration::ZERO,
                fault: Some(BUCKET * 10),
                up: Some(BUCKET * 40),
                end: Some(BUCKET * 100),
            },
            report: Report {
                open: 400,
                dials: 3_000,
                most_dials: 4,
                messages: 9_000,
                ..Report::default()
            },
        }
    }

    /// The same ten seconds with everybody connected, all work for somebody, and one dial each.
    fn back() -> Held {
        let mut held = down();
        let mut recording = Recording::default();
        for bucket in 0..102 {
            let mut counts = [0; KINDS];
            let is_up = bucket >= 40;
            counts[Count::Dial as usize] = if is_up { 33 } else { 0 };
            counts[Count::Handshake as usize] = if is_up { 33 } else { 0 };
            counts[Count::Resumed as usize] = if bucket == 50 { 2_000 } else { 0 };
            let line = Line {
                bucket,
                level: 2_000,
                counts,
            };
            recording.add_server(&line);
            recording.add_clients(&Line {
                counts: [0; KINDS],
                ..line
            });
        }
        held.recording = recording;
        held.report = Report {
            open: 2_000,
            full_since: Some(BUCKET * 245),
            dials: 2_000,
            most_dials: 1,
            ..held.report
        };
        held
    }

    /// The usual drill as it should end.
    pub fn judged() -> (Vec<Contender>, Judgement) {
        let setup = usual();
        let contenders = variant::all(&setup).into_iter().map(|variant| {
            let is_storm = variant.role == Role::Storm;
            Contender::new(variant, if is_storm { down() } else { back() })
        });
        let contenders: Vec<_> = contenders.collect();
        let judgement = judge(&contenders, &setup);
        (contenders, judgement)
    }

    #[test]
    fn figures_are_those_since_the_server_is_up() {
        let figures = Figures::of(&down());
        assert_eq!((figures.handshakes, figures.wasted), (600, 540));
        assert_eq!(
            (figures.peak, figures.most_active, figures.least),
            (50, 2_000, 0)
        );
        assert_eq!((figures.back, figures.name()), (None, "down"));
    }

    #[test]
    fn a_service_that_stays_down_is_as_expected_and_one_that_comes_back_is_said_plainly() {
        let (mut contenders, judgement) = judged();
        assert!(judgement.as_expected, "{}", judgement.conclusion);
        assert!(
            judgement.conclusion.contains("at most 400 of 2"),
            "{}",
            judgement.conclusion
        );
        contenders[0].figures.back = Some(Duration::from_secs(20));
        let judgement = judge(&contenders, &usual());
        assert!(!judgement.as_expected);
        let said = judgement.conclusion;
        assert!(
            said.contains("Not as expected with fixed delay: all were back after 20.0 s"),
            "{said}"
        );
    }

    type Change = fn(&mut Figures);

    #[test]
    fn each_protection_is_held_to_its_promise() {
        let setup = usual();
        let (contenders, judgement) = judged();
        let words = "all were back 20.5 s after the server was up, where 20.0 s is the least";
        assert!(
            judgement.conclusion.contains(words),
            "{}",
            judgement.conclusion
        );
        let changes: [(&str, Change, &str); 11] = [
            (
                "admission",
                |it| it.back = None,
                "2000 of 2000 clients were back",
            ),
            (
                "admission",
                |it| it.wasted = 100,
                "for clients that had left",
            ),
            (
                "appointments",
                |it| it.back = Some(Duration::from_secs(23)),
                "not within 22.0 s",
            ),
            (
                "appointments",
                |it| it.wasted = 1,
                "1 handshakes were for clients",
            ),
            ("appointments", |it| it.most_dials = 3, "dialled 3 times"),
            ("drain", |it| it.least = 1_980, "only 99.00 %"),
            ("drain", |it| it.dials = 2_001, "2001 dials"),
            ("hand-over", |it| it.unconnected = 1, "1 dials found nobody"),
            ("sessions", |it| it.resumed = 1_999, "1999 sessions went on"),
            ("sessions", |it| it.cold = 1, "1 began anew"),
            (
                "hand-over",
                |it| it.wasted = 100,
                "for clients that had left",
            ),
        ];
        for (name, change, words) in changes {
            let found = contenders.iter().find(|it| it.variant.name == name);
            let mut contender = found.unwrap().clone();
            assert_eq!(contender.missed(&setup), [""; 0], "{name}");
            change(&mut contender.figures);
            let missed = contender.missed(&setup);
            assert!(
                missed.iter().any(|it| it.contains(words)),
                "{name}: {missed:?}"
            );
        }
    }

    #[test]
    fn no_law_is_broken_in_silence() {
        let breaks: [(Change, &str); 5] = [
            (|it| it.lost = 1, "1 messages were lost"),
            (|it| it.doubled = 2, "2 messages came twice"),
            (|it| it.two_live = 3, "two connections"),
            (|it| it.gave_up = 4, "4 clients gave up"),
            (|it| it.most_active = 2_001, "more than there are clients"),
        ];
        for (broken, words) in breaks {
            let (mut contenders, _) = judged();
            broken(&mut contenders[1].figures);
            let judgement = judge(&contenders, &usual());
            assert!(!judgement.as_expected);
            assert!(
                judgement.conclusion.contains(words),
                "{}",
                judgement.conclusion
            );
        }
    }
}
