//! How do many independent runs use all cores, and give the same result on any number of them?

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError, mpsc};
use std::thread;

/// Runs every job and returns what they gave in the order of the jobs, whichever thread ran them.
///
/// A job must draw its chance from a seed of its own ([`Stream::of`](super::Stream::of)), not from
/// what ran before it: then nothing depends on the number of threads.
///
/// # Panics
///
/// Where a job does, with the job's own message, after the running jobs have ended.
pub fn each_in_order<J: Sync, T: Send>(
    jobs: &[J],
    threads: usize,
    run: impl Fn(&J) -> T + Sync,
) -> Vec<T> {
    each_in_order_telling(jobs, threads, run, |_| ())
}

/// Runs jobs on several threads, and tells the calling thread how many are done each time that one
/// more is: 1, 2 and so on.
///
/// The calling thread only listens, unless one thread is asked for or there is one job. 0 threads
/// are read as 1.
///
/// # Panics
///
/// As [`each_in_order`].
pub fn each_in_order_telling<J: Sync, T: Send>(
    jobs: &[J],
    threads: usize,
    run: impl Fn(&J) -> T + Sync,
    mut done: impl FnMut(usize),
) -> Vec<T> {
    let threads = threads.min(jobs.len());
    if threads <= 1 {
        return (1..)
            .zip(jobs)
            .map(|(count, job)| {
                let result = run(job);
                done(count);
                result
            })
            .collect();
    }
    let next = AtomicUsize::new(0);
    let mut results: Vec<Option<T>> = jobs.iter().map(|_| None).collect();
    thread::scope(|scope| {
        let (tell, told) = mpsc::channel();
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                let (tell, next, run) = (tell.clone(), &next, &run);
                scope.spawn(move || {
                    let _last = LastIfPanicking(next, jobs.len());
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(job) = jobs.get(at) else { break };
                        // Nobody listens any more only while a panic passes through.
                        if tell.send((at, run(job))).is_err() {
                            break;
                        }
                    }
                })
            })
            .collect();
        drop(tell);
        for (count, (at, result)) in (1..).zip(told) {
            if let Some(place) = results.get_mut(at) {
                *place = Some(result);
            }
            done(count);
        }
        for worker in workers {
            if let Err(panic) = worker.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
    results.into_iter().flatten().collect()
}

/// Limits how many jobs run at once, in all parts of a program together: a counting semaphore (E. W. Dijkstra, *Cooperating sequential processes*,
/// EWD 123, 1965).
#[derive(Debug)]
pub struct Permits {
    left: Mutex<usize>,
    given_back: Condvar,
}

impl Permits {
    /// As many as that; 0 are read as 1.
    pub const fn of(count: usize) -> Self {
        Self {
            left: Mutex::new(if count == 0 { 1 } else { count }),
            given_back: Condvar::new(),
        }
    }

    /// Waits for a permit, which is given back when it is dropped.
    pub fn take(&self) -> Permit<'_> {
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let left = self.given_back.wait_while(left, |left| *left == 0);
        *left.unwrap_or_else(PoisonError::into_inner) -= 1;
        Permit(self)
    }
}

/// Leave to run, until it is dropped.
#[must_use]
#[derive(Debug)]
pub struct Permit<'p>(&'p Permits);

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let left = self.0.left.lock();
        *left.unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.given_back.notify_one();
    }
}

/// How many threads this machine runs at once; 1 where it does not tell.
pub fn threads() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// Dropped by a panic, it leaves no further job to the others.
struct LastIfPanicking<'n>(&'n AtomicUsize, usize);

impl Drop for LastIfPanicking<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.fetch_max(self.1, Ordering::Relaxed);
        }
    }
}
