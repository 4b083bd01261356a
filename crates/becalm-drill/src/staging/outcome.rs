//! What is left of the drill of a target when it is over? Everything that reports are made of.

use std::time::Duration;

use becalm_report::Table;

use super::canary::Calm;
use super::hold::Held;
use super::plan::Plan;
use super::round::Round;
use super::trouble::Trouble;
use crate::fault::Counts;
use crate::judged::tenths;
use crate::judgement::Contender;
use crate::outcome::{Room, table};
use crate::setup::Setup;
use crate::twin::Twin;

/// What the words over the table mean.
pub const LEGEND: &str = "goodput/s, amplification (attempts / first tries): before > during > after the fault; \
                          peak: most requests in 10 ms";

/// A drill of a target that is over.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// As it was asked for; each round has its own, which may have gone on for longer.
    pub(crate) setup: Setup,
    pub(crate) seed: u64,
    /// Its name in the requests: that of no other drill.
    pub(crate) name: String,
    /// The target as it was named, without its path.
    pub(crate) host: String,
    /// Method and path.
    pub(crate) request: String,
    pub(crate) trouble: Trouble,
    /// Those that were held, in the order in which they were.
    pub(crate) contenders: Vec<Contender>,
    pub(crate) rounds: Vec<Round>,
    /// How the target fared after each, without load.
    pub(crate) calms: Vec<Calm>,
    /// What the simulator makes of them, if that was asked for.
    pub(crate) twins: Vec<Twin>,
    /// What went through the proxy of the fault, if there was one.
    pub(crate) seen: Option<Counts>,
    /// The command that repeats the drill.
    pub(crate) command: String,
}

impl Outcome {
    /// What was planned, with what was measured.
    pub(super) fn of(plan: &Plan, held: Held) -> Self {
        Self {
            setup: plan.setup.clone(),
            seed: plan.seed,
            name: held.name,
            host: plan.target.named(),
            request: plan.ask.named(),
            trouble: plan.trouble,
            contenders: held.contenders,
            rounds: held.rounds,
            calms: held.calms,
            twins: Vec::new(),
            seen: held.seen,
            command: plan.command.clone(),
        }
    }

    /// The course of the round that went on for longest.
    pub(crate) fn longest(&self) -> &Setup {
        let setups = self.rounds.iter().map(|round| &round.setup);
        setups.max_by_key(|it| it.after).unwrap_or(&self.setup)
    }

    /// By how much a call was late at worst.
    pub(crate) fn lateness(&self) -> Duration {
        let late = self.rounds.iter().map(|round| round.machine.lateness);
        late.max().unwrap_or_default()
    }

    /// The figures side by side.
    pub(crate) fn table(&self, room: Room) -> Table {
        table(&self.contenders, room)
    }

    /// How long the target took without load, under each policy.
    pub(crate) fn recoveries(&self) -> Vec<(String, String)> {
        let calms = self.contenders.iter().zip(&self.calms);
        calms
            .map(|(contender, calm)| {
                let after = match calm {
                    Calm::Well { after, .. } => {
                        format!("well {} after the last call", tenths(*after))
                    }
                    Calm::Unwell(time, why) => {
                        format!("not well {} after the last call: {why}", tenths(*time))
                    }
                };
                (contender.variant.title.clone(), after)
            })
            .collect()
    }
}
