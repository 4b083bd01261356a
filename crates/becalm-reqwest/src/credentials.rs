//! How does a client get credentials? By one login for all of its requests that wait, outside of every attempt.
//!
//! A login is a task of its own: it survives the attempt and the call that asked first, has its own time limit, and is
//! shared by all that wait. Logins that bring nothing become rarer.

use std::collections::VecDeque;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use becalm::http::Origin;
use http::{HeaderValue, StatusCode};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

/// The longest time of a login, where none is set.
pub(super) const TIME_LIMIT: Duration = Duration::from_secs(30);

/// The most logins in any [`PERIOD`].
const LOGINS: usize = 10;
const PERIOD: Duration = Duration::from_secs(10);

/// How long after its time limit a login has to end.
const GRACE: Duration = Duration::from_secs(1);

/// The longest pause between logins that bring nothing.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// What `Authorization` says to one server, and how it is renewed.
pub(super) struct Credentials {
    pub origin: Origin,
    login: Arc<Login>,
}

struct Login {
    fetch: Box<Fetch>,
    state: Mutex<State>,
    /// Tells those that wait that a login has ended.
    ended: watch::Sender<()>,
}

type Fetch = dyn Fn() -> Pin<Box<dyn Future<Output = Option<HeaderValue>> + Send>> + Send + Sync;

struct State {
    time_limit: Duration,
    latest: Latest,
    is_running: bool,
    /// When the last logins began.
    began: VecDeque<Instant>,
    /// Logins since a value was accepted.
    in_vain: u32,
    /// No login begins before.
    paused_until: Option<Instant>,
}

/// What the last login has brought.
#[derive(Clone, Default)]
pub(super) struct Latest {
    /// How many logins have ended.
    round: u64,
    pub value: Option<HeaderValue>,
    /// The server has accepted it.
    is_accepted: bool,
    /// The server has refused it.
    is_refused: bool,
}

impl Latest {
    pub fn round(&self) -> u64 {
        self.round
    }
}

