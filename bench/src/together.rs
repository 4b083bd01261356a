//! How many operations per second do two threads reach together on one shared thing?

use std::hint::{self, black_box};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::measure::{Case, Effort, Group, median};

/// The name of that row.
pub const ATOMIC_ADD: &str = "a shared atomic add";

/// Operations of one thread where only their running is wanted.
const FEW: u64 = 1000;

/// A row in millions of operations per second: `prepare` makes the workers of a batch, one for each
/// thread, and a worker is called with the number of each of its operations.
pub fn together<W: FnMut(u64) + Send>(
    group: Group,
    name: impl Into<String>,
    note: &'static str,
    prepare: impl Fn() -> [W; 2] + 'static,
) -> Case {
    let mut operations = 0;
    Case::new(group, name, note, move |effort: Effort| {
        if operations == 0 {
            operations = operations_within(effort, &prepare);
        }
        // Not the fastest: threads that missed each other would look like ones that share well.
        median((0..effort.batches).map(|_| {
            let span = two_threads(operations, prepare());
            #[expect(clippy::cast_precision_loss)] // millions
            let all = (2 * operations) as f64;
            all / span.as_secs_f64() / 1e6
        }))
    })
}

/// What the others are compared with: the least that two threads can do to one word.
pub fn atomic_add(group: Group) -> Case {
    together(group, ATOMIC_ADD, "", || {
        let counter = Arc::new(AtomicU64::new(0));
        [Arc::clone(&counter), counter].map(|counter| {
            move |_| {
                counter.fetch_add(1, Ordering::Relaxed);
            }
        })
    })
}

/// How many operations of each thread fill a batch.
fn operations_within<W: FnMut(u64) + Send>(effort: Effort, prepare: impl Fn() -> [W; 2]) -> u64 {
    let mut operations = FEW;
    while effort.means_something() && two_threads(operations, prepare()) < effort.batch {
        operations *= 2;
    }
    operations
}

/// From the first start to the last end.
fn two_threads<W: FnMut(u64) + Send>(operations: u64, workers: [W; 2]) -> Duration {
    // They meet running: one that is woken where the other runs would wait for it to end, and share nothing.
    let met = AtomicUsize::new(0);
    let run = |mut worker: W| {
        met.fetch_add(1, Ordering::SeqCst);
        while met.load(Ordering::SeqCst) < 2 {
            hint::spin_loop();
        }
        let start = Instant::now();
        for operation in 0..operations {
            black_box(&mut worker)(operation);
        }
        (start, Instant::now())
    };
    let [first, second] = thread::scope(|scope| {
        let both = workers.map(|worker| scope.spawn(|| run(worker)));
        both.map(|one| one.join().expect("operations do not panic"))
    });
    first.1.max(second.1) - first.0.min(second.0)
}
