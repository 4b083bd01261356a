//! Where in a file do lines begin that can be read?
//!
//! A server whose format was changed, as becalm asks for where durations are missing, writes the new lines behind the old ones.

use std::io::{self, Read};

use memchr::{memchr_iter, memrchr};

use super::Refusal;
use super::format::{Format, Said};
use super::lines::Lines;

/// How far lines are looked for that can be read, in bytes: a pipe may never end.
const FAR: u64 = 64 << 20;

/// What was passed over at the beginning of a file.
#[derive(Debug, Default)]
pub struct Passed {
    pub lines: u64,
    pub bytes: u64,
}

/// The format of the first lines, or, if they have none that can be read, of the first that do; and what stands before those.
pub fn beginning<R: Read>(
    file: &str,
    lines: &mut Lines<R>,
    said: &Said,
) -> Result<(Format, Passed), Refusal> {
    let io = |error| Refusal::Io {
        file: file.into(),
        error,
    };
    let mut passed = Passed::default();
    let (text, is_whole) = lines.beginning().map_err(io)?;
    let refusal = match Format::of(file, text, is_whole, said) {
        Ok(format) => return Ok((format, passed)),
        Err(refusal @ (Refusal::Packed { .. } | Refusal::Empty { .. })) => return Err(refusal),
        Err(refusal) => refusal,
    };
    loop {
        match pass(lines, said, &mut passed).map_err(io)? {
            Next::Format(format) => return Ok((format, passed)),
            Next::Lines if passed.bytes < FAR => {}
            Next::Lines | Next::End => return Err(refusal),
        }
    }
}

enum Next {
    Format(Format),
    Lines,
    End,
}

/// Passes over what is in the buffer, up to the first line of a format that most of its last lines have.
fn pass<R: Read>(lines: &mut Lines<R>, said: &Said, passed: &mut Passed) -> io::Result<Next> {
    let (text, is_whole) = lines.beginning()?;
    let end = match memrchr(b'\n', text) {
        _ if is_whole => text.len(),
        Some(at) => at + 1,
        None => {
            // One line that is longer than any that is kept.
            let length = lines.next()?.map_or(0, |(_, length)| length);
            passed.lines += 1;
            passed.bytes += length as u64;
            return Ok(Next::Lines);
        }
    };
    let format = Format::of_last(&text[..end], said);
    let first = format.as_ref().and_then(|it| it.first(&text[..end]));
    let before = &text[..first.unwrap_or(end)];
    passed.lines += memchr_iter(b'\n', before).count() as u64;
    passed.bytes += before.len() as u64;
    let length = before.len();
    lines.skip(length);
    Ok(match (format, first) {
        (Some(format), Some(_)) => Next::Format(format),
        _ if is_whole => Next::End,
        _ => Next::Lines,
    })
}
