//! How is a list of HTTP statuses read?

use alloc::format;
use core::str::FromStr;

use super::Unreadable;
use crate::retry_on::Statuses;

/// Reads statuses, classes and ranges apart by commas, such as `429, 5xx`.
impl FromStr for Statuses {
    type Err = Unreadable;

    fn from_str(text: &str) -> Result<Self, Unreadable> {
        text.split(',').try_fold(Self::default(), add)
    }
}

/// Adds what one entry of a list names.
pub(crate) fn add(statuses: Statuses, entry: &str) -> Result<Statuses, Unreadable> {
    statuses.add(entry).ok_or_else(|| {
        let sentence = format!(
            "`{entry}` names no status of a failure; write one from 400 to 599 such as 503, a class such as \
             \"5xx\" or a range such as \"502-504\""
        );
        Unreadable::new(sentence)
    })
}
