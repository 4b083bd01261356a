//! Which retries of a template does a chart of Helm fill in, and with what?
//!
//! A value that `values.yaml` of the chart has plainly is what the template gets where nothing else is given (`helm template`). Where another file of
//! values beside it has another value, neither stands in.

use std::collections::HashSet;

use crate::document::{Node, Span, Together};
use crate::hints::looks_like_retries;

/// How many keys a sentence names.
const NAMED: usize = 3;

/// What stands in for an action, as the chart of this file has it, and the file that says so.
pub fn value<'a>(
    file: &str,
    together: &'a [Together<'a>],
    action: &str,
) -> Option<(String, &'a str)> {
    let path = path(action)?;
    let (root, values) = values(file, together)?;
    let text = at(values, &path).filter(|it| !it.is_empty())?;
    // Which of several files of values an installation takes is not known.
    let mut others = of_chart(root, together).filter_map(|it| at(it, &path));
    others
        .all(|it| it == text)
        .then(|| (text.to_owned(), values.file))
}

/// Whether this takes a value that the files of its chart do not have.
pub fn lacks(file: &str, together: &[Together<'_>], action: &str) -> bool {
    let Some((path, (root, _))) = path(action).zip(values(file, together)) else {
        return false;
    };
    of_chart(root, together).all(|it| at(it, &path).is_none())
}

/// The value that an action is, if it is nothing else.
fn path(action: &str) -> Option<Vec<&str>> {
    let body = action.trim().strip_prefix("{{")?.strip_suffix("}}")?;
    let body = body.trim_matches(['-', ' ', '\t']);
    let mut parts = body.split('|').map(str::trim);
    let path = parts.next()?.strip_prefix(".Values.")?;
    let plain = ["quote", "squote", "int", "int64", "toString"];
    let is_plain = parts.all(|it| plain.contains(&it));
    is_plain.then(|| path.split('.').collect())
}

/// What a file of values has there.
fn at<'a>(values: &'a Together<'a>, path: &[&str]) -> Option<&'a str> {
    // What a template takes is not read by it: no key is asked for.
    let within = |node: &'a Node, name: &&str| {
        let (_, value) = node.entries().iter().find(|(key, _)| key.name == **name)?;
        Some(value)
    };
    let mut trees = values.trees.iter();
    let node = trees.find_map(|tree| path.iter().try_fold(tree, within))?;
    node.text().filter(|_| !node.is_null())
}

/// The files of values of the chart in this directory.
fn of_chart<'a>(
    root: &str,
    together: &'a [Together<'a>],
) -> impl Iterator<Item = &'a Together<'a>> {
    together.iter().filter(move |it| {
        let name = it.file.strip_prefix(root);
        name.is_some_and(|name| is_values(name) && !name.contains("charts/"))
    })
}

/// Whether a file holds the values of a chart.
pub fn is_values(file: &str) -> bool {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let stem = name
        .strip_suffix(".yaml")
        .or_else(|| name.strip_suffix(".yml"));
    stem.is_some_and(|it| it.starts_with("values"))
}

/// Marks the values that templates of their chart take as asked for: what is told of them is told there.
pub fn mark_taken(together: &[Together<'_>]) {
    for template in together {
        let Some(at) = template.file.rfind("templates/") else {
            continue;
        };
        let values = of_chart(&template.file[..at], together);
        let actions = template.text.split(".Values.").skip(1);
        let ends = |c: char| !(c.is_alphanumeric() || "_.".contains(c));
        let paths: HashSet<&str> = actions.filter_map(|it| it.split(ends).next()).collect();
        for tree in values.flat_map(|it| it.trees) {
            for path in &paths {
                take(tree, path.trim_end_matches('.'));
            }
        }
    }
}

fn take(values: &Node, path: &str) {
    let mut node = values;
    for name in path.split('.') {
        let mut entries = node.entries().iter();
        let Some((key, value)) = entries.find(|(key, _)| key.name == name) else {
            return;
        };
        key.asked.set(true);
        node = value;
    }
}

/// The directory of the chart that a template belongs to, and its values.
fn values<'f, 'a>(
    file: &'f str,
    together: &'a [Together<'a>],
) -> Option<(&'f str, &'a Together<'a>)> {
    let at = file.rfind("templates/")?;
    let root = &file[..at];
    let is_own = |it: &&Together<'_>| {
        let name = it.file.strip_prefix(root);
        name.is_some_and(|it| it == "values.yaml" || it == "values.yml")
    };
    Some((root, together.iter().find(is_own)?))
}

/// The keys of a document that begins to be a template in this line, which look like retries and are filled in: the place of the
/// first, and what they are.
pub fn filled_in(
    file: &str,
    lines: &[&str],
    line: usize,
    together: &[Together<'_>],
) -> Option<(Span, String)> {
    let lines = (line..).zip(lines.get(line - 1..)?);
    let own = lines.take_while(|(at, it)| *at == line || !it.starts_with("---"));
    let all: Vec<_> = own.filter_map(|(at, it)| filled(at, it)).collect();
    let (first, ..) = all.first()?;
    let mut told: Vec<String> = all
        .iter()
        .take(NAMED)
        .map(|(span, key, action)| {
            let value = value(file, together, action);
            let value = value.map_or_else(String::new, |(it, file)| format!(", {it} in {file}"));
            format!("`{key}` in line {} is `{action}`{value}", span.line)
        })
        .collect();
    if all.len() > NAMED {
        told.push(format!("{} more", all.len() - NAMED));
    }
    Some((*first, told.join("; ")))
}

/// A key with its action, where one of both looks like retries.
fn filled(at: usize, line: &str) -> Option<(Span, &str, &str)> {
    let (before, rest) = line.split_once(':')?;
    let key = before.trim_start_matches([' ', '\t', '-']).trim_end();
    let key = key.trim_matches(['"', '\'']);
    let open = rest.find("{{")?;
    let close = open + rest[open..].find("}}")? + 2;
    let action = &rest[open..close];
    let is_key = !key.is_empty() && !key.contains(['{', '#', ' ']);
    let column = line.find(key)?;
    let span = Span::new(at, line[..column].chars().count() + 1, key.chars().count());
    let is_of_retries = looks_like_retries(key) || looks_like_retries(action);
    (is_key && is_of_retries).then_some((span, key, action))
}
