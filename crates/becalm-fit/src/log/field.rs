//! What does a field of a line say about its request?

use super::number::{SECOND, status, whole_number};
use super::parts::{NO_ANSWER, Parts, Why, without_port, without_version};
use super::stamp::Stamp;
use super::unit::has_point;
use super::upstreams::{duration, last_of, of_upstreams, retries};

/// What a field of a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    Start,
    End,
    /// Since the epoch, in a unit of this many microseconds.
    StartIn(u64),
    EndIn(u64),
    /// In a unit of this many microseconds.
    Duration(u64),
    /// Seconds of a program that writes them with a decimal point: without one, they may be another unit.
    DecimalSeconds,
    /// One of several that make up the whole, in a unit of this many microseconds; -1 of what was not done.
    DurationPart(u64),
    /// One for each upstream that was tried, in a unit of this many microseconds.
    UpstreamDuration(u64),
    /// Until the request was sent on, in a unit of this many microseconds.
    SentAfter(u64),
    Status,
    /// Envoy's `%RESPONSE_FLAGS%`.
    Flags,
    Client,
    ClientWithPort,
    Forwarded,
    /// Method, path and version.
    RequestLine,
    Method,
    Target,
    Id,
    /// One for each that was tried.
    Upstream,
    /// How often the proxy tried.
    Attempts,
    Other,
    /// One for each upstream that was tried, of which nothing is read.
    OtherOfUpstreams,
}

impl Field {
    pub const fn is_duration(self) -> bool {
        matches!(
            self,
            Self::Duration(_)
                | Self::DecimalSeconds
                | Self::DurationPart(_)
                | Self::UpstreamDuration(_)
        )
    }

    pub fn is_list(self) -> bool {
        matches!(
            self,
            Self::Upstream | Self::UpstreamDuration(_) | Self::OtherOfUpstreams
        )
    }

    /// Notes what the field has as its value.
    #[inline]
    pub fn fill<'a>(self, parts: &mut Parts<'a>, value: &'a [u8]) -> Result<(), Why> {
        match self {
            Self::Start => parts.start = Some(finest(parts.start, value)?),
            Self::End => parts.end = Some(finest(parts.end, value)?),
            Self::Duration(unit) => {
                parts.duration = Some(duration(unit)(value)?);
            }
            Self::StartIn(unit) => parts.start = Some(counted(value, unit)?),
            Self::EndIn(unit) => parts.end = Some(counted(value, unit)?),
            Self::DecimalSeconds => {
                let micros = duration(SECOND)(value)?;
                parts.duration = Some(has_point(value).then_some(micros).ok_or(Why::Unit)?);
            }
            Self::DurationPart(_) if value == b"-1" => {}
            Self::DurationPart(unit) => {
                let part = duration(unit)(value)?;
                parts.duration = Some(parts.duration.unwrap_or(0).saturating_add(part));
            }
            Self::UpstreamDuration(unit) => {
                (parts.tried_before, parts.upstream_duration) =
                    of_upstreams(value, duration(unit))?;
            }
            Self::SentAfter(unit) => parts.sent_after = of_upstreams(value, duration(unit))?.1,
            Self::Status if value == b"-" => parts.status = Some(NO_ANSWER),
            Self::Status => parts.status = Some(status(value).ok_or(Why::Status)?),
            Self::Flags => parts.client_left = flags_say_left(value),
            Self::Client => parts.client = value,
            Self::ClientWithPort => parts.client = without_port(value),
            Self::Forwarded => parts.forwarded = value,
            Self::RequestLine => parts.target = without_version(value),
            Self::Method => parts.method = value,
            Self::Target => parts.target = value,
            Self::Id => parts.id = value,
            Self::Upstream => {
                parts.upstream = last_of(value);
                parts.retries = retries(value);
            }
            Self::Attempts => {
                let attempts = whole_number(value).unwrap_or(0);
                parts.retries = u32::try_from(attempts).map_or(0, |it| it.saturating_sub(1));
            }
            Self::Other | Self::OtherOfUpstreams => {}
        }
        Ok(())
    }
}

/// This moment, or the same one as the line has told it before, if that was finer.
#[inline]
fn finest(before: Option<Stamp>, value: &[u8]) -> Result<Stamp, Why> {
    let stamp = Stamp::read(value).ok_or(Why::Moment)?;
    Ok(before.map_or(stamp, |before| before.finer(stamp)))
}

fn counted(value: &[u8], unit: u64) -> Result<Stamp, Why> {
    Stamp::in_unit(value, unit).ok_or(Why::Moment)
}

/// `DC`: the client's connection ended; `DR`: the client reset its stream.
pub fn flags_say_left(flags: &[u8]) -> bool {
    let mut flags = flags.split(|byte| *byte == b',');
    flags.any(|flag| matches!(flag, b"DC" | b"DR"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_of_envoy_say_who_left() {
        assert!(flags_say_left(b"DC") && flags_say_left(b"UT,DC") && flags_say_left(b"DR"));
        assert!(!flags_say_left(b"-") && !flags_say_left(b"UH") && !flags_say_left(b"DCX"));
    }
}
