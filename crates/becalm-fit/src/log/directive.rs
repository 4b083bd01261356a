//! What text does nginx make of the `log_format` of its configuration?

use std::borrow::Cow;
use std::iter::Peekable;
use std::str::Chars;

use super::template::Unusable;

/// The text of a directive, or of what stands behind its name (`escape=json '..' '..';`); anything else is such a text itself.
///
/// nginx joins the pieces (<https://nginx.org/en/docs/http/ngx_http_log_module.html#log_format>). Double quotes alone may be a part of
/// the text, so that they count as nginx's only behind a name or an `escape`.
pub fn text(written: &str) -> Result<Cow<'_, str>, Unusable> {
    let begins = |front: &str| written.trim_start().starts_with(front);
    let is_directive = written.split_whitespace().next() == Some("log_format");
    if !is_directive && !begins("escape=") && !begins("'") {
        return Ok(Cow::Borrowed(written));
    }
    let pieces = pieces(written).ok_or(Unusable::Directive)?;
    let pieces = pieces.get(if is_directive { 2 } else { 0 }..);
    let pieces = pieces.ok_or(Unusable::Directive)?;
    let is_text = |piece: &&String| !piece.starts_with("escape=");
    let text: String = pieces
        .iter()
        .skip_while(|it| !is_text(it))
        .cloned()
        .collect();
    Ok(Cow::Owned(text))
}

/// The pieces up to the semicolon, without their quotes. `None` if a quote or something behind the semicolon is left.
fn pieces(text: &str) -> Option<Vec<String>> {
    let mut pieces = Vec::new();
    let mut letters = text.chars().peekable();
    while let Some(first) = letters.next_if(|_| true) {
        match first {
            ';' => return letters.all(char::is_whitespace).then_some(pieces),
            '#' => {
                letters.find(|it| *it == '\n');
            }
            '\'' | '"' => {
                pieces.push(until(&mut letters, None, |it| it == first));
                letters.next_if_eq(&first)?;
            }
            first if first.is_whitespace() => {}
            first => {
                let ends = |it: char| it.is_whitespace() || it == ';';
                pieces.push(until(&mut letters, Some(first), ends));
            }
        }
    }
    Some(pieces)
}

/// What stands before a letter that ends it.
fn until(
    letters: &mut Peekable<Chars<'_>>,
    first: Option<char>,
    ends: impl Fn(char) -> bool,
) -> String {
    let mut piece: String = first.into_iter().collect();
    while let Some(letter) = letters.next_if(|it| !ends(*it)) {
        match (letter, letters.peek()) {
            ('\\', Some('"' | '\'' | '\\')) => piece.extend(letters.next()),
            ('\\', Some('t')) => piece.extend(letters.next().map(|_| '\t')),
            (letter, _) => piece.push(letter),
        }
    }
    piece
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_joined_as_nginx_joins_them() {
        for written in [
            "$msec|$status \"$request\"",
            "'$msec|$status \"$request\"'",
            "'$msec|' '$status \"$request\"';",
            "escape=json '$msec|$status \"$request\"'",
            "log_format main '$msec|$status \"$request\"';",
            "log_format  main escape=none \"$msec|\"\n    # the status\n    '$status \"$request\"' ;\n",
            "log_format main \"$msec|$status \\\"$request\\\"\";",
        ] {
            let text = text(written).unwrap();
            assert_eq!(text, "$msec|$status \"$request\"", "{written}");
        }
        let quoted = "\"$request\" \"$status\"";
        assert_eq!(text(quoted).unwrap(), quoted, "its quotes are its own");
    }

    #[test]
    fn half_a_directive_and_two_of_them_are_refused() {
        for written in [
            "log_format main '$msec",
            "log_format",
            "log_format a '$msec'; log_format b '$msec';",
            "'$msec' '",
        ] {
            assert_eq!(text(written), Err(Unusable::Directive), "{written}");
        }
    }
}
