//! Which retries of a template does a chart of Helm fill in, and with what?
//!
//! A value that `values.yaml` of the chart has plainly is what the template gets where nothing else is given (`helm template`). Where another file of
//! values beside it has another value, neither stands in.

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
    let body = action.trim().strip_prefix("{{")?.strip_suffix("}}")?;
    let mut parts = body
        .trim_matches(['-', ' ', '\t'])
        .split('|')
        .map(str::trim);
    let path: Vec<&str> = parts.next()?.strip_prefix(".Values.")?.split('.').collect();
    let plain = ["quote", "squote", "int", "int64", "toString"];
    if !parts.all(|it| plain.contains(&it)) {
        return None;
    }
    let (root, values) = values(file, together)?;
    // What a template takes is not read by it: no key is asked for.
    let within = |node: &'a Node, name: &&str| {
        let (_, value) = node.entries().iter().find(|(key, _)| key.name == **name)?;
        Some(value)
    };
    let of = |values: &'a Together<'a>| {
        let mut trees = values.trees.iter();
        trees
            .find_map(|tree| path.iter().try_fold(tree, within))?
            .text()
    };
    let text = of(values).filter(|it| !it.is_empty())?;
    // Which of several files of values an installation takes is not known.
    let is_other = |it: &&'a Together<'a>| {
        let name = it.file.strip_prefix(root);
        name.is_some_and(|name| is_values(name) && !name.contains("charts/"))
    };
    let mut others = together.iter().filter(is_other).filter_map(of);
    others
        .all(|it| it == text)
        .then(|| (text.to_owned(), values.file))
}

/// Whether a file holds the values of a chart.
pub fn is_values(file: &str) -> bool {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let stem = name
        .strip_suffix(".yaml")
        .or_else(|| name.strip_suffix(".yml"));
    stem.is_some_and(|it| it.starts_with("values"))
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
