//! What has become of a variant? Decided by the measured figures alone.

use std::fmt::Write as _;

use becalm_report::format::plain;

use super::figures::Figures;
use super::recording::Held;
use super::setup::Setup;
use super::variant::{Role, Variant};
use crate::judged::tenths;
use crate::statistics::count;

/// By how much more than the least time the last client may be late.
const LATEST: f64 = 1.1;

/// Which share of the clients stays connected in a drain.
const CONNECTED: f64 = 0.995;

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
                let share = figures.share_connected(setup);
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
                format!("{} dials found no server", figures.unconnected)
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
            "Where the server lets everybody in it does not come back: {} after it was up again at most {} \
             of {} clients had a connection.",
            tenths(setup.watch()),
            plain(best.figures.open.into()),
            plain(setup.clients.into())
        );
    }
    for contender in contenders {
        let figures = &contender.figures;
        let Some(back) = figures.back else { continue };
        match contender.variant.role {
            Role::Appointments => {
                let _ = write!(
                    conclusion,
                    " With appointments all were back {} after it was up, where {} is the least: at most {} \
                     dials of each client, {} stale handshakes.",
                    tenths(back),
                    tenths(setup.floor()),
                    figures.most_dials,
                    plain(count(figures.wasted))
                );
            }
            Role::Drain => {
                let _ = write!(
                    conclusion,
                    " In a drain {:.2} % were connected throughout.",
                    figures.share_connected(setup) * 100.0
                );
            }
            _ => (),
        }
    }
    let messages = contenders.iter().map(|it| it.figures.messages).sum();
    if contenders
        .iter()
        .all(|it| it.figures.lost + it.figures.doubled == 0)
    {
        let _ = write!(
            conclusion,
            " Of {} messages none was lost and none came twice.",
            plain(count(messages))
        );
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
    use super::super::figures::tests::{back, down};
    pub use super::super::setup::tests::usual;
    use std::time::Duration;

    use super::super::variant;
    use super::*;

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
        for words in [
            "all were back 20.5 s after it was up, where 20.0 s is the least",
            "In a drain 100.00 % were connected throughout",
            "none was lost and none came twice",
        ] {
            assert!(
                judgement.conclusion.contains(words),
                "{}",
                judgement.conclusion
            );
        }
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
            (
                "hand-over",
                |it| it.unconnected = 1,
                "1 dials found no server",
            ),
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
