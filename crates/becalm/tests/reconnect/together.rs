//! What is lost with one connection: is it charged once, does all of it come back, and is that bounded where a server
//! cuts again and again?

use std::fmt;
use std::io::{Error, ErrorKind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use becalm::budget::{RetryBudget, Withdrawal};
use becalm::classify::Loss;
use becalm::reconnect::{NoConnection, Reconnect, SharedConnection};
use becalm::rng::Seed;
use becalm::time::TokioSleeper;
use becalm::{Budget, Classify, Failure, GaveUp, Policy, Retrier, StopReason};
use futures_util::future::join_all;
use tokio::time::{Instant, sleep};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A server that serves each command in 1 ms, and cuts a connection after a number of commands.
#[derive(Debug, Default)]
struct Server {
    is_down: AtomicBool,
    /// 0 for never.
    cuts_after: AtomicUsize,
    dialled: Mutex<Vec<Instant>>,
    received: AtomicUsize,
    /// The most commands at once on each connection.
    batches: Mutex<Vec<usize>>,
}

#[derive(Debug, Clone)]
struct Connection {
    server: Arc<Server>,
    number: usize,
    received: Arc<AtomicUsize>,
    running: Arc<AtomicUsize>,
    is_cut: Arc<AtomicBool>,
}

impl Server {
    fn cutting_after(commands: usize) -> Arc<Self> {
        let server = Self::default();
        server.cuts_after.store(commands, Ordering::Relaxed);
        Arc::new(server)
    }

    async fn dial(self: Arc<Self>) -> Result<Connection, (Failure, Error)> {
        self.dialled.lock().unwrap().push(Instant::now());
        sleep(ms(2)).await;
        if self.is_down.load(Ordering::Relaxed) {
            let error = Error::from(ErrorKind::ConnectionRefused);
            return Err((Failure::transient().unsent(), error));
        }
        let mut batches = self.batches.lock().unwrap();
        batches.push(0);
        Ok(Connection {
            number: batches.len() - 1,
            received: Arc::default(),
            running: Arc::default(),
            is_cut: Arc::default(),
            server: Arc::clone(&self),
        })
    }

    fn shared(self: &Arc<Self>) -> Shared {
        let server = Arc::clone(self);
        SharedConnection::builder(Reconnect::for_commands(), move || server.clone().dial())
            .sleeper(TokioSleeper::new())
            .seed(Seed::fixed(7))
            .build()
            .unwrap()
    }

    fn dials(&self) -> usize {
        self.dialled.lock().unwrap().len()
    }

    fn received(&self) -> usize {
        self.received.load(Ordering::Relaxed)
    }

    fn batches(&self) -> Vec<usize> {
        self.batches.lock().unwrap().clone()
    }
}

type Shared = SharedConnection<Connection, Error>;

impl Connection {
    async fn ask(&self) -> Result<(), Error> {
        let cut = || Error::from(ErrorKind::ConnectionReset);
        if self.is_cut.load(Ordering::Relaxed) {
            return Err(cut());
        }
        self.server.received.fetch_add(1, Ordering::Relaxed);
        let running = self.running.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(most) = self.server.batches.lock().unwrap().get_mut(self.number) {
            *most = running.max(*most);
        }
        let received = self.received.fetch_add(1, Ordering::Relaxed) + 1;
        if received == self.server.cuts_after.load(Ordering::Relaxed) {
            self.is_cut.store(true, Ordering::Relaxed);
        }
        sleep(ms(1)).await;
        self.running.fetch_sub(1, Ordering::Relaxed);
        if self.is_cut.load(Ordering::Relaxed) {
            return Err(cut());
        }
        Ok(())
    }
}

/// What a command fails with.
#[derive(Debug)]
enum Lost {
    With(Loss),
    NoConnection(NoConnection<Error>),
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::With(_) => f.write_str("the connection was cut"),
            Self::NoConnection(none) => none.fmt(f),
        }
    }
}

impl Classify for Lost {
    fn classify(&self) -> Failure {
        match self {
            Self::With(loss) => Failure::transient().lost_with(*loss),
            Self::NoConnection(none) => none.classify(),
        }
    }
}

async fn attempt(shared: &Shared, within: Duration) -> Result<(), Lost> {
    let held = shared.get(Some(within)).await;
    let held = held.map_err(Lost::NoConnection)?;
    held.ask().await.map_err(|_| Lost::With(held.lost()))
}

async fn command(retrier: &Retrier, shared: &Shared) -> Result<(), GaveUp<Lost>> {
    retrier.retry(|_| attempt(shared, ms(60_000))).await
}

/// A budget of so many tokens that counts.
#[derive(Debug)]
struct Purse {
    tokens: AtomicUsize,
    refunds: AtomicUsize,
    spent: AtomicUsize,
}

