//! What paces the dialling of a connection that all commands share?
#![cfg(all(feature = "tokio", feature = "tracing"))]

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt::{Debug, Write};
use std::future::Future;
use std::io::{Error, ErrorKind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use becalm::observe::TracingObserver;
use becalm::rng::Seed;
use becalm::{Budget, Policy, Retrier};
use futures_util::FutureExt;
use futures_util::future::Shared;
use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

const TASKS: u32 = 500;

type Dialling = Shared<Pin<Box<dyn Future<Output = Result<(), ErrorKind>>>>>;

/// A connection that whichever command comes first dials, and all others wait for.
struct Connection {
    dialler: Retrier,
    is_detached: bool,
    dialling: RefCell<Option<Dialling>>,
    /// For each second, how often the server was asked.
    connects: RefCell<BTreeMap<u64, u32>>,
    began: tokio::time::Instant,
}

impl Connection {
    fn get(self: &Rc<Self>) -> Dialling {
        let mut dialling = self.dialling.borrow_mut();
        dialling.get_or_insert_with(|| self.dial()).clone()
    }

    fn dial(self: &Rc<Self>) -> Dialling {
        let this = Rc::clone(self);
        let dial = async move {
            let dialled = this.dialler.retry(|_| async { this.connect() }).await;
            this.dialling.borrow_mut().take();
            dialled.map_err(|_| ErrorKind::NotConnected)
        };
        if self.is_detached {
            becalm::detached(dial).boxed_local().shared()
        } else {
            dial.boxed_local().shared()
        }
    }

    /// The server is down.
    fn connect(&self) -> Result<(), Error> {
        let second = self.began.elapsed().as_secs();
        *self.connects.borrow_mut().entry(second).or_default() += 1;
        Err(ErrorKind::ConnectionRefused.into())
    }
}

/// What the log says.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = write!(self.0, " {field}={value:?}");
    }
}

impl<S: tracing::Subscriber> Layer<S> for Log {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }
}

/// 500 tasks that send commands on one connection, which has just been lost: most connects in a
/// second, and the log.
fn most_connects_in_a_second(is_detached: bool) -> (u32, Vec<String>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let log = Log::default();
    let subscriber = tracing_subscriber::registry().with(log.clone());
    let most = tracing::subscriber::with_default(subscriber, || {
        runtime.block_on(async {
            let backoff = Policy::exponential(Duration::from_millis(100));
            let dialler = backoff
                .attempts(Policy::UNLIMITED)
                .budget(Budget::None)
                .builder()
                .name("dial")
                .seed(Seed::fixed(1))
                .observer(TracingObserver);
            let connection = Rc::new(Connection {
                dialler: dialler.build().unwrap(),
                is_detached,
                dialling: RefCell::default(),
                connects: RefCell::default(),
                began: tokio::time::Instant::now(),
            });
            let commands = Policy::exponential(Duration::from_millis(100))
                .budget(Budget::None)
                .attempt_timeout(Duration::from_millis(300))
                .builder()
                .seed(Seed::fixed(2))
                .build()
                .unwrap();
            let tasks = tokio::task::LocalSet::new();
            for _ in 0..TASKS {
                let (connection, commands) = (Rc::clone(&connection), commands.clone());
                tasks.spawn_local(async move {
                    let is_lost = Cell::new(true);
                    loop {
                        let command = commands.retry(|_| async {
                            if is_lost.take() {
                                return Err(Error::from(ErrorKind::ConnectionReset));
                            }
                            connection.get().await.map_err(Error::from)
                        });
                        let _ = command.await;
                    }
                });
            }
            tasks
                .run_until(tokio::time::sleep(Duration::from_secs(30)))
                .await;
            let connects = connection.connects.borrow();
            connects.values().copied().max().unwrap_or(0)
        })
    });
    let log = log.0.lock().unwrap().clone();
    (most, log)
}

#[test]
fn b2_a_detached_dial_that_500_tasks_share_paces_itself() {
    let (most, log) = most_connects_in_a_second(true);
    assert!((1..=10).contains(&most), "{most} connects in a second");
    assert!(!log.iter().any(|line| line.contains("nested_retry")));
}

#[test]
fn b2_a_dial_inside_a_repeating_command_says_in_the_log_what_is_wrong() {
    let (most, log) = most_connects_in_a_second(false);
    assert!(most > 10, "{most} connects in a second");
    let says = |line: &&String| line.contains("becalm::detached");
    let said = log.iter().find(says).expect("a diagnosis");
    assert!(
        said.starts_with("WARN") && said.contains(r#"retrier="dial""#),
        "{said}"
    );
}
