//! What is left of the drill of a target when it is over? Everything that reports are made of.

use std::time::Duration;

use becalm_report::Table;

use super::canary::Calm;
use super::round::Round;
use super::trouble::Trouble;
use crate::drill::fault::Counts;
use crate::drill::judged::tenths;
use crate::drill::judgement::Contender;
use crate::drill::outcome::{Room, table};
use crate::drill::setup::Setup;
use crate::drill::twin::Twin;

/// What the words over the table mean.
pub const LEGEND: &str = "goodput/s, amplification: before > during > after the fault; peak: most \
                          requests in 10 ms";

/// A drill of a target that is over.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// As it was asked for; each round has its own, which may have gone on for longer.
    pub setup: Setup,
    pub seed: u64,
    /// Its name in the requests: that of no other drill.
    pub name: String,
    /// The target as it was named, without its path.
    pub host: String,
    /// Method and path.
    pub request: String,
    pub trouble: Trouble,
    /// Those that were held, in the order in which they were.
    pub contenders: Vec<Contender>,
    pub rounds: Vec<Round>,
    /// How the target fared after each, without load.
    pub calms: Vec<Calm>,
    /// What the simulator makes of them, if that was asked for.
    pub twins: Vec<Twin>,
    /// What went through the proxy of the fault, if there was one.
    pub seen: Option<Counts>,
    /// The command that repeats the drill.
    pub command: String,
}

impl Outcome {
    /// The course of the round that went on for longest.
    pub fn longest(&self) -> &Setup {
        let setups = self.rounds.iter().map(|round| &round.setup);
        setups.max_by_key(|it| it.after).unwrap_or(&self.setup)
    }

    /// By how much a call was late at worst.
    pub fn lateness(&self) -> Duration {
        let late = self.rounds.iter().map(|round| round.lateness);
        late.max().unwrap_or_default()
    }

    /// The figures side by side.
    pub fn table(&self, room: Room) -> Table {
        table(&self.contenders, room)
    }

    /// How long the target took without load, under each policy.
    pub fn recoveries(&self) -> Vec<(String, String)> {
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
