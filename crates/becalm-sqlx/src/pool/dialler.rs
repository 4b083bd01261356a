//! When is the next connection of a pool dialled, and by whom? By one of those who wait, at a time. What has begun goes on when they leave.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use becalm::Failure;
use becalm::call::Decision;
use becalm::login::{Login, Renewed};
use becalm::policy::InvalidPolicy;
use becalm::reconnect::{NoConnection, Pacer, Reconnect};
use becalm::rng::{Seed, SplitMix64};
use becalm::support::{Lone, Position};
use becalm::time::Instant as Moment;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use super::dial::Dial;

/// How long a dial may take where no policy says: a server that is stopped accepts, and answers nothing.
const LONGEST_DIAL: Duration = Duration::from_secs(10);

/// How long after its time a dial has to end. Later its runtime is not driven any more.
const GRACE: Duration = Duration::from_secs(1);

/// For dials that may take for ever.
const FAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// How long a connection that nobody has waited for may take to show that it is alive.
const CHECK: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Dialler<D: Dial> {
    settings: Settings<D>,
    delays: Lone,
    /// Who holds it dials. It is fair: first come, first served.
    turn: Mutex<Turn<D>>,
    pub pacer: Pacer,
    pub patience: Duration,
    left: Left<D>,
}

/// What the dials of a caller have failed with who has left since.
struct Left<D: Dial>(std::sync::Mutex<Option<Arc<D::Error>>>);

impl<D: Dial> Left<D> {
    fn set(&self, error: Option<Arc<D::Error>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = error;
    }
}

/// What the dials of a caller have failed with, who may leave.
struct Last<'d, D: Dial> {
    left: &'d Left<D>,
    error: Option<Arc<D::Error>>,
}

impl<D: Dial> Drop for Last<'_, D> {
    fn drop(&mut self) {
        if let Some(error) = self.error.take() {
            self.left.set(Some(error));
        }
    }
}

/// What is dialled.
enum Settings<D> {
    /// Always this.
    Fixed(Arc<D>),
    /// What a provider names, which is asked before each dial.
    Asked(Login<Arc<D>>, Arc<Provider<D>>),
}

type Provided<D> = Pin<Box<dyn Future<Output = Result<Arc<D>, BoxError>> + Send>>;
type Provider<D> = dyn Fn(bool) -> Provided<D> + Send + Sync;
pub(super) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Where the pool stands between two dials. It outlives the caller who dialled, so that a caller who leaves takes neither the wait nor the dial with it.
#[derive(Debug)]
struct Turn<D: Dial> {
    position: Position,
    not_before: Option<Instant>,
    random: SplitMix64,
    running: Option<Running<D>>,
}

/// A dial that runs.
struct Running<D: Dial> {
    task: JoinHandle<Dialled<D>>,
    /// When it has ended.
    by: Instant,
}

type Dialled<D> = Result<<D as Dial>::Connection, (Failure, Option<<D as Dial>::Error>)>;

impl<D: Dial> Dialler<D> {
    pub fn new(dial: D) -> Self {
        Self::of(Settings::Fixed(Arc::new(dial)))
    }

