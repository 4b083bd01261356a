//! How does a test get a container, or a system without /proc? By unshare(1): as root, or as the root
//! of a user namespace.

use std::process::Command;

/// Makes a process the first of a container of its own.
pub const CONTAINER: &str = "--pid --fork --mount-proc --kill-child";

/// `unshare` with these flags, as this system lets this user call it, for a command to follow.
///
/// # Panics
///
/// If it does not. What cannot be tested is no success.
pub fn unshare(flags: &str) -> String {
    let mut told = String::new();
    for namespaces in ["", "--user --map-root-user "] {
        let call = format!("unshare {namespaces}{flags}");
        let mut words = call.split(' ');
        let mut command = Command::new(words.next().unwrap_or_default());
        let done = command.args(words).arg("true").output();
        match done {
            Ok(done) if done.status.success() => return call,
            Ok(done) => told.push_str(&String::from_utf8_lossy(&done.stderr)),
            Err(error) => told.push_str(&error.to_string()),
        }
    }
    panic!(
        "this test needs namespaces; run it as root, or allow user namespaces (CONTRIBUTING.md, \
         Tests, says how): {told}"
    )
}
