//! Which lines would be about retrying, and are refused or ignored where they stand?
//!
//! Run with 2.6.12: a keyword that a section does not have is refused, whichever it is.

use super::lines::{Line, Section};
use crate::code;
use crate::meant::slip_of;
use crate::reading::Reading;

/// Sections that retry, or lead to those.
const PROXIES: [&str; 4] = ["defaults", "frontend", "backend", "listen"];

/// Tells of each of them.
pub fn tell(reading: &mut Reading<'_>, sections: &[Section]) {
    for section in sections {
        let head = section.head.word(0);
        for line in &section.lines {
            if PROXIES.contains(&head) {
                misspelled(reading, head, line);
            } else {
                elsewhere(reading, head, line);
            }
        }
    }
}

fn misspelled(reading: &mut Reading<'_>, head: &str, line: &Line) {
    let (first, second) = (line.word(0), line.word(1));
    let (word, meant) = if let Some(meant) = slip_of(first, &["retries", "retry-on"]) {
        (first, meant)
    } else if first.replace('_', "-") == "retry-on" && first != "retry-on" {
        (first, "retry-on")
    } else {
        let (second, known) = match (first, second) {
            ("no", "option") => (line.word(2), "redispatch"),
            ("option", second) => (second, "redispatch"),
            ("http-request", second) => (second, "disable-l7-retry"),
            _ => return is_ignored(reading, head, line),
        };
        match slip_of(second, &[known]) {
            Some(meant) => (second, meant),
            None => return is_ignored(reading, head, line),
        }
    };
    let sentence = format!("HAProxy knows no `{word}` in `{head}`, and refuses the file");
    let remedy = format!("did you mean `{meant}`?");
    reading.find(line.span(), code::REFUSED, sentence, remedy);
}

/// What HAProxy reads in a frontend, and does not do.
fn is_ignored(reading: &mut Reading<'_>, head: &str, line: &Line) {
    if (head, line.word(0), line.word(1)) == ("frontend", "option", "redispatch") {
        let sentence = "HAProxy ignores `option redispatch` in a frontend";
        let remedy = "move it to the backend, or to `defaults`";
        reading.find(line.span(), code::KEY_NOT_READ, sentence, remedy);
    }
}

fn elsewhere(reading: &mut Reading<'_>, head: &str, line: &Line) {
    let is_ours = match line.word(0) {
        "retries" | "retry-on" => true,
        "option" => line.word(1) == "redispatch",
        "http-request" => line.word(1) == "disable-l7-retry",
        _ => false,
    };
    if is_ours {
        let sentence = format!(
            "HAProxy has no `{}` in `{head}`, and refuses the file",
            line.word(0)
        );
        let remedy = "move it to the backend, or to `defaults`";
        reading.find(line.span(), code::REFUSED, sentence, remedy);
    }
}
