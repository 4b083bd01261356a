//! What are the members of a structured dictionary? RFC 9651, section 4.2.2.
//!
//! Only integers, booleans and tokens are read; every other type is checked and skipped, so that
//! members which nobody here knows do not hide the others. One pass, no allocation.

/// The value of a member, without its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value<'a> {
    Integer(i64),
    Boolean(bool),
    Token(&'a [u8]),
    /// A decimal, string, byte sequence, date, display string or inner list.
    Other,
}

/// Hands every member to `member`, in order; a later one of the same key replaces the earlier.
///
/// `None` where the text breaks the grammar anywhere: then all of it means nothing, whatever
/// `member` has seen.
pub(super) fn dictionary<'a>(
    text: &'a [u8],
    mut member: impl FnMut(&'a [u8], Value<'a>),
) -> Option<()> {
    let mut rest = Reader(text);
    rest.skip(b" ");
    while !rest.0.is_empty() {
        let key = rest.key()?;
        let value = if rest.eat(b'=') {
            rest.member_value()?
        } else {
            Value::Boolean(true)
        };
        rest.parameters()?;
        member(key, value);
        rest.skip(b" \t");
        if rest.0.is_empty() {
            break;
        }
        rest.expect(b',')?;
        rest.skip(b" \t");
        if rest.0.is_empty() {
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
            self.parameters()?;
            if !matches!(self.0.first(), Some(b' ' | b')')) {
                return None;
            }
        }
    }

    fn parameters(&mut self) -> Option<()> {
        while self.eat(b';') {
            self.skip(b" ");
            self.key()?;
            if self.eat(b'=') {
                self.bare_item()?;
            }
        }
        Some(())
    }

    fn bare_item(&mut self) -> Option<Value<'a>> {
        match *self.0.first()? {
            b'-' | b'0'..=b'9' => self.number(),
            b'"' => self.string(),
            b'*' | b'a'..=b'z' | b'A'..=b'Z' => Some(Value::Token(self.take_while(is_token))),
            b':' => self.byte_sequence(),
            b'?' => self.boolean(),
            b'@' => self.date(),
            b'%' => self.display_string(),
            _ => None,
        }
    }

    /// At most 15 digits, or 12 before and 3 after the point.
    fn number(&mut self) -> Option<Value<'a>> {
        let is_negative = self.eat(b'-');
        let whole = self.take_while(|byte| byte.is_ascii_digit());
        if self.eat(b'.') {
            let fraction = self.take_while(|byte| byte.is_ascii_digit());
            let fits = (1..=12).contains(&whole.len()) && (1..=3).contains(&fraction.len());
            return fits.then_some(Value::Other);
        }
        if !(1..=15).contains(&whole.len()) {
            return None;
        }
        let digits = whole.iter().map(|digit| i64::from(digit - b'0'));
        let absolute = digits.fold(0, |number, digit| number * 10 + digit);
        Some(Value::Integer(if is_negative {
            -absolute
        } else {
            absolute
        }))
    }

    fn string(&mut self) -> Option<Value<'a>> {
        self.expect(b'"')?;
        loop {
            match self.next()? {
                b'"' => return Some(Value::Other),
                b'\\' => match self.next()? {
                    b'"' | b'\\' => {}
                    _ => return None,
                },
                b' '..=b'~' => {}
                _ => return None,
            }
        }
    }

    /// The alphabet is checked; nobody decodes it.
    fn byte_sequence(&mut self) -> Option<Value<'a>> {
        self.expect(b':')?;
        self.take_while(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte));
        self.expect(b':')?;
        Some(Value::Other)
    }

    fn boolean(&mut self) -> Option<Value<'a>> {
        self.expect(b'?')?;
        match self.next()? {
            b'0' => Some(Value::Boolean(false)),
            b'1' => Some(Value::Boolean(true)),
            _ => None,
        }
    }

    fn date(&mut self) -> Option<Value<'a>> {
        self.expect(b'@')?;
        match self.number()? {
            Value::Integer(_) => Some(Value::Other),
            _ => None,
        }
    }

    /// The escapes are checked; whether they spell UTF-8 is not, since nobody decodes them.
    fn display_string(&mut self) -> Option<Value<'a>> {
        self.expect(b'%')?;
        self.expect(b'"')?;
        let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        loop {
            match self.next()? {
                b'"' => return Some(Value::Other),
                b'%' => {
                    let (high, low) = (self.next()?, self.next()?);
                    if !is_hex(high) || !is_hex(low) {
                        return None;
                    }
                }
                b' '..=b'~' => {}
                _ => return None,
            }
        }
    }
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~:/".contains(&byte)
}
