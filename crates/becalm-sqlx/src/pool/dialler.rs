//! When is the next connection of a pool dialled, and by whom? By one of those who wait, at a time.

use std::sync::Arc;
use std::time::Duration;

use becalm::Failure;
use becalm::call::Decision;
use becalm::policy::InvalidPolicy;
use becalm::reconnect::{NoConnection, Pacer, Reconnect};
use becalm::rng::{Seed, SplitMix64};
use becalm::support::{Lone, Position};
use becalm::time::Instant as Moment;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until, timeout};

use super::dial::Dial;

/// How long a dial may take where no policy says: a server that is stopped accepts, and answers nothing.
const LONGEST_DIAL: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct Dialler<D> {
    dial: D,
    delays: Lone,
    /// Who holds it dials. It is fair: first come, first served.
    turn: Mutex<Turn>,
    pub pacer: Pacer,
    pub patience: Duration,
}

/// Where the pool stands between two dials. It outlives the caller who dialled, so that a caller who leaves takes no wait with it.
#[derive(Debug)]
struct Turn {
    position: Position,
    not_before: Option<Instant>,
    random: SplitMix64,
}

impl<D: Dial> Dialler<D> {
    pub fn new(dial: D) -> Self {
        let delays = Lone::new(Reconnect::for_commands().policy, Duration::ZERO);
        Self {
            dial,
            delays: delays.unwrap_or_else(|_| unreachable!("a valid policy")),
            turn: Mutex::new(Turn {
                position: Position::FIRST_TRY,
                not_before: None,
                random: Seed::entropy().stream(),
            }),
            // At most 10 in any second.
            pacer: Pacer::new(8, Duration::from_secs(1), 2).unwrap_or_else(|_| unreachable!()),
            patience: Duration::from_secs(30),
        }
    }

    pub fn set_reconnect(&mut self, reconnect: Reconnect) -> Result<(), InvalidPolicy> {
        self.delays = Lone::new(reconnect.policy, Duration::ZERO)?;
        Ok(())
    }

    /// The next connection, for which others may be dialled first. Its dials are repeated while that may help, until the
    /// patience ends.
    pub async fn connection(&self) -> Result<D::Connection, NoConnection<D::Error>> {
        let mut last = None;
        let dialled = timeout(self.patience, self.dial_in_turn(&mut last)).await;
        dialled.unwrap_or_else(|_| Err(NoConnection::TooLate(last, None)))
    }

    async fn dial_in_turn(
        &self,
        last: &mut Option<Arc<D::Error>>,
    ) -> Result<D::Connection, NoConnection<D::Error>> {
        let mut turn = self.turn.lock().await;
        let longest = self.delays.policy().attempt_timeout.unwrap_or(LONGEST_DIAL);
        loop {
            if let Some(at) = turn.not_before {
                sleep_until(at).await;
            }
            let permit = self.pacer.pass().await;
            let dialled = timeout(longest, self.dial.dial()).await;
            drop(permit);
            let mut failure = Failure::transient().unsent();
            match dialled {
                Ok(Ok(connection)) => {
                    turn.position = Position::FIRST_TRY;
                    turn.not_before = None;
                    return Ok(connection);
                }
                Ok(Err(error)) => {
                    failure = D::classify(&error);
                    *last = Some(Arc::new(error));
                }
                Err(_) => *last = None, // it was not answered
            }
            match self.decide(&mut turn, failure) {
                Decision::Stop(reason) => return Err(NoConnection::GaveUp(reason, last.take())),
                Decision::RetryIn(delay) => turn.not_before = Some(Instant::now() + delay),
                _ => (), // said of calls alone
            }
        }
    }

    fn decide(&self, turn: &mut Turn, failure: Failure) -> Decision {
        let Turn {
            position, random, ..
        } = turn;
        // Without a deadline the time plays no part.
        let (now, never) = (Moment::ZERO, Moment::NEVER);
        self.delays
            .on_failure(position, now, never, &failure, random)
    }
}
