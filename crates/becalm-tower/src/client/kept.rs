//! What has been read of a body, so that it can be read again?

use std::mem;

use bytes::{Bytes, BytesMut};
use http::HeaderMap;

/// What has been read of a body.
#[derive(Debug)]
pub(super) enum Kept {
    /// The one long piece of which it consists, as it came.
    Piece(Bytes),
    /// All in one: a piece may be part of a large buffer, such as that of a connection, which it would keep alive.
    Copied(BytesMut),
}

/// A longer piece is shared: where that much is kept, it is kept of who has it anyway.
const SHARED: usize = 64 << 10;

impl Kept {
    pub fn nothing() -> Self {
        Self::Piece(Bytes::new())
    }

    /// Adds a piece; `is_last` if none follows.
    pub fn add(&mut self, data: &Bytes, is_last: bool) {
        match self {
            Self::Piece(piece) if piece.is_empty() && is_last && data.len() > SHARED => {
                *piece = data.clone();
            }
            Self::Piece(piece) => {
                let mut copied = BytesMut::from(&mem::take(piece)[..]);
                copied.extend_from_slice(data);
                *self = Self::Copied(copied);
            }
            Self::Copied(copied) => copied.extend_from_slice(data),
        }
    }

    /// All of it from here on.
    pub fn from(&self, at: u64) -> Option<Bytes> {
        let at = usize::try_from(at).ok()?;
        match self {
            Self::Piece(piece) => (at <= piece.len()).then(|| piece.slice(at..)),
            Self::Copied(copied) => copied.get(at..).map(Bytes::copy_from_slice),
        }
    }
}

/// What the tables of a map take for each field.
const ROW: usize = 200;

/// How much there is to keep of them.
pub(super) fn length(trailers: &HeaderMap) -> u64 {
    let lengths = trailers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len() + ROW);
    lengths.sum::<usize>() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_of_a_large_buffer_does_not_keep_that_alive() {
        let large = Bytes::from(vec![7; 1 << 20]);
        let mut kept = Kept::nothing();
        kept.add(&large.slice(..10), false);
        kept.add(&large.slice(10..20), true);
        assert!(large.is_unique());
        assert_eq!(kept.from(5).as_deref(), Some(&[7; 15][..]));
        let mut kept = Kept::nothing();
        kept.add(&large.slice(..SHARED), true);
        assert!(large.is_unique());
    }

    #[test]
    fn a_long_body_of_one_piece_is_shared() {
        let body = Bytes::from(vec![7; SHARED + 1]);
        let mut kept = Kept::nothing();
        kept.add(&body, true);
        assert!(!body.is_unique());
        assert_eq!(kept.from(5).map(|rest| rest.len()), Some(SHARED - 4));
    }
}
