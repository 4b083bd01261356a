//! Will a short fault become a long storm? Real clients against services of the drill's own, on this machine.

mod storm;

use std::sync::atomic::AtomicUsize;

use becalm::Policy;
use becalm::support::Human;
use becalm_report::{Figure, Page};

use crate::blip::{self, BlipOutcome};
use crate::drill::{Broken, Drill, Report};
use crate::judgement::{Contender, judge};
pub use crate::outcome::Outcome;
use crate::outcome::{self, Room};
use crate::replay::Played;
pub use crate::setup::Setup;
use crate::show::{Section, Show};
use crate::tail::{self, Racer, Tail, TailOutcome};
use crate::variant::{self, Variant};
pub use crate::wire::Wire;
use crate::{arrivals, descriptors, page, picture, twin};

/// What it takes to hold the drill: plain data.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Options {
    /// The service, the load and the fault.
    pub setup: Setup,
    /// The policy that is set against the others.
    pub policy: Policy,
    /// What arrivals and delays are drawn from.
    pub seed: u64,
    /// Whether the same calls go through the simulator, too.
    pub simulate: bool,
    /// The command that repeats the drill, for its reports.
    pub command: String,
}

/// The drill, ready to be held.
#[derive(Debug)]
pub struct Plan {
    options: Options,
    variants: Vec<Variant>,
    notes: Vec<String>,
}

impl Plan {
    /// Checks what is asked for, and raises the limit of open files as far as it is needed.
    ///
    /// # Errors
    ///
    /// A sentence that names the flag and the remedy.
    pub fn new(options: Options) -> Result<Self, String> {
        let Options { setup, policy, .. } = &options;
        setup.validate(policy)?;
        let variants = variant::all(policy, setup.client_timeout);
        let connections = variants
            .iter()
            .map(|variant| setup.most_connections(&variant.policy))
            .sum();
        let warning = descriptors::raise(connections)?;
        let notes = warning.into_iter().chain(setup.notes(policy)).collect();
        Ok(Self {
            options,
            variants,
            notes,
        })
    }

    /// The second part, if there is to be one.
    fn tail(
        &self,
        show: &Show<'_>,
        signal: &AtomicUsize,
    ) -> Result<Option<(Vec<Racer>, Played)>, Broken> {
        let Some(part) = Tail::of(&self.options.setup) else {
            return Ok(None);
        };
        show.say(&format!(
            "The second part: some answers are slow, for {}.\n\n",
            Human(part.length)
        ));
        let variants = tail::variants(&self.options.policy);
        tail::hold(&part, variants, self.options.seed, signal).map(Some)
    }

    /// The third part, if there is to be one.
    fn blip(&self, show: &Show<'_>, signal: &AtomicUsize) -> Result<Option<BlipOutcome>, Broken> {
        let Options { setup, policy, .. } = &self.options;
        if setup.blip.is_zero() {
            return Ok(None);
        }
        show.say(&format!(
            "The third part: a service refuses everything for {}.\n\n",
            Human(setup.blip)
        ));
        blip::hold(setup, policy, self.options.seed, signal).map(Some)
    }

    /// The first part, judged.
    fn judged(&self, (contenders, played): (Vec<Contender>, Played)) -> Outcome {
        let Options { setup, seed, .. } = &self.options;
        let twins = if self.options.simulate {
            twin::all(setup, &contenders, &played.began, *seed)
        } else {
            Vec::new()
        };
        Outcome {
            judgement: judge(&contenders, setup, played.lateness),
            setup: setup.clone(),
            seed: *seed,
            contenders,
            began: played.began,
            lateness: played.lateness,
            twins,
            tail: None,
            blip: None,
            command: self.options.command.clone(),
        }
    }
}

fn raced((racers, played): (Vec<Racer>, Played)) -> TailOutcome {
    TailOutcome::new(racers, played.lateness)
}

/// What was measured: of the first part, and of the others, if they were held.
#[derive(Debug)]
pub struct Held {
    storm: (Vec<Contender>, Played),
    tail: Option<(Vec<Racer>, Played)>,
    blip: Option<BlipOutcome>,
}

impl Drill for Plan {
    type Held = Held;
    type Outcome = Outcome;

    fn notes(&self) -> &[String] {
        &self.notes
    }

    fn hold(&self, show: &Show<'_>, signal: &AtomicUsize) -> Result<Held, Broken> {
        Ok(Held {
            storm: storm::hold(&self.options, &self.variants, show, signal)?,
            tail: self.tail(show, signal)?,
            blip: self.blip(show, signal)?,
        })
    }

    fn judge(self, held: Held) -> Outcome {
        let mut outcome = self.judged(held.storm);
        outcome.tail = held.tail.map(raced);
        outcome.blip = held.blip;
        outcome
    }

    /// Each part is told when it is over.
    fn run(self, show: &Show<'_>, signal: &AtomicUsize) -> Result<Outcome, Broken> {
        let storm = storm::hold(&self.options, &self.variants, show, signal)?;
        let mut outcome = self.judged(storm);
        show.tell(outcome.sections());
        outcome.tail = self.tail(show, signal)?.map(raced);
        show.tell(outcome.tail.iter().map(TailOutcome::section).collect());
        outcome.blip = self.blip(show, signal)?;
        show.tell(outcome.blip.iter().map(BlipOutcome::section).collect());
        Ok(outcome)
    }
}

impl Report for Outcome {
    fn sections(&self) -> Vec<Section> {
        let mut sections = vec![Section {
            table: outcome::table(&self.contenders, Room::Terminal),
            legend: outcome::LEGEND,
            conclusion: self.judgement.conclusion.clone(),
            more: "what the words mean, the other parts, the reports",
        }];
        sections.extend(twin::section(&self.contenders, &self.twins));
        sections.extend(self.tail.iter().map(TailOutcome::section));
        sections.extend(self.blip.iter().map(BlipOutcome::section));
        sections
    }

    fn page(&self) -> Page {
        page::page(self)
    }

    fn is_as_expected(&self) -> bool {
        self.judgement.as_expected
            && self.tail.as_ref().is_none_or(|tail| tail.as_expected)
            && self.blip.as_ref().is_none_or(|blip| blip.as_expected)
    }
}

impl Outcome {
    /// A picture of the drill with and without a budget: SVG.
    pub fn picture(&self) -> String {
        picture::side_by_side(self).to_svg()
    }

    /// When the calls began, as CSV that the trace of a scenario takes.
    pub fn arrivals(&self) -> String {
        arrivals::csv(&self.began)
    }
}
