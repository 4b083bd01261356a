//! What does a SQLSTATE of Postgres say about trying again?

use super::Failure;

/// Classifies a SQLSTATE of Postgres, or of a database that speaks its protocol (CockroachDB,
/// YugabyteDB).
///
/// The codes are those of appendix A of the Postgres manual, version 18. An error that the server
/// answers has rolled its statement back, and the transaction around it: such a failure is unsent,
/// and the whole transaction is what is to be repeated, on another connection where this one ended.
/// `COMMIT` is no exception. What the connection, or the end of the server, says instead is of
/// unknown effect.
///
/// | code | class | reason |
/// |---|---|---|
/// | 40001, 40P01 | transient, unsent | serialization failure, deadlock: [contention](is_contention) |
/// | 55P03 | transient, unsent | a lock is not available (`NOWAIT`, `lock_timeout`): contention |
/// | 40000, 72000 | transient, unsent | rolled back; a snapshot is too old |
/// | 40003, 08007 | transient | whether it has been committed is unknown |
/// | 57P03 | transient, unsent | cannot connect now: it starts, recovers or shuts down |
/// | 08001, 08003, 08004 | transient, unsent | there is no connection |
/// | 57P01, 57P02, 57000 | transient | the server ends this connection, perhaps after a commit |
/// | 57P05, 25P03 | transient, unsent | the connection had been idle for too long, and no statement was at work |
/// | 25006 | transient, unsent | a read-only transaction: a primary that has become a standby. Connect again |
/// | 55006 | transient, unsent | an object is in use |
/// | 53300 | throttled, unsent | too many connections |
/// | 53000, 53200 | throttled, unsent | resources, memory |
/// | 53100 | transient, unsent | the disk is full: somebody must act |
/// | 08000, 08006 | transient | the connection broke |
/// | 58000, 58030 | transient | a system call failed, outside of Postgres |
/// | 57014 | permanent | cancelled on somebody's demand, or by `statement_timeout` |
/// | 53400 | permanent | a limit for one query, such as `temp_file_limit` |
/// | 08P01, 57P04, 58P01, 58P02 | permanent | protocol violation, dropped database, missing files |
/// | any other | permanent | the statement, the data, the rights or the login are at fault |
///
/// ```
/// use becalm::classify::{Failure, sqlstate};
/// assert_eq!(sqlstate::classify("57P03"), Failure::transient().unsent());
/// assert_eq!(sqlstate::classify("23505"), Failure::permanent());
/// ```
pub fn classify(code: &str) -> Failure {
    match code {
        "40001" | "40P01" | "55P03" | "40000" | "72000" | "57P03" | "08001" | "08003" | "08004"
        | "57P05" | "25P03" | "25006" | "55006" | "53100" => Failure::transient().unsent(),
        "53300" | "53000" | "53200" => Failure::throttled().unsent(),
        "40003" | "08007" | "08000" | "08006" | "57P01" | "57P02" | "57000" | "58000" | "58030" => {
            Failure::transient()
        }
        _ => Failure::permanent(),
    }
}

/// Whether transactions that ran at the same time stood in each other's way: 40001, 40P01 and
/// 55P03. That is no sign of overload, and wants the preset `contention`.
pub fn is_contention(code: &str) -> bool {
    matches!(code, "40001" | "40P01" | "55P03")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c11_an_error_that_the_server_answers_is_rolled_back() {
        for code in [
            "40001", "40P01", "55P03", "40000", "72000", "57P03", "08001", "08003", "08004",
            "57P05", "25P03", "25006", "55006", "53100",
        ] {
            assert_eq!(classify(code), Failure::transient().unsent(), "{code}");
        }
        for code in ["53300", "53000", "53200"] {
            assert_eq!(classify(code), Failure::throttled().unsent(), "{code}");
        }
    }

    #[test]
    fn c11_what_ends_a_connection_may_come_after_a_commit() {
        for code in [
            "40003", "08007", "08000", "08006", "57P01", "57P02", "57000", "58000", "58030",
        ] {
            assert_eq!(classify(code), Failure::transient(), "{code}");
        }
    }

    #[test]
    fn c11_what_a_repetition_does_not_mend_is_permanent() {
        for code in [
            "23505", "42601", "42P01", "28P01", "3D000", "57014", "53400", "08P01", "57P04",
            "58P01", "XX000", "XX001", "0A000", "40002", "25P02", "00000", "", "4000", "400011",
            "é",
        ] {
            assert_eq!(classify(code), Failure::permanent(), "{code}");
        }
    }

    #[test]
    fn c11_contention_is_transient_and_without_effect() {
        for code in ["40001", "40P01", "55P03"] {
            assert!(is_contention(code), "{code}");
            assert_eq!(classify(code), Failure::transient().unsent(), "{code}");
        }
        assert!(
            !["57P03", "53300", "40003", "23505"]
                .iter()
                .any(|code| is_contention(code))
        );
    }
}
