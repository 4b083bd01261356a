//! What stands between clients and a service, and can break what passes? A process of its own, that passes everything on when
//! nobody tells it otherwise.

mod body;
mod bytes;
mod call;
mod gate;
mod http;
mod tally;
mod wire;

use std::ffi::OsString;
use std::io;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::helper::{self, Answers};
use super::seen::News;
use super::spec::Fault;
use super::upstream::{Speaks, Upstream};
use crate::descriptors;
use gate::Gate;
use tally::Tally;
use wire::Link;

/// Its name as a process.
pub const NAME: &str = "becalm-drill-proxy";

/// Without the drill and without a connection, how long it is there for those who may come back: its address was named, so they know it.
const NAMED: Duration = Duration::from_secs(600);

/// How long it is there on a port that it chose, which nobody but the drill knows.
const CHOSEN: Duration = Duration::from_secs(10);

/// How long connections may take to end when the drill is over.
const FAREWELL: Duration = Duration::from_secs(2);

/// Threads that serve.
const SERVING: usize = 2;

/// What it is to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Brief {
    pub fault: Fault,
    pub listen: SocketAddr,
    pub upstream: Upstream,
    /// The fault is lifted after this time even if nobody says so.
    pub at_most: Duration,
    pub seed: u64,
}

/// What it is told to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    Begin,
    Lift,
    /// What it has seen.
    Tell,
    Stop,
}

/// What it answers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Told {
    Listening(SocketAddr),
    Done,
    News(Box<News>),
}

/// What all its connections share.
struct Proxy {
    gate: Gate,
    tally: Tally,
    upstream: Upstream,
    /// When all connections together may send the next byte of an answer.
    link: Link,
    /// Whether the drill is over, so that connections are to end.
    is_over: watch::Sender<bool>,
}

/// Passes on, and breaks when it is told, until it is told to stop or is of no use any more.
///
/// Each thread that serves has the connections that it has accepted: on its way a request waits for none to wake another. Orders
/// and the clock that lifts are this thread's, answers to the drill another's: neither waits for a request, nor for the drill to read.
pub fn execute(argument: Option<OsString>) -> ExitCode {
    helper::execute(argument, |brief| {
        // Two for each connection.
        descriptors::raise_all();
        pass(brief)
    })
}

fn pass(brief: Brief) -> Result<(), String> {
    let proxy = Arc::new(Proxy {
        gate: Gate::new(brief.fault, brief.seed),
        tally: Tally::default(),
        upstream: brief.upstream,
        link: Link::default(),
        is_over: watch::Sender::new(false),
    });
    let (address, accepting) = serve(brief.listen, &proxy)?;
    let answers = Answers::start();
    answers.tell(Told::Listening(address));
    let (sender, orders) = channel();
    helper::orders(move |order| {
        let _ = sender.send(order);
    });
    if obey(&orders, &answers, &proxy, brief.at_most) == Some(Order::Stop) {
        accepting.iter().for_each(JoinHandle::abort);
        proxy.is_over.send_replace(true);
        answers.tell(Told::Done);
        let until = Instant::now() + FAREWELL;
        while proxy.tally.open() > 0 && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
        answers.end();
    } else {
        // The drill is gone.
        let idle = if brief.listen.port() == 0 {
            CHOSEN
        } else {
            NAMED
        };
        let mut last = Instant::now();
        while last.elapsed() < idle {
            thread::sleep(Duration::from_millis(500));
            if proxy.tally.open() > 0 {
                last = Instant::now();
            }
        }
    }
    Ok(())
}

/// Where it listens from now on, and who accepts.
fn serve(
    listen: SocketAddr,
    proxy: &Arc<Proxy>,
) -> Result<(SocketAddr, Vec<JoinHandle<()>>), String> {
    let refused = |error: io::Error| {
        let remedy = match error.kind() {
            io::ErrorKind::AddrInUse => {
                "; end what does, which may be the becalm-drill-proxy of a drill that was killed, or name another port"
            }
            _ => "",
        };
        format!("cannot listen on {listen}: {error}{remedy}")
    };
    let bound = serial()?.block_on(async { TcpListener::bind(listen).await?.into_std() });
    let listener = bound.map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    let accepting = (0..SERVING).map(|_| {
        let runtime = serial()?;
        let shared = {
            let _entered = runtime.enter();
            TcpListener::from_std(listener.try_clone().map_err(refused)?).map_err(refused)?
        };
        let accepts = runtime.spawn(accept(shared, Arc::clone(proxy)));
        thread::spawn(move || runtime.block_on(std::future::pending::<()>()));
        Ok(accepts)
    });
    let accepting = accepting.collect::<Result<_, String>>()?;
    Ok((address, accepting))
}

fn serial() -> Result<Runtime, String> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| format!("cannot start a runtime: {error}"))
}

/// Does as it is told until it is told to stop, or nobody is there to tell it; then nothing is broken any more.
fn obey(
    orders: &Receiver<Option<Order>>,
    answers: &Answers<Told>,
    proxy: &Proxy,
    at_most: Duration,
) -> Option<Order> {
    let mut due: Option<Instant> = None;
    loop {
        let left = due.map_or(Duration::MAX, |due| {
            due.saturating_duration_since(Instant::now())
        });
        match orders.recv_timeout(left) {
            Ok(Some(Order::Begin)) => {
                proxy.gate.begin();
                due = Instant::now().checked_add(at_most);
                answers.tell(Told::Done);
            }
            Ok(Some(Order::Lift)) => {
                proxy.gate.lift();
                due = None;
                answers.tell(Told::Done);
            }
            Ok(Some(Order::Tell)) => answers.tell(Told::News(Box::new(proxy.tally.news()))),
            Err(RecvTimeoutError::Timeout) => {
                proxy.gate.lift();
                due = None;
            }
            Ok(order @ (Some(Order::Stop) | None)) => {
                proxy.gate.lift();
                return order;
            }
            Err(RecvTimeoutError::Disconnected) => {
                proxy.gate.lift();
                return None;
            }
        }
    }
}

/// Accepts for ever. Out of descriptors, it waits for one instead of spinning.
async fn accept(listener: TcpListener, proxy: Arc<Proxy>) {
    loop {
        let Ok((client, from)) = listener.accept().await else {
            sleep(Duration::from_millis(5)).await;
            continue;
        };
        // An answer is not to wait for the client's delayed acknowledgement (RFC 1122 section 4.2.3.2).
        let _ = client.set_nodelay(true);
        let proxy = Arc::clone(&proxy);
        match proxy.upstream.speaks {
            Speaks::Http => drop(tokio::spawn(http::converse(client, from.ip(), proxy))),
            Speaks::Bytes => drop(tokio::spawn(bytes::converse(client, proxy))),
        }
    }
}

impl Proxy {
    /// A connection to what it stands in front of.
    async fn connect(&self) -> io::Result<TcpStream> {
        let service = TcpStream::connect(&*self.upstream.addresses).await?;
        let _ = service.set_nodelay(true);
        Ok(service)
    }

    /// Waits until the drill is over.
    async fn over(&self) {
        let _ = self.is_over.subscribe().wait_for(|it| *it).await;
    }
}