impl Purse {
    fn of(tokens: usize) -> Arc<Self> {
        Arc::new(Self {
            tokens: tokens.into(),
            refunds: 0.into(),
            spent: 0.into(),
        })
    }

    fn tokens(&self) -> usize {
        self.tokens.load(Ordering::Relaxed)
    }
}

impl RetryBudget for Purse {
    fn deposit(&self, _: becalm::time::Instant) {}

    fn withdraw(&self, _: becalm::time::Instant, _: &Failure) -> Option<Withdrawal> {
        let less = |tokens: usize| tokens.checked_sub(1);
        let (order, tokens) = (Ordering::Relaxed, &self.tokens);
        let taken = tokens.fetch_update(order, order, less);
        taken.ok().map(|_| Withdrawal::of_micros(1_000_000))
    }

    fn refund(&self, withdrawal: Withdrawal) {
        assert_eq!(withdrawal.micros(), 1_000_000, "what was taken");
        self.refunds.fetch_add(1, Ordering::Relaxed);
        self.tokens.fetch_add(1, Ordering::Relaxed);
    }

    fn spent(&self, withdrawal: Withdrawal) {
        let tokens = usize::from(withdrawal.micros() > 0);
        self.spent.fetch_add(tokens, Ordering::Relaxed);
    }

    fn on_success(&self, _: becalm::time::Instant, last: Option<Withdrawal>) {
        if let Some(last) = last {
            self.spent(last);
        }
    }

    fn fill(&self, _: becalm::time::Instant) -> f64 {
        1.0
    }
}

/// With a seed: where a server cuts every 50 commands, one seed of some 150 has a command that is cut four times.
fn paid_by(purse: &Arc<Purse>, policy: Policy) -> Retrier {
    policy
        .builder()
        .retry_budget(purse.clone())
        .seed(Seed::fixed(7))
        .build()
        .unwrap()
}

async fn all_of(
    retrier: &Retrier,
    shared: &Shared,
    commands: usize,
) -> Vec<Result<(), GaveUp<Lost>>> {
    join_all((0..commands).map(|_| command(retrier, shared))).await
}

fn failed(ended: &[Result<(), GaveUp<Lost>>], reason: StopReason) -> usize {
    let stopped = ended.iter().filter_map(|ended| ended.as_ref().err());
    stopped.filter(|gave_up| gave_up.reason() == reason).count()
}

/// Cuts the first connection, and no other.
async fn one_cut(server: &Server) {
    while server.dials() < 2 {
        sleep(ms(1)).await;
    }
    server.cuts_after.store(0, Ordering::Relaxed);
}

#[tokio::test(start_paused = true)]
async fn commands_of_one_cut_are_charged_once_and_all_come_back() {
    for commands in [200, 2000] {
        let server = Server::cutting_after(commands);
        let (shared, purse) = (server.shared(), Purse::of(10));
        let retrier = paid_by(&purse, Policy::default());
        let (ended, ()) = tokio::join!(all_of(&retrier, &shared, commands), one_cut(&server));
        assert!(ended.iter().all(Result::is_ok), "{commands}");
        assert_eq!((purse.tokens(), server.dials()), (9, 2), "{commands}");
        assert_eq!(server.batches()[0], commands, "all at once");
        assert_eq!(purse.spent.load(Ordering::Relaxed), 1, "once");
        let server = Server::cutting_after(commands);
        let (shared, retrier) = (server.shared(), Policy::default().retrier().unwrap());
        let (ended, ()) = tokio::join!(all_of(&retrier, &shared, commands), one_cut(&server));
        assert!(ended.iter().all(Result::is_ok), "by default, {commands}");
    }
}

/// With a token for each, as calls that have nothing in common pay.
#[tokio::test(start_paused = true)]
async fn what_fails_apart_is_charged_apart() {
    let purse = Purse::of(10);
    let retrier = paid_by(&purse, Policy::default());
    let each = |_| retrier.retry(|_| async { Err::<(), _>(Lost::With(Loss::unique())) });
    let ended = join_all((0..20).map(each)).await;
    let ended: Vec<_> = ended.into_iter().collect();
    assert!(failed(&ended, StopReason::BudgetExhausted) > 10);
    assert_eq!(purse.tokens(), 0);
}

#[tokio::test(start_paused = true)]
async fn each_budget_pays_for_its_own_commands() {
    let server = Server::cutting_after(20);
    let shared = server.shared();
    let purses = [Purse::of(5), Purse::of(5)];
    let [one, other] = [0, 1].map(|at| paid_by(&purses[at], Policy::default()));
    let (first, second, ()) = tokio::join!(
        all_of(&one, &shared, 10),
        all_of(&other, &shared, 10),
        one_cut(&server)
    );
    assert!(first.iter().chain(&second).all(Result::is_ok));
    assert_eq!(purses.map(|purse| purse.tokens()), [4, 4]);
}

