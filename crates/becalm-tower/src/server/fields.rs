//! What do the fields of a message hold, and how are they kept without the buffer of the connection that brought them?

use http::{HeaderMap, HeaderValue};

/// What a map of fields holds: its names and values, and the rows of its tables.
pub(super) fn bytes_of(fields: &HeaderMap) -> usize {
    /// A name, a value, a hash and the index to it, in a table that may be half full.
    const ROW: usize = 200;
    let lines = fields.iter();
    let lines = lines.map(|(name, value)| name.as_str().len() + value.len() + ROW);
    lines.sum()
}

/// Copies fields into buffers of their own. A field that a connection has read is a slice of that connection's buffer, and keeps it.
pub(super) fn own(fields: &HeaderMap) -> HeaderMap {
    let mut own = HeaderMap::with_capacity(fields.len());
    for (name, value) in fields {
        let Ok(mut copy) = HeaderValue::from_bytes(value.as_bytes()) else {
            continue; // the bytes of a value are valid
        };
        copy.set_sensitive(value.is_sensitive());
        own.append(name, copy);
    }
    own
}
