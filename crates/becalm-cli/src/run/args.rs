//! Which flags does `becalm run` know?

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use super::exit_codes::ExitCodes;
use super::stdin::Mode;
use crate::policy_flags::PolicyFlags;

/// Retry a command
///
/// Without policy flags becalm makes up to 5 attempts, and waits for 15 to 30 seconds in all: the
/// preset "command", which "becalm plan --preset command" shows.
///
/// becalm repeats the command as it stands, so it must be one that does no harm when it runs twice.
/// It runs in a process group of its own, and the whole group has ended before the next attempt
/// starts and before becalm ends. If becalm is killed, the group is ended right after (see Signals).
/// If a program is to live longer, start it with setsid.
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD")]
    pub(super) command: Vec<OsString>,

    /// Retry only after these exit codes, such as 7,28,100-110
    ///
    /// Without it becalm retries every failure but 126 (cannot be executed), 127 (not found) and the
    /// end by SIGPIPE (141, if a shell tells of it). 128 + n stands for the end by signal n. An attempt
    /// that timed out is retried in any case.
    #[arg(long, value_name = "CODES", help_heading = FAILURES)]
    pub(super) retry_on: Option<ExitCodes>,

    /// Never retry after these exit codes; wins over --retry-on
    #[arg(long, value_name = "CODES", help_heading = FAILURES)]
    pub(super) stop_on: Option<ExitCodes>,

    /// Retry if a line of the output matches, whatever the exit code; may be repeated
    ///
    /// becalm looks at each line of standard output and standard error as it passes, without colours and the like, and
    /// lets the attempt run to its end. If it then gives up, its exit code is the command's, or 1 if that is 0.
    #[arg(long, value_name = "REGEX", help_heading = FAILURES)]
    pub(super) retry_on_output: Vec<String>,

    /// Do not retry if a line of the output matches; wins over --retry-on-output
    #[arg(long, value_name = "REGEX", help_heading = FAILURES)]
    pub(super) stop_on_output: Vec<String>,

    /// What each attempt reads
    #[arg(long, value_enum, value_name = "MODE", default_value_t, help_heading = STREAMS)]
    pub(super) stdin: Mode,

    /// Print the standard output of the last attempt only, when no other follows
    ///
    /// becalm prints nothing of it if a signal told it to end. What no program has read when the deadline and
    /// --kill-after are over is lost, and so is the rest once no program has taken any of it for the attempt timeout; the
    /// exit code is 124.
    #[arg(long, help_heading = STREAMS)]
    pub(super) hold_output: bool,

    /// Show no progress, but for the line that says why becalm gave up
    #[arg(short, long, help_heading = STREAMS)]
    pub(super) quiet: bool,

    /// Append one line of JSON for each attempt, and a summary, to this file, or "-"
    #[arg(long, value_name = "FILE", help_heading = STREAMS)]
    pub(super) report: Option<PathBuf>,

    /// How long after TERM, or after the signal that ends becalm, it kills what still runs
    #[arg(
        long,
        value_name = "DURATION",
        value_parser = becalm::duration::parse,
        default_value = "5s",
        help_heading = CONTROL
    )]
    pub(super) kill_after: Duration,

    /// Share the budget with all processes of this machine that name the same file
    ///
    /// Without it a run, which is one call, has no budget unless you give --budget. A file knows no rate
    /// of calls: of a burst in time it holds the least. While the file cannot be used, the command runs
    /// once, and no retry is granted.
    #[arg(long, value_name = "PATH", help_heading = CONTROL)]
    pub(super) budget_file: Option<PathBuf>,

    /// Run this with sh -c before each wait
    ///
    /// The next attempt starts when it has ended and the wait is over.
    #[arg(long, value_name = "CMD", help_heading = CONTROL)]
    pub(super) on_retry: Option<OsString>,

    /// Run this with sh -c when becalm gives up; not when a signal ends it
    #[arg(long, value_name = "CMD", help_heading = CONTROL)]
    pub(super) on_give_up: Option<OsString>,

    /// How long a hook may take, before becalm ends it
    #[arg(
        long,
        value_name = "DURATION",
        value_parser = becalm::duration::parse,
        default_value = "1m",
        help_heading = CONTROL
    )]
    pub(super) hook_timeout: Duration,

    #[command(flatten)]
    pub(super) policy: PolicyFlags,
}

