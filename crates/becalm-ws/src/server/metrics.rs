//! What does a server count? Plain values, and their text for Prometheus.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use becalm_admission::Counts;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Server;
use super::misplaced::{self, Misplaced};
use crate::session::{self, Cold, Sessions};

/// What a [`Server`] has counted, as of one moment. `Display` writes it as Prometheus reads it (text format 0.0.4).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Metrics {
    /// `ws_connections_active`: connections that are open.
    pub connections_active: usize,
    /// `ws_handshakes_in_flight`: connections whose request has not come yet, and permits that are held until clients are ready.
    pub handshakes_in_flight: usize,
    /// `ws_accept_queue_depth`: those who wait, accepted or with their request.
    pub accept_queue_depth: usize,
    /// `ws_admission_total`: what has been decided, the listeners' part included.
    pub admission: Counts,
    /// `ws_handshake_goodput_ratio`: of the permits that have ended, the part whose client was ready; 1 before the first.
    pub handshake_goodput_ratio: f64,
    /// `ws_close_total`: connections by their close code, 1006 where there was none. Codes of applications count as 3000 and 4000.
    pub closes: BTreeMap<u16, u64>,
    /// `ws_resume_total`, by its result: of the [sessions](super::Settings::sessions), if they are known.
    pub sessions: Option<session::Counts>,
    /// `ws_drain_remaining`: connections that a drain waits for; 0 while the server does not drain.
    pub drain_remaining: usize,
    /// `ws_misplaced_total`: how often a layer did not do its work, since it stands in a wrong place. Nothing where none does.
    pub misplaced: BTreeMap<Misplaced, u64>,
}

/// What is counted outside of the admission core.
#[derive(Debug)]
pub(crate) struct Counters {
    pub queue_depth: AtomicUsize,
    pub reject_rate: AtomicU64,
    pub reject_age: AtomicU64,
    pub peer_gone: AtomicU64,
    pub misplaced: misplaced::Counts,
    closes: Mutex<BTreeMap<u16, u64>>,
    /// Those who may be accepted to be sent away, at once.
    courtesies: Arc<Semaphore>,
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            queue_depth: AtomicUsize::new(0),
            reject_rate: AtomicU64::new(0),
            reject_age: AtomicU64::new(0),
            peer_gone: AtomicU64::new(0),
            misplaced: misplaced::Counts::default(),
            closes: Mutex::default(),
            courtesies: Arc::new(Semaphore::new(1024)),
        }
    }
}

impl Counters {
    /// A connection has been closed with this code.
    pub fn closed(&self, code: u16) {
        let code = match code {
            3000..4000 => 3000,
            4000..5000 => 4000,
            1000..=1015 => code,
            _ => 1002,
        };
        let mut closes = self.closes.lock().unwrap_or_else(PoisonError::into_inner);
        *closes.entry(code).or_default() += 1;
    }

    /// The right to accept a client and send it away, unless too many do.
    pub fn courtesy(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.courtesies).try_acquire_owned().ok()
    }
}

impl Server {
    /// What it has counted.
    pub fn metrics(&self) -> Metrics {
        let counters = self.counters();
        let door = self.door().told();
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let mut admission = door.counts;
        admission.reject_rate += of(&counters.reject_rate);
        admission.reject_age += of(&counters.reject_age);
        admission.peer_gone += of(&counters.peer_gone);
        let active = self.registry().how_many_active();
        let closes = counters
            .closes
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        #[expect(clippy::cast_precision_loss, reason = "a ratio")]
        let goodput = if door.ended == 0 {
            1.0
        } else {
            door.ready as f64 / door.ended as f64
        };
        Metrics {
            connections_active: active,
            handshakes_in_flight: self.places().handshakes() + door.in_flight as usize,
            accept_queue_depth: counters.queue_depth.load(Ordering::Relaxed)
                + door.waiting as usize,
            admission,
            handshake_goodput_ratio: goodput,
            closes: closes.clone(),
            sessions: self.settings().sessions.as_ref().map(Sessions::counts),
            drain_remaining: if self.registry().is_draining() {
                active
            } else {
                0
            },
            misplaced: counters.misplaced.all(),
        }
    }
}

impl fmt::Display for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        gauge(f, "ws_connections_active", self.connections_active)?;
        gauge(f, "ws_handshakes_in_flight", self.handshakes_in_flight)?;
        gauge(f, "ws_accept_queue_depth", self.accept_queue_depth)?;
        counter(
            f,
            "ws_admission_total",
            "decision",
            self.admission.labelled(),
        )?;
        gauge(
            f,
            "ws_handshake_goodput_ratio",
            self.handshake_goodput_ratio,
        )?;
        counter(f, "ws_close_total", "code", self.closes.clone())?;
        if let Some(sessions) = &self.sessions {
            // Who asked for a new session has resumed none.
            let reasons = (1..=Cold::Protocol.code()).map(Cold::from_code);
            let cold = reasons.map(|why| (format!("{why:?}").to_lowercase(), sessions.cold(why)));
            let all = [("ok".to_owned(), sessions.resumed)]
                .into_iter()
                .chain(cold);
            counter(f, "ws_resume_total", "result", all)?;
        }
        gauge(f, "ws_drain_remaining", self.drain_remaining)?;
        let misplaced = &self.misplaced;
        let misplaced = misplaced.iter().map(|(why, count)| (why.label(), *count));
        counter(f, "ws_misplaced_total", "why", misplaced)
    }
}

fn gauge(f: &mut fmt::Formatter<'_>, name: &str, value: impl fmt::Display) -> fmt::Result {
    writeln!(f, "# TYPE {name} gauge\n{name} {value}")
}

fn counter<L: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    label: &str,
    values: impl IntoIterator<Item = (L, u64)>,
) -> fmt::Result {
    writeln!(f, "# TYPE {name} counter")?;
    values
        .into_iter()
        .try_for_each(|(value, count)| writeln!(f, "{name}{{{label}=\"{value}\"}} {count}"))
}
