//! How do all processes of a machine share one retry budget?
//!
//! Through a file of one line. Each change is made under a lock, which the kernel lifts when
//! the process that holds it dies, and written by one `pwrite(2)` within one page, which a kill
//! does not divide. So a process that is killed leaves neither a lock nor half a state; killed
//! during its wait it loses the one token that it had withdrawn.

mod state;

use std::fmt;
use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use becalm::budget::{Ratio, RetryBudget, Withdrawal};
use becalm::{Failure, time::Instant};
use nix::errno::Errno;
#[cfg(target_os = "linux")]
use nix::fcntl::{FcntlArg, fcntl};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::geteuid;
use state::State;

use super::WITHOUT_WAITING;

/// One token in the file's unit: a millionth.
const TOKEN: u64 = 1_000_000;
/// How long others may hold the lock, in all. They need microseconds, unless they are stopped.
const PATIENCE: Duration = Duration::from_secs(2);
const BETWEEN_TRIES: Duration = Duration::from_millis(1);

/// The ratio budget in a file, of successes or of first tries: the same law, over all processes that
/// name the file.
#[derive(Debug)]
pub struct BudgetFile {
    path: PathBuf,
    /// In millionths of a token.
    deposit: u64,
    burst: u64,
    floor_per_hour: u64,
    earner: Earner,
    /// What is left of the patience.
    patience: Mutex<Duration>,
    /// What first tries have earned that could not be put there at once.
    owed: AtomicU64,
    /// What went wrong since the last look; the budget denies meanwhile.
    fault: Mutex<Option<BudgetFileError>>,
}

/// What deposits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Earner {
    Successes,
    FirstTries,
}

/// Why a file cannot be used as a budget.
#[derive(Debug)]
#[non_exhaustive]
pub enum BudgetFileError {
    /// The operating system refuses it.
    Io(PathBuf, io::Error),
    /// It is not a regular file.
    NotAFile(PathBuf),
    /// Its content is not a budget, or was damaged.
    Foreign(PathBuf),
    /// Another process has not let go of it.
    Locked(PathBuf),
}

impl fmt::Display for BudgetFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(path, error) => {
                write!(f, "cannot use the budget file {}: {error}", path.display())
            }
            Self::NotAFile(path) => {
                write!(
                    f,
                    "the budget file {} is not a regular file (a symbolic link is not followed)",
                    path.display()
                )
            }
            Self::Foreign(path) => write!(
                f,
                "{} is not a budget file of becalm, or is damaged; name another file, or delete it \
                 to start with a full budget",
                path.display()
            ),
            Self::Locked(path) => write!(
                f,
                "the budget file {} stays locked; see with fuser(1) which process holds it",
                path.display()
            ),
        }
    }
}

impl std::error::Error for BudgetFileError {}

impl BudgetFile {
    /// The budget in this file; a new or empty file is a full budget. Of a file that cannot be used
    /// nothing is granted, and nothing in it is changed.
    pub fn of(path: &Path, parameters: &Ratio, earner: Earner) -> Self {
        Self {
            path: path.to_owned(),
            deposit: micros(parameters.ratio),
            burst: micros(parameters.held()),
            floor_per_hour: micros(parameters.floor_per_second * 3600.0),
            earner,
            patience: Mutex::new(PATIENCE),
            owed: AtomicU64::new(0),
            fault: Mutex::new(None),
        }
    }

