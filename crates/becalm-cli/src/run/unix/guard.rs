//! Who ends a command when becalm itself is killed? A second process, which waits for that.
//!
//! KILL leaves becalm no time for anything. So the guard reads a pipe whose other end becalm alone
//! holds: when the pipe ends, becalm has gone, and the guard ends the command's group as becalm would.
//! It has a group of its own, so that what is sent to becalm's group does not reach it. What has left
//! the command's group is out of its reach, as it is out of becalm's.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ExitCode, Stdio};
use std::thread::sleep;
use std::time::Duration;

use becalm::time::{Instant, Sleeper, StdSleeper};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::{Pid, getpgrp, getpid, getsid, tcgetpgrp, tcsetpgrp};

use super::itself;
use super::terminal::Unstopped;
use super::witness::Witness;

/// The name under which becalm stands guard: `argv[0]`.
pub const NAME: &str = "becalm-guard";

/// So long a command runs unguarded: many a command ends before a guard could have started.
const UNGUARDED: Duration = Duration::from_millis(20);

/// How often the guard asks whether the group is gone.
const LOOK: Duration = Duration::from_millis(20);

/// So long after KILL the rest of a group may take to die.
const AFTER_KILL: Duration = Duration::from_secs(1);

/// The guard of the group that runs, if any.
#[derive(Debug)]
pub struct Guard {
    kill_after: Duration,
    /// What goes with becalm, too.
    pub(super) file: Option<PathBuf>,
    process: Option<Child>,
    /// The group that is to have one, and from when on.
    wanted: Option<(Pid, Instant)>,
    /// Those that stay until becalm has gone.
    staying: Vec<Child>,
}

impl Guard {
    /// A guard that grants a command this long between TERM and KILL.
    pub fn new(kill_after: Duration) -> Self {
        Self {
            kill_after,
            file: None,
            process: None,
            wanted: None,
            staying: Vec::new(),
        }
    }

    /// A group has started.
    pub fn begin(&mut self, group: Pid, now: Instant) {
        // Nothing outlives the first process of a container.
        if getpid().as_raw() != 1 {
            self.wanted = Some((group, now.after(UNGUARDED)));
        }
    }

    /// When to [look](Self::look) again.
    pub fn due(&self) -> Option<Instant> {
        self.wanted.map(|(_, from)| from)
    }

    /// Starts the guard if it is time.
    ///
    /// # Errors
    ///
    /// None can be had: the command runs without.
    pub fn look(&mut self, now: Instant) -> io::Result<()> {
        if let Some((group, _)) = self.wanted.take_if(|(_, from)| now >= *from) {
            self.process = Some(self.start(group)?);
        }
        Ok(())
    }

    /// The group has ended, and with it its guard.
    pub fn end(&mut self) {
        self.wanted = None;
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// These groups cannot be ended: when becalm has gone, a guard of each hangs up on it.
    pub fn hang_up_on(&mut self, mut groups: Vec<Pid>) {
        // Never on becalm's own, which is its caller's.
        groups.retain(|it| *it != getpgrp());
        groups.sort();
        groups.dedup();
        if getpid().as_raw() != 1 {
            let started = groups.into_iter().filter_map(|it| self.start(it).ok());
            let started: Vec<_> = started.collect();
            self.staying.extend(started);
        }
    }

    /// Whether this is a process that stays until becalm has gone.
    pub fn stays(&self, process: Pid) -> bool {
        let id = u32::try_from(process.as_raw());
        self.staying.iter().any(|it| Ok(it.id()) == id)
    }

    /// The guard's process, if it lives.
    pub fn id(&mut self) -> Option<Pid> {
        let process = self.process.as_mut()?;
        if !matches!(process.try_wait(), Ok(None)) {
            self.process = None;
            return None;
        }
        i32::try_from(process.id()).ok().map(Pid::from_raw)
    }

    fn start(&self, group: Pid) -> io::Result<Child> {
        let mut command = itself::under(NAME)?;
        let kill_after = u64::try_from(self.kill_after.as_nanos()).unwrap_or(u64::MAX);
        command.args([group, getpgrp()].map(|it| it.to_string()));
        command.arg(kill_after.to_string()).args(&self.file);
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        command.stderr(Stdio::null()).process_group(0).spawn()
    }
}

/// What the guard does.
pub fn stand(mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let group = arguments
        .next()?
        .to_str()?
        .parse()
        .ok()
        .map(Pid::from_raw)?;
    let becalms = arguments
        .next()?
        .to_str()?
        .parse()
        .ok()
        .map(Pid::from_raw)?;
    let kill_after = arguments.next()?.to_str()?.parse().ok()?;
    let _ = io::copy(&mut io::stdin(), &mut io::sink());
    give_foreground(group, becalms);
    if let Some(file) = arguments.next() {
        let _ = fs::remove_file(file);
    }
    end(group, Duration::from_nanos(kill_after));
    Some(ExitCode::SUCCESS)
}

/// Who started becalm gets the terminal back, as when becalm ends by itself.
fn give_foreground(group: Pid, becalms: Pid) {
    if let Ok(terminal) = File::open("/dev/tty") {
        if tcgetpgrp(&terminal) == Ok(group) {
            let _unstopped = Unstopped::start();
            let _ = tcsetpgrp(&terminal, becalms);
        }
    }
}

/// becalm has gone: the group goes, too.
fn end(group: Pid, kill_after: Duration) {
    let clock = StdSleeper::new();
    let kill_at = clock.now().after(kill_after);
    let _ = killpg(group, Signal::SIGTERM);
    let _ = killpg(group, Signal::SIGCONT);
    loop {
        match killpg(group, None) {
            Err(Errno::ESRCH) => return,
            Err(Errno::EPERM) => return hang_up(group),
            _ => {}
        }
        let now = clock.now();
        if now >= kill_at.after(AFTER_KILL) {
            return;
        }
        if now >= kill_at {
            let _ = killpg(group, Signal::SIGKILL);
        }
        sleep(LOOK);
    }
}

/// Has the system send HUP to a group that is another user's: it does so where a process of the group is stopped, and
/// the last parent that watches over the group from within its session goes (POSIX, `_exit`). That is the guard, which
/// ends after this; or a becalm around it. A first process of a container that is of this session watches on, so that
/// the stopped one would stay.
fn hang_up(group: Pid) {
    if getsid(Some(Pid::from_raw(1))) == getsid(None) {
        return;
    }
    let witness = Witness::join(group);
    if let Some(id) = witness.as_ref().ok().and_then(Witness::id) {
        let _ = kill(id, Signal::SIGSTOP);
        let _ = waitpid(id, Some(WaitPidFlag::WUNTRACED));
    }
}
