//! For which methods does a condition hold?
//!
//! Terms side by side hold together, `or` and `||` part alternatives, `!` turns a term round (`doc/configuration.txt` of
//! 2.6, sections 7.2 and 7.4; `parse_acl_cond` in `src/acl.c`).

use std::collections::BTreeMap;

use super::lines::{Line, Word};
use crate::list::list;
use crate::template::is_placeholder;

/// The methods that HAProxy knows and that people use.
pub const METHODS: [&str; 8] = [
    "GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE", "POST", "PATCH",
];

/// The lists that each section has (`doc/configuration.txt` of 2.6, section 7.4, and of 3.2).
const PREDEFINED: &[&str] = list!(
    "FALSE HTTP HTTP_1.0 HTTP_1.1 HTTP_2.0 HTTP_3.0 HTTP_CONTENT HTTP_URL_ABS HTTP_URL_SLASH \
     HTTP_URL_STAR LOCALHOST METH_CONNECT METH_DELETE METH_GET METH_HEAD METH_OPTIONS METH_POST \
     METH_PUT METH_TRACE RDP_COOKIE REQ_CONTENT TRUE WAIT_END"
);

/// Whether a condition holds for a request with a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Holds {
    #[default]
    No,
    /// It asks for more than the method.
    Unknown,
    Yes,
}

/// Of each of [`METHODS`].
pub type OfMethods = [Holds; METHODS.len()];

/// The lists of a section by their names.
#[derive(Debug, Clone, Default)]
pub struct Acls(BTreeMap<String, OfMethods>);

impl Acls {
    /// Takes a line `acl NAME ...`. Of several of a name one suffices.
    pub fn take(&mut self, line: &Line) {
        let words: Vec<_> = line.words.iter().skip(2).map(|it| &*it.text).collect();
        let all = self.0.entry(line.word(1).to_owned()).or_default();
        *all = either(*all, criterion(&words));
    }

    /// Of `if ...` and `unless ...`; without a word it always holds.
    pub fn condition(&self, words: &[Word]) -> OfMethods {
        let words: Vec<_> = words.iter().map(|it| &*it.text).collect();
        match words.split_first() {
            None => [Holds::Yes; METHODS.len()],
            Some((&"if", terms)) => self.terms(terms),
            Some((&"unless", terms)) => turned(self.terms(terms)),
            Some(_) => [Holds::Unknown; METHODS.len()],
        }
    }

    /// The first word of a condition that HAProxy refuses, and why.
    pub fn refused<'w>(&self, words: &'w [Word]) -> Option<(&'static str, &'w Word)> {
        let (first, terms) = words.split_first()?;
        if is_placeholder(&first.text) {
            return None;
        }
        if !["if", "unless"].contains(&&*first.text) {
            return Some(("reads neither `if` nor `unless` in", first));
        }
        let mut terms = terms.iter();
        while let Some(word) = terms.next() {
            match word.text.trim_start_matches('!') {
                "" | "or" | "||" => {}
                "{" => {
                    terms.find(|it| it.text == "}");
                }
                name => {
                    let is_known = self.0.contains_key(name)
                        || PREDEFINED.contains(&name)
                        || is_placeholder(name);
                    if !is_known {
                        return Some(("knows no `acl` of the name", word));
                    }
                }
            }
        }
        None
    }

    fn terms(&self, terms: &[&str]) -> OfMethods {
        let mut any = OfMethods::default();
        // Of the terms since the last `or`.
        let mut all: Option<OfMethods> = None;
        let mut is_turned = false;
        let mut words = terms.iter().copied();
        while let Some(word) = words.next() {
            let bare = word.trim_start_matches('!');
            is_turned ^= (word.len() - bare.len()) % 2 == 1;
            let term = match bare {
                "" => continue,
                "or" | "||" => {
                    any = either(any, all.take().unwrap_or_default());
                    continue;
                }
                "{" => criterion(
                    &words
                        .by_ref()
                        .take_while(|it| *it != "}")
                        .collect::<Vec<_>>(),
                ),
                name => self.named(name),
            };
            let term = if std::mem::take(&mut is_turned) {
                turned(term)
            } else {
                term
            };
            all = Some(all.map_or(term, |all| both(all, term)));
        }
        either(any, all.unwrap_or_default())
    }

    fn named(&self, name: &str) -> OfMethods {
        let own: &[&str] = match name {
            "METH_GET" => &["GET", "HEAD"],
            "TRUE" => return [Holds::Yes; METHODS.len()],
            "FALSE" => return OfMethods::default(),
            name => match (self.0.get(name), name.strip_prefix("METH_")) {
                (Some(own), _) => return *own,
                (None, Some(method)) => return of(&[method]),
                (None, None) => return [Holds::Unknown; METHODS.len()],
            },
        };
        of(own)
    }
}

