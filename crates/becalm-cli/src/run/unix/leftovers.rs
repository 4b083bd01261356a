//! What does becalm do with what is left of a command: on its way to a life of its own, or out of reach?

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::unistd::getpid;

use super::group::Group;
use super::host::Host;
use super::processes::{self, Process};
use crate::run::course::progress::complain;

/// So long what has just begun may take to leave the group. Only what does not get to run takes so long.
const LEAVING: Duration = Duration::from_secs(5);
/// As long, where the system does not tell what a process does.
const LEAVING_UNSEEN: Duration = Duration::from_millis(100);
/// What has run for so long, in hundredths of a second, is on no way: a call of setsid(2) takes far less.
const LONG_BEGUN: u64 = 10;
/// Sleeping at so many looks, one behind the other, a process has come to where it stays.
const SETTLED: u32 = 3;
const SHORTEST_LOOK: Duration = Duration::from_millis(1);
const LONGEST_LOOK: Duration = Duration::from_millis(20);

impl Host {
    /// Lets what the command has started in its last moment (`setsid PROGRAM &`) come as far as to leave the group.
    pub(super) fn let_leave(&mut self, group: &Group) {
        let begun = self.now();
        let (mut look, mut settled) = (SHORTEST_LOOK, 0);
        while settled < SETTLED && self.told_to_end.is_none() && group.is_alive() {
            let now = self.now();
            let is_on_its_way = |it: &Process| "RD".contains(it.state) && it.ran < LONG_BEGUN;
            let within = match processes::of_group(group.id()) {
                Some(members) if members.iter().any(is_on_its_way) => {
                    settled = 0;
                    LEAVING
                }
                Some(_) => {
                    settled += 1;
                    LEAVING
                }
                None => LEAVING_UNSEEN,
            };
            if now.since(begun) >= within {
                return;
            }
            if let Some(event) = self.next_event(Some(now.after(look))) {
                self.on_event(event, None);
            }
            look = (look * 2).min(LONGEST_LOOK);
        }
    }

    /// Says what of a group still runs, though it was killed; then no attempt is to follow, which would run beside it.
    /// The system hangs up on it when becalm ends.
    pub(super) fn tell_leftovers(&mut self, group: &Group, mut left: Vec<Process>) {
        let mut groups: Vec<_> = left.iter().map(|it| it.group).collect();
        let mut is_seen = true;
        if group.is_alive() {
            let members = processes::of_group(group.id());
            is_seen = members.is_some();
            left.retain(|it| it.group != group.id());
            left.extend(members.unwrap_or_default());
            groups.push(group.id());
        }
        if left.is_empty() && is_seen {
            return;
        }
        let left = if is_seen {
            left.iter().map(called).collect::<Vec<_>>().join(", ")
        } else {
            format!("some of the process group {}", group.id())
        };
        self.has_leftovers = true;
        self.guard.hang_up_on(groups);
        complain(&format!(
            "cannot end what still runs of the command, and leaves it: {left}"
        ));
    }
}

/// For a person who is to end it.
fn called(process: &Process) -> String {
    let user = process.user();
    let user = user.map_or_else(String::new, |id| format!(" (user {id})"));
    format!("process {} {}{user}", process.id, process.name)
}

/// Kills these whatever their user, where the system has delegated a control group to becalm's user
/// (cgroups(7), `cgroup.kill`).
pub fn kill_by_control_group(left: &[Process]) {
    let own = control_group().filter(|_| !left.is_empty());
    let Some(own) = own else { return };
    let folder = own.join(format!("becalm-{}", getpid()));
    if fs::create_dir(&folder).is_err() {
        return;
    }
    for process in left {
        let _ = fs::write(folder.join("cgroup.procs"), process.id.to_string());
    }
    let _ = fs::write(folder.join("cgroup.kill"), "1");
    // It is there until the last has died.
    for _ in 0..50 {
        if fs::remove_dir(&folder).is_ok() {
            return;
        }
        std::thread::sleep(SHORTEST_LOOK * 10);
    }
}

/// becalm's own, of the second version.
fn control_group() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let mount = mounts.lines().find_map(|line| {
        let (before, behind) = line.split_once(" - ")?;
        behind
            .starts_with("cgroup2 ")
            .then(|| before.split(' ').nth(4))?
    })?;
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    Some(Path::new(mount).join(path))
}
