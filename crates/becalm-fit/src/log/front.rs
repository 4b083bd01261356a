//! What does a container's runtime write before each line?

use memchr::memchr;

/// What stands before what the server wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Front {
    None,
    /// A moment, the stream and whether the line is whole: `2026-11-24T10:00:00.123456789Z stdout F `, as CRI has it
    /// (<https://github.com/kubernetes/design-proposals-archive/blob/main/node/kubelet-cri-logging.md>).
    Cri,
    /// A moment, as of `kubectl logs --timestamps` and `docker logs --timestamps`.
    Moment,
}

impl Front {
    /// All of them; what has the third may have the second.
    pub const ALL: [Self; 3] = [Self::None, Self::Cri, Self::Moment];

    /// What the server wrote; `None` for a line without this front, or for a piece of one.
    #[inline]
    pub fn strip(self, line: &[u8]) -> Option<&[u8]> {
        match self {
            Self::None => Some(line),
            Self::Cri => {
                let line = moment(line)?;
                let whole = line.strip_prefix(b"stdout F ");
                whole.or_else(|| line.strip_prefix(b"stderr F "))
            }
            Self::Moment => moment(line),
        }
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
            (Front::Moment, "2026-11-24 10:00:00 ".into(), false),
            (Front::Moment, String::new(), false),
        ] {
            let line = format!("{before}5.5 200");
            let stripped = front.strip(line.as_bytes());
            assert_eq!(stripped == Some(b"5.5 200"), is_one, "{line}");
        }
    }
}