    /// What went wrong since the last call.
    pub fn take_fault(&self) -> Option<BudgetFileError> {
        self.fault
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    /// Makes a change that no other process can come between, within this patience.
    fn change<R>(
        &self,
        patience: &mut Duration,
        change: impl FnOnce(&mut State) -> R,
    ) -> Result<R, BudgetFileError> {
        let failed = |error| BudgetFileError::Io(self.path.clone(), error);
        let file = self.locked(patience)?;
        let full = State {
            micros: self.burst,
            at: 0,
        };
        let before = read(&file).map_err(failed)?;
        let mut state = match before.as_deref() {
            None => full,
            Some(line) => {
                State::parse(line).ok_or_else(|| BudgetFileError::Foreign(self.path.clone()))?
            }
        };
        // What was forged is not believed; nor what a process with a larger burst has put there.
        state.micros = state.micros.min(self.burst);
        state.elapse(clock(), self.floor_per_hour, self.burst);
        state.add(self.owed.swap(0, Ordering::Relaxed), self.burst);
        let result = change(&mut state);
        let after = state.to_string();
        if before.as_deref() != Some(after.as_bytes()) {
            file.write_all_at(after.as_bytes(), 0).map_err(failed)?;
        }
        Ok(result)
    }

    /// The file, open and locked. Opened anew each time: the path is what the processes share.
    fn locked(&self, patience: &mut Duration) -> Result<Locked, BudgetFileError> {
        let failed = |error| BudgetFileError::Io(self.path.clone(), error);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        options.mode(0o600).custom_flags(WITHOUT_WAITING);
        let file = options.open(&self.path).map_err(|error| match error {
            link if link.raw_os_error() == Some(Errno::ELOOP as i32) => {
                BudgetFileError::NotAFile(self.path.clone())
            }
            error => failed(error),
        })?;
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() {
            return Err(BudgetFileError::NotAFile(self.path.clone()));
        }
        keep_from_readers(&file, &metadata);
        let mut file = file;
        loop {
            file = match lock(file) {
                Ok(locked) => return Ok(locked),
                Err((file, Errno::EAGAIN | Errno::EACCES | Errno::EINTR)) => file,
                Err((_, error)) => return Err(failed(error.into())),
            };
            if patience.is_zero() {
                return Err(BudgetFileError::Locked(self.path.clone()));
            }
            thread::sleep(BETWEEN_TRIES);
            *patience = patience.saturating_sub(BETWEEN_TRIES);
        }
    }

    /// Changes the state for the decision, which knows no errors: what cannot be paid for is not granted.
    fn change_or_deny<R: Default>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        let mut patience = self.patience.lock().unwrap_or_else(PoisonError::into_inner);
        self.change(&mut patience, change).unwrap_or_else(|error| {
            *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            R::default()
        })
    }
}

/// Time is the machine's, not the caller's: all processes must agree on it.
impl RetryBudget for BudgetFile {
    fn reads_clock(&self) -> bool {
        false
    }

    /// The first try waits for nobody: what it earns may be put there later.
    fn first_try(&self, _: Instant) {
        if self.earner != Earner::FirstTries {
            return;
        }
        let mut no_time = Duration::ZERO;
        let earned = self.change(&mut no_time, |state| {
            state.add(self.deposit, self.burst);
        });
        if let Err(BudgetFileError::Locked(_)) = earned {
            self.owed.fetch_add(self.deposit, Ordering::Relaxed);
        } else if let Err(error) = earned {
            *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        }
    }

    fn deposit(&self, _: Instant) {
        if self.earner == Earner::Successes {
            self.change_or_deny(|state| state.add(self.deposit, self.burst));
        }
    }

    fn withdraw(&self, _: Instant, _: &Failure) -> Option<Withdrawal> {
        self.change_or_deny(|state| {
            state.micros = state.micros.checked_sub(TOKEN)?;
            Some(Withdrawal::of_micros(TOKEN))
        })
    }

    fn refund(&self, withdrawal: Withdrawal) {
        self.change_or_deny(|state| state.add(withdrawal.micros(), self.burst));
    }

    fn fill(&self, _: Instant) -> f64 {
        #[expect(clippy::cast_precision_loss)] // at most 10^12 each, exact in an f64
        self.change_or_deny(|state| state.micros as f64 / self.burst as f64)
    }
}

/// A user who may read the file and not write it could lock it all the same, and stop all retries.
fn keep_from_readers(file: &File, metadata: &Metadata) {
    let mode = metadata.mode() & 0o777;
    let only_reads = [(0o040, 0o020), (0o004, 0o002)]
        .into_iter()
        .filter(|(reads, writes)| mode & reads != 0 && mode & writes == 0);
    let taken = only_reads.fold(0, |taken, (reads, _)| taken | reads);
    if taken != 0 && metadata.uid() == geteuid().as_raw() {
        let _ = file.set_permissions(Permissions::from_mode(mode & !taken));
    }
}

/// The lock of fcntl(2): flock(2) is also granted to who may only read.
#[cfg(target_os = "linux")]
type Locked = File;

