//! Is it still the process that was meant? An id is given again; with the time at which it started it is not.

use std::fs;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpid};
use serde::{Deserialize, Serialize};

use super::spec::Reach;

/// A process of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    id: i32,
    /// Ticks of the kernel from its own start to the process's (proc(5), `starttime`).
    started: u64,
}

/// What /proc says of a process.
struct Stat {
    state: u8,
    parent: i32,
    group: i32,
    started: u64,
}

impl Process {
    /// The process that has this id now.
    ///
    /// # Errors
    ///
    /// A sentence: there is none, or it may not be stopped.
    pub fn of(id: i32) -> Result<Self, String> {
        if id <= 1 {
            return Err(format!(
                "{id} is no process that may be stopped; name one of the service's"
            ));
        }
        let process = found(id).ok_or_else(|| {
            format!("no process has the id {id}, or this system has no /proc to see it in; name one that runs")
        })?;
        if ancestors().contains(&id) {
            return Err(format!(
                "{id} is the drill itself, or has started it; name a process of the service"
            ));
        }
        kill(Pid::from_raw(id), None).map_err(|error| match error {
            Errno::EPERM => {
                format!("the process {id} is another user's; run the drill as that user")
            }
            error => format!("the process {id} cannot be stopped: {error}"),
        })?;
        Ok(process)
    }

    /// Whether it is there, and the one that was meant.
    pub fn is_there(self) -> bool {
        found(self.id) == Some(self)
    }

    /// Sends it a signal, if it is still the one that was meant.
    fn signal(self, signal: Signal) -> nix::Result<()> {
        if self.is_there() {
            kill(Pid::from_raw(self.id), signal)
        } else {
            Err(Errno::ESRCH)
        }
    }

    /// Stops it, unless it has ended, or somebody else has stopped it, who will continue it; the result is whether it was this.
    fn stop(self) -> nix::Result<bool> {
        if stat(self.id).is_some_and(|it| matches!(it.state, b'T' | b't' | b'Z')) {
            return Ok(false);
        }
        match self.signal(Signal::SIGSTOP) {
            Err(Errno::ESRCH) => Ok(false),
            sent => sent.map(|()| true),
        }
    }

    /// Continues it; nothing happens to one that runs.
    pub fn cont(self) {
        let _ = self.signal(Signal::SIGCONT);
    }

    /// Those within reach of it now, itself first.
    pub fn reach(self, reach: Reach) -> Vec<Self> {
        if !self.is_there() {
            return Vec::new();
        }
        let mut reached = vec![self];
        match reach {
            Reach::Process => {}
            Reach::Children => {
                let all = all();
                let mut next = 0;
                while let Some(parent) = reached.get(next).copied() {
                    let children = all.iter().filter(|(_, stat)| stat.parent == parent.id);
                    reached.extend(children.map(|(id, stat)| Self::new(*id, stat)));
                    next += 1;
                }
            }
            Reach::Group => {
                let group = stat(self.id).map(|it| it.group);
                let others = all().into_iter();
                let others = others.filter(|(id, it)| Some(it.group) == group && *id != self.id);
                reached.extend(others.map(|(id, stat)| Self::new(id, &stat)));
            }
        }
        reached
    }

    /// Stops all within reach, until nobody is left who could have started another meanwhile; tells of each that it has stopped.
    ///
    /// # Errors
    ///
    /// A sentence: the process is gone, or those are in reach that must not be stopped, or may not: with some of them running it
    /// would be another fault than was asked for.
    pub fn stop_all(self, reach: Reach, mut stops: impl FnMut(Self)) -> Result<(), String> {
        let spared = ancestors();
        let mut seen: Vec<Self> = Vec::new();
        loop {
            let mut reached = self.reach(reach);
            if reached.is_empty() {
                return Err(format!("the process {} has ended", self.id));
            }
            if let Some(spared) = reached.iter().find(|it| spared.contains(&it.id)) {
                return Err(format!(
                    "{} is within reach, which is the drill itself or has started it; stop the process alone, or its children",
                    spared.id
                ));
            }
            reached.retain(|it| !seen.contains(it));
            if reached.is_empty() {
                return Ok(());
            }
            for process in reached {
                let stopped = process.stop().map_err(|error| {
                    let id = process.id;
                    format!(
                        "the process {id} is within reach of {} and cannot be stopped ({error}): run the drill as its user, or stop \
                         others",
                        self.id
                    )
                })?;
                if stopped {
                    stops(process);
                }
                seen.push(process);
            }
        }
    }

    const fn new(id: i32, stat: &Stat) -> Self {
        Self {
            id,
            started: stat.started,
        }
    }
}

fn found(id: i32) -> Option<Process> {
    let stat = stat(id)?;
    (stat.state != b'Z').then(|| Process::new(id, &stat))
}

fn stat(id: i32) -> Option<Stat> {
    let text = fs::read(format!("/proc/{id}/stat")).ok()?;
    // The name stands in parentheses and may hold any byte, a parenthesis too.
    let behind = text.iter().rposition(|it| *it == b')')? + 1;
    let text = std::str::from_utf8(text.get(behind..)?).ok()?;
    let fields: Vec<_> = text.split_ascii_whitespace().collect();
    // proc(5) counts from 1: the state is the third, and the first behind the name.
    let field = |number: usize| fields.get(number - 3);
    Some(Stat {
        state: *field(3)?.as_bytes().first()?,
        parent: field(4)?.parse().ok()?,
        group: field(5)?.parse().ok()?,
        started: field(22)?.parse().ok()?,
    })
}

fn all() -> Vec<(i32, Stat)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|it| it.file_name().to_str()?.parse().ok());
    ids.filter_map(|id| Some((id, stat(id)?)))
        .filter(|(_, stat)| stat.state != b'Z')
        .collect()
}

/// This process and those that it would take along, or that could not end it any more.
fn ancestors() -> Vec<i32> {
    let mut ids = vec![1, getpid().as_raw()];
    let mut id = getpid().as_raw();
    while let Some(parent) = stat(id).map(|it| it.parent).filter(|it| *it > 1) {
        if ids.contains(&parent) {
            break;
        }
        ids.push(parent);
        id = parent;
    }
    ids
}