fn criterion(words: &[&str]) -> OfMethods {
    match words.split_first() {
        Some((&"always_true", [])) => [Holds::Yes; METHODS.len()],
        Some((&"always_false", [])) => OfMethods::default(),
        Some((&"method", methods))
            if !methods
                .iter()
                .any(|it| it.starts_with('-') || is_placeholder(it)) =>
        {
            of(methods)
        }
        _ => [Holds::Unknown; METHODS.len()],
    }
}

fn of(methods: &[&str]) -> OfMethods {
    METHODS.map(|it| {
        if methods.contains(&it) {
            Holds::Yes
        } else {
            Holds::No
        }
    })
}

fn turned(all: OfMethods) -> OfMethods {
    all.map(|it| match it {
        Holds::No => Holds::Yes,
        Holds::Unknown => Holds::Unknown,
        Holds::Yes => Holds::No,
    })
}

/// Where one of two holds.
pub fn either(one: OfMethods, other: OfMethods) -> OfMethods {
    zip(one, other, Ord::max)
}

/// Where two hold together.
pub fn both(one: OfMethods, other: OfMethods) -> OfMethods {
    zip(one, other, Ord::min)
}

fn zip(mut one: OfMethods, other: OfMethods, of: fn(Holds, Holds) -> Holds) -> OfMethods {
    for (one, other) in one.iter_mut().zip(other) {
        *one = of(*one, other);
    }
    one
}

#[cfg(test)]
mod tests {
    use super::super::lines::sections;
    use super::*;

    /// `x` for each method for which the condition holds, `?` where that is not known.
    fn shown(condition: &str) -> String {
        let text = format!(
            "backend b\nacl writes method POST PUT\nacl writes method PATCH\nacl home path /\nr {condition}\n"
        );
        let mut acls = Acls::default();
        let (sections, _) = sections(&text);
        let (rule, lists) = sections[0].lines.split_last().expect("a rule");
        for list in lists {
            acls.take(list);
        }
        let all = acls.condition(&rule.words[1..]);
        let shown = METHODS.iter().zip(all).filter_map(|(method, it)| match it {
            Holds::No => None,
            Holds::Unknown => Some(format!("{method}?")),
            Holds::Yes => Some((*method).to_owned()),
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn conditions_are_read_as_far_as_they_are_of_methods() {
        for (condition, holds) in [
            ("", "GET HEAD PUT DELETE OPTIONS TRACE POST PATCH"),
            ("if METH_POST", "POST"),
            ("if METH_POST METH_PUT", ""),
            ("if METH_POST or METH_PUT", "PUT POST"),
            ("if METH_POST || { method PATCH }", "POST PATCH"),
            (
                "unless METH_GET or METH_HEAD",
                "PUT DELETE OPTIONS TRACE POST PATCH",
            ),
            ("if !METH_GET", "PUT DELETE OPTIONS TRACE POST PATCH"),
            ("if ! METH_GET METH_POST", "POST"),
            (
                "if !{ method GET HEAD POST PATCH }",
                "PUT DELETE OPTIONS TRACE",
            ),
            ("if writes", "PUT POST PATCH"),
            ("if writes !METH_POST", "PUT PATCH"),
            ("if METH_POST home", "POST?"),
            (
                "if METH_POST or home",
                "GET? HEAD? PUT? DELETE? OPTIONS? TRACE? POST PATCH?",
            ),
            ("if { method -f methods.lst } METH_PUT", "PUT?"),
            ("if { method \"${M}\" } METH_PUT", "PUT?"),
            ("unless TRUE", ""),
            ("if !!METH_POST", "POST"),
        ] {
            assert_eq!(shown(condition), holds, "{condition}");
        }
    }
}
