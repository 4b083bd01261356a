//! How does a server let a herd back in, and leave without making one?
//!
//! When a server dies, every client sees it within a round trip, and all come back. Where a handshake costs something, a login,
//! a state that is restored, a server that begins each at once does all of its work for those who have left meanwhile.
//! This room keeps the costly work behind [`becalm_admission`], whose decisions it carries out:
//!
//! | when | what bounds it |
//! |---|---|
//! | in the kernel | a backlog of capacity x patience / 2, within `net.core.somaxconn` |
//! | [`Listener`] | accepted connections wait as long as clients do; who has hung up or waited too long is dropped before TLS; handshakes at once, in all and of one address; a deadline for each; descriptors |
//! | [`AdmissionLayer`], [`Server::handshake`] | the request is there: admit, wait, or come at an appointment, before your login and the 101 |
//! | [`Socket::ready`] | the permit is yours until you say that the client is ready |
//! | [`Server::drain`] | each connection is closed at a turn of its own, told when to come back |
//!
//! # Two ways to refuse
//!
//! A native client gets a 503 with `Retry-After`, `retry-after-ms` and [`TICKET_HEADER`](becalm_admission::TICKET_HEADER), and brings the
//! ticket back in that header. A browser (a request with `Origin`) hides all of that from its script, so its connection is accepted and
//! closed with 1013, and the reason is [`Advice`](becalm_admission::Advice): `retry-after-ms=1500; ticket=..`. Its
//! script brings the ticket back as the query parameter `admission-ticket`, and its session as `becalm-session`. The client of this
//! crate does both by itself.
//!
//! # Without axum
//!
//! ```no_run
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! use becalm_ws::StreamExt;
//! use becalm_ws::server::{Admission, Settings};
//!
//! let server = Settings::new(Admission::per_second(500)).server()?;
//! let mut listener = server.listen("[::]:8080").await?;
//! while let Some(connection) = listener.accept().await {
//!     let server = server.clone();
//!     tokio::spawn(async move {
//!         let peer = connection.peer().clone(); // here, TLS
//!         let Ok(handshake) = server.handshake(connection, &peer).await else {
//!             return; // it was told when to come back, or has gone
//!         };
//!         // here, the login
//!         let Ok(mut socket) = handshake.accept().await else { return };
//!         socket.ready();
//!         while let Some(Ok(message)) = socket.next().await {
//!             println!("{message}");
//!         }
//!     });
//! }
//! # Ok(())
//! # }
//! ```
//!
//! With axum, `Server::make_service` puts [`AdmissionLayer`] around all routes, and the extractor [`Upgrade`] does the rest: see the example
//! `axum_chat`. What stands elsewhere than it should is counted and told as [`Misplaced`].

mod accepted;
mod address;
mod admit;
#[cfg(feature = "tower")]
mod admitted;
mod answering;
mod connection;
mod door;
#[cfg(unix)]
mod hand_over;
mod handshake;
mod idle;
#[cfg(feature = "tower")]
mod layer;
mod listener;
#[cfg(feature = "tower")]
mod make_service;
mod metrics;
mod misplaced;
mod places;
mod queue;
mod refusal;
mod registry;
mod settings;
mod sniff;
mod socket;
#[cfg(feature = "tower")]
mod upgrade;

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;

use becalm::rng::{Random, Seed};
use becalm::time::{Instant, Sleeper};
use becalm_admission::{InvalidAdmission, TicketKeys};
use tokio::net::{TcpListener, TcpSocket, ToSocketAddrs};

pub use accepted::{Accepted, Peer};
pub use address::{AddressHeader, InvalidNetwork, Proxies};
pub use becalm_admission::{self, Admission};
pub use connection::{Connection, Farewell};
#[cfg(unix)]
pub use hand_over::{HandOver, Inherited};
pub use handshake::{Handshake, NoHandshake};
#[cfg(feature = "tower")]
pub use layer::{AdmissionLayer, AdmissionService};
pub use listener::Listener;
#[cfg(feature = "axum")]
pub use make_service::MakeService;
#[cfg(feature = "tower")]
pub use make_service::PeerService;
pub use metrics::Metrics;
pub use misplaced::Misplaced;
pub use registry::{Drain, Drained};
pub use settings::Settings;
pub use socket::Socket;
#[cfg(feature = "tower")]
pub use upgrade::{NoUpgrade, Upgrade, Upgraded};

use admit::Resumptions;
use door::Door;
use metrics::Counters;
use places::Places;
use registry::Registry;

/// What all listeners, layers and connections of a server share. Clones are one server.
#[derive(Debug, Clone)]
pub struct Server(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    settings: Settings,
    tickets: TicketKeys,
    door: Arc<Door>,
    places: Places,
    resumptions: Resumptions,
    registry: Arc<Registry>,
    counters: Counters,
}

impl Server {
    fn new(settings: Settings) -> Result<Self, InvalidAdmission> {
        let sleeper = Arc::clone(&settings.sleeper);
        let of_process = || TicketKeys::new(0, &drawn(&settings.seed));
        let tickets = match &settings.tickets {
            Some(tickets) => tickets.clone(),
            None => of_process().unwrap_or_else(|_| unreachable!("32 bytes are a key")),
        };
        Ok(Self(Arc::new(Inner {
            door: Door::new(settings.admission, &settings.seed, sleeper)?,
            places: Places::new(
                (settings.most_open(), settings.connections_of_one),
                settings.handshakes,
                settings.handshakes_of_one,
            ),
            resumptions: Resumptions::default(),
            registry: Registry::new(),
            counters: Counters::default(),
            tickets,
            settings,
        })))
    }