#[tokio::test(start_paused = true)]
async fn a_token_that_nobody_used_comes_back() {
    let server = Server::cutting_after(20);
    let (shared, purse) = (server.shared(), Purse::of(5));
    let retrier = paid_by(&purse, Policy::fixed(ms(1000)).jitter(becalm::Jitter::None));
    {
        let commands = all_of(&retrier, &shared, 20);
        let in_the_wait = tokio::time::timeout(ms(500), commands).await;
        assert!(in_the_wait.is_err());
        assert_eq!(purse.tokens(), 5, "dropped with the commands");
    }
    // One that has started keeps it, whatever the others do.
    let server = Server::cutting_after(2);
    let (shared, purse) = (server.shared(), Purse::of(5));
    let retrier = paid_by(&purse, Policy::fixed(ms(1000)).jitter(becalm::Jitter::None));
    let goes_on = command(&retrier, &shared);
    let leaves = tokio::time::timeout(ms(500), command(&retrier, &shared));
    let (went_on, left, ()) = tokio::join!(goes_on, leaves, one_cut(&server));
    assert!(went_on.is_ok() && left.is_err());
    let refunds = purse.refunds.load(Ordering::Relaxed);
    assert_eq!((purse.tokens(), refunds), (4, 0));
}

/// A reader that was busy: the others are back already.
#[tokio::test(start_paused = true)]
async fn a_command_that_learns_late_has_paid_with_the_others() {
    let server = Server::cutting_after(3);
    let (shared, purse) = (server.shared(), Purse::of(5));
    let retrier = paid_by(&purse, Policy::default());
    let late = retrier.retry(|attempt| {
        let shared = &shared;
        async move {
            let held = shared.get(None).await.map_err(Lost::NoConnection)?;
            if held.ask().await.is_err() {
                sleep(ms(5000 * u64::from(attempt.number() == 1))).await;
                return Err(Lost::With(held.lost()));
            }
            Ok(())
        }
    });
    let (late, ended, ()) = tokio::join!(late, all_of(&retrier, &shared, 2), one_cut(&server));
    assert!(late.is_ok() && ended.iter().all(Result::is_ok));
    assert_eq!((purse.tokens(), server.dials()), (4, 2));
}

#[tokio::test(start_paused = true)]
async fn commands_that_wait_for_one_redial_pay_once() {
    let server = Server::cutting_after(0);
    let (shared, purse) = (server.shared(), Purse::of(3));
    server.is_down.store(true, Ordering::Relaxed);
    let retrier = paid_by(&purse, Policy::default());
    let impatient = |_| retrier.retry(|_| attempt(&shared, ms(50)));
    let ended = join_all((0..100).map(impatient)).await;
    assert_eq!(failed(&ended, StopReason::AttemptsExhausted), 100);
    assert_eq!(purse.tokens(), 2);
    assert_eq!(server.received(), 0, "nothing was sent");
}

#[tokio::test(start_paused = true)]
async fn a_dead_idle_connection_costs_nothing() {
    let purse = Purse::of(0);
    let retrier = paid_by(&purse, Policy::default());
    let found_dead = retrier.retry(|attempt| async move {
        match attempt.number() {
            1..=3 => Err(Lost::With(Loss::IDLE)),
            _ => Ok(()),
        }
    });
    assert!(found_dead.await.is_ok());

    // The shared one that a check finds dead makes no batch smaller: nothing was in flight on it.
    let server = Server::cutting_after(0);
    let dialled = Arc::clone(&server);
    let shared: Shared =
        SharedConnection::builder(Reconnect::for_commands(), move || dialled.clone().dial())
            .sleeper(TokioSleeper::new())
            .check(ms(5), |_| async { false })
            .build()
            .unwrap();
    for _ in 0..5 {
        drop(shared.get(None).await.unwrap());
        sleep(ms(10)).await;
    }
    let all = all_of(&retrier, &shared, 50).await;
    assert!(all.iter().all(Result::is_ok));
    assert_eq!(server.batches().last(), Some(&50));
}