    pub fn asking<F, E>(provider: impl Fn(bool) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<D, E>> + Send + 'static,
        E: Into<BoxError>,
    {
        let provider = move |renew| -> Provided<D> {
            let settings = provider(renew);
            Box::pin(async { settings.await.map(Arc::new).map_err(Into::into) })
        };
        Self::of(Settings::Asked(Login::new(), Arc::new(provider)))
    }

    fn of(settings: Settings<D>) -> Self {
        let delays = Lone::new(Reconnect::for_commands().policy, Duration::ZERO);
        Self {
            settings,
            delays: delays.unwrap_or_else(|_| unreachable!("a valid policy")),
            turn: Mutex::new(Turn {
                position: Position::FIRST_TRY,
                not_before: None,
                random: Seed::entropy().stream(),
                running: None,
            }),
            // At most 10 in any second.
            pacer: Pacer::new(8, Duration::from_secs(1), 2).unwrap_or_else(|_| unreachable!()),
            patience: Duration::from_secs(30),
            left: Left(std::sync::Mutex::default()),
        }
    }

    /// What the dials of a caller have failed with who has left before the server was back.
    pub fn left(&self) -> Option<Arc<D::Error>> {
        let left = self.left.0.lock();
        left.unwrap_or_else(PoisonError::into_inner).take()
    }

    pub fn leaves(&self, error: D::Error) {
        self.left.set(Some(Arc::new(error)));
    }

    pub fn set_reconnect(&mut self, reconnect: Reconnect) -> Result<(), InvalidPolicy> {
        self.delays = Lone::new(reconnect.policy, Duration::ZERO)?;
        Ok(())
    }

    pub fn set_login_timeout(&self, limit: Duration) {
        if let Settings::Asked(login, _) = &self.settings {
            login.set_time_limit(limit);
        }
    }

    /// The next connection, for which others may be dialled first. Its dials are repeated while that may help, until the
    /// patience ends.
    pub async fn connection(&self) -> Result<D::Connection, NoConnection<D::Error>> {
        let mut last = Last {
            left: &self.left,
            error: None,
        };
        let dialled = timeout(self.patience, self.dial_in_turn(&mut last.error)).await;
        dialled.unwrap_or_else(|_| {
            let last = last.error.take();
            Err(NoConnection::TooLate(
                last.or_else(|| self.no_login()),
                None,
            ))
        })
    }

    /// Why nothing is dialled, where that is for want of a login.
    fn no_login(&self) -> Option<Arc<D::Error>> {
        match &self.settings {
            Settings::Fixed(_) => None,
            Settings::Asked(login, _) => D::no_login(login.error()?).map(Arc::new),
        }
    }

    async fn dial_in_turn(
        &self,
        last: &mut Option<Arc<D::Error>>,
    ) -> Result<D::Connection, NoConnection<D::Error>> {
        let mut turn = self.turn.lock().await;
        loop {
            let failure = match self.dial(&mut turn).await {
                Ok(connection) => {
                    turn.position = Position::FIRST_TRY;
                    turn.not_before = None;
                    self.left.set(None);
                    *last = None;
                    return Ok(connection);
                }
                Err((failure, error)) => {
                    *last = error.map(Arc::new); // none where it was not answered
                    failure
                }
            };
            match self.decide(&mut turn, failure) {
                Decision::Stop(reason) => return Err(NoConnection::GaveUp(reason, last.take())),
                Decision::RetryIn(delay) => turn.not_before = Some(Instant::now() + delay),
                _ => (), // said of calls alone
            }
        }
    }

    /// One dial, or what is left of it where the one who began it has left.
    async fn dial(&self, turn: &mut Turn<D>) -> Dialled<D> {
        let was_left = turn
            .running
            .as_ref()
            .is_some_and(|it| it.task.is_finished());
        let running = match &mut turn.running {
            Some(running) => running,
            none => {
                if let Some(at) = turn.not_before {
                    sleep_until(at).await;
                }
                none.insert(self.begin().await?)
            }
        };
        let ended = timeout_at(running.by, &mut running.task).await;
        turn.running.take().iter().for_each(|it| it.task.abort());
        let nothing = || Err((Failure::transient().unsent(), None));
        let dialled = ended.ok().and_then(Result::ok).unwrap_or_else(nothing);
        match dialled {
            // It may have lain there for long.
            Ok(mut connection) if was_left => {
                let check = timeout(CHECK, D::is_alive(&mut connection)).await;
                if matches!(check, Ok(Ok(()))) {
                    Ok(connection)
                } else {
                    nothing()
                }
            }
            Err(_) if was_left => nothing(),
            dialled => dialled,
        }
    }

    /// Begins a dial as a task of its own, after its login and at its turn.
    async fn begin(&self) -> Result<Running<D>, (Failure, Option<D::Error>)> {
        let mut login = match &self.settings {
            Settings::Fixed(_) => None,
            Settings::Asked(login, provider) => {
                let provider = Arc::clone(provider);
                let renewed = login.renewed(move |renew| provider(renew)).await;
                let none = |none| (Failure::transient().unsent(), D::no_login(none));
                Some(renewed.map_err(none)?)
            }
        };
        let permit = self.pacer.pass().await;
        let dial = match (&self.settings, &mut login) {
            (Settings::Fixed(dial), _) => Arc::clone(dial),
            (Settings::Asked(..), None) => unreachable!("it was asked"),
            (Settings::Asked(..), Some(login)) => {
                login.refresh();
                Arc::clone(login.value())
            }
        };
        let longest = self.delays.policy().attempt_timeout.unwrap_or(LONGEST_DIAL);
        let task = tokio::spawn(async move {
            let dialled = timeout(longest, dial.dial()).await;
            drop(permit);
            judged::<D>(dialled.ok(), login)
        });
        let by = Instant::now() + longest.saturating_add(GRACE).min(FAR);
        Ok(Running { task, by })
    }
    fn decide(&self, turn: &mut Turn<D>, failure: Failure) -> Decision {
        let Turn {
            position, random, ..
        } = turn;
        // Without a deadline the time plays no part.
        let (now, never) = (Moment::ZERO, Moment::NEVER);
        self.delays
            .on_failure(position, now, never, &failure, random)
    }
}

/// What a dial has come to; nothing where it was not answered in time. A login that was refused is worth another dial where it may
/// be renewed.
fn judged<D: Dial>(
    dialled: Option<Result<D::Connection, D::Error>>,
    login: Option<Renewed<Arc<D>>>,
) -> Dialled<D> {
    match dialled {
        None => Err((Failure::transient().unsent(), None)),
        Some(Ok(connection)) => {
            if let Some(login) = login {
                login.accepted();
            }
            Ok(connection)
        }
        Some(Err(error)) => {
            let mut failure = D::classify(&error);
            if D::refuses_login(&error) && login.is_some_and(Renewed::refused) {
                failure = Failure::transient().unsent();
            }
            Err((failure, Some(error)))
        }
    }
}

impl<D: Dial> fmt::Debug for Left<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Left").finish_non_exhaustive()
    }
}

impl<D: Dial> fmt::Debug for Running<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").finish_non_exhaustive()
    }
}

impl<D> fmt::Debug for Settings<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fixed(_) => "Fixed",
            Self::Asked(..) => "Asked",
        })
    }
}
