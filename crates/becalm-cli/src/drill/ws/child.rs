//! How is another process of the drill started, heard and ended?

use std::io::{BufRead, BufReader, Write};
use std::process::{Child as Process, ExitCode, Stdio};
use std::sync::mpsc::Sender;
use std::thread;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::told::Told;

/// A process of the drill. Dropped, it is killed.
#[derive(Debug)]
pub struct Child {
    process: Process,
}

/// What is heard from a process, with the name that it was started under here.
#[derive(Debug)]
pub struct Heard<W> {
    pub from: W,
    /// None: it has ended.
    pub told: Option<Told>,
}

impl Child {
    /// Starts becalm under another name, and hears what it tells.
    ///
    /// # Errors
    ///
    /// A sentence.
    pub fn start<W: Copy + Send + 'static>(
        name: &str,
        brief: &impl Serialize,
        from: W,
        inbox: Sender<Heard<W>>,
    ) -> Result<Self, String> {
        let refused = |error: &dyn std::fmt::Display| format!("cannot start {name}: {error}");
        let brief = serde_json::to_string(brief).map_err(|error| refused(&error))?;
        let mut command = crate::run::itself(name).map_err(|error| refused(&error))?;
        command
            .arg(brief)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut process = command.spawn().map_err(|error| refused(&error))?;
        let lines = process.stdout.take().map(BufReader::new);
        thread::spawn(move || {
            let lines = lines.into_iter().flat_map(BufRead::lines);
            for line in lines.map_while(Result::ok) {
                let Ok(told) = serde_json::from_str(&line) else {
                    break;
                };
                let told = Some(told);
                if inbox.send(Heard { from, told }).is_err() {
                    return;
                }
            }
            let _ = inbox.send(Heard { from, told: None });
        });
        Ok(Self { process })
    }

    /// Says something to it, once.
    pub fn say(&mut self, what: &impl Serialize) {
        if let (Some(mut stdin), Ok(line)) =
            (self.process.stdin.take(), serde_json::to_string(what))
        {
            let _ = writeln!(stdin, "{line}");
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

/// Reads what a process is to do, and does it.
pub fn execute<B: DeserializeOwned>(
    argument: Option<std::ffi::OsString>,
    act: impl FnOnce(B) -> Result<ExitCode, String>,
) -> ExitCode {
    let argument = argument
        .and_then(|it| it.into_string().ok())
        .unwrap_or_default();
    let brief = serde_json::from_str(&argument).map_err(|error| error.to_string());
    brief.and_then(act).unwrap_or_else(|sentence| {
        eprintln!("error: {sentence}");
        ExitCode::FAILURE
    })
}