/// Each connection is cut with its 200th command, as by a server that dies of something.
#[tokio::test(start_paused = true)]
async fn a_server_that_cuts_again_and_again_gets_smaller_batches_at_its_pace() {
    for (cuts_after, commands) in [(200, 200), (200, 2000), (50, 2000), (1, 100)] {
        let server = Server::cutting_after(cuts_after);
        let (shared, purse) = (server.shared(), Purse::of(1000));
        let retrier = paid_by(&purse, Policy::default());
        let ended = all_of(&retrier, &shared, commands).await;
        let case = format!("{cuts_after} of {commands}");
        let done = ended.iter().filter(|ended| ended.is_ok()).count();
        let exhausted = failed(&ended, StopReason::AttemptsExhausted);
        assert_eq!(done + exhausted, commands, "{case}");

        assert!(server.received() <= commands * 4, "{case}");
        let (batches, dials) = (server.batches(), server.dials());
        assert!(1000 - purse.tokens() <= dials, "{case}: a token a redial");
        // All at once, again all of them, and from then on half of the last batch at most; it grows by one with each.
        let bound = |last: usize| last / 2 + cuts_after / (last / 2).max(1) + 1;
        for (at, pair) in batches.windows(2).enumerate().skip(1) {
            assert!(pair[1] <= bound(pair[0]), "{case}, {at}: {batches:?}");
        }
        let dialled = server.dialled.lock().unwrap();
        let of_a_second = |from: &Instant| {
            let within = |at: &&Instant| at.duration_since(*from) < ms(1000) && *at >= from;
            dialled.iter().filter(within).count()
        };
        let most = dialled.iter().map(of_a_second).max().unwrap_or_default();
        assert!(most <= 12, "{case}: {most} dials in a second");
        // A batch of it gets through, or nothing does.
        let (least, most) = match cuts_after {
            1 => (0, 4 * commands),
            _ => (commands, commands + commands / 2 + 2 * cuts_after),
        };
        assert_eq!(done, least, "{case}");
        assert!(server.received() <= most, "{case}: {}", server.received());
    }
}

#[tokio::test(start_paused = true)]
async fn a_healthy_connection_has_places_for_all() {
    let server = Server::cutting_after(10);
    let shared = server.shared();
    // After two cuts under ten commands there is a place for five.
    for _ in 0..2 {
        let held = join_all((0..10).map(|_| shared.get(Some(ms(20_000))))).await;
        let held: Vec<_> = held.into_iter().filter_map(Result::ok).collect();
        held[0].lost();
    }
    let began = Instant::now();
    let held = join_all((0..10).map(|_| shared.get(Some(ms(20_000))))).await;
    assert!(held.iter().all(Result::is_ok));
    assert!(began.elapsed() >= ms(1000), "healthy after a second");
    // The next cut is the first again.
    held[0].as_ref().unwrap().lost();
    let began = Instant::now();
    let held = join_all((0..10).map(|_| shared.get(Some(ms(20_000))))).await;
    assert!(held.iter().all(Result::is_ok) && began.elapsed() < ms(200));
}

/// A quota of the AWS SDKs gives a call back what it had paid: the token of all is given back once.
#[tokio::test(start_paused = true)]
async fn what_all_have_paid_is_given_back_once() {
    let server = Server::cutting_after(20);
    let shared = server.shared();
    let policy = Policy::default().budget(Budget::tokens());
    let retrier = policy.retrier().unwrap();
    let full = retrier.budget_fill();
    let (ended, ()) = tokio::join!(all_of(&retrier, &shared, 20), one_cut(&server));
    assert!(ended.iter().all(Result::is_ok));
    assert!((retrier.budget_fill() - full).abs() < 1e-9);
}

/// One token. Who takes it is slow to say so, until another asks or 50 ms have passed.
#[derive(Debug, Default)]
struct Slow {
    asked: Mutex<u32>,
    another: std::sync::Condvar,
}

impl RetryBudget for Slow {
    fn deposit(&self, _: becalm::time::Instant) {}

    fn withdraw(&self, _: becalm::time::Instant, _: &Failure) -> Option<Withdrawal> {
        let mut asked = self.asked.lock().unwrap();
        *asked += 1;
        self.another.notify_all();
        if *asked > 1 {
            return None;
        }
        let alone = |asked: &mut u32| *asked == 1;
        let waited = self.another.wait_timeout_while(asked, ms(50), alone);
        drop(waited.unwrap());
        // The other has been denied by now; that it stops takes a moment.
        std::thread::sleep(ms(5));
        Some(Withdrawal::of_micros(1_000_000))
    }

    fn refund(&self, _: Withdrawal) {}

    fn fill(&self, _: becalm::time::Instant) -> f64 {
        0.0
    }
}

#[test]
fn who_asks_while_another_pays_for_their_loss_is_not_denied() {
    let policy = Policy::default().base(Duration::ZERO).attempts(2);
    let budget = Arc::<Slow>::default();
    let retrier = policy.builder().retry_budget(budget).build().unwrap();
    let loss = Loss::unique();
    let both = std::sync::Barrier::new(2);
    let call = || {
        let mut attempts = 0;
        retrier.retry_blocking(|_| {
            attempts += 1;
            if attempts > 1 {
                return Ok(());
            }
            both.wait();
            Err(Lost::With(loss))
        })
    };
    let ended = std::thread::scope(|scope| {
        let all = [(); 2].map(|()| scope.spawn(call));
        all.map(|it| it.join().unwrap().is_ok())
    });
    assert_eq!(ended, [true, true]);
}
