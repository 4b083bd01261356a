//! Which lines does a reader of the output see, whatever its terminal was told beside them?
//!
//! Colours and the like are no text (ECMA-48, section 5.4). A line also ends where the cursor goes elsewhere: a
//! carriage return begins the line anew, as in `10%\r20%\rfailed`.

const BELL: u8 = 0x07;
const BACKSPACE: u8 = 0x08;
const CANCEL: u8 = 0x18;
const SUBSTITUTE: u8 = 0x1a;
const ESCAPE: u8 = 0x1b;
const DELETE: u8 = 0x7f;

/// The longest piece of a line that is seen as one: bounds the memory that an endless line takes. A longer line
/// is seen piece by piece.
pub const LONGEST_LINE: usize = 64 << 10;

/// Takes one stream to pieces, as it passes.
#[derive(Debug, Default)]
pub struct PlainLines {
    /// The start of a line whose end has not been seen yet.
    line: Vec<u8>,
    inside: Inside,
    /// The line that ends here has been shown, and is empty since.
    was_shown: bool,
}

/// Where the next byte stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Inside {
    #[default]
    Text,
    /// Behind ESC.
    Escape,
    /// Behind ESC and bytes such as `(`, up to the one that ends it.
    Intermediate,
    /// Behind `ESC [`, up to the letter that ends it.
    Control,
    /// Text for the terminal itself, such as a title or a link.
    String,
    /// ESC within such a text: `ESC \` ends it.
    StringEscape,
}

impl PlainLines {
    /// The next bytes of the stream; `seen` gets each line that ends in them.
    pub fn push(&mut self, mut bytes: &[u8], seen: &mut impl FnMut(&[u8])) {
        while let Some(&byte) = bytes.first() {
            if self.inside != Inside::Text {
                if self.obey(byte, seen) {
                    bytes = &bytes[1..];
                }
                continue;
            }
            let room = LONGEST_LINE - self.line.len();
            let is_text = |byte: &u8| (*byte >= 0x20 || *byte == b'\t') && *byte != DELETE;
            let reach = &bytes[..bytes.len().min(room)];
            let count = reach.iter().take_while(|byte| is_text(byte)).count();
            self.line.extend_from_slice(&bytes[..count]);
            bytes = &bytes[count..];
            if self.line.len() == LONGEST_LINE {
                self.end(seen);
            } else if let Some((&byte, rest)) = bytes.split_first() {
                self.control(byte, seen);
                bytes = rest;
            }
        }
    }

    /// The stream has ended. A last line needs no end.
    pub fn finish(&mut self, seen: &mut impl FnMut(&[u8])) {
        self.end(seen);
    }

    /// A byte of text that is none.
    fn control(&mut self, byte: u8, seen: &mut impl FnMut(&[u8])) {
        match byte {
            b'\n' => {
                if self.line.is_empty() && !self.was_shown {
                    seen(&[]);
                }
                self.end(seen);
                self.was_shown = false;
            }
            // The line anew; form feed and vertical tab lead to another.
            b'\r' | 0x0b | 0x0c => self.end(seen),
            BACKSPACE => _ = self.line.pop(),
            ESCAPE => self.inside = Inside::Escape,
            _ => {}
        }
    }

