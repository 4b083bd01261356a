//! What are the members of a structured field? RFC 9651, sections 4.2.1 and 4.2.2.
//!
//! Only integers, booleans and tokens are read; every other type is checked and skipped, so that
//! members which nobody here knows do not hide the others. One pass, no allocation.
//!
//! The text is the whole field: who has several lines joins them first, with a comma and a space
//! (section 4.2).
//!
//! Own code instead of `sfv` 0.15, with which the tests and the fuzzer compare it: that needs the
//! standard library, so that scopes and hints would be lost to `no_std`, brings seven crates along (one
//! of them a procedural macro with `syn`), and allocates for what is only to be skipped.

/// The value of a member, without its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    Integer(i64),
    Boolean(bool),
    Token(&'a [u8]),
    /// A decimal, string, byte sequence, date, display string or inner list.
    Other,
}

impl Value<'_> {
    /// Of an integer that is not negative.
    pub(crate) fn whole(self) -> Option<u64> {
        match self {
            Self::Integer(number) => u64::try_from(number).ok(),
            _ => None,
        }
    }
}

/// Hands every member to `member`, in order; a later one of the same key replaces the earlier.
///
/// `None` where the text breaks the grammar anywhere: then all of it means nothing, whatever
/// `member` has seen.
pub(crate) fn dictionary<'a>(
    text: &'a [u8],
    mut member: impl FnMut(&'a [u8], Value<'a>),
) -> Option<()> {
    members(text, |rest| {
        let (key, value) = rest.pair(Reader::member_value)?;
        rest.parameters(|_, _| {})?;
        member(key, value);
        Some(())
    })
}

/// Hands the parameters of every member to `parameter`, in order, with the number of the member
/// from 0.
///
/// `None` where the text breaks the grammar anywhere, as with [`dictionary`].
pub(crate) fn list_parameters<'a>(
    text: &'a [u8],
    mut parameter: impl FnMut(usize, &'a [u8], Value<'a>),
) -> Option<()> {
    let mut number = 0;
    members(text, |rest| {
        rest.member_value()?;
        rest.parameters(|key, value| parameter(number, key, value))?;
        number += 1;
        Some(())
    })
}

