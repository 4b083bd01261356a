//! Is what many threads give the same as what one gives?

use std::panic::catch_unwind;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

use becalm_sim::engine::parallel::threads;
use becalm_sim::engine::{Stream, each_in_order, each_in_order_telling};

#[test]
fn results_come_in_the_order_of_the_jobs_on_any_number_of_threads() {
    let jobs: Vec<u64> = (0..200).collect();
    // Jobs of very different length, so that they do not end in their order.
    let run = |job: &u64| {
        let mut random = Stream::of(9, *job);
        let draws = 1 + job * 7919 % 2000;
        (*job, (0..draws).map(|_| random.below(1000)).sum::<u64>())
    };
    let alone = each_in_order(&jobs, 1, run);
    assert_eq!(alone.len(), jobs.len());
    for threads in [0, 2, 3, 8, 1000] {
        assert_eq!(
            each_in_order(&jobs, threads, run),
            alone,
            "{threads} threads"
        );
    }
}

#[test]
fn as_many_jobs_run_at_once_as_there_are_threads() {
    // Each waits for the others: on fewer threads this would not end.
    let together = Barrier::new(4);
    let leaders = each_in_order(&[(); 4], 4, |()| together.wait().is_leader());
    assert_eq!(leaders.iter().filter(|leads| **leads).count(), 1);
}

#[test]
fn progress_counts_every_job_once() {
    for threads in [1, 4] {
        let mut told = Vec::new();
        each_in_order_telling(&[0; 50], threads, |_| (), |count| told.push(count));
        assert_eq!(told, (1..=50).collect::<Vec<_>>());
    }
}

#[test]
fn without_jobs_there_is_nothing_to_wait_for() {
    assert!(each_in_order(&[(); 0], threads(), |()| ()).is_empty());
}

#[test]
fn a_panic_passes_through_and_no_further_job_begins() {
    for threads in [1, 2] {
        let begun = AtomicUsize::new(0);
        let jobs: Vec<usize> = (0..100_000).collect();
        let caught = catch_unwind(|| {
            each_in_order(&jobs, threads, |job| {
                begun.fetch_add(1, Ordering::Relaxed);
                assert_ne!(*job, 0, "the first one");
                // The other thread is still at work when the first one is done for.
                std::thread::yield_now();
            })
        });
        let panic = caught.expect_err("the panic of a job is the caller's");
        let message = panic.downcast_ref::<String>().expect("a message");
        assert!(message.contains("the first one"), "{message}");
        assert!(begun.into_inner() < jobs.len());
    }
}
