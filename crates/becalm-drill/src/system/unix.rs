//! What does a drill ask of Unix?

use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// How many files may be open, sockets too: now, and at most. `None` if the system does not tell.
pub fn files() -> Option<(u64, u64)> {
    getrlimit(Resource::RLIMIT_NOFILE).ok()
}

/// Sets both numbers of [`files`]: whether the system does.
pub fn allow_files(now: u64, most: u64) -> bool {
    setrlimit(Resource::RLIMIT_NOFILE, now, most).is_ok()
}

/// Whether this error of connect(2) or socket(2) says that the machine is short of descriptors, of ports, or of memory for
/// either.
pub fn is_shortage(code: i32) -> bool {
    matches!(
        Errno::from_raw(code),
        Errno::EMFILE | Errno::ENFILE | Errno::EADDRNOTAVAIL | Errno::ENOBUFS
    )
}

/// What a key of the terminal says to the drill is not for this command.
pub fn apart(command: &mut Command) -> &mut Command {
    command.process_group(0)
}
