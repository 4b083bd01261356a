//! Which anchors and tags of a text does YAML 1.1 end elsewhere than YAML 1.2?
//!
//! They stand where a value may begin, and not in quotes, in comments, or within a text.

/// A name that ends elsewhere in 1.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    /// An anchor or alias, and where 1.1 ends it: `*a: b`.
    Ends(usize),
    /// A tag with brackets or a comma.
    Tag,
}

pub const fn is_break(letter: char) -> bool {
    matches!(letter, '\n' | '\r')
}

pub const fn is_blank(letter: char) -> bool {
    is_break(letter) || matches!(letter, ' ' | '\t')
}

/// Those of a text from this letter on, each with where it begins.
pub fn names<T>(text: &[(char, T)], from: usize) -> impl Iterator<Item = (usize, Name)> {
    let mut state = State::default();
    let within = text.iter().enumerate().skip(from);
    within.filter_map(move |(here, (letter, _))| {
        let rest = text[here + 1..].iter().map(|it| it.0);
        state.take(here, *letter, rest)
    })
}

struct State {
    last: char,
    /// Whether a value may begin here, if a blank or a bracket comes before it.
    may_begin: bool,
    quote: Option<char>,
    is_comment: bool,
    /// What comes before is part of what was found.
    until: usize,
}

impl Default for State {
    fn default() -> Self {
        Self {
            last: '\n',
            may_begin: true,
            quote: None,
            is_comment: false,
            until: 0,
        }
    }
}

impl State {
    fn take(
        &mut self,
        here: usize,
        letter: char,
        rest: impl Iterator<Item = char> + Clone,
    ) -> Option<(usize, Name)> {
        let last = std::mem::replace(&mut self.last, letter);
        if here < self.until {
            return None;
        }
        let next = rest.clone().next();
        if let Some(quote) = self.quote {
            if quote == '"' && letter == '\\'
                || quote == '\'' && (letter, next) == ('\'', Some('\''))
            {
                self.until = here + 2;
            } else if letter == quote {
                self.quote = None;
            }
            return None;
        }
        if is_break(letter) {
            (self.is_comment, self.may_begin) = (false, true);
        }
        self.is_comment |= letter == '#' && is_blank(last);
        if self.is_comment || is_blank(letter) {
            return None;
        }
        let begins = self.may_begin && (is_blank(last) || "[{,:".contains(last));
        self.may_begin = "[{,:-?".contains(letter);
        match letter {
            '"' | '\'' if begins => self.quote = Some(letter),
            '&' | '*' if begins => {
                let is_name = |it: &char| it.is_ascii_alphanumeric() || "-_".contains(*it);
                let name = rest.clone().take_while(is_name).count();
                let end = here + 1 + name;
                (self.until, self.may_begin) = (end, true);
                let then = rest.clone().nth(name);
                let ends = name > 0 && then.is_some_and(|it| ":?%@`".contains(it));
                return ends.then_some((here, Name::Ends(end)));
            }
            '!' if begins => {
                let tag = rest.take_while(|it| !is_blank(*it));
                let has_brackets = tag.clone().any(|it| "[],".contains(it));
                (self.until, self.may_begin) = (here + 1 + tag.count(), true);
                return has_brackets.then_some((here, Name::Tag));
            }
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(usize, Name)> {
        let letters: Vec<_> = text.chars().map(|it| (it, ())).collect();
        names(&letters, 0).collect()
    }

    #[test]
    fn a_name_is_where_a_value_may_begin() {
        for (text, place, name) in [
            ("*a: b", 0, Name::Ends(2)),
            ("- &a: b", 2, Name::Ends(4)),
            ("a: !x &b?c", 6, Name::Ends(8)),
            ("[a, !b,c d]", 4, Name::Tag),
            ("a: the '90s\n*x: 2", 12, Name::Ends(14)),
            ("a: 'it''s *b: d'\n*x: 2", 17, Name::Ends(19)),
            ("a: \"see \\\" *b: d\"\n*x: 2", 18, Name::Ends(20)),
            ("a: b # *c: d\n*x: 2", 13, Name::Ends(15)),
        ] {
            assert_eq!(found(text), [(place, name)], "{text}");
        }
        for text in [
            "a: p &b: c",
            "a: b !c,d",
            "&a b: c",
            "a&b: c",
            "\"*a: b\": 1",
            "* a: b",
            "a: *b\nc: !d e",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
    }

    #[test]
    fn a_line_of_tags_is_gone_through_once() {
        let text = format!("a: {}\n", "!,".repeat(100_000));
        assert_eq!(found(&text).len(), 1);
    }
}
