//! When are two requests one operation, and when is it the same request? Two digests tell.

use std::fmt;
use std::net::IpAddr;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use sha2::{Digest, Sha256};

/// The name under which an operation is kept: SHA-256 over the caller, the method, the path and the key of
/// the request.
///
/// No two [callers](super::IdempotencyLayer::caller) that the layer is told have one in common, and it shows nothing of
/// what it is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Name([u8; 32]);

/// What tells one payload from another: SHA-256 over the method, the path, the query, the content type and the
/// body of the request. Where no [caller](super::IdempotencyLayer::caller) is set, half of it tells credentials apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

/// Whose request it is, for a store that bounds what each has of it: a digest of the [caller](super::IdempotencyLayer::caller).
///
/// Where that is not set, it is that of the [peer](super::IdempotencyLayer::peer), or, without one, of the `Authorization`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Caller([u8; 16]);

impl Caller {
    pub(in crate::server) fn of(says: &[u8]) -> Self {
        let mut half = [0; 16];
        half.copy_from_slice(&digest([says])[..16]);
        Self(half)
    }

    /// An address is that of one caller; of IPv6 a whole /64 is, since one host has all of it to choose from.
    pub(super) fn at(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self::of(&address.octets()),
            IpAddr::V6(address) => Self::of(&address.octets()[..8]),
        }
    }

    /// The digest.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl Name {
    pub(super) fn of(caller: &[u8], head: &Parts, key: &str) -> Self {
        let parts = [
            caller,
            head.method.as_str().as_bytes(),
            head.uri.path().as_bytes(),
            key.as_bytes(),
        ];
        Self(digest(parts))
    }

    /// The digest, for the key of a database's row.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// In hexadecimal digits.
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Fingerprint {
    pub(super) fn of(head: &Parts, body: &Bytes) -> Self {
        let content_type = head.headers.get(CONTENT_TYPE);
        let parts = [
            head.method.as_str().as_bytes(),
            head.uri.path().as_bytes(),
            head.uri.query().unwrap_or_default().as_bytes(),
            content_type.map_or(&[], |value| value.as_bytes()),
            body,
        ];
        Self(digest(parts))
    }

    /// That of a request with these credentials: one half tells payloads apart, the other credentials.
    pub(super) fn under(mut self, credentials: &[u8]) -> Self {
        let owner = digest([&self.0[..], credentials]);
        self.0[PAYLOAD..].copy_from_slice(&owner[PAYLOAD..]);
        self
    }

    /// Whether two that came [under](Self::under) credentials have one payload.
    pub(super) fn has_payload_of(&self, other: Self) -> bool {
        self.0[..PAYLOAD] == other.0[..PAYLOAD]
    }

    /// The digest.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// What a store has kept.
impl From<[u8; 32]> for Fingerprint {
    fn from(digest: [u8; 32]) -> Self {
        Self(digest)
    }
}

/// Bytes of a fingerprint that tell payloads apart where the others tell credentials apart.
const PAYLOAD: usize = 16;

/// Each part after its length, so that none is taken for a piece of its neighbour.
fn digest<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}
