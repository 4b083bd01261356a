//! How is the command executed once?

use std::ffi::OsString;
use std::io;
use std::process::{ChildStdin, Command};
use std::sync::Arc;

use nix::sys::signal::Signal;

use super::foreground::{self, Detour};
use super::group::Group;
use super::host::Host;
use super::output::{Handling, Outputs, Stream};
use crate::run::course::environment::Environment;
use crate::run::course::error::RunError;
use crate::run::course::exit_code::Ending;
use crate::run::course::replay::{Feed, Replay};
use crate::run::course::seen::Seen;
use crate::run::course::terms::Terms;
use crate::run::stdin::Mode;

/// What is the same for every attempt.
#[derive(Debug)]
pub struct Execution {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// What it reads.
    pub stdin: Mode,
    /// What it reads again, with [`Mode::Replay`].
    pub replay: Option<Arc<Replay>>,
    /// What is done with its output.
    pub handling: Handling,
}

impl Execution {
    /// Executes the command once, and stays with it until it and its group have ended.
    ///
    /// # Errors
    ///
    /// becalm itself cannot go on. That the command cannot be started is an [`Ending`].
    pub fn run(
        &self,
        environment: &Environment<'_>,
        host: &mut Host,
        terms: Terms,
    ) -> Result<(Ending, Seen), RunError> {
        let (program, arguments) = self.command.split_first().ok_or(RunError::NoCommand)?;
        if let Err(error) = host.inbox().hear_signals() {
            return Ok((foreground::not_started(program, &error), Seen::default()));
        }
        let may_take = terms.foreground && host.may_lend_terminal();
        let mut detour = may_take.then(Detour::new).flatten();
        host.of_call = terms.of_call();
        let mut outputs = Vec::new();
        let mut spawn = |mut command: Command| {
            command.args(arguments).stdin(self.stdin.stdio());
            outputs = self.handling.prepare(&mut command)?;
            environment.apply(&mut command);
            Group::spawn(&mut command)
        };
        let spawned = match &mut detour {
            Some(detour) => {
                let spawned = detour.to(program).and_then(&mut spawn);
                detour.is_taken();
                spawned
            }
            None => spawn(Command::new(program)).or_else(|error| {
                match foreground::by_shell(program, &error) {
                    Some(shell) => spawn(shell),
                    None => Err(error),
                }
            }),
        };
        let mut group = match spawned {
            Ok(group) => group,
            Err(error) => return Ok((foreground::not_started(program, &error), Seen::default())),
        };
        if detour.is_some() {
            host.foreground_is_taken_by(&group);
        }
        let (feed, mut outputs) = match self.connect(group.take_stdin(), outputs, host) {
            Ok(connected) => connected,
            Err(error) => {
                group.end_with(Signal::SIGKILL);
                host.see_to_the_end(&mut group, terms);
                return Ok((foreground::not_started(program, &error), Seen::default()));
            }
        };
        let mut ending = host.see_to_the_end(&mut group, terms);
        if let Some(error) = detour.and_then(Detour::failure) {
            ending = foreground::not_started(program, &error);
        }
        drop(feed);
        outputs.close();
        if let Err(limit) = host.wait_for_outputs(outputs.count(), terms) {
            // Of the next attempt no program would read the output either.
            let seen = Seen {
                reader_is_gone: limit.is_some(),
                ..Seen::default()
            };
            return Ok((limit.unwrap_or(ending), seen));
        }
        Ok((ending, outputs.finish()))
    }

    fn connect(
        &self,
        stdin: Option<ChildStdin>,
        outputs: Vec<Stream>,
        host: &mut Host,
    ) -> io::Result<(Option<Feed>, Outputs)> {
        let feed = match (&self.replay, stdin) {
            (Some(replay), Some(pipe)) => Some(replay.feed(pipe)?),
            _ => None,
        };
        Ok((feed, self.handling.copy(outputs, &host.inbox().sender())?))
    }
}
