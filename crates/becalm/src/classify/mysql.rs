//! What does an error number of MySQL or MariaDB say about trying again?

use super::Failure;

/// Classifies an error number of MySQL 8.4 or MariaDB 11 (the servers' error references; from 2000
/// on, the client's).
///
/// An error that the server answers has rolled its statement back, so the failure is unsent; what
/// stands before it in the same transaction is another matter.
///
/// | number | class | reason |
/// |---|---|---|
/// | 1213 `ER_LOCK_DEADLOCK` | transient, unsent | the whole transaction is rolled back: [contention](is_contention) |
/// | 1205 `ER_LOCK_WAIT_TIMEOUT` | transient, unsent | contention; only the statement is rolled back (`innodb_rollback_on_timeout`), so roll the transaction back before it is repeated |
/// | 3572 `ER_LOCK_NOWAIT`, 3058 `ER_USER_LOCK_DEADLOCK` | transient, unsent | contention |
/// | 3101 `ER_TRANSACTION_ROLLBACK_DURING_COMMIT` | transient, unsent | Group Replication certified another one first: contention |
/// | 1020 `ER_CHECKREAD` | transient, unsent | MariaDB's `innodb_snapshot_isolation`: contention |
/// | 1040, 1203, 1226, 1135, 1637 | throttled, unsent | too many connections, a user's limit, no more threads or transactions |
/// | 1037, 1041, 1206 | throttled, unsent | memory, resources, the table of locks |
/// | 1290, 1836 | transient, unsent | read-only: a primary that has become a replica. Connect again |
/// | 1047 | transient, unsent | a node of Galera that is not ready |
/// | 1021 | transient, unsent | the disk is full: somebody must act |
/// | 4031 | transient, unsent | the connection had been idle for too long |
/// | 2002, 2003, 2005, 2012 | transient, unsent | the client could not connect |
/// | 1053, 1152, 1158 to 1161, 1184, 1927, 3169, 2006, 2013, 2055 | transient | the server or the connection ended |
/// | 1180 | transient | an error during `COMMIT` |
/// | 1317, 3024, 1969 | permanent | killed, or over `max_execution_time` |
/// | any other | permanent | the statement, the data, the rights or the login are at fault |
///
/// ```
/// use becalm::classify::{Failure, mysql};
/// assert_eq!(mysql::classify(1213), Failure::transient().unsent());
/// assert_eq!(mysql::classify(1062), Failure::permanent());
/// ```
pub const fn classify(number: u16) -> Failure {
    match number {
        1213 | 1205 | 3572 | 3058 | 3101 | 1020 => Failure::transient().unsent(),
        1040 | 1203 | 1226 | 1135 | 1637 | 1037 | 1041 | 1206 => Failure::throttled().unsent(),
        1290 | 1836 | 1047 | 1021 | 4031 | 2002 | 2003 | 2005 | 2012 => {
            Failure::transient().unsent()
        }
        1053 | 1152 | 1158..=1161 | 1184 | 1927 | 3169 | 2006 | 2013 | 2055 | 1180 => {
            Failure::transient()
        }
        _ => Failure::permanent(),
    }
}

/// Whether transactions that ran at the same time stood in each other's way. That is no sign of
/// overload, and wants the preset `contention`.
pub const fn is_contention(number: u16) -> bool {
    matches!(number, 1213 | 1205 | 3572 | 3058 | 3101 | 1020)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c11_every_number_of_mysql_has_its_class() {
        for (numbers, expected) in [
            (
                &[1213, 1205, 3572, 1836, 2002, 4031][..],
                Failure::transient().unsent(),
            ),
            (&[1040, 1203, 1226], Failure::throttled().unsent()),
            (&[1053, 1160, 2006, 2013, 1180], Failure::transient()),
            (
                &[0, 1045, 1062, 1064, 1317, 3024, 1129, u16::MAX],
                Failure::permanent(),
            ),
        ] {
            for number in numbers {
                assert_eq!(classify(*number), expected, "{number}");
            }
        }
    }

    #[test]
    fn c11_contention_of_mysql_is_transient_and_without_effect() {
        let contention: alloc::vec::Vec<_> = (0..=u16::MAX).filter(|n| is_contention(*n)).collect();
        assert_eq!(contention, [1020, 1205, 1213, 3058, 3101, 3572]);
        for number in contention {
            assert_eq!(classify(number), Failure::transient().unsent(), "{number}");
        }
    }
}
