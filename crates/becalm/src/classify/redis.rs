//! What does an error that Redis answered say about trying again?

use super::{Class, Effect, Failure};

/// Classifies the error reply to a command, by its first word, or for `ERR` by its text.
///
/// These words are said in place of executing, so the failure is unsent. **Not so of scripts and
/// functions** (`EVAL`, `EVALSHA`, `FCALL`): they may have written before they failed, and make up
/// words of their own, so the command is asked for; their failures are of unknown effect. The words
/// are those of Redis 8 and Valkey 8 (redis.io, "Redis error responses"), in any case of letters.
///
/// | word | class | reason |
/// |---|---|---|
/// | `LOADING` | transient | the data set is being read; healthy means that `PING` answers `PONG` |
/// | `BUSY` | transient | a script runs for too long |
/// | `MASTERDOWN`, `CLUSTERDOWN` | transient | a replica without its master, a cluster without all its slots |
/// | `NOREPLICAS` | transient | too few replicas to accept a write |
/// | `TRYAGAIN`, `MOVED`, `ASK` | transient | a slot moves; a cluster's client follows by itself |
/// | `READONLY` | transient | a master that has become a replica: connect again, this connection goes on failing |
/// | `MISCONF` | transient | snapshots fail: somebody must act |
/// | `OOM` | throttled | `maxmemory` is reached |
/// | `ERR max number of clients ..` | throttled | said while connecting, unasked |
/// | `NOSCRIPT` | permanent | repeat it after loading the script |
/// | `EXECABORT` | permanent | what was wrong was said when it was queued; nothing was executed |
/// | `NOAUTH`, `WRONGPASS`, `NOPERM` | permanent | the login, or its rights |
/// | `WRONGTYPE`, `CROSSSLOT`, `NOPROTO`, `BUSYGROUP`, `BUSYKEY`, `NOGROUP` | permanent | the command does not fit the data |
/// | any other | permanent, effect unknown | |
///
/// A transaction that `WATCH` made void is no error: `EXEC` answers nil, and nothing was executed.
/// It is contention, and wants the preset `contention`.
///
/// ```
/// use becalm::classify::{Failure, redis};
/// let loading = "LOADING Redis is loading the dataset in memory";
/// assert_eq!(redis::classify("INCR", loading), Failure::transient().unsent());
/// assert_eq!(redis::classify("EVALSHA", loading), Failure::transient());
/// ```
pub fn classify(command: &str, reply: &str) -> Failure {
    let mut failure = by_word(reply);
    if may_have_written(command) {
        failure.effect = Effect::Unknown;
    }
    failure
}

fn by_word(reply: &str) -> Failure {
    let reply = reply.trim_start_matches('-');
    let (word, text) = reply.split_once(' ').unwrap_or((reply, ""));
    let class = match word.to_ascii_uppercase().as_str() {
        "LOADING" | "BUSY" | "MASTERDOWN" | "CLUSTERDOWN" | "NOREPLICAS" | "TRYAGAIN" | "MOVED"
        | "ASK" | "READONLY" | "MISCONF" => Class::Transient,
        "OOM" => Class::Throttled,
        "ERR" if text.starts_with("max number of clients") => Class::Throttled,
        "NOSCRIPT" | "EXECABORT" | "NOAUTH" | "WRONGPASS" | "NOPERM" | "WRONGTYPE"
        | "CROSSSLOT" | "NOPROTO" | "BUSYGROUP" | "BUSYKEY" | "NOGROUP" => Class::Permanent,
        _ => return Failure::permanent(),
    };
    Failure::new(class).unsent()
}

/// A script or function, read-only ones and those of unknown suffix among them.
fn may_have_written(command: &str) -> bool {
    ["EVAL", "FCALL"].iter().any(|script| {
        let start = command.as_bytes().get(..script.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(script.as_bytes()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c11_what_redis_says_in_place_of_executing_is_unsent() {
        for (reply, class) in [
            (
                "LOADING Redis is loading the dataset in memory",
                Class::Transient,
            ),
            ("BUSY Redis is busy running a script.", Class::Transient),
            (
                "-TRYAGAIN Multiple keys request during rehashing of slot",
                Class::Transient,
            ),
            ("CLUSTERDOWN Hash slot not served", Class::Transient),
            ("MASTERDOWN Link with MASTER is down", Class::Transient),
            (
                "READONLY You can't write against a read only replica.",
                Class::Transient,
            ),
            ("MOVED 3999 127.0.0.1:6381", Class::Transient),
            ("loading", Class::Transient),
            (
                "OOM command not allowed when used memory > 'maxmemory'.",
                Class::Throttled,
            ),
            ("ERR max number of clients reached", Class::Throttled),
            (
                "ERR max number of clients + cluster connections reached",
                Class::Throttled,
            ),
            (
                "BUSYGROUP Consumer Group name already exists",
                Class::Permanent,
            ),
            ("NOSCRIPT No matching script.", Class::Permanent),
            ("NOAUTH Authentication required.", Class::Permanent),
            ("WRONGTYPE Operation against a key", Class::Permanent),
        ] {
            let failure = classify("SET", reply);
            assert_eq!(
                (failure.class, failure.effect),
                (class, Effect::Unsent),
                "{reply}"
            );
        }
    }

    #[test]
    fn c11_an_unknown_word_proves_nothing() {
        for reply in [
            "ERR value is not an integer",
            "IOERR",
            "",
            "-",
            "LOADINGS",
            "MYERR x",
        ] {
            assert_eq!(classify("SET", reply), Failure::permanent(), "{reply}");
        }
    }

    /// A script that had done INCR can answer LOADING, of its own making.
    #[test]
    fn c11_no_word_of_a_script_proves_that_it_had_no_effect() {
        for command in ["EVAL", "evalsha", "EVALSHA_RO", "FCALL", "fcall_ro"] {
            let failure = classify(command, "LOADING of its own making");
            assert_eq!(failure, Failure::transient(), "{command}");
            assert_eq!(classify(command, "OOM").effect, Effect::Unknown);
        }
        assert_eq!(classify("EVA", "OOM"), Failure::throttled().unsent());
    }
}
