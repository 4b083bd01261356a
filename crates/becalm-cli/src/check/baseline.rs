//! Which findings were there before?
//!
//! A line for each: its file, its code and its sentence, without its line, so that what moves stays known. A verdict on a
//! service is none of them: that it stayed down before is no reason to let it stay down.

use std::collections::HashMap;
use std::fmt::Display;
use std::path::Path;

use becalm_check::shown::printable;
use becalm_check::{Checked, Finding, code};

use super::input::INSTEAD;
use crate::opened;

fn is_known(finding: &Finding) -> bool {
    !code::OF_VERDICTS.iter().any(|it| it.name == finding.code)
}

fn line(finding: &Finding) -> String {
    let line = format!("{}\t{}\t{}", finding.file, finding.code, finding.sentence);
    line.replace(['\n', '\r'], " ")
}

/// A line for each of a million findings.
const LONGEST: usize = 256 << 20;

/// The findings as a file.
pub fn written(findings: &[Finding]) -> String {
    let mut lines: Vec<_> = findings
        .iter()
        .filter(|it| is_known(it))
        .map(line)
        .collect();
    lines.sort();
    lines
        .iter()
        .fold(String::new(), |text, it| text + it + "\n")
}

/// Takes out the findings that the file knows, each as often as it stands there; how many that are.
///
/// # Errors
///
/// A sentence that names the file.
pub fn take(path: &Path, checked: &mut Checked) -> Result<usize, String> {
    let refused = |why: &dyn Display| {
        let name = path.display().to_string();
        format!("cannot read {}: {why} (--baseline)", printable(&name))
    };
    let bytes = opened::at_most(path, LONGEST, INSTEAD).map_err(|error| refused(&error))?;
    if bytes.len() > LONGEST {
        return Err(refused(&"it is longer than 256 MiB"));
    }
    let text = String::from_utf8(bytes).map_err(|_| refused(&"it is no text"))?;
    let mut known: HashMap<&str, usize> = HashMap::new();
    for line in text.lines() {
        *known.entry(line).or_default() += 1;
    }
    let before = checked.findings.len();
    checked
        .findings
        .retain(|it| match known.get_mut(&*line(it)) {
            Some(left) if *left > 0 && is_known(it) => {
                *left -= 1;
                false
            }
            _ => true,
        });
    Ok(before - checked.findings.len())
}
