//! How does a listening socket outlive its process, so that nobody is refused across a restart?
//!
//! By systemd's protocol (`sd_listen_fds(3)`): a process is started with its sockets open from descriptor 3 on, `LISTEN_FDS` says
//! how many they are, and `LISTEN_PID` whose. The kernel queues clients while nobody accepts.

use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, Stdio};

use listenfd::ListenFd;

/// A listening socket to be handed on.
///
/// Two ways, both of which keep the arguments and the environment that you give the command:
///
/// - **spawn**: start the successor, wait until it serves, then [drain](super::Server::drain) and end. Old and new accept
///   side by side meanwhile. It suits a process that nobody supervises by its process id.
/// - **exec**: drain, then become the successor (`std::os::unix::process::CommandExt::exec`). The process id
///   stays, which supervisors and containers want. Who comes meanwhile waits in the kernel's queue until the
///   successor accepts, so give the drain a [deadline](super::Drain::deadline) of a second or two: those whose turn is later are told
///   to come at their turn.
///
/// Under systemd neither is needed: a `.socket` unit holds the socket (its `Backlog=` is the queue), and `systemctl restart`, with a
/// drain on SIGTERM that is short in the same way, refuses nobody.
///
/// ```no_run
/// # fn run(listener: &becalm_ws::server::Listener) -> std::io::Result<()> {
/// let socket = listener.hand_over()?;
/// // .. on SIGHUP, say ..
/// let successor = socket.command("/usr/local/bin/chat")?.arg("--serve").spawn()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct HandOver {
    socket: OwnedFd,
}

impl HandOver {
    pub(crate) fn of(listener: &tokio::net::TcpListener) -> io::Result<Self> {
        Ok(Self {
            socket: listener.as_fd().try_clone_to_owned()?,
        })
    }

    /// A command that runs `program` with this socket: spawn it or exec it. Its standard input is `/dev/null`.
    ///
    /// It goes by way of `/bin/sh`, which puts the socket in its place and knows the process id before the program runs.
    ///
    /// # Errors
    ///
    /// There is no descriptor left for it.
    pub fn command(&self, program: impl AsRef<OsStr>) -> io::Result<Command> {
        let mut command = Command::new("/bin/sh");
        command
            .args([
                "-c",
                r#"export LISTEN_PID=$$; exec "$0" "$@" 3<&0 </dev/null"#,
            ])
            .arg(program)
            .env("LISTEN_FDS", "1")
            .env_remove("LISTEN_FDNAMES")
            .env_remove("LISTEN_FDS_FIRST_FD")
            .stdin(Stdio::from(self.socket.try_clone()?));
        Ok(command)
    }
}

/// The sockets that this process was started with: taken once, at its start.
///
/// ```no_run
/// use becalm_ws::server::{Admission, Inherited, Settings};
///
/// fn main() -> std::io::Result<()> {
///     let inherited = Inherited::sockets(); // before there are other threads
///     tokio::runtime::Runtime::new()?.block_on(run(inherited))
/// }
///
/// async fn run(mut inherited: Inherited) -> std::io::Result<()> {
///     let settings = Settings::new(Admission::per_second(500));
///     let server = settings.server().map_err(std::io::Error::other)?;
///     let listener = match inherited.take(0)? {
///         Some(socket) => server.listen_on(socket)?, // systemd, or the process before this one
///         None => server.listen("[::]:8080").await?,
///     };
///     # drop(listener);
///     Ok(())
/// }
/// ```
pub struct Inherited(ListenFd);

impl Inherited {
    /// Reads `LISTEN_FDS` and `LISTEN_PID`, and removes them, so that no child takes them for its own: ask before
    /// there are other threads.
    pub fn sockets() -> Self {
        Self(ListenFd::from_env())
    }

    /// The socket of this number, from 0 on; `None` if there is none, or it was taken.
    ///
    /// # Errors
    ///
    /// It is no TCP socket.
    pub fn take(&mut self, number: usize) -> io::Result<Option<TcpListener>> {
        self.0.take_tcp_listener(number)
    }
}

impl fmt::Debug for Inherited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Inherited").field(&self.0.len()).finish()
    }
}