#[cfg(target_os = "linux")]
fn lock(file: File) -> Result<Locked, (File, Errno)> {
    use nix::libc;
    #[expect(clippy::cast_possible_truncation, reason = "small constants")]
    let whole = libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    match fcntl(&file, FcntlArg::F_OFD_SETLK(&whole)) {
        Ok(_) => Ok(file),
        Err(error) => Err((file, error)),
    }
}

/// Elsewhere a process has one lock of fcntl(2) for all its descriptors.
#[cfg(not(target_os = "linux"))]
type Locked = nix::fcntl::Flock<File>;

#[cfg(not(target_os = "linux"))]
fn lock(file: File) -> Result<Locked, (File, Errno)> {
    nix::fcntl::Flock::lock(file, nix::fcntl::FlockArg::LockExclusiveNonblock)
}

/// The whole file, but no more than tells it from a budget; `None` if it is empty.
fn read(file: &File) -> io::Result<Option<Vec<u8>>> {
    let mut buffer = vec![0; 256];
    let mut length = 0;
    loop {
        match file.read_at(&mut buffer[length..], length as u64) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    buffer.truncate(length);
    Ok((length > 0).then_some(buffer))
}

/// Nanoseconds of the clock that all processes of the machine share.
fn clock() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC)
        .map(Duration::from)
        .unwrap_or_default();
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The policy has been validated: at most a million tokens, and not below 0.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn micros(tokens: f64) -> u64 {
    (tokens * 1e6).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(ratio: f64, burst: f64) -> Ratio {
        let mut parameters = Ratio::default();
        parameters.ratio = ratio;
        parameters.burst = burst.into();
        parameters.floor_per_second = 0.0;
        parameters
    }

    fn withdrawals(budget: &BudgetFile) -> usize {
        let mut count = 0;
        while budget
            .withdraw(Instant::ZERO, &Failure::transient())
            .is_some()
        {
            count += 1;
        }
        count
    }

    #[test]
    fn two_handles_share_one_burst_and_each_deposit_adds_its_share() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("budget");
        let one = BudgetFile::of(&path, &parameters(0.5, 3.0), Earner::Successes);
        let other = BudgetFile::of(&path, &parameters(0.5, 3.0), Earner::Successes);
        assert!((one.fill(Instant::ZERO) - 1.0).abs() < f64::EPSILON);
        let token = one.withdraw(Instant::ZERO, &Failure::transient()).unwrap();
        assert_eq!(withdrawals(&other), 2);
        assert_eq!(withdrawals(&one), 0);
        one.refund(token);
        assert_eq!(withdrawals(&other), 1);
        for _ in 0..4 {
            other.deposit(Instant::ZERO);
        }
        assert_eq!(withdrawals(&one), 2);
        for _ in 0..100 {
            one.deposit(Instant::ZERO);
        }
        assert_eq!(withdrawals(&other), 3);
        assert!(one.take_fault().is_none());
    }

    #[test]
    fn handles_that_withdraw_at_once_are_never_granted_more_than_there_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("budget");
        let granted: usize = thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| {
                    let budget =
                        BudgetFile::of(&path, &parameters(0.5, 2_000.0), Earner::Successes);
                    scope.spawn(move || withdrawals(&budget))
                })
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .sum()
        });
        assert_eq!(granted, 2_000);
    }

    #[test]
    fn a_foreign_file_is_refused_and_left_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes.txt");
        std::fs::write(&path, "buy milk\n").unwrap();
        let fault = |path: &Path| {
            let budget = BudgetFile::of(path, &Ratio::default(), Earner::Successes);
            assert_eq!(withdrawals(&budget), 0);
            budget.take_fault().unwrap()
        };
        let error = fault(&path);
        assert!(
            error.to_string().contains("not a budget file of becalm"),
            "{error}"
        );
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "buy milk\n");
        let error = fault(folder.path());
        assert!(
            error.to_string().contains("cannot use the budget file"),
            "{error}"
        );
        let error = fault(Path::new("/dev/null"));
        assert!(error.to_string().contains("not a regular file"), "{error}");
    }

    #[test]
    fn a_file_that_is_damaged_later_denies_and_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("budget");
        let budget = BudgetFile::of(&path, &Ratio::default(), Earner::Successes);
        std::fs::write(&path, "buy milk\n").unwrap();
        assert_eq!(withdrawals(&budget), 0);
        assert!(matches!(
            budget.take_fault(),
            Some(BudgetFileError::Foreign(_))
        ));
    }
}
