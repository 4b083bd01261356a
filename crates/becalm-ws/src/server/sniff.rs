//! Has the request of a connection come, where no layer says so? Plain HTTP/1 shows it in its bytes.

/// What the bytes of a connection have shown so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sniff {
    /// So many bytes of its head have come, so many of them as HTTP/2 begins, and so many of the four that end a head.
    Head(u8, u8, u8),
    /// It is TLS or HTTP/2, which do not show it.
    Hidden,
    /// The head of a request has come whole, and its answer has not begun.
    Came,
    /// An answer has begun. So many of the four that end the head of the next request have come.
    Answered(u8),
}

pub(super) const END: &[u8; 4] = b"\r\n\r\n";
/// How HTTP/2 begins, as no method of HTTP/1 does (RFC 9113 section 3.4).
const PREFACE: &[u8; 5] = b"PRI *";

impl Sniff {
    pub const fn new() -> Self {
        Self::Head(0, 0, 0)
    }

    /// These bytes have come.
    pub fn reads(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            *self = match *self {
                Self::Head(length, preface, end) => head(byte, length, preface, end),
                Self::Answered(end) => match step(END, end, byte) {
                    4 => Self::Came,
                    end => Self::Answered(end),
                },
                Self::Hidden | Self::Came => return,
            };
        }
    }

    /// These bytes go out. True where a WebSocket begins with them.
    pub fn writes(&mut self, bytes: &[u8]) -> bool {
        if *self == Self::Hidden || !bytes.starts_with(b"HTTP/1.") {
            return false;
        }
        if !bytes.starts_with(b"HTTP/1.1 100") && !self.is_answered() {
            *self = Self::Answered(0);
        }
        bytes.starts_with(b"HTTP/1.1 101")
    }

    /// Whether the head of a request has come.
    pub const fn has_come(self) -> bool {
        matches!(self, Self::Came | Self::Answered(_))
    }

    /// Whether an answer has begun, and no other request has come since.
    pub const fn is_answered(self) -> bool {
        matches!(self, Self::Answered(_))
    }
}

/// What the first head of a connection has shown with this byte.
fn head(byte: u8, length: u8, preface: u8, end: u8) -> Sniff {
    let is_method = byte.is_ascii_uppercase() || matches!(byte, b'\r' | b'\n');
    if length == 0 && !is_method {
        return Sniff::Hidden;
    }
    let is_preface = preface == length && PREFACE.get(usize::from(preface)) == Some(&byte);
    let preface = preface + u8::from(is_preface);
    let end = step(END, end, byte);
    if usize::from(preface) == PREFACE.len() {
        Sniff::Hidden
    } else if usize::from(end) == END.len() {
        Sniff::Came
    } else {
        Sniff::Head(length.saturating_add(1), preface, end)
    }
}

/// How much of a text that begins with `\r\n` matches with this byte, in any case of letters. One that has matched whole stays so.
pub(super) fn step(text: &[u8], matched: u8, byte: u8) -> u8 {
    match (text.get(usize::from(matched)), byte) {
        (None, _) => matched,
        (Some(next), _) if next.eq_ignore_ascii_case(&byte) => matched + 1,
        (_, b'\r') => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_of_plain_http_1_shows_its_end_however_it_is_cut() {
        let head = b"GET / HTTP/1.1\r\nhost: x\r\nPRI: *\r\n\r\n";
        for cut in 0..head.len() {
            let mut sniff = Sniff::new();
            sniff.reads(&head[..cut]);
            assert!(!sniff.has_come(), "{cut}");
            sniff.reads(&head[cut..]);
            assert_eq!(sniff, Sniff::Came, "{cut}");
        }
        let mut sniff = Sniff::new();
        sniff.reads(b"PUT / HTTP/1.1\r\n\r\r\n\r\n");
        assert!(sniff.has_come());
        assert!(!sniff.writes(b"HTTP/1.1 100 Continue\r\n\r\n") && sniff == Sniff::Came);
        assert!(!sniff.writes(b"HTTP/1.1 200 OK\r\n") && sniff.is_answered());
        assert!(sniff.writes(b"HTTP/1.1 101 Switching Protocols\r\n"));
    }

    #[test]
    fn the_next_request_of_a_connection_is_waited_for_and_then_worked_on() {
        let mut sniff = Sniff::new();
        sniff.reads(b"GET / HTTP/1.1\r\n\r\n");
        for answer in [&b"HTTP/1.1 200 OK\r\n\r\n"[..], b"a body\r\n\r\n"] {
            assert!(!sniff.writes(answer));
            assert!(sniff.has_come() && sniff != Sniff::Came);
        }
        for part in [&b"POST / HTTP/1.1\r\n"[..], b"\r"] {
            sniff.reads(part);
            assert!(sniff.has_come() && sniff != Sniff::Came);
        }
        sniff.reads(b"\nbody");
        assert_eq!(sniff, Sniff::Came);
        assert!(!sniff.writes(b"HTTP/1.1 200 OK\r\n\r\n") && sniff != Sniff::Came);
        sniff.reads(b"GET / HTTP/1.1\r\n\r\n");
        assert!(sniff.writes(b"HTTP/1.1 101 Switching Protocols\r\n"));
    }

    #[test]
    fn tls_and_http_2_show_nothing() {
        for first in [
            &b"\x16\x03\x01\r\n\r\n"[..],
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        ] {
            let mut sniff = Sniff::new();
            sniff.reads(first);
            sniff.reads(b"GET / HTTP/1.1\r\n\r\n");
            assert_eq!(sniff, Sniff::Hidden);
            assert!(!sniff.writes(b"HTTP/1.1 101 Switching Protocols\r\n"));
        }
    }
}
