//! May a blocking call wait on a thread that belongs to a runtime? It holds it up, but ends: it waits
//! on the process's own clock.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use becalm::{Bulkhead, Policy, Retrier, StopReason, rate::AdaptiveRate};

use crate::probe::{Fault, MS, SECOND, fixed};

/// Long enough for any machine, short enough to end a hanging test.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs it on the only thread of a runtime; how long that took.
fn on_the_only_thread(run: impl FnOnce() + Send + 'static) -> Duration {
    let (done, ended) = channel();
    let thread = std::thread::spawn(move || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_time().build().unwrap();
        let began = Instant::now();
        runtime.block_on(async { run() });
        done.send(began.elapsed()).unwrap();
    });
    match ended.recv_timeout(PATIENCE) {
        Ok(took) => took,
        Err(RecvTimeoutError::Disconnected) => {
            std::panic::resume_unwind(thread.join().expect_err("it has panicked"))
        }
        Err(RecvTimeoutError::Timeout) => panic!("it waits for ever"),
    }
}

/// A call that finds the only place taken.
fn refused(policy: Policy, call: fn(&Retrier) -> StopReason, reason: StopReason) {
    let retrier = policy.retrier().unwrap();
    let took = on_the_only_thread(move || {
        let mut busy = retrier.call::<Fault>();
        assert!(busy.next_blocking().is_some());
        assert_eq!(call(&retrier), reason);
        busy.success(());
        let answer = retrier.retry_blocking(|_| Ok::<_, Fault>(17));
        assert_eq!(answer.unwrap(), 17, "the place is free");
    });
    assert!(took >= 20 * MS, "{took:?}");
}

/// C16: it parked the only thread that could turn the timer which it waited for.
#[test]
fn c16_a_blocking_wait_for_a_guard_ends_inside_a_runtime() {
    let calls: [fn(&Retrier) -> StopReason; 2] = [
        |retrier| {
            let refused = retrier.retry_blocking(|_| Ok::<_, Fault>(17));
            refused.unwrap_err().reason()
        },
        |retrier| {
            let mut call = retrier.call::<Fault>();
            assert!(call.next_blocking().is_none());
            call.gave_up().reason()
        },
    ];
    let queue = || Bulkhead::calls(1).waiting(1);
    for call in calls {
        let patient = fixed(MS).bulkhead(queue().max_wait(20 * MS));
        refused(patient, call, StopReason::BulkheadFull);
        let bounded = fixed(MS).bulkhead(queue()).deadline(20 * MS);
        refused(bounded, call, StopReason::DeadlineExceeded);
    }
}

/// C16: woken by another thread, with no time of its own to wait for.
#[test]
fn c16_a_place_that_is_left_on_another_thread_ends_a_blocking_wait() {
    let retrier = fixed(MS).bulkhead(Bulkhead::calls(1).waiting(1));
    let retrier = retrier.retrier().unwrap();
    on_the_only_thread(move || {
        let mut busy = retrier.owned_call::<Fault>();
        assert!(busy.next_blocking().is_some());
        let leaves = std::thread::spawn(move || {
            std::thread::sleep(10 * MS);
            drop(busy);
        });
        let answer = retrier.retry_blocking(|_| Ok::<_, Fault>(17));
        assert_eq!(answer.unwrap(), 17);
        leaves.join().unwrap();
    });
}

/// C16: the lowest rate is a token in two seconds; the first throttle may find a higher one.
#[test]
fn c16_a_blocking_wait_for_the_rate_ends_inside_a_runtime() {
    let policy = fixed(MS).rate(AdaptiveRate::cubic());
    let retrier = policy.retrier().unwrap();
    let took = on_the_only_thread(move || {
        let answer = retrier.retry_blocking(|attempt| match attempt.number() {
            1 => Err(Fault::BUSY),
            number => Ok(number),
        });
        assert_eq!(answer.unwrap(), 2);
    });
    assert!(took >= SECOND / 4, "it had to wait: {took:?}");
}
