//! Which directives does an nginx configuration hold, and where?
//!
//! As `ngx_conf_read_token` of 1.22 reads them (`src/core/ngx_conf_file.c`).

use std::iter::Peekable;
use std::str::Chars;

use crate::document::{DEEPEST, Span};

/// A directive with its block, if it has one.
#[derive(Debug, Clone, PartialEq)]
pub struct Directive<'a> {
    /// Its name and its arguments: never empty.
    pub words: Vec<Word>,
    /// What stands in its braces; of Lua nothing.
    pub block: Option<Vec<Directive<'a>>>,
    /// The name of the file in which it stands.
    pub file: &'a str,
}

/// A word, without its quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    pub text: String,
    pub span: Span,
}

impl Directive<'_> {
    pub fn name(&self) -> &str {
        #[cfg(test)]
        crate::document::LOOKED_AT.set(crate::document::LOOKED_AT.get() + 1);
        self.words.first().map_or("", |it| &it.text)
    }

    pub fn args(&self) -> &[Word] {
        self.words.get(1..).unwrap_or_default()
    }

    pub fn span(&self) -> Span {
        self.words.first().map_or(Span::new(1, 1, 0), |it| it.span)
    }

    /// What it takes the place of, of an `include`.
    pub fn includes(&self) -> Option<&str> {
        match (self.name(), self.args()) {
            ("include", [pattern]) => Some(&pattern.text),
            _ => None,
        }
    }

    pub fn inner(&self) -> &[Self] {
        self.block.as_deref().unwrap_or_default()
    }
}

/// Why nginx would not read on, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreadable {
    pub span: Span,
    pub sentence: &'static str,
    /// Whether it comes after a block of Lua, whose end is not known for sure.
    pub is_lua: bool,
}

/// All directives of a file, with the block of each.
pub fn directives<'a>(text: &str, file: &'a str) -> Result<Vec<Directive<'a>>, Unreadable> {
    let mut reader = Reader {
        left: text.chars().peekable(),
        line: 1,
        column: 1,
        has_lua: false,
    };
    let read = all(&mut reader, file);
    read.map_err(|it| Unreadable {
        is_lua: reader.has_lua,
        ..it
    })
}

fn all<'a>(reader: &mut Reader<'_>, file: &'a str) -> Result<Vec<Directive<'a>>, Unreadable> {
    // The directives of each block that is open, the file first, and whose it is.
    let mut open: Vec<Open<'a>> = vec![(Vec::new(), Vec::new())];
    let mut words = Vec::new();
    loop {
        reader.skip_blanks();
        let at = reader.here(1);
        let fail = |sentence| Err(unreadable(at, sentence));
        match reader.token()? {
            Token::Word(word) => words.push(word),
            Token::End if words.is_empty() => return fail("a `;` without a directive"),
            Token::End => {
                let words = std::mem::take(&mut words);
                put(&mut open, (words, None), file);
            }
            Token::Open if words.is_empty() => return fail("a `{` without a directive"),
            Token::Open if open.len() >= DEEPEST => {
                return fail("it is more than 100 blocks deep; no configuration is");
            }
            Token::Open => {
                let words = std::mem::take(&mut words);
                if words
                    .first()
                    .is_some_and(|it| it.text.ends_with("_by_lua_block"))
                {
                    reader.skip_lua(at)?;
                    put(&mut open, (words, Some(Vec::new())), file);
                } else {
                    open.push((words, Vec::new()));
                }
            }
            Token::Close if !words.is_empty() => return fail("a directive without its `;`"),
            Token::Close if open.len() == 1 => return fail("a `}` that closes nothing"),
            Token::Close => {
                if let Some((words, block)) = open.pop() {
                    put(&mut open, (words, Some(block)), file);
                }
            }
            Token::Nothing if open.len() > 1 => return fail("a `}` is missing"),
            Token::Nothing if !words.is_empty() => return fail("a directive without its `;`"),
            Token::Nothing => return Ok(open.pop().map(|(_, all)| all).unwrap_or_default()),
        }
    }
}

type Open<'a> = (Vec<Word>, Vec<Directive<'a>>);

fn put<'a>(
    open: &mut [Open<'a>],
    (words, block): (Vec<Word>, Option<Vec<Directive<'a>>>),
    file: &'a str,
) {
    if let Some((_, all)) = open.last_mut() {
        all.push(Directive { words, block, file });
    }
}

enum Token {
    Word(Word),
    End,
    Open,
    Close,
    Nothing,
}

struct Reader<'t> {
    left: Peekable<Chars<'t>>,
    line: usize,
    column: usize,
    has_lua: bool,
}

