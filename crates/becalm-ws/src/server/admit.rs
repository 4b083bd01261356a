//! May this request be upgraded? What it shows is read, and the core asked.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use becalm::rng::Random;
use becalm::time::Instant;
use becalm_admission::{AddressGroup, Advice, Arrival, Claims, Clocks, Refusal, TICKET_HEADER};
use tokio_tungstenite::tungstenite::http::{HeaderMap, Uri};

use super::Server;
use super::accepted::Working;
use super::door::Held;
use super::places::OfOne;
use super::registry::Counted;
use crate::session::{self, SessionId};

/// Somebody who was let in and is no connection yet.
#[derive(Debug)]
pub(crate) struct Admitted {
    pub server: Server,
    pub held: Held,
    pub resumption: Option<Resumption>,
    /// Where a proxy has named its address.
    pub of_one: Option<OfOne>,
    /// Counted until it is a connection.
    pub coming: Option<Counted>,
    /// Over HTTP/2, where its connection stays as long as it does.
    pub working: Option<Working>,
}

/// The sessions whose clients are coming back now.
#[derive(Debug, Default)]
pub(crate) struct Resumptions(Mutex<HashSet<SessionId>>);

/// One who comes back to a session, until it is ready or gone: another who names the same session meanwhile is a fresh arrival, or one
/// session would let in any number before others.
#[derive(Debug)]
pub(crate) struct Resumption {
    server: Server,
    id: SessionId,
}

impl Resumption {
    fn of(server: &Server, headers: &HeaderMap, uri: &Uri) -> Option<Self> {
        let sessions = server.settings().sessions.as_ref()?;
        let id = shown(headers, uri, session::HEADER)?.parse().ok()?;
        let is_one = sessions.holds(id) && server.resumptions().with(|all| all.insert(id));
        is_one.then(|| Self {
            server: server.clone(),
            id,
        })
    }
}

impl Drop for Resumption {
    fn drop(&mut self) {
        let Self { server, id } = self;
        server.resumptions().with(|all| all.remove(id));
    }
}

impl Resumptions {
    fn with(&self, change: impl FnOnce(&mut HashSet<SessionId>) -> bool) -> bool {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A request for an upgrade that nothing was decided about. Dropped so, its client has hung up.
#[derive(Debug)]
pub(crate) struct Asking {
    server: Server,
    coming: Option<Counted>,
}

impl Asking {
    pub fn new(server: &Server, coming: Counted) -> Self {
        Self {
            server: server.clone(),
            coming: Some(coming),
        }
    }

    /// Lets it in, from this address, now or after a wait, or says when to come back.
    pub async fn admit(
        mut self,
        peer: Option<IpAddr>,
        headers: &HeaderMap,
        uri: &Uri,
    ) -> Result<Admitted, Advice> {
        // Its driver reads on meanwhile, and drops this if the client has hung up already.
        tokio::task::yield_now().await;
        let coming = self.coming.take();
        let server = &self.server;
        // Those whose address nobody knows share one, of no network (RFC 1122 section 3.2.1.3).
        let peer = peer.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        let address = server.settings().proxies.client(peer, headers);
        let group = AddressGroup::from(address);
        let is_named = address != peer && !server.settings().proxies.has(address);
        let of_one = is_named.then(|| server.places().of_one(group));
        if let Some(None) = of_one {
            let counter = &server.counters().reject_rate;
            counter.fetch_add(1, Ordering::Relaxed);
            return Err(Advice::new(server.settings().admission.patience));
        }
        let mut arrival = Arrival::of(group);
        let resumption = Resumption::of(server, headers, uri);
        if resumption.is_some() {
            arrival = arrival.resumption();
        }
        let ticket = shown(headers, uri, TICKET_HEADER);
        // What is no ticket of ours gets its bearer nothing.
        let open = |ticket| server.tickets().open(ticket, None, server.clocks()).ok();
        let claims = ticket.and_then(open);
        if let Some(claims) = claims {
            arrival = arrival.ticket(claims);
        }
        match server.door().enter(&arrival).await {
            Ok(held) => Ok(Admitted {
                server: server.clone(),
                held,
                resumption,
                of_one: of_one.flatten(),
                coming,
                working: None,
            }),
            Err(refusal) => Err(server.advice(&refusal)),
        }
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        if self.coming.is_some() {
            let counter = &self.server.counters().peer_gone;
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Server {
    fn advice(&self, refusal: &Refusal) -> Advice {
        let advice = Advice::new(refusal.delay);
        match &refusal.ticket {
            Some(claims) => advice.ticket(self.sealed(claims)),
            None => advice,
        }
    }

    /// A ticket for a place that the core has not given away: of somebody who is sent away at this moment.
    pub(crate) fn ticket_at(&self, slot: Instant) -> String {
        let number = self.settings().seed.stream().next_u64();
        let good = self.settings().admission.patience / 2;
        self.sealed(&Claims::new(number, slot, slot.after(good)))
    }

    fn sealed(&self, claims: &Claims) -> String {
        self.tickets().seal(claims, None, self.clocks())
    }

    fn clocks(&self) -> Clocks {
        (self.now(), self.sleeper().wall().into())
    }
}

/// What a header holds, or else the query parameter of that name.
fn shown<'a>(headers: &'a HeaderMap, uri: &'a Uri, name: &str) -> Option<&'a str> {
    let header = headers.get(name).and_then(|value| value.to_str().ok());
    header.or_else(|| {
        let mut pairs = uri.query()?.split('&');
        pairs.find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
    })
}