impl Credentials {
    pub fn new<F>(origin: Origin, fetch: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Option<HeaderValue>> + Send + 'static,
    {
        let state = State {
            time_limit: TIME_LIMIT,
            latest: Latest::default(),
            is_running: false,
            began: VecDeque::new(),
            in_vain: 0,
            paused_until: None,
        };
        let login = Login {
            fetch: Box::new(move || Box::pin(fetch())),
            state: Mutex::new(state),
            ended: watch::Sender::new(()),
        };
        Self {
            origin,
            login: Arc::new(login),
        }
    }

    pub fn time_limit(&self, limit: Duration) {
        self.login.state().time_limit = limit;
    }

    /// What there is for a request that is sent now.
    pub fn latest(&self) -> Latest {
        self.login.state().latest.clone()
    }

    /// Whether there is a value that was not refused.
    pub fn has_some(&self) -> bool {
        self.login.state().has_some()
    }

    /// Comes back once there is a value that was not refused, or no login may begin for now. Dropped, it stops no login.
    pub async fn ready(&self) {
        while let Some((mut ended, round, left)) = self.log_in() {
            if timeout(left, ended.changed()).await.is_ok() {
                return;
            }
            // Its own time limit has not ended it: its runtime is not driven any more. This one's is.
            self.login.end(round, None);
        }
    }

    /// Begins a login unless one runs: tells its end, its round, and how long to wait for it.
    fn log_in(&self) -> Option<(watch::Receiver<()>, u64, Duration)> {
        let now = Instant::now();
        let mut state = self.login.state();
        let begins = !state.is_running;
        if state.has_some() || (begins && !state.may_begin(now)) {
            return None;
        }
        if begins {
            state.begin(now);
        }
        let (limit, round, ended) = (
            state.time_limit,
            state.latest.round,
            self.login.ended.subscribe(),
        );
        let runs = state
            .began
            .back()
            .map_or(Duration::ZERO, |began| now - *began);
        drop(state);
        if begins {
            let running = Running {
                login: Arc::clone(&self.login),
                round,
            };
            // The state is free: a runtime that ends drops the task in here, and that ends the login.
            tokio::spawn(running.run(limit));
        }
        let left = limit.saturating_add(GRACE).saturating_sub(runs);
        Some((ended, round, left))
    }

    /// The server has answered a request with these, and not by a 401.
    pub fn answered(&self, these: &Latest, status: StatusCode) {
        if these.is_accepted || !tells_of_credentials(status) {
            return;
        }
        let mut state = self.login.state();
        if state.latest.round == these.round {
            state.latest.is_accepted = true;
            if these.is_refused {
                state.latest.is_refused = false; // it takes again what it has refused
            }
            (state.in_vain, state.paused_until) = (0, None);
        }
    }

    /// The server has refused these: whether there are others, or a login may bring some. None follows what was known
    /// to be refused: one has just ended, or may not begin.
    pub fn refuse(&self, these: &Latest) -> bool {
        let mut state = self.login.state();
        if state.latest.round == these.round {
            (state.latest.is_refused, state.latest.is_accepted) = (true, false);
        }
        let may_begin = !these.is_refused && state.may_begin(Instant::now());
        state.has_some() || state.is_running || may_begin
    }
}

/// Whether who answers so has read the credentials: a server that fails, or turns away a load, and a proxy may not have.
fn tells_of_credentials(status: StatusCode) -> bool {
    let unread = [
        StatusCode::PROXY_AUTHENTICATION_REQUIRED,
        StatusCode::REQUEST_TIMEOUT,
        StatusCode::TOO_MANY_REQUESTS,
    ];
    !status.is_server_error() && !unread.contains(&status)
}

impl Login {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing in between leaves it half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the login of this round, unless it has ended.
    fn end(&self, round: u64, value: Option<HeaderValue>) {
        let mut state = self.state();
        if state.is_running && state.latest.round == round {
            state.end(value, Instant::now());
            self.ended.send_replace(());
        }
    }
}

impl State {
    fn has_some(&self) -> bool {
        self.latest.value.is_some() && !self.latest.is_refused
    }

    fn may_begin(&self, now: Instant) -> bool {
        let is_paused = self.paused_until.is_some_and(|until| now < until);
        let first = self.began.front().filter(|_| self.began.len() == LOGINS);
        !is_paused && first.is_none_or(|first| now >= *first + PERIOD)
    }

    fn begin(&mut self, now: Instant) {
        self.is_running = true;
        if self.began.len() == LOGINS {
            self.began.pop_front();
        }
        self.began.push_back(now);
    }

