//! What is there to tell of a check?

use std::collections::BTreeMap;

use becalm_check::layers::Layers;
use becalm_check::{Checked, Finding, Severity, code};
use becalm_sim::study::Verdict;

use super::input::Input;
use super::service::Judged;

/// Everything that the reports tell.
pub struct Told<'a> {
    pub inputs: &'a [Input],
    pub checked: Checked,
    /// How many findings the baseline knows.
    pub known: usize,
    pub layers: Option<Layers>,
    /// Of each mapping, with `--service`.
    pub judged: Option<Vec<Judged>>,
}

/// How early a finding is told: the worst first, and of equals a service that stays down.
pub fn weight(finding: &Finding) -> (Severity, bool) {
    let down = [code::METASTABLE.name, code::OVERLOADED.name];
    (finding.severity, down.contains(&finding.code))
}

impl<'a> Told<'a> {
    /// The file of this name.
    pub fn input(&self, file: &str) -> Option<&'a Input> {
        self.inputs.iter().find(|it| it.name() == file)
    }

    /// Each verdict that was given, the worst first, with the names of the policies; of equal policies of a file once.
    pub fn verdicts(&self) -> Vec<(Option<Verdict>, Vec<&str>)> {
        let judged = self.judged.iter().flatten();
        let mut verdicts: BTreeMap<_, Vec<&str>> = BTreeMap::new();
        for (mapping, judged) in self.checked.mappings.iter().zip(judged) {
            let names = verdicts.entry(judged.verdict).or_default();
            if !names.contains(&&*mapping.name) {
                names.push(&mapping.name);
            }
        }
        verdicts.into_iter().rev().collect()
    }

    /// The verdict on the mapping of this number.
    pub fn judged(&self, at: usize) -> Option<&Judged> {
        self.judged.as_ref()?.get(at)
    }
}
