//! Is a delay exact in a paused test even if becalm's clock is first looked at after tokio's was
//! paused? In a process of its own, since a clock is first looked at once.

#![cfg(feature = "tokio")]

use std::time::Duration;

use becalm::{Failure, Jitter, Policy};

#[tokio::test(start_paused = true)]
async fn the_first_call_of_a_process_waits_no_longer_than_its_delay() {
    let delay = Duration::from_millis(100);
    let retrier = Policy::fixed(delay)
        .jitter(Jitter::None)
        .retrier()
        .expect("a valid policy");
    let began = tokio::time::Instant::now();
    let call = retrier.retry(|attempt| async move {
        if attempt.number() == 1 {
            Err((Failure::transient(), "not yet"))
        } else {
            Ok(attempt.number())
        }
    });
    assert_eq!(call.await.ok(), Some(2));
    assert_eq!(began.elapsed(), delay);
}
