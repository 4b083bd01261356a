//! How is a setting in a line got wrong?

use super::line_examples::{Lines, Setting};
use super::{Mutant, slips};

/// Each of its settings, in each way.
pub fn mutants(file: &Lines) -> Vec<Mutant> {
    file.settings
        .iter()
        .flat_map(|it| of_setting(file, it))
        .collect()
}

fn of_setting(file: &Lines, setting: &Setting) -> Vec<Mutant> {
    let lines: Vec<&str> = file.text.lines().collect();
    let is_own = |line: &&str| {
        line.split(|c: char| c.is_whitespace() || ";=".contains(c))
            .any(|it| it == setting.word)
    };
    let at = lines
        .iter()
        .position(is_own)
        .unwrap_or_else(|| panic!("{}: {}", file.name, setting.word));
    let line = lines[at];
    let joined = |lines: &[&str]| lines.join("\n") + "\n";
    let mut rest = lines.clone();
    rest.remove(at);
    let silent = joined(&rest);
    let changed = |how, what: String, line: &str, silent: &str| {
        let mut lines = lines.clone();
        lines[at] = line;
        Mutant {
            how,
            what,
            text: joined(&lines),
            silent: silent.to_owned(),
        }
    };
    let mut mutants = Vec::new();
    for slip in slips(setting.word) {
        let line = line.replacen(setting.word, &slip, 1);
        mutants.push(changed("misspelled", slip, &line, &silent));
    }
    // Below the head of each other block, and before all.
    let of = |at: usize| (0..at).rev().find(|it| (file.is_head)(rest[*it]));
    let heads = (0..rest.len())
        .filter(|it| (file.is_head)(rest[*it]))
        .map(Some);
    for head in heads
        .chain(file.has_top.then_some(None))
        .filter(|it| *it != of(at))
    {
        let mut lines = rest.clone();
        lines.insert(head.map_or(0, |it| it + 1), line);
        let what = format!(
            "{} to {}",
            setting.word,
            head.map_or("the top", |it| rest[it].trim())
        );
        mutants.push(Mutant {
            how: "moved",
            what,
            text: joined(&lines),
            silent: silent.clone(),
        });
    }
    for word in setting.elsewhere {
        let line = line.replacen(setting.word, word, 1);
        mutants.push(changed("moved", (*word).to_owned(), &line, &silent));
    }
    for off in setting.off {
        mutants.push(changed("switched off", (*off).to_owned(), off, file.text));
    }
    for other in setting.others {
        mutants.push(changed(
            "of another type",
            (*other).to_owned(),
            other,
            &silent,
        ));
    }
    mutants
}