impl Reader<'_> {
    fn here(&self, length: usize) -> Span {
        Span::new(self.line, self.column, length)
    }

    fn next(&mut self) -> Option<char> {
        let next = self.left.next()?;
        if next == '\n' {
            self.line += 1;
            self.column = 1;
        } else {
            self.column += 1;
        }
        Some(next)
    }

    fn skip_blanks(&mut self) {
        let mut in_comment = false;
        while let Some(next) = self.left.peek() {
            match next {
                '\n' => in_comment = false,
                _ if in_comment => {}
                ' ' | '\t' | '\r' => {}
                '#' => in_comment = true,
                _ => return,
            }
            self.next();
        }
    }

    fn token(&mut self) -> Result<Token, Unreadable> {
        let start = self.here(0);
        match self.next() {
            None => Ok(Token::Nothing),
            Some(';') => Ok(Token::End),
            Some('{') => Ok(Token::Open),
            Some('}') => Ok(Token::Close),
            Some(quote @ ('"' | '\'')) => self.quoted(quote, start),
            Some(first) => Ok(self.plain(first, start)),
        }
    }

    fn quoted(&mut self, quote: char, start: Span) -> Result<Token, Unreadable> {
        let mut text = String::new();
        while let Some(next) = self.next() {
            match next {
                '\\' => self.escaped(&mut text),
                _ if next == quote => {
                    let ends = self
                        .left
                        .peek()
                        .is_none_or(|it| matches!(it, ' ' | '\t' | '\r' | '\n' | ';' | '{' | ')'));
                    if !ends {
                        let sentence = "a quote ends in the middle of a word";
                        return Err(unreadable(start, sentence));
                    }
                    let span = self.since(start);
                    return Ok(Token::Word(Word { text, span }));
                }
                _ => text.push(next),
            }
        }
        Err(unreadable(start, "a quote without its end"))
    }

    fn plain(&mut self, first: char, start: Span) -> Token {
        let mut text = String::new();
        let mut next = Some(first);
        while let Some(it) = next {
            match it {
                '\\' => self.escaped(&mut text),
                _ => text.push(it),
            }
            // `${name}` is part of a word.
            let of_variable = it == '$' && self.left.peek() == Some(&'{');
            let ends = |it: &char| matches!(it, ' ' | '\t' | '\r' | '\n' | ';' | '{');
            let goes_on = self.left.peek().is_some_and(|it| of_variable || !ends(it));
            next = goes_on.then(|| self.next()).flatten();
        }
        let span = self.since(start);
        Token::Word(Word { text, span })
    }

    fn escaped(&mut self, text: &mut String) {
        match self.next() {
            Some(it @ ('"' | '\'' | '\\')) => text.push(it),
            Some('t') => text.push('\t'),
            Some('r') => text.push('\r'),
            Some('n') => text.push('\n'),
            Some(it) => text.extend(['\\', it]),
            None => text.push('\\'),
        }
    }

    fn since(&self, start: Span) -> Span {
        let length = if start.line == self.line {
            self.column - start.column
        } else {
            0
        };
        Span::new(start.line, start.column, length)
    }

    /// To the brace that ends it. Lua is not read: braces in its texts and comments count as others do.
    fn skip_lua(&mut self, start: Span) -> Result<(), Unreadable> {
        self.has_lua = true;
        let mut depth = 1_usize;
        while let Some(next) = self.next() {
            match next {
                '{' => depth += 1,
                '}' if depth == 1 => return Ok(()),
                '}' => depth -= 1,
                _ => {}
            }
        }
        Err(unreadable(start, "a block of Lua without its end"))
    }
}

fn unreadable(span: Span, sentence: &'static str) -> Unreadable {
    Unreadable {
        span,
        sentence,
        is_lua: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(directives: &[Directive<'_>]) -> String {
        let mut text = String::new();
        for it in directives {
            let words: Vec<_> = it.words.iter().map(|it| &*it.text).collect();
            text.push_str(&words.join("|"));
            match &it.block {
                Some(block) => text.extend(["{", &shown(block), "}"]),
                None => text.push(';'),
            }
        }
        text
    }

    #[test]
    fn words_blocks_quotes_and_comments_are_read() {
        for (text, read) in [
            ("a b;", "a|b;"),
            ("a # b;\n c;", "a|c;"),
            ("a b#c;", "a|b#c;"),
            ("a{b;}c d{}", "a{b;}c|d{}"),
            ("a \"b ; c\" 'd\"';", "a|b ; c|d\";"),
            ("a \"\\\"b\\d\";", "a|\"b\\d;"),
            ("proxy_pass http://${x}/y;", "proxy_pass|http://${x}/y;"),
            ("a $x}b;", "a|$x}b;"),
            (
                "access_by_lua_block { if x then y = {1, '{}'} end -- it's\n } a;",
                "access_by_lua_block{}a;",
            ),
            ("", ""),
        ] {
            assert_eq!(shown(&directives(text, "f").expect(text)), read, "{text}");
        }
        let read = directives("a b;\n  'cd' {\n\te;\n}", "f").expect("valid");
        assert_eq!(read[1].span(), Span::new(2, 3, 4));
        assert_eq!(read[1].inner()[0].span(), Span::new(3, 2, 1));
    }

    #[test]
    fn what_nginx_does_not_read_is_refused_with_its_line() {
        for (text, line) in [
            ("a", 1),
            ("a {\n", 2),
            ("}\n", 1),
            ("a;\n;", 2),
            ("a;\n{ b; }", 2),
            ("a {\nb }", 2),
            ("a 'b;\n\n", 1),
            ("a 'b'c;", 1),
        ] {
            let refused = directives(text, "f").expect_err(text);
            assert_eq!(refused.span.line, line, "{text}: {refused:?}");
        }
        assert!(directives(&"a {".repeat(DEEPEST + 1), "f").is_err());
        for (text, is_lua) in [("a_by_lua_block { '}' }", true), ("a }", false)] {
            let refused = directives(text, "f").expect_err(text);
            assert_eq!(refused.is_lua, is_lua, "{text}");
        }
    }
}
