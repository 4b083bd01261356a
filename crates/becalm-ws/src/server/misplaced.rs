//! What is told where a layer stands in a place in which it does not do its work?

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Server;

becalm::support::reasons! {
    /// Why a [`Server`] does not do for a request what its layer is there for. Each is told once in the program's log (of `tracing`, a warning),
    /// and counted in [`Metrics::misplaced`](super::Metrics::misplaced).
    #[derive(PartialOrd, Ord)]
    Misplaced;
    /// A WebSocket began behind a [`Listener`](super::Listener) that the server has not admitted. Behind axum it is answered with 500 and this
    /// sentence.
    Unadmitted: "this WebSocket was not admitted: serve all routes by axum::serve(listener, server.make_service(routes)), or without axum by server.service(&peer, routes) or server.handshake(connection, &peer)";
    /// The listener of the connection is of one [`Server`], and the layer of another.
    OtherServer: "a WebSocket came through the listener or the layer of one Server and the layer of another, which drain apart: use clones of one Server";
    /// Nothing says where a request comes from, so that all of them share what one address may have.
    NoAddress: "a request for a WebSocket has no address, so all share what one address may have: serve the routes by server.make_service(routes), or axum's into_make_service_with_connect_info::<SocketAddr>()";
    /// A WebSocket waits for its admission in a place of `becalm_tower::server::AdmissionLayer`.
    InsidePlace: "WebSockets wait for their admission in the places of becalm_tower's AdmissionLayer, and keep HTTP out: put Server::layer outside of it, or serve the routes by server.make_service(routes)";
}

const ALL: [(Misplaced, &str); 4] = [
    (Misplaced::Unadmitted, "unadmitted"),
    (Misplaced::OtherServer, "other_server"),
    (Misplaced::NoAddress, "no_address"),
    (Misplaced::InsidePlace, "inside_place"),
];

impl Misplaced {
    /// As `ws_misplaced_total` names it.
    pub const fn label(self) -> &'static str {
        ALL[self as usize].1
    }
}

/// How often each was so.
#[derive(Debug, Default)]
pub(super) struct Counts([AtomicU64; ALL.len()]);

impl Counts {
    pub fn all(&self) -> BTreeMap<Misplaced, u64> {
        let counts = self.0.iter().map(|count| count.load(Ordering::Relaxed));
        let all = ALL.iter().map(|(misplaced, _)| *misplaced).zip(counts);
        all.filter(|(_, count)| *count > 0).collect()
    }
}

impl Server {
    /// Counts it, and warns of the first.
    pub(super) fn tell(&self, misplaced: Misplaced) {
        let count = &self.counters().misplaced.0[misplaced as usize];
        if count.fetch_add(1, Ordering::Relaxed) == 0 {
            tracing::warn!("{misplaced}");
        }
    }
}
