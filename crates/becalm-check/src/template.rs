//! What of a file is filled in elsewhere?

use crate::document::Span;

/// Where a template begins that a tool such as Helm, Jinja or Chef is to fill in: `{{`, `{%` or `<%` outside of
/// quotes, comments and blocks of text. YAML reads `{{ x }}` as a mapping of a mapping, so it is looked
/// for before anything is parsed. In quotes it is a text, of which [`is_placeholder`] is true.
pub fn first(text: &str) -> Option<Span> {
    if !["{{", "{%", "<%"].iter().any(|it| text.contains(it)) {
        return None;
    }
    let mut block = None;
    for (at, line) in text.lines().enumerate() {
        let trimmed = line.trim_start();
        let indent = line.len() - trimmed.len();
        if trimmed.is_empty() || block.is_some_and(|block| indent > block) {
            continue;
        }
        block = opens_block(line).then_some(indent);
        if let Some((column, length)) = in_line(line) {
            return Some(Span::new(at + 1, column + 1, length));
        }
    }
    None
}

/// Whether a template begins at this column, from 0, of a line.
pub fn begins(line: &str, column: usize) -> bool {
    let mut left = line.chars().skip(column);
    let rest: Vec<char> = left.by_ref().skip(2).take(200).collect();
    is_action(&rest)
}

