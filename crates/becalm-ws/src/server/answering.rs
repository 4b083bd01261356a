//! Does an answer of HTTP/1 still go on? One that is sent in chunks says when it is over (RFC 9112 section 7.1).

use super::sniff::{END, step};

/// What has gone out of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answering {
    /// So much of [`CHUNKED`] matches, and this many of the four that end the head.
    Head(u8, u8),
    /// A chunk of this size so far, and whether its line goes on.
    Size(usize, bool),
    /// What is left of a chunk, the end of its line included.
    Chunk(usize),
    /// After the last chunk: how long this line is so far, up to 1.
    Trailer(u8),
    /// It is over, or does not say when it is.
    Over,
}

const CHUNKED: &[u8] = b"\r\ntransfer-encoding: chunked\r\n";

impl Answering {
    /// An answer begins.
    pub const fn begins() -> Self {
        Self::Head(0, 0)
    }

    /// Whether its head says that it is sent in chunks, and the last of them has not gone out.
    pub const fn goes_on(self) -> bool {
        matches!(self, Self::Size(..) | Self::Chunk(_) | Self::Trailer(_))
    }

    /// These bytes have gone out.
    pub fn writes(&mut self, mut bytes: &[u8]) {
        while let [byte, rest @ ..] = bytes {
            bytes = rest;
            *self = match *self {
                Self::Over => return,
                Self::Head(matched, end) => {
                    let matched = step(CHUNKED, matched, *byte);
                    match step(END, end, *byte) {
                        4 if usize::from(matched) == CHUNKED.len() => Self::Size(0, true),
                        4 => Self::Over,
                        end => Self::Head(matched, end),
                    }
                }
                Self::Size(0, _) if *byte == b'\n' => Self::Trailer(0),
                Self::Size(size, _) if *byte == b'\n' => Self::Chunk(size.saturating_add(2)),
                Self::Size(size, is_size) => match char::from(*byte).to_digit(16) {
                    Some(digit) if is_size => {
                        let digit = usize::try_from(digit).unwrap_or_default();
                        Self::Size(size.saturating_mul(16).saturating_add(digit), true)
                    }
                    _ => Self::Size(size, false),
                },
                Self::Chunk(left) => {
                    // This byte and those that are there of the rest.
                    let more = rest.len().min(left.saturating_sub(1));
                    bytes = rest.get(more..).unwrap_or_default();
                    match left.saturating_sub(1).saturating_sub(more) {
                        0 => Self::Size(0, true),
                        left => Self::Chunk(left),
                    }
                }
                Self::Trailer(length) => match (byte, length) {
                    (b'\n', 0) => Self::Over,
                    (b'\n', _) => Self::Trailer(0),
                    (b'\r', length) => Self::Trailer(length),
                    _ => Self::Trailer(1),
                },
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\
        date: x\r\n\r\n8\r\ndata: 1\n\r\n1A;x=0\r\n0\r\n\r\n0\r\n\r\n0\r\n\r\n23456789ABC\r\n0\r\nage: 1\r\n\r\n";

    #[test]
    fn an_answer_in_chunks_goes_on_from_its_head_to_its_last_chunk_however_it_is_cut() {
        let head = STREAM.windows(4).position(|four| four == END).unwrap() + 4;
        for cut in 0..STREAM.len() {
            let mut answer = Answering::begins();
            answer.writes(&STREAM[..cut]);
            assert_eq!(answer.goes_on(), cut >= head, "{cut}: {answer:?}");
            answer.writes(&STREAM[cut..]);
            assert_eq!(answer, Answering::Over, "{cut}");
        }
        let mut answer = Answering::begins();
        for byte in STREAM {
            assert_ne!(answer, Answering::Over);
            answer.writes(&[*byte]);
        }
        assert_eq!(answer, Answering::Over);
    }

    #[test]
    fn one_that_is_not_sent_in_chunks_does_not_go_on() {
        for head in [
            "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n",
            "HTTP/1.1 204 No Content\r\nx-transfer-encoding: chunked\r\n\r\n",
            "HTTP/1.1 200 OK\r\nx: transfer-encoding: chunked\r\n\r\n",
        ] {
            let mut answer = Answering::begins();
            answer.writes(head.as_bytes());
            answer.writes(b"0\r\ntransfer-encoding: chunked\r\n\r\n9\r\n");
            assert_eq!(answer, Answering::Over, "{head}");
        }
        // An empty one.
        let mut answer = Answering::begins();
        answer.writes(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n");
        assert_eq!(answer, Answering::Over);
    }
}
