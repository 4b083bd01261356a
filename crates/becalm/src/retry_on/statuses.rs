//! Which HTTP statuses are repeated?

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

/// A set of HTTP statuses from 400 to 599: what is below is no failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statuses([u64; 4]);

const LEAST: u16 = 400;
const MOST: u16 = 599;

impl Statuses {
    /// Whether this status is one of them.
    pub const fn contains(&self, status: u16) -> bool {
        LEAST <= status && status <= MOST && {
            let at = status - LEAST;
            self.0[(at / 64) as usize] >> (at % 64) & 1 == 1
        }
    }

    /// Adds a status; one below 400 or above 599 is left out.
    #[must_use]
    pub const fn and(mut self, status: u16) -> Self {
        if LEAST <= status && status <= MOST {
            let at = status - LEAST;
            self.0[(at / 64) as usize] |= 1 << (at % 64);
        }
        self
    }

    /// All of them, in order.
    pub fn iter(self) -> impl Iterator<Item = u16> {
        (LEAST..=MOST).filter(move |status| self.contains(*status))
    }

    /// Adds what one entry of a list names: `503`, `5xx`, `502-504`.
    #[cfg(feature = "text")]
    pub(crate) fn add(self, entry: &str) -> Option<Self> {
        Some(read(entry.trim())?.fold(self, Self::and))
    }

    /// As few entries as say it: classes, ranges of at least three, and single ones.
    pub(crate) fn entries(self) -> Vec<String> {
        let mut entries = Vec::new();
        let mut next = LEAST;
        while let Some(first) = (next..=MOST).find(|status| self.contains(*status)) {
            let end = if first < 500 { 499 } else { MOST };
            let missing = (first..=end).find(|status| !self.contains(*status));
            let last = missing.unwrap_or(end + 1) - 1;
            next = last + 1;
            match last - first {
                99 => entries.push(format!("{}xx", first / 100)),
                0 => entries.push(first.to_string()),
                1 => entries.extend([first.to_string(), last.to_string()]),
                _ => entries.push(format!("{first}-{last}")),
            }
        }
        entries
    }
}

#[cfg(feature = "text")]
fn read(entry: &str) -> Option<core::ops::RangeInclusive<u16>> {
    let (first, last) = match entry {
        "4xx" => (400, 499),
        "5xx" => (500, 599),
        _ => {
            let (first, last) = entry.split_once('-').unwrap_or((entry, entry));
            (status(first)?, status(last)?)
        }
    };
    (first <= last).then_some(first..=last)
}

#[cfg(feature = "text")]
fn status(text: &str) -> Option<u16> {
    let is_number = text.trim().bytes().all(|byte| byte.is_ascii_digit());
    let status = text.trim().parse().ok().filter(|_| is_number)?;
    (LEAST..=MOST).contains(&status).then_some(status)
}

impl FromIterator<u16> for Statuses {
    fn from_iter<T: IntoIterator<Item = u16>>(statuses: T) -> Self {
        statuses.into_iter().fold(Self::default(), Self::and)
    }
}

/// As it is read: `429, 502-504`, `5xx`.
impl fmt::Display for Statuses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.entries().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_written_in_as_few_entries_as_say_it_and_reads_back() {
        for (text, written) in [
            ("503", "503"),
            ("500-599", "5xx"),
            ("4xx,5xx", "4xx, 5xx"),
            ("504, 503 ,502,429", "429, 502-504"),
            ("502,503", "502, 503"),
            ("498-501", "498, 499, 500, 501"),
            ("599,400", "400, 599"),
            ("500-598", "500-598"),
        ] {
            let statuses: Statuses = text.parse().expect(text);
            assert_eq!(statuses.to_string(), written, "{text}");
            assert_eq!(written.parse(), Ok(statuses));
            assert_eq!(statuses.iter().collect::<Statuses>(), statuses);
        }
        assert_eq!(Statuses::default().to_string(), "");
    }

    #[test]
    fn what_is_no_status_of_a_failure_is_refused() {
        for text in [
            "", "399", "600", "200", "3xx", "5XX", "5x", "+503", "504-502", "502-", "502-600",
            "503.0", "65536", "503,,",
        ] {
            let refused = text.parse::<Statuses>().expect_err(text);
            assert!(refused.to_string().contains("names no status"), "{refused}");
        }
    }

    #[test]
    fn it_holds_what_was_added_and_nothing_else() {
        for status in 0..=u16::MAX {
            let set = Statuses::default().and(status);
            let held = (400..600).contains(&status);
            assert_eq!(set.contains(status), held, "{status}");
            assert_eq!(set.iter().count(), usize::from(held), "{status}");
        }
    }
}
