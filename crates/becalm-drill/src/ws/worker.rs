//! What does a handshake cost? The time of a worker that does one at a time, as a login that asks a database does.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// Does one handshake after the other, in the order in which they come.
#[derive(Debug)]
pub struct Worker {
    cost: Duration,
    free: Mutex<Instant>,
}

impl Worker {
    pub fn new(cost: Duration) -> Self {
        Self {
            cost,
            free: Mutex::new(Instant::now()),
        }
    }

    /// Waits for its turn and for the work. It begins when the one before was due, not when a timer told so: a timer
    /// that is late by a tick each time would cost capacity. Work that has begun to wait is done, even for those who have left.
    pub async fn work(&self) {
        if self.cost.is_zero() {
            return;
        }
        let due = {
            let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
            *free = (*free).max(Instant::now()) + self.cost;
            *free
        };
        sleep_until(due).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_handshake_follows_the_other() {
        let worker = Worker::new(Duration::from_millis(2));
        let began = Instant::now();
        tokio::join!(worker.work(), worker.work(), worker.work());
        assert_eq!(began.elapsed(), Duration::from_millis(6));
        tokio::time::sleep(Duration::from_secs(1)).await;
        let began = Instant::now();
        worker.work().await;
        assert_eq!(began.elapsed(), Duration::from_millis(2));
    }
}
