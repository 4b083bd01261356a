//! How does becalm make a pipe that its commands do not inherit?

use std::io;
use std::os::fd::OwnedFd;

/// Both ends of a new pipe, the reading one first.
///
/// # Errors
///
/// There are too many descriptors.
#[cfg(not(target_vendor = "apple"))]
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC)?)
}

/// Both ends of a new pipe, the reading one first.
///
/// Nothing may start a process before this returns: Apple's systems have no `pipe2`. All of becalm's
/// pipes and processes are made by one thread.
///
/// # Errors
///
/// There are too many descriptors.
#[cfg(target_vendor = "apple")]
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    use nix::fcntl::{FcntlArg, FdFlag, fcntl};
    let (reader, writer) = nix::unistd::pipe()?;
    for end in [&reader, &writer] {
        fcntl(end, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
    }
    Ok((reader, writer))
}
