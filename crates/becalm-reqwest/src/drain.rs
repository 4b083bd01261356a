//! What is done with an answer that is not handed on? It is read to its end if that is near, so that
//! its connection serves the next request; otherwise it is dropped.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use becalm::time::Sleeper;
use reqwest::Response;

/// At most as much is read: about what a new connection may send before its first acknowledgement
/// (RFC 6928: ten segments), so that to read on is not slower than to connect.
const LENGTH: u64 = 16 * 1024;

/// At most for so long: a server that is slow with the rest holds a connection during a wait.
const TIME: Duration = Duration::from_millis(100);

/// Ready where the answer is gone.
pub(super) async fn drained(mut answer: Response, sleeper: &dyn Sleeper) {
    let mut timer = sleeper.sleep_until(sleeper.now().after(TIME));
    let mut read = pin!(async {
        let mut left = LENGTH;
        while let Ok(Some(chunk)) = answer.chunk().await {
            match left.checked_sub(chunk.len() as u64) {
                Some(less) => left = less,
                None => break,
            }
        }
    });
    poll_fn(|context| match read.as_mut().poll(context) {
        Poll::Pending => timer.as_mut().poll(context),
        Poll::Ready(()) => Poll::Ready(()),
    })
    .await;
}
