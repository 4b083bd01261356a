//! Does a blocking call inside a runtime end, when a guard makes it wait on the thread that would
//! turn the runtime's timer?

use std::future::pending;
use std::time::{Duration, Instant};

use becalm::{Bulkhead, StopReason};
use tokio::runtime::Builder;

use crate::probe::{ByHand, Fault, MS, fixed};

/// Long enough for any machine, short enough to end a hanging test.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn c16_a_blocking_call_in_a_runtime_keeps_max_wait_and_deadline() {
    for (bulkhead, deadline, reason) in [
        (
            Bulkhead::calls(1).waiting(1).max_wait(20 * MS),
            600_000 * MS,
            StopReason::BulkheadFull,
        ),
        (
            Bulkhead::calls(1).waiting(1),
            20 * MS,
            StopReason::DeadlineExceeded,
        ),
    ] {
        let began = Instant::now();
        let thread = std::thread::spawn(move || {
            let shop = fixed(MS).bulkhead(bulkhead).retrier().unwrap();
            let mut busy = ByHand::new(shop.retry(|_| pending::<Result<(), Fault>>()));
            assert!(busy.run().is_pending());
            let runtime = Builder::new_current_thread().enable_time().build();
            runtime.unwrap().block_on(async {
                let call = shop.blocking(|_| Ok::<_, Fault>(())).deadline(deadline);
                call.call().unwrap_err().reason()
            })
        });
        while !thread.is_finished() {
            assert!(began.elapsed() < PATIENCE, "it hangs");
            std::thread::yield_now();
        }
        assert_eq!(thread.join().unwrap(), reason);
        assert!(began.elapsed() >= 20 * MS);
    }
}
