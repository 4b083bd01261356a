//! Whose handshake begins next? Connections are accepted when there is room for them, and wait here for a handshake's
//! place, where their age is known.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use becalm::time::{Instant, Sleep};
use becalm_admission::AddressGroup;
use tokio::net::{TcpListener, TcpStream};

#[cfg(unix)]
use super::HandOver;
use super::Server;
use super::accepted::{Accepted, Peer};
use super::places::{Handshake, Open};
use super::queue::Queue;
use super::registry::{Counted, Stops};

/// How long it leaves the kernel alone when that has no descriptor for it.
const PAUSE: Duration = Duration::from_millis(20);

/// A TCP listener that begins no more handshakes than the server can take, and none for those who have gone.
///
/// It is made by [`Server::listen`], and serves plain loops, hyper, and axum (feature `axum`) as its `Listener`.
#[derive(Debug)]
pub struct Listener {
    server: Server,
    tcp: TcpListener,
    queue: Queue<(TcpStream, SocketAddr, Open)>,
    /// As many of the queue as the metrics know of.
    told: usize,
    stops: Stops,
    /// Until it has stopped and nobody waits.
    has_some: Option<Counted>,
    pause: Option<Instant>,
    timer: Option<Timer>,
}

struct Timer(Instant, Sleep);

impl Listener {
    pub(crate) fn new(server: Server, tcp: TcpListener) -> Self {
        let settings = server.settings();
        let most = usize::try_from(settings.admission.most_waiting()).unwrap_or(usize::MAX);
        Self {
            queue: Queue::new(most, settings.admission.patience),
            told: 0,
            stops: Stops::of(server.registry()),
            has_some: Some(server.registry().listener()),
            pause: None,
            timer: None,
            tcp,
            server,
        }
    }

    /// The address that it listens on.
    ///
    /// # Errors
    ///
    /// The system does not tell.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.tcp.local_addr()
    }

    /// What hands this listener on to the process that comes after this one. Ask for it before the listener is given to a
    /// server; while it is there, the socket stays open.
    ///
    /// # Errors
    ///
    /// There is no descriptor left for it.
    #[cfg(unix)]
    pub fn hand_over(&self) -> io::Result<HandOver> {
        HandOver::of(&self.tcp)
    }

    /// The next connection whose handshake may begin; `None` when the server [drains](Server::drain) and everybody who waited has
    /// been handed out. It can be dropped and called again.
    pub async fn accept(&mut self) -> Option<Accepted> {
        poll_fn(|context| self.poll_accept(context)).await
    }

    fn poll_accept(&mut self, context: &mut Context<'_>) -> Poll<Option<Accepted>> {
        loop {
            let now = self.server.now();
            // First, so that what falls free from here on wakes it.
            self.server.places().wake_when_free(context.waker());
            let stops = self.stops.poll(context).is_ready();
            if stops {
                self.pause = None; // it accepts nothing more
            } else {
                self.fill(now, context);
            }
            let next = self.next(now);
            self.tell();
            if let Some(next) = next {
                return Poll::Ready(Some(next));
            }
            if stops && self.queue.len() == 0 {
                self.has_some = None;
                return Poll::Ready(None);
            }
            let waits = self.queue.len() > 0;
            let late = self.server.places().take_back_late(now).filter(|_| waits);
            let until = self.queue.expires().into_iter().chain(late);
            let until = until.chain(self.pause).min();
            let Some(until) = until else {
                return Poll::Pending;
            };
            if self.poll_timer(until, context).is_pending() {
                return Poll::Pending;
            }
        }
    }

    /// Accepts while there is room to wait.
    fn fill(&mut self, now: Instant, context: &mut Context<'_>) {
        if self.pause.is_some_and(|until| now < until) {
            return;
        }
        self.pause = None;
        while self.queue.takes_more() && self.server.places().have_room() {
            match self.tcp.poll_accept(context) {
                Poll::Ready(Ok((stream, address))) => {
                    let _ = stream.set_nodelay(true);
                    let group = self.group(address);
                    let Some(open) = self.server.places().open(group) else {
                        // Others are to find a place.
                        count(&self.server.counters().reject_rate);
                        continue;
                    };
                    if self
                        .queue
                        .push((stream, address, open), group, now)
                        .is_some()
                    {
                        count(&self.server.counters().reject_rate);
                    }
                }
                // It left while it waited in the kernel.
                Poll::Ready(Err(error)) if is_of_one(&error) => {}
                Poll::Ready(Err(_)) => {
                    self.pause = Some(now.after(PAUSE));
                    return;
                }
                Poll::Pending => return,
            }
        }
    }

    /// Who is next, past those who have waited too long or have gone.
    fn next(&mut self, now: Instant) -> Option<Accepted> {
        while self.queue.pop_expired(now).is_some() {
            count(&self.server.counters().reject_age);
        }
        let places = self.server.places().clone();
        places.take_back_late(now);
        let ends = now.after(self.server.settings().handshake_deadline);
        while !places.is_full() {
            let next = self.queue.pop(|group| places.handshake(group, ends))?;
            let ((stream, address, open), handshake): (_, Handshake) = next;
            if has_hung_up(&stream) {
                count(&self.server.counters().peer_gone);
                continue;
            }
            let peer = Peer::new(&self.server, address, handshake);
            return Some(Accepted::new(stream, peer, open));
        }
        None
    }

    /// Whose share an address uses up. A proxy stands for many, and so does this machine.
    fn group(&self, address: SocketAddr) -> Option<AddressGroup> {
        let address = address.ip().to_canonical();
        let is_many = address.is_loopback() || self.server.settings().proxies.has(address);
        (!is_many).then(|| address.into())
    }

    fn tell(&mut self) {
        let depth = &self.server.counters().queue_depth;
        depth.fetch_add(self.queue.len(), Ordering::Relaxed);
        depth.fetch_sub(self.told, Ordering::Relaxed);
        self.told = self.queue.len();
    }

    fn poll_timer(&mut self, until: Instant, context: &mut Context<'_>) -> Poll<()> {
        let sleeper = self.server.sleeper();
        let timer = match &mut self.timer {
            Some(timer) if timer.0 == until => timer,
            timer => timer.insert(Timer(until, sleeper.sleep_until(until))),
        };
        let fired = timer.1.as_mut().poll(context);
        if fired.is_ready() {
            self.timer = None;
        }
        fired
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let depth = &self.server.counters().queue_depth;
        depth.fetch_sub(self.told, Ordering::Relaxed);
    }
}