    /// A byte within what a terminal obeys; whether it belongs to that, and not to the text behind.
    fn obey(&mut self, byte: u8, seen: &mut impl FnMut(&[u8])) -> bool {
        use Inside::{Control, Escape, Intermediate, String, StringEscape, Text};
        // A sequence that was cut short hides no line behind it.
        let is_cut = matches!(byte, b'\n' | b'\r') || (byte < 0x20 && self.inside == Control);
        if byte == CANCEL || byte == SUBSTITUTE {
            self.inside = Text;
            return true;
        }
        if byte == ESCAPE && self.inside != String {
            self.inside = Escape;
            return true;
        }
        if is_cut {
            self.inside = Text;
            return false;
        }
        self.inside = match (self.inside, byte) {
            (StringEscape, b'\\') | (String, BELL) => Text,
            (StringEscape, _) => {
                self.inside = Escape;
                return false;
            }
            (String, ESCAPE) => StringEscape,
            (String, _) | (Escape, b']' | b'P' | b'X' | b'^' | b'_') => String,
            (Escape | Intermediate, 0x20..=0x2f) => Intermediate,
            (Escape, b'[') | (Control, 0x20..=0x3f) => Control,
            (Control, 0x40..=0x7e) => {
                match byte {
                    // Columns to the right: a gap.
                    b'C' | b'a' if self.line.len() < LONGEST_LINE - 1 => self.line.push(b' '),
                    b'A' | b'B' | b'D'..=b'H' | b'`' | b'd'..=b'f' => self.end(seen),
                    _ => {}
                }
                Text
            }
            (Escape, b'D' | b'E' | b'M') => {
                self.end(seen);
                Text
            }
            (Escape | Intermediate, 0x30..=0x7e) => Text,
            _ => {
                self.inside = Text;
                return false;
            }
        };
        true
    }

    fn end(&mut self, seen: &mut impl FnMut(&[u8])) {
        if !self.line.is_empty() {
            seen(&std::mem::take(&mut self.line));
            self.was_shown = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(stream: &[u8], cut: usize) -> Vec<String> {
        let mut lines = Vec::new();
        let mut seen = |line: &[u8]| lines.push(String::from_utf8_lossy(line).into_owned());
        let mut plain = PlainLines::default();
        let (head, tail) = stream.split_at(cut);
        plain.push(head, &mut seen);
        plain.push(tail, &mut seen);
        plain.finish(&mut seen);
        lines
    }

    #[test]
    fn a_line_is_what_a_reader_sees_however_the_stream_is_cut() {
        for (stream, expected) in [
            (&b"\x1b[31merror\x1b[0m: disk\n"[..], &["error: disk"][..]),
            (b"\x1b[1;38;5;196mfa\x1b[Kiled\x1b(B\x1b[m\n", &["failed"]),
            (b"10%\r20%\rfailed\n", &["10%", "20%", "failed"]),
            (b"10%\r\x1b[K20%\r\x1b[2Kfailed", &["10%", "20%", "failed"]),
            (
                b"10%\x1b[1G20%\x1b[1A\x1b[2Kfailed",
                &["10%", "20%", "failed"],
            ),
            (b"one\r\ntwo\r\r\n\r\n\nend", &["one", "two", "", "", "end"]),
            (b"|\x08/\x08-\x08failed\n", &["failed"]),
            (b"\x1b]0;a title\x07error\n", &["error"]),
            (
                b"\x1b]8;;http://a/\x1b\\error\x1b]8;;\x1b\\ here\n",
                &["error here"],
            ),
            (b"\x1b]0;cut short\nerror\n", &["", "error"]),
            (b"\x1b[31\nerror\n", &["", "error"]),
            (b"\x1bPq#0;2\x1b\\error\x00 \x0f\tx\n", &["error \tx"]),
            (b"a\x1b[3Cb\x1b7\x1b8\x1b=\n", &["a b"]),
            ("é\x1b[0m ü\n".as_bytes(), &["é ü"]),
            (b"\x1b\x1b[31merror\x1b[31\x1b[0m\n", &["error"]),
        ] {
            for cut in 0..=stream.len() {
                let shown = String::from_utf8_lossy(stream);
                assert_eq!(lines(stream, cut), expected, "{shown:?} cut at {cut}");
            }
        }
    }

    #[test]
    fn what_is_shown_without_an_end_is_bounded() {
        let mut plain = PlainLines::default();
        for bytes in [&[b'x'; 10_000][..], b"\x1b[1m", &[b'y'; 10_000]] {
            for _ in 0..100 {
                plain.push(bytes, &mut |line| assert!(line.len() <= LONGEST_LINE));
                assert!(plain.line.capacity() <= 2 * LONGEST_LINE);
            }
        }
    }
}
