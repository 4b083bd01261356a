//! Does `becalm plan` print what the pages show of it?

use std::fs;
use std::path::Path;

use super::becalm;

/// Command lines of a page, each with what is shown below it.
fn shown(page: &str) -> Vec<(&str, Vec<&str>)> {
    let consoles = page.split("```console\n").skip(1);
    let blocks = consoles.filter_map(|text| text.split("\n```").next());
    let commands = blocks.flat_map(|block| block.split("$ becalm ").skip(1));
    let command = |text| {
        let mut lines = str::lines(text);
        let command = lines.next().unwrap_or_default();
        let command = command.split(" #").next().unwrap_or_default();
        (command, lines.filter(|it| !it.is_empty()).collect())
    };
    commands.map(command).collect()
}

#[test]
fn every_plan_of_the_pages_is_printed_as_it_is_shown() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let mut compared = 0;
    for file in fs::read_dir(&docs).expect("a folder") {
        let path = file.expect("a file").path();
        let page = fs::read_to_string(&path).unwrap_or_default();
        for (command, lines) in shown(&page) {
            if lines.is_empty() || !command.starts_with("plan") {
                continue;
            }
            // Where a page names a file, the file is beside it.
            let command = command.replace("--policy ", &format!("--policy {}/", docs.display()));
            let output = becalm(&command);
            let printed = String::from_utf8_lossy(&output.stdout);
            let mut printed = printed.lines();
            for line in lines {
                let is_there = line == "..." || printed.any(|it| it == line);
                assert!(is_there, "{}: {command}: {line}", path.display());
            }
            compared += 1;
        }
    }
    assert!(compared > 0, "no page shows a plan");
}