/// Whether this value is filled in elsewhere: `${X}`, `${env:X}`, `$(X)`, `{{ .Values.x }}`, `%X%`, `<%= x %>`, `@x@`, `<X>`.
pub fn is_placeholder(text: &str) -> bool {
    let marks = [
        ("${", "}"),
        ("$(", ")"),
        ("{{", "}}"),
        ("<%", "%>"),
        ("#{", "}"),
    ];
    let inside = |(open, close): (&str, &str)| {
        text.split_once(open)
            .is_some_and(|(_, rest)| rest.contains(close))
    };
    let whole = |mark: char| text.len() > 2 && text.starts_with(mark) && text.ends_with(mark);
    let shell = text
        .strip_prefix('$')
        .is_some_and(|name| name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'));
    let is_blank = text.len() > 2 && text.starts_with('<') && text.ends_with('>');
    marks.into_iter().any(inside) || whole('%') || whole('@') || shell || is_blank
}

/// Whether the lines below, further in, are a text: `key: |`, `- >-`.
fn opens_block(line: &str) -> bool {
    let line = line.split(" #").next().unwrap_or(line).trim_end();
    let (before, mark) = line.rsplit_once([' ', '\t']).unwrap_or(("", line));
    let is_mark = mark.starts_with(['|', '>'])
        && mark[1..]
            .chars()
            .all(|c| matches!(c, '+' | '-' | '1'..='9'));
    is_mark && before.trim_end().ends_with([':', '-'])
}

/// The first column, from 0, and the length of a template in this line.
fn in_line(line: &str) -> Option<(usize, usize)> {
    let chars: Vec<char> = line.chars().collect();
    let mut quote = None;
    let mut before = ' ';
    // Whether a `%>` may still follow: of a line with thousands of `<%` and none, the rest is searched once.
    let mut is_closed = true;
    for (at, &c) in chars.iter().enumerate() {
        let next = chars.get(at + 1).copied();
        match (quote, c) {
            (Some(open), _) if c == open && !(open == '"' && before == '\\') => quote = None,
            (None, '"' | '\'') if !before.is_alphanumeric() => quote = Some(c),
            (None, '#') if before.is_whitespace() => return None,
            (None, '{')
                if next == Some('%') || (next == Some('{') && is_action(&chars[at + 2..])) =>
            {
                let close = chars[at..]
                    .windows(2)
                    .position(|it| matches!(it, ['}' | '%', '}']));
                return Some((at, close.map_or(2, |close| close + 2)));
            }
            (None, '<') if is_closed && next == Some('%') && is_tag(&chars[at + 2..]) => {
                let close = chars[at + 2..].windows(2).position(|it| it == ['%', '>']);
                if let Some(close) = close {
                    return Some((at, close + 4));
                }
                is_closed = false;
            }
            _ => {}
        }
        before = if before == '\\' && c == '\\' { ' ' } else { c };
    }
    None
}

/// Whether what follows `<%` begins a tag of Ruby, and is not `<%ci>` in a log format of HAProxy.
fn is_tag(rest: &[char]) -> bool {
    rest.first().is_none_or(|c| "=-# \t".contains(*c))
}

/// Whether what follows `{{` is an action, and not one mapping within another: JSON's `{{"a": 1}: 2}`, Lua's `{{1, 2}}` and
/// `{{name = "x"}}`.
fn is_action(rest: &[char]) -> bool {
    if rest.first() == Some(&'"') {
        return false;
    }
    let is_margin = |c: &char| matches!(c, '-' | '~' | ' ' | '\t');
    let mut rest = rest.iter().copied().skip_while(is_margin).peekable();
    let begins = rest
        .peek()
        .is_none_or(|c| c.is_alphabetic() || ".$(/_\"`*#".contains(*c));
    let mut rest = rest
        .skip_while(|c| c.is_alphanumeric() || *c == '_')
        .skip_while(is_margin);
    let is_field = rest.next() == Some('=') && rest.next() != Some('=');
    begins && !is_field
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_found_outside_of_texts_and_comments() {
        for (text, line) in [
            ("a: {{ .Values.x }}", Some(1)),
            ("a: 1\n{{- if .x }}\nb: 2", Some(2)),
            ("a: x-{{ .x }}-y", Some(1)),
            ("{% if x %}\na: 1", Some(1)),
            ("a: <%= x %>", Some(1)),
            ("a {\n<% x.each do |y| -%>\n}", Some(2)),
            ("log <%ci> <% x", None),
            ("log \"<%= x %>\"", None),
            ("# <%= x %>", None),
            ("a: \"{{ .x }}\"", None),
            ("a: '{{ .x }}' # {{ y }}", None),
            ("# {{ .x }}\na: 1", None),
            ("a: |\n  {{ .x }}\nb: 1", None),
            ("- >-\n  {{ .x }}\n  y", None),
            ("a: |\n  {{ .x }}\nb: {{ .x }}", Some(3)),
            ("{{1, 2}}", None),
            ("local t = {{name = \"x\"}, {\"y\"}}", None),
            ("local t = {{\"a\"}}", None),
            ("a: {{- $x := 1 }}", Some(1)),
            ("a: {{ if x == 1 }}", Some(1)),
            ("it's: {{ .x }}", Some(1)),
            ("{\"a\": {\"b\": {}}}", None),
        ] {
            assert_eq!(first(text).map(|it| it.line), line, "{text}");
        }
    }

    /// Each of them once searched the rest of the line: minutes.
    #[test]
    fn a_long_line_of_what_may_begin_a_template_is_read_once() {
        for part in ["<%x", "<% "] {
            let line = part.repeat(300_000);
            assert_eq!(first(&line), None, "{part}");
            let closed = format!("{line}<%= x %>");
            let column = first(&closed).map(|it| it.column);
            assert_eq!(column, Some(if part == "<%x" { 900_001 } else { 1 }));
        }
    }

    #[test]
    fn placeholders_are_told_from_values() {
        for text in [
            "${X}", "${env:X}", "${X:3}", "$(X)", "{{ .x }}", "a-${X}", "$X", "%X%", "@x@",
            "<%= x %>", "<X>",
        ] {
            assert!(is_placeholder(text), "{text}");
        }
        for text in [
            "3", "1s", "$", "$1", "%", "5%", "a@b", "{}", "${", "<>", "<3",
        ] {
            assert!(!is_placeholder(text), "{text}");
        }
    }
}
