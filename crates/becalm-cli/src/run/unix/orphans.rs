//! What becomes becalm's because who started it has gone?

use nix::unistd::{Pid, getpgrp, getpid, getsid};

use super::processes::{self, Process};

/// Makes becalm the parent of what its commands leave behind, so that the dead among it are buried
/// and do not count as alive: not every container has a first process that does it.
pub fn adopt_orphans() {
    // Elsewhere, and where it is refused, the system's first process does what it does.
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_child_subreaper(true);
}

/// Buries the dead among those that becalm has adopted. Of `kept`, becalm's own children, others ask
/// how they ended.
pub fn bury_orphans(kept: &[Pid]) {
    #[cfg(target_os = "linux")]
    loop {
        use nix::errno::Errno;
        use nix::sys::wait::{Id, WaitPidFlag, waitid, waitpid};
        let dead = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG;
        match waitid(Id::All, dead | WaitPidFlag::WNOWAIT) {
            Ok(status) => match status.pid() {
                Some(id) if !kept.contains(&id) => {
                    let _ = waitpid(id, Some(WaitPidFlag::WNOHANG));
                }
                _ => return,
            },
            // It died by a signal that has no name: nothing is known of it, not even which it is.
            Err(Errno::EINVAL) if kept.is_empty() => {
                let _ = waitpid(None, Some(WaitPidFlag::WNOHANG));
            }
            Err(_) => return,
        }
    }
    // Elsewhere becalm adopts nobody.
    #[cfg(not(target_os = "linux"))]
    let _ = kept;
}

/// The living among those that becalm has adopted and that are of its own session. Another session is
/// where a program goes that is to live longer; and what is in becalm's own group came with it, as the server of
/// `server & exec becalm run ..` does. `None` where the system does not tell.
pub fn adopted() -> Option<Vec<Process>> {
    let (own, group, session) = (getpid(), getpgrp(), getsid(None).ok());
    let is_left = |it: &Process| it.group != group && Some(it.session) == session && it.lives();
    let is_adopted = |it: &Process| it.parent == own && is_left(it);
    Some(processes::all()?.into_iter().filter(is_adopted).collect())
}
