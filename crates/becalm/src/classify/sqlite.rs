//! What does a result code of SQLite say about trying again?

use super::Failure;

/// Classifies a result code, extended or not (sqlite.org, "Result and Error Codes").
///
/// A statement that fails has changed nothing; the transaction around it may still be open, and is
/// to be rolled back before it is repeated as a whole: `SQLITE_BUSY_SNAPSHOT` does not pass
/// otherwise.
///
/// | code | class | reason |
/// |---|---|---|
/// | 5 `SQLITE_BUSY` | transient, unsent | another connection writes: [contention](is_contention) |
/// | 6 `SQLITE_LOCKED` | transient, unsent | a statement of this connection or of one with a shared cache is at work: contention |
/// | 15 `SQLITE_PROTOCOL` | transient, unsent | a race for the locks of the write-ahead log: contention |
/// | 17 `SQLITE_SCHEMA` | transient, unsent | the schema has changed |
/// | 7 `SQLITE_NOMEM`, 13 `SQLITE_FULL` | transient, unsent | no memory, no room on the disk: somebody must act |
/// | 10 `SQLITE_IOERR` | transient | the operating system reported an error |
/// | any other | permanent | the statement, the data or the file are at fault; 0, 100 and 101 are no failures |
///
/// ```
/// use becalm::classify::{Failure, sqlite};
/// let busy_snapshot = 517;
/// assert_eq!(sqlite::classify(busy_snapshot), Failure::transient().unsent());
/// ```
pub const fn classify(code: i32) -> Failure {
    match primary(code) {
        5 | 6 | 7 | 13 | 15 | 17 => Failure::transient().unsent(),
        10 => Failure::transient(),
        _ => Failure::permanent(),
    }
}

/// Whether connections stood in each other's way. That is no sign of overload, and wants the preset
/// `contention`.
pub const fn is_contention(code: i32) -> bool {
    matches!(primary(code), 5 | 6 | 15)
}

/// An extended code holds the primary one in its lowest byte.
const fn primary(code: i32) -> i32 {
    code & 0xff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c11_every_code_of_sqlite_has_its_class() {
        for (codes, expected) in [
            (
                &[5, 261, 517, 773, 6, 262, 15, 17, 7, 13][..],
                Failure::transient().unsent(),
            ),
            (&[10, 266, 3850], Failure::transient()),
            (
                &[0, 1, 4, 8, 9, 11, 14, 19, 2067, 100, 101, -1],
                Failure::permanent(),
            ),
        ] {
            for code in codes {
                assert_eq!(classify(*code), expected, "{code}");
            }
        }
    }

    #[test]
    fn c11_contention_of_sqlite_includes_the_extended_codes() {
        for code in [5, 261, 517, 773, 6, 262, 15] {
            assert!(is_contention(code), "{code}");
        }
        assert!(
            ![0, 7, 10, 13, 17, 19]
                .iter()
                .any(|code| is_contention(*code))
        );
    }
}
