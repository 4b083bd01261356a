//! Who is told of a retry, and of giving up? The user's own commands.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use becalm::time::Instant;

use super::group::Group;
use super::host::Host;
use super::standard;
use crate::run::course::environment::Environment;
use crate::run::course::exit_code::Ending;
use crate::run::course::progress::complain;
use crate::run::course::terms::{Own, Terms};

/// The commands of `--on-retry` and `--on-give-up`, for `sh -c`.
#[derive(Debug, Clone)]
pub struct Hooks {
    /// Before each wait.
    pub on_retry: Option<OsString>,
    /// When no further attempt is made though the last one failed.
    pub on_give_up: Option<OsString>,
    /// How long each may take.
    pub timeout: Duration,
}

impl Hooks {
    /// What is granted to one that starts now, whoever is above.
    pub fn terms(&self, now: Instant) -> Terms {
        let attempt_timeout = Some(now.after(self.timeout));
        Terms {
            attempt_timeout,
            own: Own {
                attempt_timeout,
                deadline: None,
            },
            ..Terms::default()
        }
    }
}

/// Runs one to its end, in a group of its own. What it prints goes to standard error, since
/// standard output belongs to the command. Its failure changes nothing, but is told.
pub fn run(hook: &OsStr, environment: &Environment<'_>, host: &mut Host, terms: Terms) {
    if let Err(error) = try_run(hook, environment, host, terms) {
        complain(&format!(
            "cannot run the hook {}: {error}",
            Path::new(hook).display()
        ));
    }
}

fn try_run(
    hook: &OsStr,
    environment: &Environment<'_>,
    host: &mut Host,
    terms: Terms,
) -> io::Result<()> {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(hook).stdin(Stdio::null());
    command.stdout(standard::file(io::stderr())?);
    environment.apply(&mut command);
    let mut group = Group::spawn(&mut command)?;
    let ending = host.see_to_the_end(&mut group, terms);
    let hook = Path::new(hook).display();
    match ending {
        _ if host.told_to_end().is_some() => {}
        Ending::Exited(0) => {}
        Ending::AttemptTimeout => complain(&format!(
            "the hook {hook} was ended, since it took longer than --hook-timeout"
        )),
        ending => complain(&format!("the hook {hook} failed ({ending})")),
    }
    Ok(())
}
