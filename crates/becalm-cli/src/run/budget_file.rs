//! How do all processes of a machine share one retry budget?
//!
//! Through a file of one line. Each change is made under `flock(2)`, which the kernel lifts when
//! the process that holds it dies, and written by one `pwrite(2)` within one page, which a kill
//! does not divide. So a process that is killed leaves neither a lock nor half a state; killed
//! during its wait it loses the one token that it had withdrawn.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use becalm::budget::{Ratio, RetryBudget, Withdrawal};
use becalm::{Failure, time::Instant};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::time::{ClockId, clock_gettime};

/// One token in the file's unit: a millionth.
const TOKEN: u64 = 1_000_000;
/// How long others may hold the lock. They need microseconds, unless they are stopped.
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
                    "the budget file {} is not a regular file",
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

    /// Makes a change that no other process can come between.
    fn change<R>(&self, change: impl FnOnce(&mut State) -> R) -> Result<R, BudgetFileError> {
        let failed = |error| BudgetFileError::Io(self.path.clone(), error);
        let file = self.locked()?;
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
        state.elapse(clock(), self.floor_per_hour, self.burst);
        let result = change(&mut state);
        let after = state.to_string();
        if before.as_deref() != Some(after.as_bytes()) {
            file.write_all_at(after.as_bytes(), 0).map_err(failed)?;
        }
        Ok(result)
    }

    /// The file, open and locked. Opened anew each time: the path is what the processes share.
    fn locked(&self) -> Result<Flock<File>, BudgetFileError> {
        let failed = |error| BudgetFileError::Io(self.path.clone(), error);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(&self.path).map_err(failed)?;
        if !file.metadata().map_err(failed)?.is_file() {
            return Err(BudgetFileError::NotAFile(self.path.clone()));
        }
        let mut waited = Duration::ZERO;
        loop {
            file = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(locked) => return Ok(locked),
                Err((file, Errno::EWOULDBLOCK | Errno::EINTR)) => file,
                Err((_, error)) => return Err(failed(error.into())),
            };
            if waited >= PATIENCE {
                return Err(BudgetFileError::Locked(self.path.clone()));
            }
            thread::sleep(BETWEEN_TRIES);
            waited += BETWEEN_TRIES;
        }
    }

    fn earn(&self, earner: Earner) {
        if earner == self.earner {
            self.change_or_deny(|state| state.add(self.deposit, self.burst));
        }
    }

    /// Changes the state for the decision, which knows no errors: what cannot be paid for is not granted.
    fn change_or_deny<R: Default>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        self.change(change).unwrap_or_else(|error| {
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

    fn first_try(&self, _: Instant) {
        self.earn(Earner::FirstTries);
    }

    fn deposit(&self, _: Instant) {
        self.earn(Earner::Successes);
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

/// What the file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    /// Tokens, in millionths.
    micros: u64,
    /// Up to when the floor has been added: nanoseconds of the machine's monotonic clock.
    at: u64,
}

const TITLE: &str = "becalm-budget/1";

impl State {
    fn add(&mut self, micros: u64, burst: u64) {
        // A process with a smaller burst than the others' takes nothing away from them.
        self.micros = self
            .micros
            .max(burst.min(self.micros.saturating_add(micros)));
    }

    /// Adds what the time since the last change has brought.
    fn elapse(&mut self, now: u64, floor_per_hour: u64, burst: u64) {
        const HOUR: u128 = 3_600_000_000_000;
        if floor_per_hour == 0 {
            return;
        }
        // After a restart of the machine its clock is behind; what it then brings is less than
        // what was due.
        let elapsed = u128::from(now.saturating_sub(self.at));
        let rate = u128::from(floor_per_hour);
        let due = elapsed * rate / HOUR;
        let room = burst.saturating_sub(self.micros);
        match u64::try_from(due) {
            Ok(due) if due < room => {
                self.micros += due;
                // Less than a millionth stays due, so that frequent changes lose nothing.
                let used = u64::try_from((u128::from(due) * HOUR).div_ceil(rate));
                self.at = used.map_or(now, |used| now.min(self.at.saturating_add(used)));
            }
            _ => {
                self.micros += room;
                self.at = now;
            }
        }
    }

    fn parse(line: &[u8]) -> Option<Self> {
        let line = std::str::from_utf8(line).ok()?;
        let mut words = line.split_ascii_whitespace();
        let is_ours = words.next() == Some(TITLE);
        let micros = words.next()?.strip_prefix("micros=")?.parse().ok()?;
        let at = words.next()?.strip_prefix("at=")?.parse().ok()?;
        let state = Self { micros, at };
        // Written anew, it must be the same to the last byte, check included.
        (is_ours && state.to_string() == line).then_some(state)
    }
}

/// Always the same length, so that one write replaces all of it.
impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let body = format!("{TITLE} micros={:020} at={:020}", self.micros, self.at);
        writeln!(f, "{body} check={:08x}", check(body.as_bytes()))
    }
}

/// FNV-1a of 32 bits (Fowler, Noll, Vo; RFC 9923): tells a damaged line, not a forged one.
fn check(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
    })
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
        parameters.burst = burst;
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
    fn a_state_reads_back_and_nothing_else_does() {
        let state = State {
            micros: 9_900_000,
            at: 12_345,
        };
        let line = state.to_string();
        assert_eq!(State::parse(line.as_bytes()), Some(state));
        let last = State {
            micros: u64::MAX,
            at: u64::MAX,
        };
        assert_eq!(last.to_string().len(), line.len());
        for end in 0..line.len() {
            assert_eq!(State::parse(&line.as_bytes()[..end]), None, "cut at {end}");
        }
        for place in 0..line.len() {
            let mut damaged = line.clone().into_bytes();
            damaged[place] ^= 1;
            assert_eq!(State::parse(&damaged), None, "damaged at {place}");
        }
        assert_eq!(State::parse(b"[Unit]\nDescription=foreign\n"), None);
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

    #[test]
    fn the_floor_adds_by_the_time_up_to_the_burst_however_often_it_is_asked() {
        let second = 1_000_000_000;
        let start = State {
            micros: 0,
            at: 5 * second,
        };
        let mut seldom = start;
        seldom.elapse(7 * second, 3 * 3600, 1_000);
        assert_eq!(
            seldom,
            State {
                micros: 6,
                at: 7 * second
            }
        );
        let mut often = start;
        for now in (5 * second..=7 * second).step_by(1_000_003) {
            often.elapse(now, 3 * 3600, 1_000);
        }
        // Each of the six was counted late by less than a nanosecond.
        often.elapse(7 * second + 6, 3 * 3600, 1_000);
        assert_eq!(often.micros, 6);
        let mut full = start;
        full.elapse(u64::MAX, 10_000_000_000 * 3600, 1_000);
        assert_eq!(
            full,
            State {
                micros: 1_000,
                at: u64::MAX
            }
        );
        // After a restart the clock is behind: nothing is added, and it counts from there.
        let mut restarted = start;
        restarted.elapse(second, 3 * 3600, 1_000);
        assert_eq!(
            restarted,
            State {
                micros: 0,
                at: second
            }
        );
        restarted.elapse(2 * second, 3 * 3600, 1_000);
        assert_eq!(restarted.micros, 3);
    }
}
