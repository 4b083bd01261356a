//! What do the figures say, and which exceed their bounds?

use crate::bounds;
use crate::measured::Measured;
use crate::sources::FileId;
use std::collections::BTreeSet;
use std::fmt::Write;

/// How many of a crate's functions are named, where none is too long.
const LONGEST: usize = 3;

/// The figures of these crates.
pub fn report(crates: &[Measured]) -> String {
    let mut text = String::new();
    _ = writeln!(
        text,
        "lines of code, without tests, comments and blank lines"
    );
    for one in crates {
        _ = writeln!(
            text,
            "  {:<20} {:>7}{}",
            one.name,
            one.lines,
            of(bound_of_lines(&one.name))
        );
    }
    _ = writeln!(
        text,
        "  {:<20} {:>7}{}",
        "all",
        all_lines(crates),
        of(Some(bounds::LINES_OF_ALL))
    );

    let count: usize = crates.iter().map(|one| one.circles.len()).sum();
    let largest = crates
        .iter()
        .filter_map(|one| one.circles.first())
        .map(BTreeSet::len)
        .max();
    let largest = largest.unwrap_or(0);
    let (files, circles) = (of(Some(bounds::CIRCLE)), of(Some(bounds::CIRCLES)));
    _ = writeln!(
        text,
        "\ncircles of files: {count}{circles}; files of the largest: {largest}{files}"
    );
    for one in crates {
        for circle in &one.circles {
            write_circle(&mut text, one, circle);
        }
    }

    for one in crates.iter().filter(|one| one.name == bounds::CORE) {
        let (reachable, hidden, root) = (
            (one.public.reachable.len(), of(Some(bounds::REACHABLE))),
            (one.public.hidden.len(), of(Some(bounds::HIDDEN))),
            (one.public.root.len(), of(Some(bounds::ROOT))),
        );
        _ = writeln!(
            text,
            "\npublic items of {}: {}{} reachable, {}{} hidden, {}{} at the root",
            one.name, reachable.0, reachable.1, hidden.0, hidden.1, root.0, root.1
        );
        for hidden in &one.public.hidden {
            _ = writeln!(text, "  hidden: {hidden}");
        }
    }

    _ = writeln!(text, "\nlongest functions, in lines of code");
    for one in crates {
        let bound = bound_of_function(&one.name);
        for (at, (function, file)) in one.functions.iter().enumerate() {
            if at < LONGEST || function.lines > bound {
                let over = if function.lines > bound {
                    format!(" > {bound}")
                } else {
                    String::new()
                };
                _ = writeln!(
                    text,
                    "  {:<20} {:>4}{over}  {}  {}:{}",
                    one.name,
                    function.lines,
                    function.name,
                    one.files[*file].display(),
                    function.at
                );
            }
        }
    }
    text
}

/// A sentence for each bound that these crates exceed.
pub fn exceeded(crates: &[Measured]) -> Vec<String> {
    let mut found = Vec::new();
    let mut check = |what: String, is: usize, bound: usize| {
        if is > bound {
            found.push(format!("{what}: {is}, at most {bound}"));
        }
    };
    for one in crates {
        let name = &one.name;
        if let Some(bound) = bound_of_lines(name) {
            check(format!("lines of code of {name}"), one.lines, bound);
        }
        for circle in &one.circles {
            let files = names(one, circle).join(", ");
            check(
                format!("files in a circle of {name} ({files})"),
                circle.len(),
                bounds::CIRCLE,
            );
        }
        if name == bounds::CORE {
            let public = &one.public;
            check(
                format!("reachable items of {name}"),
                public.reachable.len(),
                bounds::REACHABLE,
            );
            check(
                format!("hidden items of {name}"),
                public.hidden.len(),
                bounds::HIDDEN,
            );
            check(
                format!("names at the root of {name}"),
                public.root.len(),
                bounds::ROOT,
            );
        }
        for (function, file) in &one.functions {
            let place = format!("{}:{}", one.files[*file].display(), function.at);
            let what = format!("lines of {name}'s {} ({place})", function.name);
            check(what, function.lines, bound_of_function(name));
        }
    }
    check(
        "lines of code of all".to_string(),
        all_lines(crates),
        bounds::LINES_OF_ALL,
    );
    let circles = crates.iter().map(|one| one.circles.len()).sum();
    check("circles of files".to_string(), circles, bounds::CIRCLES);
    found
}

fn write_circle(text: &mut String, one: &Measured, circle: &BTreeSet<FileId>) {
    _ = writeln!(
        text,
        "  {}, {} files: {}",
        one.name,
        circle.len(),
        names(one, circle).join(", ")
    );
    for ((from, to), ties) in &one.arrows {
        if circle.contains(from) && circle.contains(to) {
            let ties = ties
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(", ");
            let (from, to) = (one.files[*from].display(), one.files[*to].display());
            _ = writeln!(text, "    {from} -> {to}: {ties}");
        }
    }
}

fn names(one: &Measured, circle: &BTreeSet<FileId>) -> Vec<String> {
    circle
        .iter()
        .map(|file| one.files[*file].display().to_string())
        .collect()
}

fn all_lines(crates: &[Measured]) -> usize {
    crates.iter().map(|one| one.lines).sum()
}

fn bound_of_lines(name: &str) -> Option<usize> {
    bounds::LINES
        .iter()
        .find(|(of, _)| *of == name)
        .map(|(_, bound)| *bound)
}

fn bound_of_function(name: &str) -> usize {
    if name == bounds::CORE {
        bounds::FUNCTION_OF_CORE
    } else {
        bounds::FUNCTION
    }
}

fn of(bound: Option<usize>) -> String {
    bound
        .map(|bound| format!(" (at most {bound})"))
        .unwrap_or_default()
}
