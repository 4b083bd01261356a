//! What is a command told about the attempt that it is?

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::run::above;

/// What `BECALM_...` variables say. What is not known is unset, also if becalm itself runs under
/// another `becalm run`.
#[derive(Debug, Clone, Copy)]
pub struct Environment<'a> {
    /// `BECALM_ATTEMPT`: the attempt's number, from 1.
    pub attempt: u32,
    /// `BECALM_ATTEMPTS`: the greatest number it can reach. Without a bound it is the greatest
    /// there is, 4294967295, so that a script can always compare.
    pub attempts: u32,
    /// `BECALM_LAST_EXIT`: the exit code of the attempt before; unset for the first.
    pub last_exit: Option<u8>,
    /// `BECALM_REMAINING_MS`: whole milliseconds up to the deadline; unset without one.
    pub remaining: Option<Duration>,
    /// `BECALM_HINT_FILE`: where the command may write a `Retry-After` value.
    pub hint_file: Option<&'a Path>,
    /// `BECALM_SCOPE`: for a becalm in the command.
    pub scope: Option<&'a str>,
    /// `BECALM_SCOPE_HOLDER`: who says so.
    pub holder: Option<&'a str>,
    /// `BECALM_DELAY_MS`: whole milliseconds up to the next attempt; for `--on-retry`.
    pub delay: Option<Duration>,
    /// `BECALM_REASON`: why the attempt failed, or why becalm gave up; for hooks.
    pub reason: Option<&'a str>,
}

impl Environment<'_> {
    /// Hands it to a command.
    pub fn apply(&self, command: &mut Command) {
        let millis = |duration: Duration| duration.as_millis().to_string();
        let variables = [
            ("BECALM_ATTEMPT", Some(self.attempt.to_string())),
            ("BECALM_ATTEMPTS", Some(self.attempts.to_string())),
            (
                "BECALM_LAST_EXIT",
                self.last_exit.map(|code| code.to_string()),
            ),
            ("BECALM_REMAINING_MS", self.remaining.map(millis)),
            ("BECALM_DELAY_MS", self.delay.map(millis)),
            (above::SCOPE, self.scope.map(str::to_owned)),
            (above::HOLDER, self.holder.map(str::to_owned)),
            ("BECALM_REASON", self.reason.map(str::to_owned)),
        ];
        for (name, value) in variables {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        match self.hint_file {
            Some(path) => command.env(above::HINT_FILE, path),
            None => command.env_remove(above::HINT_FILE),
        };
    }
}
