//! Is the becalm that runs above still there?
//!
//! Within one namespace of process ids its id and its start tell. Elsewhere that id is not seen, which says nothing:
//! there the lock of its hint file tells, as far as the file can be seen.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::sys::signal::kill;
use nix::unistd::{Pid, getpid};

use super::WITHOUT_WAITING;
use crate::run::above;

/// The becalm above, as the environment tells.
#[derive(Debug, Clone)]
pub struct Holder {
    namespace: String,
    id: Pid,
    start: String,
    /// The folder of its hint file.
    folder: String,
    hint_file: Option<PathBuf>,
}

/// What stands for what is not known.
const UNKNOWN: &str = "-";

/// What this becalm says of itself, whose hint file is this.
pub fn itself(hint_file: Option<&Path>) -> String {
    let folder = hint_file.and_then(Path::parent).and_then(place);
    let words = [
        namespace(),
        Some(getpid().to_string()),
        start(getpid()),
        folder,
    ];
    words
        .map(|it| it.unwrap_or_else(|| UNKNOWN.into()))
        .join(" ")
}

impl Holder {
    /// The one that has said what the environment holds; `None` if that does not tell who it is.
    pub fn of_environment() -> Option<Self> {
        let text = std::env::var(above::HOLDER).ok()?;
        let mut words = text.split(' ').map(str::to_owned);
        Some(Self {
            namespace: words.next()?,
            id: Pid::from_raw(words.next()?.parse().ok()?),
            start: words.next()?,
            folder: words.next()?,
            hint_file: std::env::var_os(above::HINT_FILE).map(PathBuf::from),
        })
    }

    /// Whether it has certainly gone.
    pub fn is_gone(&self) -> bool {
        let is_here = namespace().is_some_and(|own| own == self.namespace);
        // Elsewhere than on Linux there is one namespace.
        if is_here || !cfg!(target_os = "linux") {
            let other = start(self.id).filter(|_| self.start != UNKNOWN);
            return kill(self.id, None) == Err(Errno::ESRCH)
                || other.is_some_and(|start| start != self.start);
        }
        self.hint_file
            .as_deref()
            .is_some_and(|file| self.has_let_go(file))
    }

    /// Whether its file is not locked any more, or was removed from where it was.
    fn has_let_go(&self, file: &Path) -> bool {
        match File::options()
            .read(true)
            .custom_flags(WITHOUT_WAITING)
            .open(file)
        {
            Ok(file) => Flock::lock(file, FlockArg::LockSharedNonblock).is_ok(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => file
                .parent()
                .and_then(place)
                .is_some_and(|it| it == self.folder),
            Err(_) => false,
        }
    }
}

/// Which namespace of process ids this is.
fn namespace() -> Option<String> {
    let link = fs::read_link("/proc/self/ns/pid").ok()?;
    let digits = |it: &char| it.is_ascii_digit();
    Some(link.to_str()?.chars().filter(digits).collect())
}

/// When a process started, in the system's own count (proc(5)). The dead have not.
fn start(id: Pid) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let mut fields = stat.rsplit(')').next()?.split_ascii_whitespace();
    let is_dead = ["Z", "X"].contains(&fields.next()?);
    let count = fields.nth(18)?.to_owned();
    Some(if is_dead { "dead".into() } else { count })
}

/// Which folder this is, by any name.
fn place(folder: &Path) -> Option<String> {
    let metadata = fs::metadata(folder).ok()?;
    Some(format!("{}:{}", metadata.dev(), metadata.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder(text: &str, hint_file: Option<&Path>) -> Holder {
        let mut words = text.split(' ').map(str::to_owned);
        let mut next = || words.next().unwrap();
        Holder {
            namespace: next(),
            id: Pid::from_raw(next().parse().unwrap()),
            start: next(),
            folder: next(),
            hint_file: hint_file.map(Path::to_owned),
        }
    }

    #[test]
    fn one_that_lives_is_there_and_a_later_process_of_its_id_is_not_it() {
        let own = holder(&itself(None), None);
        assert!(!own.is_gone());
        if cfg!(target_os = "linux") {
            let start = "1".into();
            assert!(
                Holder {
                    start,
                    ..own.clone()
                }
                .is_gone()
            );
        }
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let id = Pid::from_raw(child.id().try_into().unwrap());
        child.wait().unwrap();
        assert!(Holder { id, ..own }.is_gone());
    }

    #[cfg(target_os = "linux")] // namespaces
    #[test]
    fn elsewhere_the_lock_tells_and_what_is_not_seen_is_not_gone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("hint");
        fs::write(&file, "").unwrap();
        let mut text = itself(Some(&file));
        text.insert(0, '1');
        let elsewhere = holder(&text, Some(&file));
        let lock = Flock::lock(File::open(&file).unwrap(), FlockArg::LockExclusiveNonblock);
        assert!(!elsewhere.is_gone());
        drop(lock);
        assert!(elsewhere.is_gone());
        fs::remove_file(&file).unwrap();
        assert!(elsewhere.is_gone());
        assert!(!holder(&text, Some(Path::new("/no/such/folder/hint"))).is_gone());
        assert!(!holder(&text, None).is_gone());
        // Another folder of that name, as in another root.
        drop(folder);
        assert!(!elsewhere.is_gone());
    }
}
