//! When may a slow attempt be repeated before it has ended?
//!
//! A hedge is a copy of an attempt that is slow: it starts beside the first one, and the first
//! good answer wins (Dean, Barroso: *The Tail at Scale*, CACM 2013). [`Hedge`] is the
//! configuration, plain data; its state, which all calls to one dependency share,
//! says when a copy may start and learns from how long attempts took. Running the copies is an
//! engine's part: the async one does ([`Retrier::retry`](crate::Retrier::retry)), and a driver of
//! the sans-IO [`Call`](crate::call::Call) may. A blocking call and a loop written by hand have one
//! attempt at a time: they make no copies, and teach the live delay how long theirs took. The
//! rules:
//!
//! - **Only what may be repeated is hedged.** The operation is idempotent, or carries the same key
//!   in every copy ([`Operation`](crate::Operation)). A hedge repeats what has not even failed, so
//!   no proof that nothing was sent can lift this gate.
//! - **A copy pays before it starts.** It withdraws from the budget that the retries draw on, and
//!   counts as an attempt of the call; where either is at its end, no copy starts and the attempt
//!   goes on alone: that is no reason to stop. A copy deposits nothing. What it took is refunded if
//!   it never reached the operation (the bulkhead or the breaker refused it, the call was
//!   dropped), and spent otherwise, also if it loses. Where nested retries are suppressed, so are
//!   hedges.
//! - **The delay is counted from the start of the copy before**, and copies are at most
//!   [`copies`](Hedge::copies). No copy starts that the deadline would end at once.
//! - **The first good answer wins.** The others are cancelled, by dropping them, and observed:
//!   that they lost, and how long they had run. They are neither failures to the breaker nor
//!   samples of a latency.
//! - **A failing copy waits for the others.** While another copy is running, a failure is kept and the others
//!   go on, be it permanent or the server's word not to retry: one of them may succeed. No further copy starts,
//!   for what has failed is a retry's matter, with its backoff. When the last has failed, the attempt has
//!   failed, with what all of them say about a retry: whatever speaks against it holds.
//! - **One latency for each attempt**, that of its first copy.
//!
//! gRFC A6 differs in two points. There a non-fatal failure starts the next copy at once; here the
//! wait of a failed attempt belongs to the retry, or a service that fails fast would get all its
//! copies in one burst. There a fatal status cancels the copies that run; here it waits for them, so that a
//! hedge never fails a call that would have succeeded without one.

mod buckets;
mod config;
mod hedging;
mod joined;
mod latency;
mod survival;

pub use config::{Hedge, HedgeDelay, InvalidHedge, QuantileDelay};
pub(crate) use hedging::Hedging;
pub(crate) use joined::{Against, joined};
#[cfg(becalm_loom)]
#[doc(hidden)]
pub use latency::Latencies;

#[cfg(all(test, not(becalm_loom)))]
mod tests {
    mod feedback;
    mod latencies;
}
