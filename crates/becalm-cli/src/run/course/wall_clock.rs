//! What time is it, for a machine that reads it? RFC 3339, in UTC, to the millisecond.

use std::time::{SystemTime, UNIX_EPOCH};

/// Now, such as `2026-11-22T15:04:05.678Z`. A clock before 1970 tells its beginning.
pub fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let since = since.unwrap_or_default();
    written(since.as_secs(), since.subsec_millis())
}

fn written(seconds: u64, millis: u32) -> String {
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// Year, month and day, this many days after 1970-01-01 (Howard Hinnant, "chrono-Compatible
/// Low-Level Date Algorithms", `civil_from_days`). Its years begin in March.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.007Z"),
            (784_111_777, "1994-11-06T08:49:37.007Z"),
            (951_782_400, "2000-02-29T00:00:00.007Z"),
            (1_709_251_199, "2024-02-29T23:59:59.007Z"),
            (4_107_542_399, "2100-02-28T23:59:59.007Z"),
            (4_107_542_400, "2100-03-01T00:00:00.007Z"),
        ] {
            assert_eq!(written(seconds, 7), text);
        }
    }
}
