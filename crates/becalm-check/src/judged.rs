//! What is told where a policy of a file keeps a service down, or where no study has seen whether it does?

use crate::code::Code;
use crate::finding::Finding;
use crate::mapping::Mapping;
use crate::system::System;
use crate::weight;

/// A finding about the policy of a mapping: it was simulated as that of all clients of a service. `evidence` says in sentences what came of it.
pub fn keeps_down(mapping: &Mapping, code: Code, evidence: &str) -> Finding {
    let remedy = match code {
        crate::code::METASTABLE => {
            let system = System::all().find(|it| it.name == mapping.system);
            system.map_or_else(Default::default, weight::fewer)
        }
        crate::code::TOO_SHORT => {
            "give the scenario of --service a longer `horizon`, or none: then becalm chooses it"
        }
        _ => "no setting of retries helps: lower the load, or add capacity",
    };
    let evidence = evidence.trim_end_matches('.');
    let sentence = format!("{}: {evidence}", mapping.name);
    Finding::new(&mapping.file, mapping.span, code, sentence, remedy)
}
