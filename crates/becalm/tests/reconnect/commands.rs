//! Do many commands share one connection, and is it dialled once, at its own pace?

use std::future::poll_fn;
use std::io::{Error, ErrorKind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use becalm::classify::{Classify, Effect, connect};
use becalm::reconnect::{Get, NoConnection, Pacer, Reconnect, SharedConnection};
use becalm::rng::Seed;
use becalm::time::{FakeSleeper, TokioSleeper};
use becalm::{Failure, Policy, StopReason};
use tokio::time::{Instant, sleep};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A server that is up or down, and hands out connections by number.
#[derive(Debug, Clone, Default)]
struct Server {
    is_down: Arc<AtomicBool>,
    dials: Arc<AtomicUsize>,
    opened: Arc<AtomicUsize>,
}

#[derive(Debug, Clone)]
struct Connection {
    number: usize,
    server: Server,
}

impl Server {
    async fn dial(self) -> Result<Connection, (Failure, Error)> {
        self.dials.fetch_add(1, Ordering::Relaxed);
        sleep(ms(2)).await;
        if self.is_down.load(Ordering::Relaxed) {
            let error = Error::from(ErrorKind::ConnectionRefused);
            return Err((connect::classify(&error), error));
        }
        let number = self.opened.fetch_add(1, Ordering::Relaxed) + 1;
        Ok(Connection {
            number,
            server: self,
        })
    }

    fn dials(&self) -> usize {
        self.dials.load(Ordering::Relaxed)
    }

    fn shared(&self, settings: Reconnect) -> SharedConnection<Connection, Error> {
        let server = self.clone();
        SharedConnection::builder(settings, move || server.clone().dial())
            .sleeper(TokioSleeper::new())
            .seed(Seed::fixed(7))
            .build()
            .unwrap()
    }
}

impl Connection {
    async fn ask(&self) -> Result<usize, Error> {
        sleep(ms(1)).await;
        let is_mine = self.number == self.server.opened.load(Ordering::Relaxed);
        if self.server.is_down.load(Ordering::Relaxed) || !is_mine {
            return Err(Error::from(ErrorKind::ConnectionReset));
        }
        Ok(self.number)
    }
}

#[tokio::test(start_paused = true)]
async fn b2_five_hundred_tasks_dial_a_server_that_is_down_as_one() {
    let server = Server::default();
    let redis = server.shared(Reconnect::for_commands());
    let back = Arc::new(AtomicUsize::new(0));
    let up_at = Instant::now() + ms(5_000);
    let mut tasks = Vec::new();
    for _ in 0..500 {
        let (redis, back) = (redis.clone(), Arc::clone(&back));
        tasks.push(tokio::spawn(async move {
            // Inside the retries of whichever command comes: they have no say in how it is dialled.
            let commands = Policy::fixed(ms(10)).attempts(Policy::UNLIMITED);
            let commands = commands.budget(becalm::Budget::None).retrier().unwrap();
            while Instant::now() < up_at + ms(1_000) {
                let asked = commands.retry(|_| async {
                    let Ok(held) = redis.get(Some(ms(2_000))).await else {
                        return Err(Error::from(ErrorKind::NotConnected));
                    };
                    let asked = held.ask().await;
                    if asked.is_err() {
                        held.lost();
                    }
                    asked
                });
                asked.await.unwrap();
                if Instant::now() > up_at {
                    back.fetch_add(1, Ordering::Relaxed);
                    return;
                }
            }
        }));
    }
    sleep(ms(1_000)).await;
    assert_eq!(server.dials(), 1);
    server.is_down.store(true, Ordering::Relaxed);
    let mut most = 0;
    for _ in 0..4 {
        let before = server.dials();
        sleep(ms(1_000)).await;
        most = most.max(server.dials() - before);
    }
    assert!((2..=10).contains(&most), "{most} dials in a second");
    server.is_down.store(false, Ordering::Relaxed);
    sleep(ms(1_001)).await;
    assert_eq!(back.load(Ordering::Relaxed), 500);
    assert_eq!(server.opened.load(Ordering::Relaxed), 2);
    for task in tasks {
        task.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn who_waits_no_longer_learns_that_nothing_was_sent() {
    let server = Server::default();
    server.is_down.store(true, Ordering::Relaxed);
    let redis = server.shared(Reconnect::for_commands());
    let began = Instant::now();
    let late = redis.get(Some(ms(300))).await.unwrap_err();
    assert_eq!(began.elapsed(), ms(300));
    assert_eq!(late.classify().effect, Effect::Unsent);
    let refused = late.error().map(Error::kind);
    assert_eq!(refused, Some(ErrorKind::ConnectionRefused));
    let sentence = "no connection in time: connection refused";
    assert_eq!(late.to_string(), sentence);
}

#[tokio::test(start_paused = true)]
async fn who_dials_for_all_may_leave() {
    let server = Server::default();
    let redis = server.shared(Reconnect::for_commands());
    let first = tokio::spawn(redis.get(None));
    tokio::task::yield_now().await;
    let second = tokio::spawn(redis.get(None));
    tokio::task::yield_now().await;
    assert_eq!(server.dials(), 1);
    first.abort();
    let held = second.await.unwrap().unwrap();
    assert_eq!((held.number, server.dials()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn one_loss_is_one_loss_however_many_tell_of_it() {
    let server = Server::default();
    let redis = server.shared(Reconnect::for_commands());
    let early = redis.get(None).await.unwrap();
    let too = redis.get(None).await.unwrap();
    early.lost();
    let second = redis.get(None).await.unwrap();
    too.lost(); // of the first connection
    let third = redis.get(None).await.unwrap();
    assert_eq!(
        (early.number, too.number, second.number, third.number),
        (1, 1, 2, 2)
    );
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_is_checked_once_for_all() {
    let server = Server::default();
    let checks = Arc::new(AtomicUsize::new(0));
    let (dialled, checked) = (server.clone(), Arc::clone(&checks));
    let builder =
        SharedConnection::builder(Reconnect::for_commands(), move || dialled.clone().dial());
    let redis = builder
        .sleeper(TokioSleeper::new())
        .check(ms(30_000), move |connection: Connection| {
            checked.fetch_add(1, Ordering::Relaxed);
            async move { connection.ask().await.is_ok() }
        })
        .build()
        .unwrap();
    assert_eq!(redis.get(None).await.unwrap().number, 1);
    sleep(ms(29_999)).await;
    assert_eq!(redis.get(None).await.unwrap().number, 1);
    assert_eq!(checks.load(Ordering::Relaxed), 0);
    sleep(ms(30_000)).await;
    let all = futures_util::future::join_all((0..10).map(|_| redis.get(None))).await;
    assert!(all.iter().all(|held| held.as_ref().unwrap().number == 1));
    assert_eq!(checks.load(Ordering::Relaxed), 1);

    // It went away without a word.
    server.opened.fetch_add(1, Ordering::Relaxed);
    sleep(ms(30_000)).await;
    let held = redis.get(None).await.unwrap();
    assert_eq!((held.number, checks.load(Ordering::Relaxed)), (3, 2));
}

#[tokio::test(start_paused = true)]
async fn after_it_gave_up_it_dials_once_more_when_asked_later() {
    let dials = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&dials);
    let shut = SharedConnection::<(), _>::builder(Reconnect::for_commands(), move || {
        counted.fetch_add(1, Ordering::Relaxed);
        async {
            Err((
                Failure::permanent(),
                Error::from(ErrorKind::PermissionDenied),
            ))
        }
    });
    let shut = shut.sleeper(TokioSleeper::new()).build().unwrap();
    for _ in 0..100 {
        let refused = shut.get(None).await.unwrap_err();
        assert!(matches!(
            refused,
            NoConnection::GaveUp(StopReason::Permanent, Some(_))
        ));
        assert_eq!(refused.classify(), Failure::permanent().unsent());
        sleep(ms(100)).await;
    }
    let dials = dials.load(Ordering::Relaxed);
    assert!(
        (9..=10).contains(&dials),
        "{dials} dials in 10 s, one each second"
    );
}

#[tokio::test(start_paused = true)]
async fn a_dial_that_hangs_is_cut_and_one_that_panics_is_over() {
    let dials = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&dials);
    let settings = Reconnect::for_commands();
    let policy = settings.policy.clone().attempt_timeout(ms(500));
    let hanging = SharedConnection::<usize, Error>::builder(settings.policy(policy), move || {
        let number = counted.fetch_add(1, Ordering::Relaxed);
        async move {
            match number {
                0 => std::future::pending::<()>().await,
                1 => panic!("a dial that panics"),
                _ => (),
            }
            Ok(number)
        }
    });
    let pacer = Pacer::new(10, ms(1_000), 1)
        .unwrap()
        .sleeper(TokioSleeper::new());
    let hanging = hanging
        .pacer(pacer)
        .sleeper(TokioSleeper::new())
        .build()
        .unwrap();
    let waits = tokio::spawn(hanging.get(None));
    assert!(waits.await.unwrap_err().is_panic());
    assert_eq!(*hanging.get(Some(ms(60_000))).await.unwrap(), 2);
}

#[tokio::test(start_paused = true)]
async fn connections_that_share_a_pacer_dial_at_its_rate() {
    let server = Server::default();
    let pacer = Pacer::new(1, ms(1_000), 1)
        .unwrap()
        .sleeper(TokioSleeper::new());
    let began = Instant::now();
    let opening = (0..5).map(|_| {
        let (server, pacer) = (server.clone(), pacer.clone());
        let builder =
            SharedConnection::builder(Reconnect::default(), move || server.clone().dial());
        let shared = builder
            .pacer(pacer)
            .sleeper(TokioSleeper::new())
            .build()
            .unwrap();
        async move { shared.get(None).await }
    });
    let all = futures_util::future::join_all(opening).await;
    assert!(all.iter().all(Result::is_ok));
    assert_eq!(began.elapsed(), ms(4_002));
}

/// Another thread may look while the dial is polled, and find nothing to do.
#[test]
fn who_leaves_after_it_was_woken_wakes_another() {
    #[derive(Default)]
    struct Flag(AtomicBool);
    impl Wake for Flag {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    type Other = Arc<Mutex<Option<Get<(), Error>>>>;

    let (other, flag) = (Other::default(), Arc::new(Flag::default()));
    let waker = Waker::from(Arc::clone(&flag));
    let (looks, looks_too) = (Arc::clone(&other), waker.clone());
    let shared = SharedConnection::builder(Reconnect::for_commands(), move || {
        let (other, waker) = (Arc::clone(&looks), looks_too.clone());
        poll_fn(move |context| {
            context.waker().wake_by_ref();
            let mut other = other.lock().unwrap();
            let other = Pin::new(other.as_mut().unwrap());
            assert!(other.poll(&mut Context::from_waker(&waker)).is_pending());
            Poll::Pending
        })
    });
    let shared = shared.sleeper(FakeSleeper::new()).build().unwrap();
    *other.lock().unwrap() = Some(shared.get(None));
    let mut first = shared.get(None);
    assert!(
        Pin::new(&mut first)
            .poll(&mut Context::from_waker(Waker::noop()))
            .is_pending()
    );
    assert!(!flag.0.load(Ordering::Relaxed));
    drop(first);
    assert!(flag.0.load(Ordering::Relaxed));
}
