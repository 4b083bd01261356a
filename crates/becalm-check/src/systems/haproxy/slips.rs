//! Which lines would be about retrying, and are refused or ignored where they stand?
//!
//! Run with 2.6.12: a keyword that a section does not have is refused, whichever it is.

use super::lines::{Line, Section};
use crate::code;
use crate::list::list;
use crate::meant::{did_you_mean, slip_of};
use crate::reading::{Later, Reading};
use crate::template::is_placeholder;

/// Sections that retry, or lead to those.
const PROXIES: [&str; 4] = ["defaults", "frontend", "backend", "listen"];

/// What `timeout` takes in these: `proxy_parse_timeout` in `src/proxy.c`; the last one is of later versions.
const TIMEOUTS: &[&str] = list!(
    "client server connect check queue http-keep-alive http-request tunnel tarpit client-fin \
     server-fin client-hs"
);

/// Tells of each of them.
pub fn tell(reading: &mut Reading<'_>, text: &str, sections: &[Section]) {
    for section in sections {
        let head = section.head.word(0);
        for line in &section.lines {
            if !PROXIES.contains(&head) {
                elsewhere(reading, head, line);
            } else if section.refuses(line) {
                in_defaults(reading, section, line);
            } else if !negated(reading, line) && !timeout(reading, head, line) {
                misspelled(reading, head, line);
            }
        }
    }
    let last = sections.last();
    if let Some(last) = last.filter(|_| !text.ends_with('\n')) {
        let line = last.lines.last().unwrap_or(&last.head);
        let sentence =
            "the last line has no line break at its end: HAProxy refuses the file since 2.3";
        let remedy = "end the file with a line break";
        reading.find(line.span(), code::REFUSED, sentence, remedy);
    }
}

fn in_defaults(reading: &mut Reading<'_>, section: &Section, line: &Line) {
    let word = line.word(0);
    let (which, remedy) = if section.name().is_empty() && ["acl", "http-request"].contains(&word) {
        (
            "`defaults` without a name",
            "give the section a name, which `from` may use, or move the line into each backend",
        )
    } else {
        ("`defaults`", "move it to the section that it is for")
    };
    let sentence = format!("HAProxy does not allow `{word}` in {which}, and refuses the file");
    reading.find(line.span(), code::REFUSED, sentence, remedy);
}

/// Whether the line begins with a `no` that HAProxy takes before options and logs.
fn negated(reading: &mut Reading<'_>, line: &Line) -> bool {
    let (first, second) = (line.word(0), line.word(1));
    let is_ours = match second {
        "retries" | "retry-on" => true,
        "timeout" => ["connect", "server"].contains(&line.word(2)),
        "http-request" => line.word(2) == "disable-l7-retry",
        _ => false,
    };
    if !is_ours || !["no", "default"].contains(&first) {
        return false;
    }
    let sentence = format!("HAProxy takes no `{first}` before `{second}`, and refuses the file");
    let remedy = "leave the line out: what is not said has its default";
    reading.find(line.span(), code::REFUSED, sentence, remedy);
    true
}

/// Tells what HAProxy refuses of a line of `timeout`; `false` of another line.
fn timeout(reading: &mut Reading<'_>, head: &str, line: &Line) -> bool {
    let (first, second) = (line.word(0), line.word(1));
    if first != "timeout" {
        return false;
    }
    if !TIMEOUTS.contains(&second) && !is_placeholder(second) {
        let sentence =
            format!("HAProxy knows no `timeout {second}` in `{head}`, and refuses the file");
        let remedy = Later(|| did_you_mean(second, "the times", TIMEOUTS));
        reading.find(line.span(), code::REFUSED, sentence, remedy);
    } else if let Some(more) = line.words.get(3) {
        let sentence = format!("HAProxy refuses `{}` behind the time", more.text);
        let remedy = "write one time, and what is no part of it behind a `#`";
        reading.find(more.span, code::REFUSED, sentence, remedy);
    }
    true
}

fn misspelled(reading: &mut Reading<'_>, head: &str, line: &Line) {
    let (first, second) = (line.word(0), line.word(1));
    let (word, meant) = if let Some(meant) = slip(first, &["retries", "retry-on"]) {
        (first, meant)
    } else {
        let (second, known) = match (first, second) {
            ("no", "option") => (line.word(2), "redispatch"),
            ("option", second) => (second, "redispatch"),
            ("http-request", second) => (second, "disable-l7-retry"),
            _ => return is_ignored(reading, head, line),
        };
        match slip(second, &[known]) {
            Some(meant) => (second, meant),
            None => return is_ignored(reading, head, line),
        }
    };
    let sentence = format!("HAProxy knows no `{word}` in `{head}`, and refuses the file");
    let remedy = format!("did you mean `{meant}`?");
    reading.find(line.span(), code::REFUSED, sentence, remedy);
}

/// The word that this misspells, or writes with the other of `-` and `_`.
fn slip<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    let dashed = word.replace('_', "-");
    let mut same = known.iter().filter(|it| **it == dashed && dashed != word);
    same.next().copied().or_else(|| slip_of(word, known))
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
        // Other sections have times of their own.
        "timeout" => head == "global",
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
