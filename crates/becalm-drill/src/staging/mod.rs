//! Will a short fault of a service of one's own become a long storm? Real clients against it, in staging.

mod canary;
pub mod capacity;
mod document;
mod finding;
mod growth;
mod hold;
mod load;
mod options;
mod outcome;
mod page;
mod plan;
mod request;
mod round;
mod simulated;
mod trouble;
mod variants;

use std::sync::atomic::AtomicUsize;

use becalm_report::Page;

use crate::drill::{Broken, Drill, Report};
use crate::outcome::Room;
use crate::show::{Section, Show};
use crate::twin;
pub use crate::void::ENOUGH;
pub use hold::Held;
pub use options::{Breakage, Candidate, Course, Load, Options};
pub use outcome::{LEGEND, Outcome};
pub use plan::Plan;
pub use round::GOOD;
pub use trouble::Trouble;

impl Drill for Plan {
    type Held = Held;
    type Outcome = Outcome;

    fn notes(&self) -> &[String] {
        &self.notes
    }

    fn hold(&self, show: &Show<'_>, signal: &AtomicUsize) -> Result<Held, Broken> {
        hold::hold(self, show, signal)
    }

    fn judge(self, held: Held) -> Outcome {
        let mut outcome = Outcome::of(&self, held);
        if let Some(file) = &self.simulated {
            if outcome.finding().is_verdict() {
                outcome.twins = simulated::all(&outcome, &self, file);
            }
        }
        outcome
    }
}

impl Report for Outcome {
    fn sections(&self) -> Vec<Section> {
        let figures = Section {
            table: self.table(Room::Terminal),
            legend: LEGEND,
            conclusion: self.conclusion(),
            more: "what the words mean, the reports",
        };
        let simulated = twin::section(&self.contenders, &self.twins);
        [figures].into_iter().chain(simulated).collect()
    }

    fn page(&self) -> Page {
        page::page(self)
    }

    fn is_as_expected(&self) -> bool {
        self.is_back()
    }
}
