//! What does a dial have of a login? A value that is renewed at each, and that few try before a server has accepted it.

use core::fmt;
use core::task::Poll;
use core::time::Duration;
use std::error::Error;
use std::future::{pending, poll_fn};

use tokio::time::Instant;

use crate::time::within;

use super::state::Wait;
use super::{Latest, Login, NoLogin};

/// The most dials at once with what no server has accepted yet, and how long the others wait for its word.
const PROVING: usize = 10;
const PROOF: Duration = Duration::from_secs(10);

/// What one dial has of a login, from [`Login::renewed`].
///
/// Until a server has accepted it, ten dials at once use it and the others wait for what becomes of those.
#[must_use = "it is for a dial"]
pub struct Renewed<V> {
    login: Login<V>,
    latest: Latest<V>,
    value: V,
    is_proving: bool,
}

/// What one that wants a value for a dial does next.
enum Step<V> {
    Log(Wait),
    Sleep(Instant),
    /// Until the server has judged what is there.
    Prove,
    End(Result<Renewed<V>, NoLogin>),
}

impl<V: Clone + Send + 'static> Login<V> {
    /// Logs in for a dial, since what there is may have ended meanwhile: shares the login that runs, or begins one. Where none
    /// may begin, what there is does. `fetch` is told whether the server has refused that. Dropped, it stops no login.
    ///
    /// # Errors
    ///
    /// The login has brought nothing.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub async fn renewed<F, E>(
        &self,
        fetch: impl Fn(bool) -> F + Clone + Send + 'static,
    ) -> Result<Renewed<V>, NoLogin>
    where
        F: Future<Output = Result<V, E>> + Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>> + 'static,
    {
        let (mut has_asked, mut has_proof_by) = (false, None);
        loop {
            let now = Instant::now();
            let waits = has_proof_by.is_none_or(|by| now < by);
            match self.step(has_asked, waits, now) {
                Step::Log(wait) => has_asked = self.ended(&wait, fetch.clone()).await,
                Step::Sleep(until) => {
                    let _ = within(until - now, pending::<()>()).await;
                }
                Step::Prove => {
                    let by = *has_proof_by.get_or_insert(now + PROOF);
                    let _ = within(by - now, self.judged()).await;
                }
                Step::End(ended) => return ended,
            }
        }
    }

    /// Until the server has judged what is there, or a dial that asked it has ended without its word.
    async fn judged(&self) {
        let mut one = self.core.judged.one();
        poll_fn(|context| {
            one.wake(context.waker());
            let state = self.core.state();
            if state.is_proved() || state.proving < PROVING {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }

    fn step(&self, has_asked: bool, waits: bool, now: Instant) -> Step<V> {
        let state = &mut *self.core.state();
        if !has_asked || state.latest.is_refused {
            if let Some(wait) = state.log_in(now) {
                return Step::Log(wait);
            }
        }
        if let Some(error) = state.error.as_ref().filter(|_| has_asked) {
            return Step::End(Err(error.clone()));
        }
        let mut latest = state.latest.clone();
        let Some(value) = latest.value.take() else {
            return Step::Sleep(state.may_begin_at().unwrap_or(now));
        };
        let is_proving = !state.is_proved();
        if is_proving && waits && state.proving >= PROVING {
            return Step::Prove;
        }
        state.proving += usize::from(is_proving);
        Step::End(Ok(Renewed {
            login: self.clone(),
            latest,
            value,
            is_proving,
        }))
    }
}

impl<V> Renewed<V> {
    /// What the login has brought.
    pub fn value(&self) -> &V {
        &self.value
    }
}

impl<V: Clone + Send + 'static> Renewed<V> {
    /// Takes what a later login has brought, if there is one: for a dial that has waited for its turn.
    pub fn refresh(&mut self) {
        let mut latest = self.login.latest();
        if latest.round() > self.latest.round() && !latest.is_refused {
            if let Some(value) = latest.value.take() {
                (self.latest, self.value) = (latest, value);
            }
        }
    }

    /// The server has accepted it.
    pub fn accepted(self) {
        self.login.accepted(&self.latest);
    }

    /// The server has refused it: whether there is another value, or a login may bring one.
    pub fn refused(self) -> bool {
        self.login.refused(&self.latest)
    }
}

impl<V> Drop for Renewed<V> {
    fn drop(&mut self) {
        if self.is_proving {
            self.login.core.state().proving -= 1;
            // One for the place, and one in case that the other has left.
            self.login.core.judged.wake_first(2);
        }
    }
}

/// Without its value.
impl<V> fmt::Debug for Renewed<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Renewed").field(&self.latest).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::task::JoinSet;
    use tokio::time::{sleep, timeout};

    use super::super::state::PERIOD;
    use super::*;

    /// A thousand dials at once, by a server that does so. How many, how many of them reached it, and how many logins.
    async fn crowd<F>(
        fetch: impl Fn(bool) -> F + Clone + Send + 'static,
        accepts: impl Fn(u32) -> bool + Copy + Send + 'static,
    ) -> (usize, usize)
    where
        F: Future<Output = Result<u32, &'static str>> + Send + 'static,
    {
        let login = Login::new();
        let dials = Arc::new(AtomicUsize::new(0));
        let mut sockets = JoinSet::new();
        for _ in 0..1000 {
            let (login, fetch, dials) = (login.clone(), fetch.clone(), Arc::clone(&dials));
            sockets.spawn(async move {
                // As a socket does: a login that is refused is renewed once.
                for _ in 0..2 {
                    let Ok(renewed) = login.renewed(fetch.clone()).await else {
                        return false;
                    };
                    dials.fetch_add(1, Ordering::SeqCst);
                    sleep(Duration::from_millis(100)).await;
                    if accepts(*renewed.value()) {
                        renewed.accepted();
                        return true;
                    }
                    if !renewed.refused() {
                        return false;
                    }
                }
                false
            });
        }
        let opened = sockets.join_all().await;
        let opened = opened.into_iter().filter(|opened| *opened).count();
        (opened, dials.load(Ordering::SeqCst))
    }

    #[tokio::test(start_paused = true)]
    async fn dials_wait_for_the_word_on_what_a_login_has_brought() {
        let fetch = |renew: bool| async move { Ok(u32::from(renew)) };
        // One that has ended everywhere is found so by the first ten.
        assert_eq!(crowd(fetch, |value| value == 1).await, (1000, 1010));
        assert_eq!(crowd(fetch, |_| true).await, (1000, 1000));
        let (opened, dials) = crowd(fetch, |_| false).await;
        assert_eq!(opened, 0);
        assert!((1000..=1010).contains(&dials), "{dials} dials");
    }

    #[tokio::test(start_paused = true)]
    async fn a_dial_that_is_not_polled_any_more_holds_up_the_others_for_a_time() {
        let login = Login::new();
        let fetch = |_| async { Ok::<_, &str>(1) };
        let mut held = Vec::new();
        let began = Instant::now();
        for _ in 0..PROVING {
            held.push(login.renewed(fetch).await.expect("a value"));
        }
        assert_eq!(began.elapsed(), Duration::ZERO);
        let (waits, leaves) = (login.renewed(fetch), login.renewed(fetch));
        assert!(timeout(Duration::from_secs(1), leaves).await.is_err());
        assert_eq!(waits.await.map(|renewed| *renewed.value()).ok(), Some(1));
        assert_eq!(began.elapsed(), Duration::from_secs(1) + PROOF);
        // One that ends without a word leaves its place to another.
        held.pop();
        assert!(login.renewed(fetch).await.is_ok());
        assert_eq!(began.elapsed(), Duration::from_secs(1) + PROOF);
    }

    #[tokio::test(start_paused = true)]
    async fn at_most_ten_logins_begin_in_ten_seconds_and_what_there_is_does_in_between() {
        let login = Login::new();
        let logins = Arc::new(AtomicUsize::new(0));
        let counts = Arc::clone(&logins);
        let fetch = move |_| {
            let at = counts.fetch_add(1, Ordering::SeqCst);
            async move { Ok::<_, &str>(at) }
        };
        for dial in 0..100 {
            let renewed = login.renewed(fetch.clone()).await.expect("a value");
            assert_eq!(*renewed.value(), dial.min(9));
            renewed.accepted();
        }
        sleep(PERIOD).await;
        let renewed = login.renewed(fetch).await.expect("a value");
        assert_eq!((*renewed.value(), logins.load(Ordering::SeqCst)), (10, 11));
    }

    #[tokio::test(start_paused = true)]
    async fn while_every_login_fails_dials_wait_for_the_next() {
        let login = Login::<u32>::new();
        let logins = Arc::new(AtomicUsize::new(0));
        let counts = Arc::clone(&logins);
        let fetch = move |_| {
            counts.fetch_add(1, Ordering::SeqCst);
            async { Err::<u32, _>("as told") }
        };
        let mut dials = JoinSet::new();
        for _ in 0..1000 {
            let (login, fetch) = (login.clone(), fetch.clone());
            dials.spawn(async move {
                while let Err(error) = login.renewed(fetch.clone()).await {
                    assert_eq!(error.to_string(), "as told");
                }
            });
        }
        sleep(PERIOD).await;
        let count = logins.load(Ordering::SeqCst);
        assert!((5..=6).contains(&count), "{count} logins in ten seconds");
    }
}
