//! What may a member of a line say of a request?

use std::fmt;

/// What a member says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role {
    /// When the request began.
    Start,
    /// When it ended.
    End,
    /// How long it took.
    Duration,
    /// How it was answered.
    Status,
    /// Who asked.
    Client,
    /// By what.
    Method,
    /// For what.
    Target,
    /// An id that all attempts of one call share.
    Id,
    /// Who answered.
    Upstream,
    /// How long that took.
    UpstreamTime,
    /// How often the proxy tried again.
    Retries,
    /// That the client left: its value begins with `client_disconnected`.
    Left,
}

/// Those that somebody may name, by their names.
pub const ROLES: [(&str, Role); 11] = [
    ("start", Role::Start),
    ("end", Role::End),
    ("duration", Role::Duration),
    ("status", Role::Status),
    ("client", Role::Client),
    ("method", Role::Method),
    ("target", Role::Target),
    ("id", Role::Id),
    ("upstream", Role::Upstream),
    ("upstream-time", Role::UpstreamTime),
    ("retries", Role::Retries),
];

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = ROLES.iter().find(|(_, role)| role == self);
        f.write_str(found.map_or("client-left", |(name, _)| name))
    }
}

impl Role {
    /// Whether it may have a unit.
    pub(super) const fn is_time(self) -> bool {
        matches!(
            self,
            Self::Start | Self::End | Self::Duration | Self::UpstreamTime
        )
    }
}
