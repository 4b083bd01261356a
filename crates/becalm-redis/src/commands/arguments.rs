//! What are the words of a command?

use redis::{Arg, Cmd};

/// The words of a command: its name, then its arguments.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arguments<'a> {
    command: &'a Cmd,
}

impl<'a> Arguments<'a> {
    pub fn of(command: &'a Cmd) -> Self {
        Self { command }
    }

    /// From this word on.
    pub fn from(self, first: usize) -> impl Iterator<Item = &'a [u8]> + Clone {
        let words = self.command.args_iter().map(|word| match word {
            Arg::Simple(word) => word,
            _ => b"0", // a cursor
        });
        words.skip(first)
    }

    pub fn get(self, at: usize) -> Option<&'a [u8]> {
        self.from(at).next()
    }

    /// The word there, if it is a number.
    pub fn number<N: std::str::FromStr>(self, at: usize) -> Option<N> {
        std::str::from_utf8(self.get(at)?).ok()?.parse().ok()
    }

    /// The words from here on that are among these, up to the first that is not.
    pub fn flags(self, first: usize, known: &[&str]) -> impl Iterator<Item = &'a [u8]> {
        self.from(first)
            .take_while(move |word| is_one_of(word, known))
    }

    /// Whether all words from here on are options of these, each with as many words as it takes along.
    pub fn are_options(self, first: usize, known: &[(&str, usize)]) -> bool {
        self.walk(first, |option, _| takes(known, option))
    }

    /// Whether they are such options and `FIELDS` with a count of fields, each of this many words.
    pub fn are_options_and_fields(
        self,
        first: usize,
        known: &[(&str, usize)],
        words_of_field: usize,
    ) -> bool {
        self.walk(first, |option, at| {
            if is_one_of(option, &["FIELDS"]) {
                let fields: usize = self.number(at + 1)?;
                return fields.checked_mul(words_of_field)?.checked_add(1);
            }
            takes(known, option)
        })
    }

    /// Whether the words can be read to their end, where each option tells how many it takes along.
    fn walk(self, first: usize, more: impl Fn(&[u8], usize) -> Option<usize>) -> bool {
        let (mut at, end) = (first, self.command.args_iter().len());
        while at < end {
            let Some(option) = self.get(at) else { break };
            match more(option, at).and_then(|more| at.checked_add(more)?.checked_add(1)) {
                Some(next) => at = next,
                None => return false,
            }
        }
        at == end
    }
}

/// How many words this option takes along, if it is known.
fn takes(known: &[(&str, usize)], option: &[u8]) -> Option<usize> {
    let mut known = known.iter();
    let (_, more) = known.find(|(name, _)| is_one_of(option, &[name]))?;
    Some(*more)
}

pub(super) fn is_one_of(word: &[u8], options: &[&str]) -> bool {
    let is = |option: &&str| word.eq_ignore_ascii_case(option.as_bytes());
    options.iter().any(is)
}
