//! What does a container's runtime, or syslog, write around each line?

use std::borrow::Cow;

use memchr::{memchr, memmem};
use serde_json::Value;

use super::members;

/// What stands before what the server wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Front {
    /// A moment, the host and the program: `Nov 24 10:00:00 web1 nginx[123]: ` (RFC 3164), or with a moment of RFC 3339, as rsyslog has it.
    Syslog,
    None,
    /// A moment, the stream and whether the line is whole: `2026-11-24T10:00:00.123456789Z stdout F `, as CRI has it
    /// (<https://github.com/kubernetes/design-proposals-archive/blob/main/node/kubelet-cri-logging.md>).
    Cri,
    /// `{"log":"..\n","stream":"stdout","time":".."}`, as Docker's json-file driver has it.
    Docker,
    /// A moment, as of `kubectl logs --timestamps` and `docker logs --timestamps`.
    Moment,
}

impl Front {
    /// All of them; what has the last may have another. Behind syslog's a line may look whole with it, as a long address.
    pub const ALL: [Self; 5] = [
        Self::Syslog,
        Self::None,
        Self::Cri,
        Self::Docker,
        Self::Moment,
    ];

    /// What the server wrote; `None` for a line without this front, or for a piece of one.
    #[inline]
    pub fn strip(self, line: &[u8]) -> Option<Cow<'_, [u8]>> {
        let bare = match self {
            Self::None => Some(line),
            Self::Syslog => syslog(line),
            Self::Docker => return docker(line),
            Self::Cri => {
                let line = moment(line)?;
                let whole = line.strip_prefix(b"stdout F ");
                whole.or_else(|| line.strip_prefix(b"stderr F "))
            }
            Self::Moment => moment(line),
        };
        bare.map(Cow::Borrowed)
    }
}

/// What follows a moment, a host and a program.
fn syslog(line: &[u8]) -> Option<&[u8]> {
    let is_old = line.len() > 16
        && [line[3], line[6], line[9], line[12], line[15]] == *b"  :: "
        && line[0].is_ascii_uppercase();
    let rest = if is_old { &line[16..] } else { moment(line)? };
    let program = &rest[memchr(b' ', rest)? + 1..];
    let end = memmem::find(program, b": ")?;
    let tag = &program[..end];
    let is_tag = !tag.contains(&b' ') && (is_old || tag.ends_with(b"]"));
    is_tag.then(|| &program[end + 2..])
}

/// What a program wrote, of an object of Docker's; `None` of a piece of a line.
fn docker(line: &[u8]) -> Option<Cow<'_, [u8]>> {
    if !line.starts_with(b"{\"log\":") {
        return None;
    }
    let members = members::object(line).ok()?;
    match members.get("log")? {
        Value::String(text) => {
            let whole = text.strip_suffix('\n')?;
            Some(Cow::Owned(whole.as_bytes().to_vec()))
        }
        _ => None,
    }
}

/// What stands behind a moment of RFC 3339 and a space.
fn moment(line: &[u8]) -> Option<&[u8]> {
    if line.len() < 20 || [line[4], line[7], line[10]] != *b"--T" {
        return None;
    }
    memchr(b' ', line).map(|at| &line[at + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_wrote_is_behind_the_front() {
        let moment = "2026-11-24T10:00:00.123456789Z";
        for (front, before, is_one) in [
            (Front::None, String::new(), true),
            (Front::Cri, format!("{moment} stdout F "), true),
            (Front::Cri, format!("{moment} stderr F "), true),
            (Front::Cri, format!("{moment} stdout P "), false),
            (Front::Cri, format!("{moment} "), false),
            (Front::Moment, format!("{moment} "), true),
            (Front::Moment, "2026-11-24T10:00:00.1+01:00 ".into(), true),
            (
                Front::Syslog,
                "Nov 24 10:00:00 web1 nginx[123]: ".into(),
                true,
            ),
            (Front::Syslog, "Nov  4 10:00:00 web1 nginx: ".into(), true),
            (Front::Syslog, format!("{moment} web1 nginx[123]: "), true),
            (Front::Syslog, format!("{moment} "), false),
            (Front::Syslog, "10.0.0.1 - - [23/Nov/2026: ".into(), false),
            (Front::Moment, "2026-11-24 10:00:00 ".into(), false),
            (Front::Moment, String::new(), false),
        ] {
            let line = format!("{before}5.5 200");
            let stripped = front.strip(line.as_bytes());
            assert_eq!(stripped.as_deref() == Some(b"5.5 200"), is_one, "{line}");
        }
        let docker = br#"{"log":"5.5 \"200\"\n","stream":"stdout","time":"2026-11-24T10:00:00Z"}"#;
        let stripped = Front::Docker.strip(docker);
        assert_eq!(stripped.as_deref(), Some(&b"5.5 \"200\""[..]));
        let piece = br#"{"log":"5.5 ","stream":"stdout","time":"2026-11-24T10:00:00Z"}"#;
        assert_eq!(Front::Docker.strip(piece), None);
    }
}
