//! Do ten thousand sockets come back when their server dies? Real clients of becalm-ws and a real server, killed, on this machine.

pub mod child;
pub mod clock;
mod course;
mod document;
mod figures;
mod fleet;
mod ground;
mod journal;
mod judgement;
mod live;
mod member;
mod numbered;
mod outcome;
mod page;
mod picture;
mod recording;
mod schedule;
mod servers;
mod service;
mod setup;
mod tally;
mod told;
mod variant;
mod worker;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::atomic::AtomicUsize;

use becalm_report::Page;

use crate::descriptors;
use crate::drill::{Broken, Drill, Report};
use crate::live::Display;
use crate::show::{Section, Show};
use judgement::{Contender, judge};
pub use outcome::Outcome;
pub use setup::Setup;
pub use variant::NAMES;
use variant::Variant;

/// What it takes to hold the drill: plain data.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Options {
    /// The fleet, the server and the outage.
    pub setup: Setup,
    /// The variants that are held, of [`NAMES`]; all, if it names none.
    pub only: Vec<String>,
    /// What the draws come from.
    pub seed: u64,
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
    /// Checks what is asked for, and raises the limit of open files.
    ///
    /// # Errors
    ///
    /// A sentence that names the flag and the remedy.
    pub fn new(mut options: Options) -> Result<Self, String> {
        let Options { setup, only, .. } = &mut options;
        setup.validate()?;
        // What it starts has the limit of this process.
        setup.servers = servers::needed(setup.clients, descriptors::raise_all())?;
        let mut variants = variant::all(setup);
        variants.retain(|it| only.is_empty() || only.iter().any(|name| name == it.name));
        Ok(Self {
            notes: setup.notes(),
            options,
            variants,
        })
    }
}

impl Drill for Plan {
    type Held = Vec<Contender>;
    type Outcome = Outcome;

    fn notes(&self) -> &[String] {
        &self.notes
    }

    fn hold(&self, show: &Show<'_>, signal: &AtomicUsize) -> Result<Vec<Contender>, Broken> {
        let Options { setup, seed, .. } = &self.options;
        let mut display = Display::on(show);
        let (mut contenders, mut over) = (Vec::new(), Vec::new());
        for variant in &self.variants {
            let held = course::hold(setup, variant, *seed, signal, &mut display, &over)?;
            let contender = Contender::new(variant.clone(), held);
            let line = outcome::line(&contender, setup);
            display.next(&line);
            over.push(line);
            contenders.push(contender);
        }
        Ok(contenders)
    }

    fn judge(self, contenders: Vec<Contender>) -> Outcome {
        let options = self.options;
        Outcome {
            judgement: judge(&contenders, &options.setup),
            setup: options.setup,
            seed: options.seed,
            contenders,
            command: options.command,
        }
    }
}

impl Report for Outcome {
    fn sections(&self) -> Vec<Section> {
        vec![Section {
            table: outcome::table(&self.contenders, &self.setup),
            legend: outcome::LEGEND,
            conclusion: self.judgement.conclusion.clone(),
            more: "what the words mean, the reports",
        }]
    }

    fn page(&self) -> Page {
        page::page(self)
    }

    fn is_as_expected(&self) -> bool {
        self.judgement.as_expected
    }
}

/// If this is the name of one of the drill's processes, does its work; the result is its exit code.
pub fn stand_in(name: &str, arguments: &mut impl Iterator<Item = OsString>) -> Option<ExitCode> {
    match name {
        service::NAME => Some(child::execute(arguments.next(), service::serve)),
        fleet::NAME => Some(child::execute(arguments.next(), |brief| {
            fleet::dial(&brief)
        })),
        _ => None,
    }
}
