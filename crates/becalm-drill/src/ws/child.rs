//! How is another process of the drill started, heard and ended?

use std::ffi::{OsStr, OsString};
use std::io::BufReader;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child as Process, Command, ExitCode, Stdio};
use std::sync::mpsc::Sender;
use std::thread;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::told::Told;
use crate::itself;
use crate::messages::{self, brief, heard};

/// A process of the drill. Dropped, it is killed.
#[derive(Debug)]
pub struct Child {
    process: Process,
}

/// What is heard from a process, with the name that it was started under here.
#[derive(Debug)]
pub struct Heard<W, T = Told> {
    /// Under which name.
    pub from: W,
    /// None: it has ended.
    pub told: Option<T>,
}

impl Child {
    /// Starts becalm under another name, and hears what it tells.
    ///
    /// # Errors
    ///
    /// A sentence.
    pub fn start<W: Copy + Send + 'static, T: DeserializeOwned + Send + 'static>(
        name: &str,
        brief: &impl Serialize,
        socket: Option<&TcpListener>,
        from: W,
        inbox: Sender<Heard<W, T>>,
    ) -> Result<Self, String> {
        let refused = |error: &dyn std::fmt::Display| format!("cannot start {name}: {error}");
        let brief = serde_json::to_string(brief).map_err(|error| refused(&error))?;
        let command = itself::under(name).and_then(|itself| handed(itself, name, socket));
        let mut command = command.map_err(|error| refused(&error))?;
        command.arg(brief).stdout(Stdio::piped());
        let mut process = command.spawn().map_err(|error| refused(&error))?;
        let told = process.stdout.take().map(BufReader::new);
        thread::spawn(move || {
            for told in told.into_iter().flat_map(heard).map(Some) {
                if inbox.send(Heard { from, told }).is_err() {
                    return;
                }
            }
            let _ = inbox.send(Heard { from, told: None });
        });
        Ok(Self { process })
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        if let Ok(id) = i32::try_from(self.process.id()) {
            let _ = kill(Pid::from_raw(id), signal);
        }
    }

    /// Says something to it, once.
    pub fn say(&mut self, what: &impl Serialize) {
        if let Some(stdin) = self.process.stdin.take() {
            let _ = messages::say(stdin, what);
        }
    }
}

impl Drop for Child {
    /// As SIGKILL does: it is told nothing, and its sockets are closed by the system.
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The command with a listening socket, by systemd's protocol (`sd_listen_fds(3)`): a shell puts the socket in its
/// place, and knows the process id before the program runs.
fn handed(
    mut itself: Command,
    name: &str,
    socket: Option<&TcpListener>,
) -> std::io::Result<Command> {
    let Some(socket) = socket else {
        itself.stdin(Stdio::piped());
        return Ok(itself);
    };
    let mut command = Command::new("/bin/sh");
    command
        .args([
            "-c",
            r#"export LISTEN_PID=$$; exec "$0" "$@" 3<&0 </dev/null"#,
        ])
        .arg(of_this_process(itself.get_program()))
        .arg(name)
        .env("LISTEN_FDS", "1")
        .stdin(OwnedFd::from(socket.try_clone()?));
    Ok(command)
}

/// In the shell `/proc/self` is the shell's own.
fn of_this_process(program: &OsStr) -> PathBuf {
    let beyond = Path::new(program).strip_prefix("/proc/self");
    beyond.map_or_else(
        |_| program.into(),
        |beyond| {
            Path::new("/proc")
                .join(std::process::id().to_string())
                .join(beyond)
        },
    )
}

/// Reads what a process is to do, and does it.
pub fn execute<B: DeserializeOwned>(
    argument: Option<OsString>,
    act: impl FnOnce(B) -> Result<ExitCode, String>,
) -> ExitCode {
    brief(argument).and_then(act).unwrap_or_else(|sentence| {
        eprintln!("error: {sentence}");
        ExitCode::FAILURE
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_is_told_of_this_program_and_not_of_itself() {
        let own = format!("/proc/{}/exe", std::process::id());
        for (program, told) in [
            ("/proc/self/exe", &*own),
            ("/usr/bin/becalm", "/usr/bin/becalm"),
        ] {
            assert_eq!(of_this_process(OsStr::new(program)), Path::new(told));
        }
    }
}
