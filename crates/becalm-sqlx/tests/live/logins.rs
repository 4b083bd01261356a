//! Who logs in for a pool, how often, and what is left of a dial when its caller leaves?

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use becalm::Failure;
use becalm::reconnect::NoConnection;
use becalm_sqlx::pool::{Dial, Manager, Pool};
use deadpool::managed::PoolError;
use sqlx::postgres::PgConnectOptions;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::server::Postgres;

const CALLERS: usize = 1000;

/// Dials a server in virtual time that lets in who shows this token.
#[derive(Debug, Clone)]
struct Fake {
    token: &'static str,
    takes: Duration,
    dials: Arc<AtomicUsize>,
}

#[derive(Debug)]
enum Refused {
    ByServer,
    NoLogin(String),
}

impl Dial for Fake {
    type Connection = ();
    type Error = Refused;

    async fn dial(&self) -> Result<(), Refused> {
        self.dials.fetch_add(1, Ordering::SeqCst);
        sleep(self.takes).await;
        (self.token == "good")
            .then_some(())
            .ok_or(Refused::ByServer)
    }

    async fn is_alive((): &mut ()) -> Result<(), Refused> {
        Ok(())
    }

    fn classify(_: &Refused) -> Failure {
        Failure::permanent().unsent()
    }

    fn refuses_login(error: &Refused) -> bool {
        matches!(error, Refused::ByServer)
    }

    fn no_login(error: becalm::login::NoLogin) -> Option<Refused> {
        Some(Refused::NoLogin(error.to_string()))
    }
}

/// Of a pool: how many logins and dials.
struct Counts {
    logins: Arc<AtomicUsize>,
    dials: Arc<AtomicUsize>,
}

impl Counts {
    fn now(&self) -> (usize, usize) {
        let count = |of: &AtomicUsize| of.load(Ordering::SeqCst);
        (count(&self.logins), count(&self.dials))
    }
}

/// A manager whose logins take so long and bring this, at first or renewed.
fn manager(
    takes: Duration,
    token: impl Fn(bool) -> Option<&'static str> + Send + Sync + 'static,
) -> (Manager<Fake>, Counts) {
    let counts = Counts {
        logins: Arc::default(),
        dials: Arc::default(),
    };
    let (logins, dials) = (Arc::clone(&counts.logins), Arc::clone(&counts.dials));
    let manager = Manager::with_provider(move |renew| {
        logins.fetch_add(1, Ordering::SeqCst);
        let (token, dials) = (token(renew), Arc::clone(&dials));
        async move {
            sleep(takes).await;
            let token = token.ok_or("the vault is sealed")?;
            Ok::<_, &str>(Fake {
                token,
                takes: Duration::from_millis(3),
                dials,
            })
        }
    });
    (manager, counts)
}

/// So many callers at once: how many have had a connection.
async fn served(pool: &Pool<Fake>) -> usize {
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        let pool = pool.clone();
        callers.spawn(async move { pool.get().await.is_ok() });
    }
    let served = callers.join_all().await;
    served.into_iter().filter(|served| *served).count()
}

#[tokio::test(start_paused = true)]
async fn a_login_that_is_refused_is_renewed_once_and_logins_become_rarer() {
    let (manager, counts) = manager(Duration::ZERO, |renew| {
        Some(if renew { "good" } else { "ended" })
    });
    assert_eq!(served(&manager.pool(1)).await, CALLERS);
    assert_eq!(counts.now(), (2, 2));

    let (manager, counts) = self::manager(Duration::ZERO, |_| Some("wrong"));
    let began = Instant::now();
    assert_eq!(served(&manager.pool(10)).await, 0);
    let (logins, dials) = counts.now();
    assert!(dials <= CALLERS + 10, "{dials} dials");
    let seconds = usize::try_from(began.elapsed().as_secs()).expect("few");
    assert!(
        seconds >= 10 && logins <= 10,
        "{logins} logins in {seconds} s"
    );
}

#[tokio::test(start_paused = true)]
async fn while_every_login_fails_or_hangs_nothing_is_dialled() {
    for takes in [Duration::ZERO, Duration::from_secs(3600)] {
        let (manager, counts) = manager(takes, |_| None);
        let manager = manager.login_timeout(Duration::from_secs(1));
        let pool = manager.patience(Duration::from_secs(10)).pool(10);
        assert_eq!(served(&pool).await, 0);
        let (logins, dials) = counts.now();
        assert!((3..=10).contains(&logins), "{logins} logins in 10 s");
        assert_eq!(dials, 0);
        let PoolError::Backend(none) = pool.get().await.map(drop).expect_err("none") else {
            panic!("it is the dial's");
        };
        let NoConnection::TooLate(Some(error), _) = none else {
            panic!("{none:?}");
        };
        let Refused::NoLogin(sentence) = &*error else {
            panic!("{error:?}");
        };
        let whole = ["the vault is sealed", "time limit"][usize::from(!takes.is_zero())];
        assert!(sentence.contains(whole), "{sentence}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_login_that_is_slower_than_every_caller_succeeds_once_for_all() {
    let (manager, counts) = manager(Duration::from_secs(5), |_| Some("good"));
    let pool = manager.pool(1);
    let began = Instant::now();
    while timeout(Duration::from_millis(100), pool.get())
        .await
        .is_err()
    {}
    assert_eq!(began.elapsed().as_secs(), 5);
    assert_eq!(served(&pool).await, CALLERS);
    assert_eq!(counts.now(), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_dial_that_is_slower_than_every_caller_goes_on_without_them() {
    let dials = Arc::new(AtomicUsize::new(0));
    let pool = Manager::new(Fake {
        token: "good",
        takes: Duration::from_secs(5),
        dials: Arc::clone(&dials),
    });
    let pool = pool.pool(1);
    let began = Instant::now();
    while timeout(Duration::from_millis(100), pool.get())
        .await
        .is_err()
    {}
    assert_eq!(began.elapsed().as_secs(), 5);
    assert_eq!(dials.load(Ordering::SeqCst), 1);
}

#[test]
fn a_dial_on_a_runtime_that_is_not_driven_any_more_is_begun_again() {
    let dials = Arc::new(AtomicUsize::new(0));
    let policy = becalm::Policy::default().attempt_timeout(Duration::from_millis(300));
    let pool = Manager::new(Fake {
        token: "good",
        takes: Duration::from_millis(200),
        dials: Arc::clone(&dials),
    });
    let pool = pool.reconnect(becalm::reconnect::Reconnect::new(policy));
    let pool = pool.expect("a valid policy").pool(1);
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().build().expect("a runtime")
    };
    let first = runtime();
    let left = first.block_on(async { timeout(Duration::from_millis(100), pool.get()).await });
    assert!(left.is_err());
    assert!(runtime().block_on(pool.get()).is_ok());
    assert_eq!(dials.load(Ordering::SeqCst), 2);
    drop(first);
}

#[tokio::test]
async fn a_password_that_has_ended_is_renewed() {
    let Some(server) = Postgres::start(&[]).await else {
        return;
    };
    let options: PgConnectOptions = server.url().parse().expect("an address");
    let asked = Arc::new(AtomicUsize::new(0));
    let counts = Arc::clone(&asked);
    let manager = Manager::with_provider(move |renew| {
        counts.fetch_add(1, Ordering::SeqCst);
        // A role that is not there is refused as a password is, and so is told apart on a server that trusts all who are.
        let options = options.clone();
        async move {
            let stranger = options.clone().username("stranger");
            Ok::<_, std::io::Error>(if renew { options } else { stranger })
        }
    });
    assert!(manager.pool(1).get().await.is_ok());
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}
