//! What does the system tell of the processes that run?

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::unistd::Pid;

/// A process that may be dead, and not buried.
#[derive(Debug)]
pub struct Process {
    pub id: Pid,
    /// The program's name, as long as the system keeps it.
    pub name: String,
    pub state: char,
    pub parent: Pid,
    pub group: Pid,
    pub session: Pid,
    /// Hundredths of a second that it has run on a processor.
    pub ran: u64,
}

impl Process {
    /// Whether it is more than a name.
    pub fn lives(&self) -> bool {
        !['Z', 'X'].contains(&self.state)
    }

    /// The id of its user.
    pub fn user(&self) -> Option<u32> {
        fs::metadata(format!("/proc/{}", self.id))
            .ok()
            .map(|it| it.uid())
    }

    /// What proc(5) says in `stat`. The name may hold anything; what stands behind it does not.
    fn told(id: i32, stat: &str) -> Option<Self> {
        let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
        let fields: Vec<_> = rest.split_ascii_whitespace().collect();
        let id_at = |at: usize| fields.get(at)?.parse().ok().map(Pid::from_raw);
        let count = |at: usize| fields.get(at)?.parse::<u64>().ok();
        Some(Self {
            id: Pid::from_raw(id),
            name: name.to_owned(),
            state: fields.first()?.chars().next()?,
            parent: id_at(1)?,
            group: id_at(2)?,
            session: id_at(3)?,
            ran: count(11)? + count(12)?,
        })
    }
}

/// All of them; `None` where the system does not tell.
pub fn all() -> Option<Vec<Process>> {
    let is_told = cfg!(target_os = "linux") && Path::new("/proc/self/stat").exists();
    let entries = is_told.then(|| fs::read_dir("/proc"))?.ok()?;
    let processes = entries.flatten().filter_map(|entry| {
        let id = entry.file_name().to_str()?.parse().ok()?;
        Process::told(id, &fs::read_to_string(entry.path().join("stat")).ok()?)
    });
    Some(processes.collect())
}

/// The living ones of this group.
pub fn of_group(group: Pid) -> Option<Vec<Process>> {
    let mut processes = all()?;
    processes.retain(|it| it.group == group && it.lives());
    Some(processes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let stat = "7 (a) b (c) S 1 6 5 0 -1 4194560 1 2 3 4 11 12 13 14 20 0 1 0 99 1 2";
        let process = Process::told(7, stat).unwrap();
        assert_eq!((process.name.as_str(), process.state), ("a) b (c", 'S'));
        assert_eq!((process.group.as_raw(), process.session.as_raw()), (6, 5));
        assert_eq!(process.ran, 23);
        assert!(Process::told(7, "7 (a) S 1").is_none());
    }

    #[cfg(target_os = "linux")] // /proc
    #[test]
    fn this_process_is_among_them() {
        let own = nix::unistd::getpid();
        let all = all().unwrap();
        let found = all.iter().find(|it| it.id == own).unwrap();
        assert!(found.lives() && found.parent == nix::unistd::getppid());
        assert_eq!(found.user(), Some(nix::unistd::geteuid().as_raw()));
    }
}