/// Reads members that are separated by commas until nothing is left.
fn members<'a>(
    text: &'a [u8],
    mut member: impl FnMut(&mut Reader<'a>) -> Option<()>,
) -> Option<()> {
    let mut rest = Reader(text);
    rest.skip(b" ");
    while !rest.0.is_empty() {
        member(&mut rest)?;
        rest.skip(b" \t");
        let goes_on = rest.eat(b',');
        rest.skip(b" \t");
        if goes_on == rest.0.is_empty() {
            return None;
        }
    }
    Some(())
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.0.first() == Some(&byte);
        if found {
            self.0 = &self.0[1..];
        }
        found
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        self.eat(byte).then_some(())
    }

    fn take_while(&mut self, belongs: impl Fn(u8) -> bool) -> &'a [u8] {
        let end = self.0.iter().position(|byte| !belongs(*byte));
        let (taken, rest) = self.0.split_at(end.unwrap_or(self.0.len()));
        self.0 = rest;
        taken
    }

    fn skip(&mut self, blanks: &[u8]) {
        self.take_while(|byte| blanks.contains(&byte));
    }

    fn key(&mut self) -> Option<&'a [u8]> {
        let starts = |byte: &u8| byte.is_ascii_lowercase() || *byte == b'*';
        self.0.first().filter(|byte| starts(byte))?;
        Some(self.take_while(|byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-.*".contains(&byte)
        }))
    }

    /// A key with its value: true, where none is written.
    fn pair(&mut self, value: fn(&mut Self) -> Option<Value<'a>>) -> Option<(&'a [u8], Value<'a>)> {
        let key = self.key()?;
        if self.eat(b'=') {
            return Some((key, value(self)?));
        }
        Some((key, Value::Boolean(true)))
    }

    fn member_value(&mut self) -> Option<Value<'a>> {
        if !self.eat(b'(') {
            return self.bare_item();
        }
        loop {
            self.skip(b" ");
            if self.eat(b')') {
                return Some(Value::Other);
            }
            self.bare_item()?;
            self.parameters(|_, _| {})?;
            if !matches!(self.0.first(), Some(b' ' | b')')) {
                return None;
            }
        }
    }

    fn parameters(&mut self, mut parameter: impl FnMut(&'a [u8], Value<'a>)) -> Option<()> {
        while self.eat(b';') {
            self.skip(b" ");
            let (key, value) = self.pair(Self::bare_item)?;
            parameter(key, value);
        }
        Some(())
    }

    fn bare_item(&mut self) -> Option<Value<'a>> {
        match *self.0.first()? {
            b'-' | b'0'..=b'9' => return self.number(),
            b'*' | b'a'..=b'z' | b'A'..=b'Z' => {
                return Some(Value::Token(self.take_while(is_token)));
            }
            _ => {}
        }
        match self.next()? {
            b'?' => return self.boolean(),
            b'"' => self.string()?,
            b':' => self.byte_sequence()?,
            b'@' => matches!(self.number()?, Value::Integer(_)).then_some(())?,
            b'%' => self.display_string()?,
            _ => return None,
        }
        Some(Value::Other)
    }

    /// At most 15 digits, or 12 before and 3 after the point.
    fn number(&mut self) -> Option<Value<'a>> {
        let sign = if self.eat(b'-') { -1 } else { 1 };
        let whole = self.take_while(|byte| byte.is_ascii_digit());
        if self.eat(b'.') {
            let fraction = self.take_while(|byte| byte.is_ascii_digit());
            let fits = (1..=12).contains(&whole.len()) && (1..=3).contains(&fraction.len());
            return fits.then_some(Value::Other);
        }
        let digits = core::str::from_utf8(whole).ok()?;
        let number: i64 = digits.parse().ok().filter(|_| digits.len() <= 15)?;
        Some(Value::Integer(sign * number))
    }

    fn boolean(&mut self) -> Option<Value<'a>> {
        match self.next()? {
            b'0' => Some(Value::Boolean(false)),
            b'1' => Some(Value::Boolean(true)),
            _ => None,
        }
    }

    // What follows is checked and skipped.

    fn string(&mut self) -> Option<()> {
        loop {
            match self.next()? {
                b'"' => return Some(()),
                b'\\' => matches!(self.next()?, b'"' | b'\\').then_some(())?,
                b' '..=b'~' => {}
                _ => return None,
            }
        }
    }

    /// Whether it can be decoded; nobody does. Padding may be left out, in part too, and pad bits are
    /// not looked at (section 4.2.7).
    fn byte_sequence(&mut self) -> Option<()> {
        let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/".contains(&byte);
        let digits = self.take_while(is_base64).len();
        let padding = self.take_while(|byte| byte == b'=').len();
        self.expect(b':')?;
        let is_whole = match digits % 4 {
            0 => padding == 0,
            1 => false,
            past => padding <= 4 - past,
        };
        is_whole.then_some(())
    }

    /// Whether its escapes spell UTF-8 (section 4.2.10); nobody decodes it.
    fn display_string(&mut self) -> Option<()> {
        self.expect(b'"')?;
        let (mut character, mut len) = ([0; 4], 0);
        loop {
            let byte = match self.next()? {
                b'"' => return (len == 0).then_some(()),
                b'%' => self.hex()? * 16 + self.hex()?,
                byte @ b' '..=b'~' => byte,
                _ => return None,
            };
            *character.get_mut(len)? = byte;
            len += 1;
            match core::str::from_utf8(&character[..len]) {
                Ok(_) => len = 0,
                Err(error) if error.error_len().is_some() => return None,
                Err(_) => {}
            }
        }
    }

    fn hex(&mut self) -> Option<u8> {
        let digit = self.next().filter(|byte| !byte.is_ascii_uppercase())?;
        let digit = char::from(digit).to_digit(16)?;
        u8::try_from(digit).ok()
    }
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~:/".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    fn is_dictionary(value: &str) -> bool {
        dictionary(format!("a={value}").as_bytes(), |_, _| {}).is_some()
    }

    #[test]
    fn c13_a_display_string_must_spell_utf_8() {
        for text in [
            "",
            "x",
            "%c3%bc",
            "%e2%82%ac",
            "%f0%9f%98%80",
            "caf%c3%a9 %25",
            "%00",
        ] {
            assert!(is_dictionary(&format!("%\"{text}\"")), "{text}");
        }
        for text in [
            "%c3%28",
            "%c3",
            "%c3x",
            "%bc",
            "%ff",
            "%e2%82",
            "%ed%a0%80",
            "%c0%80",
            "%f4%90%80%80",
            "%C3%BC",
            "%c",
        ] {
            assert!(!is_dictionary(&format!("%\"{text}\"")), "{text}");
        }
    }

    #[test]
    fn c13_padding_stands_at_the_end_or_nowhere() {
        for text in [
            "", "aGVsbG8=", "aGVsbG8", "aGVsbA==", "aGVsbA=", "iZ==", "YWJj", "+/+/",
        ] {
            assert!(is_dictionary(&format!(":{text}:")), "{text}");
        }
        for text in [
            "=aGVsbG8=",
            "a=GVsbG8=",
            "=",
            "====",
            "a",
            "abcde",
            "aGVsbG8==",
            "YWJj=",
            "_-Ah",
            "aGVsbG8=\n",
        ] {
            assert!(!is_dictionary(&format!(":{text}:")), "{text}");
        }
    }

    #[test]
    fn the_parameters_of_a_list_come_with_the_number_of_their_member() {
        let mut found = alloc::vec::Vec::new();
        let text = br#""a";r=1;t, (b "c;d");r=2, tok;r=?0"#;
        list_parameters(text, |number, key, value| found.push((number, key, value))).unwrap();
        let expected: [(usize, &[u8], _); 4] = [
            (0, b"r", Value::Integer(1)),
            (0, b"t", Value::Boolean(true)),
            (1, b"r", Value::Integer(2)),
            (2, b"r", Value::Boolean(false)),
        ];
        assert_eq!(found, expected);
        for broken in ["\"a\";r=1,", "a=1", "\"a\";R=1", "\"a\" \"b\""] {
            assert_eq!(
                list_parameters(broken.as_bytes(), |_, _, _| {}),
                None,
                "{broken}"
            );
        }
    }
}
