//! What becomes becalm's because who started it has gone?

use nix::unistd::{Pid, getpid, getsid};

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
/// where a program goes that is to live longer. `None` where the system does not tell.
pub fn adopted() -> Option<Vec<Pid>> {
    let is_told = cfg!(target_os = "linux") && std::path::Path::new("/proc/self/stat").exists();
    let processes = is_told.then(|| std::fs::read_dir("/proc"))?.ok()?;
    let is_adopted = |id: &Pid| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        // proc(5): state, parent, group, session stand behind the name.
        let fields = stat.rsplit(')').next().unwrap_or_default();
        let fields: Vec<_> = fields.split_ascii_whitespace().take(4).collect();
        let is = |field: usize, id: Option<Pid>| {
            id.is_some_and(|id| fields.get(field).is_some_and(|it| *it == id.to_string()))
        };
        is(1, Some(getpid())) && is(3, getsid(None).ok()) && fields.first() != Some(&"Z")
    };
    let ids = processes.flatten().filter_map(|entry| {
        let id = entry.file_name().to_str()?.parse().ok()?;
        Some(Pid::from_raw(id))
    });
    Some(ids.filter(is_adopted).collect())
}
