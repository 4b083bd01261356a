//! How do all calls of a client get the login that they share? By one fetch for all that wait, outside of every attempt.
//!
//! A login is a task of its own: it survives the attempt and the call that asked first, has its own time limit, and is
//! shared by all that wait. Logins that bring nothing become rarer. So it is with everything that is asked for over the network
//! and serves all attempts: a token, a password that ends, an address.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! # async fn log_in() -> std::io::Result<String> { Ok("17".into()) }
//! use becalm::login::Login;
//!
//! let login = Login::new();
//! login.ready(|_renew| log_in()).await; // by all calls, before their attempts
//! let token = login.latest();
//! assert_eq!(token.value.as_deref(), Some("17"));
//! login.accepted(&token); // or `refused`, by what the server has answered
//! # }
//! ```

mod call;
mod dial;
mod no_login;
mod state;

use core::fmt;
use core::task::Poll;
use core::time::Duration;
use std::error::Error;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::{Instant, timeout};

use crate::time::{Everybody, within};

use state::{State, Wait};

pub use dial::Renewed;
pub use no_login::NoLogin;
pub use state::Latest;

/// What a login brings to all calls of a client, and when it is renewed. Clones are one.
///
/// At most ten logins begin in any ten seconds. After one that brought nothing, or what the server refused at once, the
/// next may follow at once (a token may have been about to end), and then 1, 2, 4 up to 30 s lie between them, each shortened by
/// up to half at random, until the server accepts one.
pub struct Login<V> {
    core: Arc<Core<V>>,
}

struct Core<V> {
    state: Mutex<State<V>>,
    /// Those that wait for the end of a login.
    ended: Everybody,
    /// Those that wait for the server's word on what it has brought.
    judged: Everybody,
}

impl<V: Clone + Send + 'static> Login<V> {
    /// One of which nothing is known yet.
    pub fn new() -> Self {
        Self {
            core: Arc::new(Core {
                state: Mutex::new(State::new()),
                ended: Everybody::new(),
                judged: Everybody::new(),
            }),
        }
    }

    /// Sets how long one login may take. Default 30 s.
    pub fn set_time_limit(&self, limit: Duration) {
        self.core.state().time_limit = limit;
    }

    /// What there is for a request that is sent now.
    pub fn latest(&self) -> Latest<V> {
        self.core.state().latest.clone()
    }

    /// Whether there is a value that was not refused.
    pub fn has_some(&self) -> bool {
        self.core.state().has_some()
    }

    /// Why the last login has brought nothing, if it has not.
    pub fn error(&self) -> Option<NoLogin> {
        self.core.state().error.clone()
    }

    /// Comes back once there is a value that was not refused, or no login may begin for now: for calls, which keep a value until
    /// the server refuses it. `fetch` is told whether that has happened. Dropped, it stops no login.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub async fn ready<F, E>(&self, fetch: impl Fn(bool) -> F + Clone + Send + 'static)
    where
        F: Future<Output = Result<V, E>> + Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>> + 'static,
    {
        while let Some(wait) = self.core.log_in() {
            if self.ended(&wait, fetch.clone()).await {
                return;
            }
        }
    }

    /// Waits for a login, which begins first unless it runs. Whether it has ended: otherwise its runtime is not driven any more,
    /// since its own time limit has not ended it. This one's is.
    async fn ended<F, E>(&self, wait: &Wait, fetch: impl Fn(bool) -> F + Send + 'static) -> bool
    where
        F: Future<Output = Result<V, E>> + Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>> + 'static,
    {
        if wait.begins {
            let running = Running {
                core: Arc::clone(&self.core),
                round: wait.round,
            };
            // The state is free: a runtime that ends drops the task in here, and that ends the login.
            tokio::spawn(running.run(wait.renews, wait.limit, fetch));
        }
        let mut one = self.core.ended.one();
        let ended = poll_fn(|context| {
            one.wake(context.waker());
            if self.core.state().latest.round() == wait.round {
                Poll::Pending
            } else {
                Poll::Ready(())
            }
        });
        let has_ended = within(wait.left, ended).await.is_some();
        if !has_ended {
            self.core.end(wait.round, Err(NoLogin::Gone));
        }
        has_ended
    }

    /// The server has accepted these.
    pub fn accepted(&self, these: &Latest<V>) {
        if !these.is_accepted() && self.core.state().accepted(these) {
            self.core.judged.wake();
        }
    }

    /// The server has refused these: whether there are others, or a login may bring some. None follows what was known
    /// to be refused: one has just ended, or may not begin.
    pub fn refused(&self, these: &Latest<V>) -> bool {
        let may_help = self.core.state().refused(these, Instant::now());
        self.core.judged.wake();
        may_help
    }
}

