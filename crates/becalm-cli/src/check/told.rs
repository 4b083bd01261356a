//! What is there to tell of a check?

use std::collections::{BTreeMap, HashMap, HashSet};

use becalm_check::layers::Layers;
use becalm_check::shown::{Folded, folded};
use becalm_check::{Checked, Finding, Severity, code};
use becalm_sim::study::Verdict;

use super::input::Input;
use super::service::Judged;

/// Everything that the reports tell.
pub struct Told<'a> {
    pub inputs: &'a [Input],
    by_name: HashMap<&'a str, &'a Input>,
    pub checked: &'a Checked,
    /// Its findings, each cause of a file once.
    pub findings: Vec<Folded<'a>>,
    /// How many findings the baseline knows.
    pub known: usize,
    pub layers: Option<Stack>,
    /// Of each mapping, with `--service`.
    pub judged: Option<Vec<Judged>>,
}

/// Layers, with the verdict on all of them together where a service was named.
pub struct Stack {
    pub layers: Layers,
    pub judged: Option<Judged>,
}

/// How early a finding is told: the worst first, and of equals a service that stays down.
pub fn weight(finding: &Finding) -> (Severity, bool) {
    let down = [code::METASTABLE.name, code::OVERLOADED.name];
    (finding.severity, down.contains(&finding.code))
}

impl<'a> Told<'a> {
    pub fn new(
        inputs: &'a [Input],
        checked: &'a Checked,
        known: usize,
        layers: Option<Stack>,
        judged: Option<Vec<Judged>>,
    ) -> Self {
        // Of two of a name the first is shown.
        let by_name = inputs.iter().rev().map(|it| (it.name(), it)).collect();
        Self {
            inputs,
            by_name,
            checked,
            findings: folded(&checked.findings),
            known,
            layers,
            judged,
        }
    }

    /// The file of this name.
    pub fn input(&self, file: &str) -> Option<&'a Input> {
        self.by_name.get(file).copied()
    }

    /// How many findings are as bad as this, those among them that are not kept.
    pub fn count(&self, severity: Severity) -> usize {
        let all = self.findings.iter();
        let kept = all.filter(|it| it.finding.severity == severity).count();
        let more = self.checked.more.iter();
        let more = more.filter(|it| it.severity == severity);
        kept + more.map(|it| it.findings).sum::<usize>()
    }

    /// How many policies there are, those among them that are not kept.
    pub fn policies(&self) -> usize {
        self.checked.mappings.len() + self.checked.more_mappings
    }

    /// Each verdict that was given, the worst first, with the names of the policies; of equal policies of a file once.
    pub fn verdicts(&self) -> Vec<(Option<Verdict>, Vec<String>)> {
        let judged = self.judged.iter().flatten();
        let mut verdicts: BTreeMap<_, Vec<String>> = BTreeMap::new();
        let mut seen = HashSet::new();
        for (mapping, judged) in self.checked.mappings.iter().zip(judged) {
            if seen.insert((judged.verdict, &mapping.file, &mapping.name)) {
                let names = verdicts.entry(judged.verdict).or_default();
                names.push(match self.inputs {
                    [_] => mapping.name.clone(),
                    _ => format!("{} of {}", mapping.name, mapping.file),
                });
            }
        }
        let together = self.layers.iter().filter_map(|it| it.judged.as_ref());
        for judged in together {
            let names = verdicts.entry(judged.verdict).or_default();
            names.insert(0, "the layers together".into());
        }
        verdicts.into_iter().rev().collect()
    }

    /// The verdict on the mapping of this number.
    pub fn judged(&self, at: usize) -> Option<&Judged> {
        self.judged.as_ref()?.get(at)
    }
}
