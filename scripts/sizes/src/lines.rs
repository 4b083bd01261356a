//! Which lines hold code?
//!
//! A line counts that holds a token. A comment is none, and a doc comment neither, though `syn` reads it as an
//! attribute.

use proc_macro2::{Span, TokenStream, TokenTree};
use std::collections::BTreeSet;

/// The numbers of the lines of `source` that hold one of the `tokens`.
pub fn lines_of_code(source: &str, tokens: TokenStream) -> BTreeSet<usize> {
    let text: Vec<&str> = source.lines().collect();
    let mut lines = BTreeSet::new();
    mark(&text, tokens, &mut lines);
    lines
}

fn mark(text: &[&str], tokens: TokenStream, lines: &mut BTreeSet<usize>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) if !is_comment(text, group.span_open()) => {
                insert(group.span_open(), text, lines);
                mark(text, group.stream(), lines);
                insert(group.span_close(), text, lines);
            }
            TokenTree::Group(_) => {}
            token => {
                if !is_comment(text, token.span()) {
                    insert(token.span(), text, lines);
                }
            }
        }
    }
}

/// A literal may cover several lines; its empty ones do not count.
fn insert(span: Span, text: &[&str], lines: &mut BTreeSet<usize>) {
    let covered = span.start().line..=span.end().line;
    lines.extend(covered.filter(|line| {
        line.checked_sub(1)
            .and_then(|at| text.get(at))
            .is_some_and(|text| !text.trim().is_empty())
    }));
}

/// No token begins as a comment does, but the tokens that are made of a doc comment.
fn is_comment(text: &[&str], span: Span) -> bool {
    let start = span.start();
    let Some(line) = start.line.checked_sub(1).and_then(|at| text.get(at)) else {
        return true;
    };
    let mut rest = line.chars().skip(start.column);
    rest.next() == Some('/') && matches!(rest.next(), Some('/' | '*'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::without_tests::cut_tests;
    use quote::ToTokens;

    fn lines(source: &str) -> Vec<usize> {
        let mut file = syn::parse_file(source).unwrap();
        cut_tests(&mut file);
        lines_of_code(source, file.into_token_stream())
            .into_iter()
            .collect()
    }

    #[test]
    fn comments_doc_comments_and_blank_lines_are_no_code() {
        let source = "//! What?\n\n/// A.\n#[derive(Debug)]\nstruct A; // one\n/* two\n lines */\n/** B. */\nstruct B {\n    /// Field.\n    b: u8,\n}\n";
        assert_eq!(lines(source), [4, 5, 9, 11, 12]);
    }

    #[test]
    fn an_attribute_of_documentation_that_is_no_comment_is_code() {
        assert_eq!(
            lines("#[doc(hidden)]\nfn a() {}\n#[doc = \"B.\"]\nfn b() {}\n"),
            [1, 2, 3, 4]
        );
    }

    #[test]
    fn a_literal_counts_on_each_line_that_is_not_empty() {
        assert_eq!(lines("const A: &str = \"one\n\n// three\";\n"), [1, 3]);
    }

    #[test]
    fn what_only_tests_compile_is_not_counted() {
        let source = "fn a() {\n    #[cfg(test)]\n    seen();\n    b();\n}\n#[cfg(all(test, feature = \"x\"))]\nmod tests {\n    fn c() {}\n}\nstruct S {\n    #[cfg(test)]\n    d: u8,\n}\nimpl S {\n    #[cfg(test)]\n    fn e() {}\n}\n#[cfg(not(test))]\nfn f() {}\n#[cfg(any(test, unix))]\nfn g() {}\n";
        assert_eq!(lines(source), [1, 4, 5, 10, 13, 14, 17, 18, 19, 20, 21]);
    }
}
