//! What does a drill ask of a system that is not Unix, which is Windows?

use std::process::Command;

/// `WSAEMFILE`, `WSAEADDRNOTAVAIL` and `WSAENOBUFS` (Windows Sockets error codes).
const SHORTAGES: [i32; 3] = [10024, 10049, 10055];

/// `CREATE_NEW_PROCESS_GROUP` (Windows, process creation flags).
#[cfg(windows)]
const NEW_GROUP: u32 = 0x200;

/// How many files may be open, sockets too: now, and at most. Windows sets no limit for a process.
pub fn files() -> Option<(u64, u64)> {
    Some((u64::MAX, u64::MAX))
}

/// Nothing is set where there is no limit.
pub fn allow_files(_: u64, _: u64) -> bool {
    true
}

/// Whether this error of connect or socket says that the machine is short of sockets, of ports, or of memory for either.
pub fn is_shortage(code: i32) -> bool {
    SHORTAGES.contains(&code)
}

/// What a key of the terminal says to the drill is not for this command.
pub fn apart(command: &mut Command) -> &mut Command {
    #[cfg(windows)]
    std::os::windows::process::CommandExt::creation_flags(command, NEW_GROUP);
    command
}
