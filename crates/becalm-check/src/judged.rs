//! What is told where a policy of a file keeps a service down, or where no study has seen whether it does?

use crate::code::Code;
use crate::finding::Finding;
use crate::layers::Layers;
use crate::mapping::Mapping;
use crate::system::System;
use crate::weight;

/// A finding about the policy of a mapping: it was simulated as that of all clients of a service. `evidence` says in sentences what came of it.
pub fn keeps_down(mapping: &Mapping, code: Code, evidence: &str) -> Finding {
    let system = System::all().find(|it| it.name == mapping.system);
    let fewer = system.map_or_else(Default::default, weight::fewer);
    found(mapping, &mapping.name, code, evidence, fewer)
}

/// A finding about layers that were simulated together, at the place of the outermost.
pub fn keep_down_together(layers: &Layers, code: Code, evidence: &str) -> Option<Finding> {
    let outermost = layers.mappings.first()?;
    let of = format!("{} and the layers below it, together", outermost.name);
    let remedy = "let one of the layers repeat, and give each other one attempt";
    Some(found(outermost, &of, code, evidence, remedy))
}

fn found(at: &Mapping, of: &str, code: Code, evidence: &str, fewer: &str) -> Finding {
    let remedy = match code {
        crate::code::METASTABLE => fewer,
        crate::code::TOO_SHORT => {
            "give the scenario of --service a longer `horizon`, or none: then becalm chooses it"
        }
        _ => "no setting of retries helps: lower the load, or add capacity",
    };
    let evidence = evidence.trim_end_matches('.');
    let sentence = format!("{of}: {evidence}");
    let mut finding = Finding::new(&at.file, at.span, code, sentence, remedy);
    finding.about = of.len() + ": ".len();
    finding
}