    /// Listens on an address, with a backlog of capacity x patience / 2: a longer one is older than its clients' patience. The
    /// kernel takes at most `net.core.somaxconn`. The socket has `SO_REUSEADDR`.
    ///
    /// # Errors
    ///
    /// The address cannot be listened on.
    pub async fn listen(&self, address: impl ToSocketAddrs) -> io::Result<Listener> {
        let mut failed = None;
        for address in tokio::net::lookup_host(address).await? {
            match self.bound(address) {
                Ok(tcp) => return Ok(Listener::new(self.clone(), tcp)),
                Err(error) => failed = Some(error),
            }
        }
        let nobody = || io::Error::new(io::ErrorKind::InvalidInput, "the address names nothing");
        Err(failed.unwrap_or_else(nobody))
    }

    /// Listens on a socket that listens already, such as an [`Inherited`] one, which keeps the backlog that it has.
    ///
    /// # Errors
    ///
    /// The socket is of no use to the runtime.
    pub fn listen_on(&self, socket: std::net::TcpListener) -> io::Result<Listener> {
        socket.set_nonblocking(true)?;
        Ok(Listener::new(self.clone(), TcpListener::from_std(socket)?))
    }

    fn bound(&self, address: SocketAddr) -> io::Result<TcpListener> {
        let socket = if address.is_ipv4() {
            TcpSocket::new_v4()?
        } else {
            TcpSocket::new_v6()?
        };
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(self.settings().admission.most_waiting())
    }

    /// The layer for axum, hyper and tower, which admits requests for an upgrade. [`make_service`](Self::make_service) puts it around all
    /// routes, and [`service`](Self::service) around those of one connection: with them nothing is left outside.
    #[cfg(feature = "tower")]
    pub fn layer(&self) -> AdmissionLayer {
        AdmissionLayer::new(self.clone())
    }

    /// Whether a load balancer should send connections here: the answer of a health endpoint. It is false from the begin of a
    /// [drain](Self::drain) on.
    pub fn is_ready(&self) -> bool {
        self.registry().is_ready()
    }

    /// Closes all connections, each at a turn of its own, and returns when all have ended, or at the deadline.
    ///
    /// 1. [`is_ready`](Self::is_ready) turns false; the drain's notice passes.
    /// 2. Listeners stop accepting, hand out those who wait, and end.
    /// 3. [`Socket`]s are closed with 1012 at the rate of the drain, each with a ticket for its turn in the reason, so that the
    ///    successor, if it has the same keys, takes it on first. What was sent before is flushed first. A [`Connection`] of yours tells you to do so.
    /// 4. At the deadline sockets end whatever they do.
    ///
    /// [Sessions](Settings::sessions) confirm from then on what has come with every message, so that it is confirmed before the close.
    ///
    /// A second call joins the first.
    pub async fn drain(&self, drain: Drain) -> Drained {
        let before = self.registry().ended();
        let starts = self.now();
        self.registry().leave();
        if !drain.notice.is_zero() {
            self.sleeper().sleep_until(starts.after(drain.notice)).await;
        }
        let ends = starts.after(drain.deadline.max(drain.notice));
        if let Some(sessions) = &self.settings().sessions {
            sessions.leave();
        }
        let plan = self.registry().drain(drain, self.now(), ends);
        let mut timer = self.sleeper().sleep_until(plan.ends);
        poll_fn(|context| {
            self.places().wake_when_free(context.waker());
            if self.registry().is_empty(context) && self.places().handshakes() == 0 {
                return Poll::Ready(());
            }
            timer.as_mut().poll(context)
        })
        .await;
        Drained {
            ended: self.registry().ended() - before,
            left: self.registry().how_many_active(),
        }
    }

    /// Ready when a drain has begun, no [`Listener`] has anybody left who waits, and all who were accepted are upgraded or
    /// refused, or at the drain's deadline: the signal for axum's `with_graceful_shutdown`, which drops the listener and has hyper
    /// break upgrades that are half done.
    pub fn stopped(&self) -> impl Future<Output = ()> + Send + 'static {
        let (registry, places) = (Arc::clone(self.registry()), self.places().clone());
        let sleeper = Arc::clone(&self.settings().sleeper);
        async move {
            let plan = registry.plan().await;
            let mut timer = sleeper.sleep_until(plan.ends);
            poll_fn(|context| {
                // hyper breaks an upgrade that a graceful shutdown finds half done.
                places.wake_when_free(context.waker());
                if registry.nobody_comes(context) && places.handshakes() == 0 {
                    return Poll::Ready(());
                }
                timer.as_mut().poll(context)
            })
            .await;
        }
    }

    /// Whether the other is a clone of this one.
    #[cfg(feature = "tower")]
    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    fn settings(&self) -> &Settings {
        &self.0.settings
    }

    fn tickets(&self) -> &TicketKeys {
        &self.0.tickets
    }

    fn door(&self) -> &Arc<Door> {
        &self.0.door
    }

    fn places(&self) -> &Places {
        &self.0.places
    }

    fn resumptions(&self) -> &Resumptions {
        &self.0.resumptions
    }

    fn registry(&self) -> &Arc<Registry> {
        &self.0.registry
    }

    fn counters(&self) -> &Counters {
        &self.0.counters
    }

    fn sleeper(&self) -> &dyn Sleeper {
        &*self.settings().sleeper
    }

    fn now(&self) -> Instant {
        self.sleeper().now()
    }
}

/// 32 bytes: the first draws of four streams, each with entropy of its own.
fn drawn(seed: &Seed) -> Vec<u8> {
    let draws = (0..4).map(|_| seed.stream().next_u64());
    draws.flat_map(u64::to_be_bytes).collect()
}
