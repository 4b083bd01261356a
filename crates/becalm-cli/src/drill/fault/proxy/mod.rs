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
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until};

use super::faults::{Speaks, Upstream};
use super::helper;
use super::seen::Seen;
use super::spec::Fault;
use crate::drill::descriptors;
use gate::Gate;
use tally::Tally;
use wire::Link;

/// Its name as a process.
pub const NAME: &str = "becalm-drill-proxy";

/// Without the drill and without a connection, how long it is there for those who may come back: its address was named, so they know it.
const NAMED: Duration = Duration::from_secs(600);

/// How long it is there on a port that it chose, which nobody but the drill knows.
const CHOSEN: Duration = Duration::from_secs(10);

/// How long requests may take to end when the drill is over.
const FAREWELL: Duration = Duration::from_secs(2);

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
    Seen(Box<Seen>),
}

/// What all its connections share.
struct Proxy {
    gate: Gate,
    tally: Tally,
    upstream: Upstream,
    /// When all connections together may send the next byte of an answer.
    link: Link,
}

/// Passes on, and breaks when it is told, until it is told to stop or is of no use any more.
///
/// Two threads serve, each the connections that it has accepted: on its way a request waits for none to wake another.
pub fn execute(argument: Option<OsString>) -> ExitCode {
    helper::execute(argument, |brief| {
        // Two for each connection.
        descriptors::raise_all();
        let (here, beside) = (serial()?, serial()?);
        let handle = beside.handle().clone();
        thread::spawn(move || beside.block_on(std::future::pending::<()>()));
        let passed = here.block_on(pass(brief, &handle));
        here.shutdown_background();
        passed
    })
}

fn serial() -> Result<Runtime, String> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| format!("cannot start a runtime: {error}"))
}

async fn pass(brief: Brief, beside: &Handle) -> Result<(), String> {
    let refused = |error: io::Error| {
        let remedy = match error.kind() {
            io::ErrorKind::AddrInUse => {
                "; end what does, which may be the becalm-drill-proxy of a drill that was killed, or name another port"
            }
            _ => "",
        };
        format!("cannot listen on {}: {error}{remedy}", brief.listen)
    };
    let listener = TcpListener::bind(brief.listen).await.map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    let listener = listener.into_std().map_err(refused)?;
    let other = {
        let _beside = beside.enter();
        let shared = listener.try_clone().map_err(refused)?;
        TcpListener::from_std(shared).map_err(refused)?
    };
    let listener = TcpListener::from_std(listener).map_err(refused)?;
    helper::tell(Told::Listening(address));
    let proxy = Arc::new(Proxy {
        gate: Gate::new(brief.fault, brief.seed),
        tally: Tally::default(),
        upstream: brief.upstream,
        link: Link::default(),
    });
    let accepting = [
        tokio::spawn(accept(listener, Arc::clone(&proxy))),
        beside.spawn(accept(other, Arc::clone(&proxy))),
    ];
    let (sender, orders) = unbounded_channel();
    helper::orders(move |order| {
        let _ = sender.send(order);
    });
    if obey(orders, &proxy, brief.at_most).await == Some(Order::Stop) {
        accepting.iter().for_each(JoinHandle::abort);
        helper::tell(Told::Done);
        let until = Instant::now() + FAREWELL;
        while proxy.tally.waiting() > 0 && Instant::now() < until {
            sleep(Duration::from_millis(5)).await;
        }
    } else {
        // The drill is gone.
        let idle = if brief.listen.port() == 0 {
            CHOSEN
        } else {
            NAMED
        };
        let mut last = Instant::now();
        while last.elapsed() < idle {
            sleep(Duration::from_millis(500)).await;
            if proxy.tally.open() > 0 {
                last = Instant::now();
            }
        }
    }
    Ok(())
}

/// Does as it is told until it is told to stop, or nobody is there to tell it; then nothing is broken any more.
async fn obey(
    mut orders: UnboundedReceiver<Option<Order>>,
    proxy: &Proxy,
    at_most: Duration,
) -> Option<Order> {
    let mut due: Option<Instant> = None;
    loop {
        let late = async {
            match due {
                Some(due) => sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        let order = tokio::select! {
            order = orders.recv() => order.flatten(),
            () = late => {
                proxy.gate.lift();
                due = None;
                continue;
            }
        };
        match order {
            Some(Order::Begin) => {
                proxy.gate.begin();
                due = Instant::now().checked_add(at_most);
                helper::tell(Told::Done);
            }
            Some(Order::Lift) => {
                proxy.gate.lift();
                due = None;
                helper::tell(Told::Done);
            }
            Some(Order::Tell) => helper::tell(Told::Seen(Box::new(proxy.tally.seen()))),
            Some(Order::Stop) | None => {
                proxy.gate.lift();
                return order;
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
}