#[cfg(feature = "axum")]
impl axum::serve::Listener for Listener {
    type Io = Accepted;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Accepted, SocketAddr) {
        match Self::accept(self).await {
            Some(accepted) => {
                let address = accepted.peer().address();
                (accepted.of_axum(), address)
            }
            // axum ends by its own graceful shutdown: see `Server::stopped`.
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.local_addr()
    }
}

#[cfg(feature = "axum")]
impl axum::extract::connect_info::Connected<axum::serve::IncomingStream<'_, Listener>> for Peer {
    fn connect_info(stream: axum::serve::IncomingStream<'_, Listener>) -> Self {
        stream.io().peer().clone()
    }
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Whether an error is of the connection, and the next can be accepted at once (accept(2)).
fn is_of_one(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::Interrupted
    )
}

/// Whether the client has gone, or has nothing more to say: asked of the kernel, past what was sent before.
#[cfg(target_os = "linux")]
fn has_hung_up(stream: &TcpStream) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let gone = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
    let mut asked = [PollFd::new(stream, PollFlags::RDHUP)];
    let at_once = Timespec::default();
    poll(&mut asked, Some(&at_once)).is_ok() && asked[0].revents().intersects(gone)
}

/// Whether the client has gone, or has nothing more to say, as far as the runtime has heard.
#[cfg(not(target_os = "linux"))]
fn has_hung_up(stream: &TcpStream) -> bool {
    let ready = std::pin::pin!(stream.ready(tokio::io::Interest::READABLE));
    let context = &mut Context::from_waker(std::task::Waker::noop());
    matches!(ready.poll(context), Poll::Ready(Ok(ready)) if ready.is_read_closed())
}

impl std::fmt::Debug for Timer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Timer").field(&self.0).finish()
    }
}
