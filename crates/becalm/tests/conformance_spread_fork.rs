//! Conformance, *Spread*, 2: does a forked child ever draw its parent's delays? One test in a program
//! of its own, so that no other thread runs when it forks.
#![cfg(all(unix, feature = "std"))]
#![allow(unsafe_code)] // fork(2) has no safe form; the library itself forbids unsafe code.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use becalm::time::FakeSleeper;
use becalm::{Budget, Policy, Retrier};

/// Runs `child` in a forked child and returns what it computed.
fn forked(child: impl FnOnce() -> Vec<u64>) -> Vec<u64> {
    let (mut ours, mut theirs) = UnixStream::pair().expect("a pair of sockets");
    // SAFETY: the only other thread is the test runner's, which waits for this one and holds no
    // lock; libc's own allocator is ready for use in the child.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "{}", std::io::Error::last_os_error());
    if pid == 0 {
        let written = catch_unwind(AssertUnwindSafe(|| {
            for number in child() {
                theirs
                    .write_all(&number.to_le_bytes())
                    .expect("the parent listens");
            }
        }));
        // SAFETY: ends the child at once; neither the runner's output nor its exit is repeated.
        unsafe { libc::_exit(i32::from(written.is_err())) }
    }
    drop(theirs);
    let mut bytes = Vec::new();
    ours.read_to_end(&mut bytes).expect("the child writes");
    let mut status = 0;
    // SAFETY: waits for the child made above, whose status goes to a local of the right type.
    let waited = unsafe { libc::waitpid(pid, &raw mut status, 0) };
    assert_eq!((waited, status), (pid, 0), "the child ended well");
    let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("whole numbers"));
    bytes.chunks(8).map(number).collect()
}

/// The delays of one failing call, out of an hour of nanoseconds.
fn delays(retrier: &Retrier, clock: &FakeSleeper) -> Vec<u64> {
    let before = clock.slept().len();
    let busy = || std::io::Error::from(std::io::ErrorKind::TimedOut);
    let gave_up = retrier.retry_blocking(|_| Err::<(), _>(busy()));
    assert_eq!(gave_up.expect_err("it always fails").attempts(), 4);
    let slept = clock.slept().split_off(before);
    let nanos = |delay: Duration| u64::try_from(delay.as_nanos()).expect("an hour");
    slept.into_iter().map(nanos).collect()
}

#[test]
fn conformance_02_a_forked_child_never_has_its_parents_next_delays() {
    let hour = Duration::from_secs(3600);
    let clock = FakeSleeper::auto();
    let policy = Policy::fixed(hour).cap(hour).budget(Budget::None);
    let retrier = policy.builder().sleeper(clock.clone()).build();
    let retrier = retrier.expect("a valid policy");
    // Forked from a retrier that has not drawn yet, and from one that has.
    let mut all = Vec::new();
    for _ in 0..2 {
        all.extend(forked(|| delays(&retrier, &clock)));
        all.extend(forked(|| delays(&retrier, &clock)));
        all.extend(delays(&retrier, &clock));
    }
    assert_eq!(all.len(), 18);
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 18, "two of them share a stream");
}
