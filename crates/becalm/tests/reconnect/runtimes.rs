//! Does a connection come back when the runtime on which its dial began has ended, or is not driven any more?

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use becalm::Failure;
use becalm::reconnect::{Pacer, Reconnect, SharedConnection};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

fn runtime() -> Runtime {
    let mut builder = Builder::new_current_thread();
    builder.enable_all().build().expect("a runtime")
}

/// Where the first runtime leaves it.
#[derive(Clone, Copy, Debug)]
enum Left {
    /// The first dial has failed, and the next waits.
    Pausing,
    /// The first dial hangs.
    Dialling,
    /// The second dial waits for the pacer.
    Paced,
}

#[test]
fn what_has_begun_on_a_runtime_that_is_gone_goes_on_with_another() {
    for left in [Left::Pausing, Left::Dialling, Left::Paced] {
        for is_dropped in [true, false] {
            let dials = Arc::new(AtomicUsize::new(0));
            let counts = Arc::clone(&dials);
            let dial = move || {
                let is_first = counts.fetch_add(1, Ordering::SeqCst) == 0;
                async move {
                    match left {
                        _ if !is_first => Ok(()),
                        Left::Dialling => std::future::pending().await,
                        _ => Err((
                            Failure::transient(),
                            io::Error::from(io::ErrorKind::ConnectionReset),
                        )),
                    }
                }
            };
            let base = match left {
                Left::Paced => Duration::from_millis(1),
                _ => Duration::from_millis(100),
            };
            let policy = becalm::Policy::fixed(base)
                .jitter(becalm::Jitter::None)
                .attempts(10);
            let policy = policy.attempt_timeout(Duration::from_millis(100));
            let shared = SharedConnection::builder(Reconnect::new(policy), dial);
            let pacer = Pacer::new(10, Duration::from_secs(1), 1).expect("a pace");
            let shared = shared.pacer(pacer).build().expect("a valid policy");
            let first = runtime();
            let get = shared.get(None);
            let asked = first.block_on(async { timeout(Duration::from_millis(50), get).await });
            assert!(asked.is_err(), "{left:?}");
            let kept = (!is_dropped).then_some(first);
            let get = shared.get(Some(Duration::from_secs(5)));
            let held = runtime().block_on(get);
            assert!(held.is_ok(), "{left:?}, dropped: {is_dropped}");
            assert_eq!(dials.load(Ordering::SeqCst), 2, "{left:?}");
            drop(kept);
        }
    }
}