const FAILURES: &str = "What is retried";
const STREAMS: &str = "Input and output";
const CONTROL: &str = "Control";

const AFTER_HELP: &str = "\
Examples:
  becalm run -- curl -fsS https://api.example.com/health
  becalm run --attempt-timeout 5m -- npm ci --fetch-retries=0
  becalm run --hold-output -- bash -c 'set -o pipefail; pg_dump shop | gzip' > new.gz
  becalm run --attempts unlimited --base 100ms --cap 1s --deadline 1m -- pg_isready -q

Exit codes:
  the command's own, when it succeeded or becalm gave up; 1 for 0 if a line of the output decided
  124      the deadline or the attempt timeout ended the command
  125      becalm itself failed, wrong flags included
  126      the command cannot be executed; becalm tries again where that may pass (too many processes)
  127      the command was not found
  128 + n  signal n ended the command, or becalm

Environment:
  BECALM_ATTEMPT       the attempt, from 1
  BECALM_ATTEMPTS      how many there can be; 4294967295 without a bound
  BECALM_LAST_EXIT     the exit code of the attempt before
  BECALM_REMAINING_MS  milliseconds up to the deadline
  BECALM_HINT_FILE     write a Retry-After value here (seconds or an HTTP date), or a
                       duration such as 1m30s: the next attempt is not before then;
                       or \"stop\": there is none
  BECALM_SCOPE         what another becalm in the command needs to know: the inner one retries
                       while the outer one is at its first attempt, then runs once
  BECALM_SCOPE_HOLDER  who says so: one that has gone bounds nothing any more
  Hooks get the first four of these (for the attempt that failed), and:
  BECALM_REASON        how it ended, or \"output\"; for --on-give-up the stop reason
  BECALM_DELAY_MS      milliseconds up to the next attempt; for --on-retry

Signals:
  HUP, INT, QUIT and TERM end becalm: the command gets them, no attempt follows, and becalm dies
  by the signal. So does a key of the terminal (^C), unless the command then succeeds: a script
  around becalm stops as it would without.
  A further one that becalm gets, 300 ms later or more, kills what still runs without waiting for
  --kill-after. Keys are the command's alone while it has the terminal: what ignores ^C runs on.
  As the first process of a container becalm exits as the command did that was told.
  What becalm may not kill (a command that became another user's) it leaves, says so, and makes no
  other attempt.
  USR1 and USR2 are handed to the command. A signal that is ignored when becalm starts stays ignored
  in the command, but for CHLD, CONT and PIPE.
  If becalm is killed (KILL), a process that it keeps beside a command, once that has run for 20 ms,
  ends the command's group in the same way: TERM, and KILL after --kill-after. On Linux it needs
  /proc.

Report:
  --report appends one object a line to the file, with times in milliseconds; each line
  begins with the wall clock's time and becalm's process id:
  {\"time\":\"2026-11-22T15:04:05.678Z\",\"run\":4711,
   \"type\":\"attempt\",\"attempt\":1,\"started_ms\":0.1,\"duration_ms\":12.5,\"ended\":\"exit\",
   \"exit\":7,\"signal\":null,\"matched\":null,\"class\":\"transient\",\"hint_ms\":null,
   \"decision\":\"retry\",\"delay_ms\":83.2,\"reason\":null}
  {\"type\":\"summary\",\"outcome\":\"gave_up\",\"reason\":\"attempts_exhausted\",\"attempts\":4,
   \"exit\":7,\"elapsed_ms\":912.4}
  With --mode observe also, before the summary, what enforcing would have done:
  {\"type\":\"observed\",\"would\":\"retry\",\"reason\":null,\"time_ms\":83.2}
  would     retry, stop, refuse, cut, fail (the command succeeded)
  ended     exit, signal, attempt_timeout, deadline, not_found, cannot_execute,
            not_started
  matched   retry, stop: what a line of the output decided
  decision  done, retry, stop, cancelled, error
  outcome   success, gave_up, cancelled, error (becalm itself could not go on)
";