    fn end(&mut self, value: Option<HeaderValue>, now: Instant) {
        self.is_running = false;
        self.latest.round += 1;
        self.latest.is_accepted = false;
        // Without another, the one that was refused stays: the server may take it again.
        if value.is_some() {
            (self.latest.value, self.latest.is_refused) = (value, false);
        }
        // The second follows at once, for a token that was about to end; then they become rarer.
        let pause = self.in_vain.checked_sub(1).map(|doublings| {
            let longest = Duration::from_secs(1 << doublings.min(10)).min(LONGEST_PAUSE);
            longest.mul_f64(0.5 + 0.5 * unit(self.latest.round))
        });
        self.paused_until = pause.map(|pause| now + pause);
        self.in_vain = self.in_vain.saturating_add(1);
    }
}

/// From 0 to 1, by the standard library's entropy: clients whose logins fail together come back apart.
#[expect(clippy::cast_precision_loss, reason = "53 bits")]
fn unit(round: u64) -> f64 {
    (RandomState::new().hash_one(round) >> 11) as f64 / (1_u64 << 53) as f64
}

/// A login that runs. Dropped with its runtime, or unwound, it has brought nothing.
struct Running {
    login: Arc<Login>,
    round: u64,
}

impl Running {
    async fn run(self, limit: Duration) {
        // Made in here: what panics in it is the login's.
        let fetched = async { (self.login.fetch)().await };
        if let Ok(Some(mut value)) = timeout(limit, fetched).await {
            value.set_sensitive(true);
            self.login.end(self.round, Some(value));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.login.end(self.round, None);
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credentials({:?})", self.origin)
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

    fn shop() -> Origin {
        "http://shop.test".parse().expect("an origin")
    }

    /// What a thread of its own tells, `None` if it hangs or panics.
    fn within<T: Send + 'static>(tells: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let (told, tell) = mpsc::channel();
        thread::spawn(move || told.send(tells()));
        tell.recv_timeout(LONG).ok()
    }

    fn runtime() -> Runtime {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().build().expect("a runtime")
    }

    #[test]
    fn a_login_on_a_runtime_that_has_ended_has_failed() {
        let credentials = Credentials::new(shop(), || async { None });
        let ended = within(move || {
            let runtime = runtime();
            let handle = runtime.handle().clone();
            drop(runtime);
            let _entered = handle.enter();
            let polled = pin!(credentials.ready()).poll(&mut Context::from_waker(Waker::noop()));
            (polled.is_ready(), credentials.latest().round())
        });
        assert_eq!(ended, Some((true, 1)));
    }

    #[test]
    fn a_login_whose_runtime_is_not_driven_any_more_is_begun_again() {
        let logins = AtomicUsize::new(0);
        let fetch = move || {
            let is_first = logins.fetch_add(1, Ordering::SeqCst) == 0;
            async move {
                if is_first {
                    pending::<()>().await;
                }
                Some(HeaderValue::from_static("second"))
            }
        };
        let credentials = Credentials::new(shop(), fetch);
        credentials.time_limit(Duration::from_millis(100));
        let has_some = within(move || {
            let first = runtime();
            let asked = async { timeout(Duration::from_millis(10), credentials.ready()).await };
            first.block_on(asked).expect_err("no login yet");
            runtime().block_on(credentials.ready());
            // Driven once more, the first login ends and changes nothing.
            first.block_on(async { tokio::time::sleep(Duration::from_millis(10)).await });
            credentials.has_some()
        });
        assert_eq!(has_some, Some(true));
    }

    #[test]
    fn a_login_without_a_runtime_is_a_panic_and_no_hang() {
        let credentials = Credentials::new(shop(), || async { None });
        let panicked = within(move || {
            let polls = AssertUnwindSafe(|| {
                pin!(credentials.ready()).poll(&mut Context::from_waker(Waker::noop()))
            });
            catch_unwind(polls).is_err()
        });
        assert_eq!(panicked, Some(true));
    }

    #[test]
    fn logins_in_vain_become_rarer_until_an_answer_accepts_one() {
        let credentials = Credentials::new(shop(), || async { None });
        let began = Instant::now();
        let fails = |now| {
            let mut state = credentials.login.state();
            state.begin(now);
            state.end(None, now);
            state
                .paused_until
                .map_or(Duration::ZERO, |until| until - now)
        };
        for times in 0..2 {
            let mut now = began + 1000 * PERIOD * times;
            for longest in [0, 1, 2, 4, 8, 16, 30, 30] {
                assert!(credentials.login.state().may_begin(now));
                let (pause, longest) = (fails(now), Duration::from_secs(longest));
                assert!(
                    (longest / 2..=longest).contains(&pause),
                    "{pause:?} of {longest:?}"
                );
                now += pause;
                let early = now
                    .checked_sub(Duration::from_millis(1))
                    .expect("an instant");
                assert_eq!(credentials.login.state().may_begin(early), pause.is_zero());
            }
            fails(now);
            // A proxy that says so has read none.
            for status in [407, 408, 429, 500, 503] {
                let status = StatusCode::from_u16(status).expect("a status");
                credentials.answered(&credentials.latest(), status);
                assert!(!credentials.login.state().may_begin(now), "{status}");
            }
            credentials.answered(&credentials.latest(), StatusCode::FORBIDDEN);
            assert!(credentials.login.state().may_begin(now));
        }
    }
}
