//! When is the next connection of a pool dialled, and by whom? By one of those who wait, at a time.

use std::time::Duration;

use becalm::call::Decision;
use becalm::lone::{Lone, Position};
use becalm::policy::InvalidPolicy;
use becalm::reconnect::{Pacer, Reconnect};
use becalm::rng::{Seed, SplitMix64};
use becalm::time::Instant as Moment;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until, timeout};

use super::dial::Dial;

#[derive(Debug)]
pub(super) struct Dialler<D> {
    dial: D,
    delays: Lone,
    /// Who holds it dials. It is fair: first come, first served.
    turn: Mutex<Turn>,
    pub pacer: Pacer,
    pub patience: Duration,
}

/// Where the pool stands between two dials. It outlives whoever dialled, so that a caller who leaves takes no wait with it.
#[derive(Debug)]
struct Turn {
    position: Position,
    not_before: Option<Instant>,
    random: SplitMix64,
}

impl<D: Dial> Dialler<D> {
    pub fn new(dial: D) -> Result<Self, InvalidPolicy> {
        Ok(Self {
            dial,
            delays: Lone::new(Reconnect::for_commands().policy, Duration::ZERO)?,
            turn: Mutex::new(Turn {
                position: Position::FIRST_TRY,
                not_before: None,
                random: Seed::entropy().stream(),
            }),
            // At most 10 in any second.
            pacer: Pacer::new(8, Duration::from_secs(1), 2).unwrap_or_else(|_| unreachable!()),
            patience: Duration::from_secs(30),
        })
    }

    pub fn set_reconnect(&mut self, reconnect: Reconnect) -> Result<(), InvalidPolicy> {
        self.delays = Lone::new(reconnect.policy, Duration::ZERO)?;
        Ok(())
    }

    /// The next connection, for which others may be dialled first. Its dials are repeated while that may help, until the
    /// patience ends; then the last error is returned.
    pub async fn connection(&self) -> Result<D::Connection, D::Error> {
        let mut last = None;
        let dialled = timeout(self.patience, self.dial_in_turn(&mut last)).await;
        dialled.unwrap_or_else(|_| Err(last.unwrap_or_else(D::timed_out)))
    }

    async fn dial_in_turn(&self, last: &mut Option<D::Error>) -> Result<D::Connection, D::Error> {
        let mut turn = self.turn.lock().await;
        loop {
            if let Some(at) = turn.not_before {
                sleep_until(at).await;
            }
            let permit = self.pacer.pass().await;
            let dialled = self.dial.dial().await;
            drop(permit);
            let error = match dialled {
                Ok(connection) => {
                    turn.position = Position::FIRST_TRY;
                    turn.not_before = None;
                    return Ok(connection);
                }
                Err(error) => error,
            };
            match self.decide(&mut turn, &error) {
                Decision::RetryIn(delay) => turn.not_before = Some(Instant::now() + delay),
                _ => return Err(error),
            }
            *last = Some(error);
        }
    }

    fn decide(&self, turn: &mut Turn, error: &D::Error) -> Decision {
        let Turn {
            position, random, ..
        } = turn;
        let failure = D::classify(error);
        // Without a deadline the time plays no part.
        let (now, never) = (Moment::ZERO, Moment::NEVER);
        self.delays
            .on_failure(position, now, never, &failure, random)
    }
}