impl<V> Core<V> {
    fn state(&self) -> MutexGuard<'_, State<V>> {
        // Nothing in between leaves it half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A login that runs, or begins since there is none of use.
    fn log_in(&self) -> Option<Wait> {
        let now = Instant::now();
        let mut state = self.state();
        state.is_awaited(now).then(|| state.log_in(now)).flatten()
    }

    /// Ends the login of this round, unless it has ended.
    fn end(&self, round: u64, ended: Result<V, NoLogin>) {
        if self.state().end(round, ended, Instant::now()) {
            self.ended.wake();
        }
    }
}

/// A login that runs. Dropped with its runtime, or unwound, it has brought nothing.
struct Running<V> {
    core: Arc<Core<V>>,
    round: u64,
}

impl<V> Running<V> {
    async fn run<F, E>(self, renews: bool, limit: Duration, fetch: impl Fn(bool) -> F + Send)
    where
        F: Future<Output = Result<V, E>> + Send,
        E: Into<Box<dyn Error + Send + Sync>> + 'static,
    {
        // Made in here: what panics in it is the login's.
        let fetched = async move { fetch(renews).await.map_err(Into::into) };
        let ended = match timeout(limit, fetched).await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(NoLogin::Failed(error.into())),
            Err(_) => Err(NoLogin::TooLate),
        };
        self.core.end(self.round, ended);
    }
}

impl<V> Drop for Running<V> {
    fn drop(&mut self) {
        self.core.end(self.round, Err(NoLogin::Gone));
    }
}

impl<V> Clone for Login<V> {
    fn clone(&self) -> Self {
        Self {
            core: Arc::clone(&self.core),
        }
    }
}

impl<V: Clone + Send + 'static> Default for Login<V> {
    fn default() -> Self {
        Self::new()
    }
}

/// Without what it has brought.
impl<V> fmt::Debug for Login<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::pin::pin;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::task::{Context, Waker};
    use std::thread;

    use tokio::runtime::Runtime;

    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    /// What a thread of its own tells, `None` if it hangs or panics.
    fn within<T: Send + 'static>(tells: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let (told, tell) = mpsc::channel();
        thread::spawn(move || told.send(tells()));
        tell.recv_timeout(LONG).ok()
    }

    async fn fails(_: bool) -> Result<u32, &'static str> {
        Err("as told")
    }

    fn runtime() -> Runtime {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().build().expect("a runtime")
    }

    #[test]
    fn a_login_on_a_runtime_that_has_ended_has_failed() {
        let login = Login::<u32>::new();
        let ended = within(move || {
            let runtime = runtime();
            let handle = runtime.handle().clone();
            drop(runtime);
            let _entered = handle.enter();
            let polled = pin!(login.ready(fails)).poll(&mut Context::from_waker(Waker::noop()));
            (polled.is_ready(), login.latest().round())
        });
        assert_eq!(ended, Some((true, 1)));
    }

    #[test]
    fn a_login_whose_runtime_is_not_driven_any_more_is_begun_again() {
        let logins = Arc::new(AtomicUsize::new(0));
        let fetch = move |_| {
            let is_first = logins.fetch_add(1, Ordering::SeqCst) == 0;
            async move {
                if is_first {
                    pending::<()>().await;
                }
                Ok::<_, &str>(2)
            }
        };
        let login = Login::new();
        login.set_time_limit(Duration::from_millis(100));
        let brought = within(move || {
            let first = runtime();
            let ready = login.ready(fetch.clone());
            let asked = async { timeout(Duration::from_millis(10), ready).await };
            first.block_on(asked).expect_err("no login yet");
            runtime().block_on(login.ready(fetch));
            // Driven once more, the first login ends and changes nothing.
            first.block_on(async { tokio::time::sleep(Duration::from_millis(10)).await });
            login.latest().value
        });
        assert_eq!(brought, Some(Some(2)));
    }

    #[test]
    fn a_login_without_a_runtime_is_a_panic_and_no_hang() {
        let login = Login::<u32>::new();
        let panicked = within(move || {
            let polls = AssertUnwindSafe(|| {
                pin!(login.ready(fails)).poll(&mut Context::from_waker(Waker::noop()))
            });
            catch_unwind(polls).is_err()
        });
        assert_eq!(panicked, Some(true));
    }
}
