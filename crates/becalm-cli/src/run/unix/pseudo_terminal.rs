//! What does a command write to, which shall find a terminal though becalm reads along?

use std::os::fd::{AsFd, OwnedFd};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::pty::{Winsize, openpty};
use nix::sys::termios::{OutputFlags, tcgetattr};
use terminal_size::{Height, Width, terminal_size_of};

/// becalm's end and the command's of a new terminal that is as large as this one. It controls no session: keys and
/// signals are this one's. `None` where there are none to be had.
pub fn like(terminal: &impl AsFd) -> Option<(OwnedFd, OwnedFd)> {
    let size = terminal_size_of(terminal.as_fd()).map(|(Width(columns), Height(rows))| Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    });
    let mut settings = tcgetattr(terminal).ok();
    if let Some(settings) = &mut settings {
        // Bytes pass as they are: ends of lines are for the user's own terminal to make.
        settings.output_flags.remove(OutputFlags::OPOST);
    }
    let pair = openpty(size.as_ref(), settings.as_ref()).ok()?;
    for end in [&pair.master, &pair.slave] {
        fcntl(end, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).ok()?;
    }
    Some((pair.master, pair.slave))
}
