//! Is somebody still there? A connection on which nothing comes is asked, and one that does not answer is lost.

use std::time::Duration;

use becalm::time::Instant;

/// When a connection is asked whether it is alive, and how long its answer may take.
///
/// A peer that dies without a word (a host that stops, a cable, a firewall that forgets) is noticed by nobody else: TCP goes
/// on for 15 minutes with data in flight, and for ever without (tcp(7), `tcp_retries2`).
///
/// Everything that comes is a sign of life. The answer to a ping comes behind what was sent before it: where a message may take longer than
/// `patience` on its way and the peer sends nothing meanwhile, raise that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Heartbeat {
    /// A ping is sent when nothing has come for this long. Default 20 s, below the idle time-outs of most proxies.
    pub quiet: Duration,
    /// The connection is lost when nothing has come for this long after the ping. Default 10 s.
    pub patience: Duration,
}

impl Default for Heartbeat {
    fn default() -> Self {
        Self {
            quiet: Duration::from_secs(20),
            patience: Duration::from_secs(10),
        }
    }
}

impl Heartbeat {
    /// Pings after this quiet, and waits so long for anything to come.
    pub const fn new(quiet: Duration, patience: Duration) -> Self {
        Self { quiet, patience }
    }
}

/// When the last sign of life came, and whether another was asked for.
#[derive(Debug)]
pub(crate) struct Pulse {
    of: Heartbeat,
    heard: Instant,
    asked: Option<Instant>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Beat {
    /// Nothing before this moment.
    Wait(Instant),
    Ping,
    Dead,
}

impl Pulse {
    pub fn new(of: Heartbeat, now: Instant) -> Self {
        Self {
            of,
            heard: now,
            asked: None,
        }
    }

    /// How long a peer may be silent.
    pub fn limit(&self) -> Duration {
        self.of.quiet.saturating_add(self.of.patience)
    }

    /// Anything has come: a peer that sends is alive.
    pub fn heard(&mut self, now: Instant) {
        (self.heard, self.asked) = (now, None);
    }

    /// Asks before its time; whether it has not asked already.
    pub fn probe(&mut self, now: Instant) -> bool {
        let is_new = self.asked.is_none();
        self.asked.get_or_insert(now);
        is_new
    }

    pub fn beat(&mut self, now: Instant) -> Beat {
        let (since, limit) = match self.asked {
            Some(asked) => (asked, self.of.patience),
            None => (self.heard, self.of.quiet),
        };
        let at = since.after(limit);
        if now < at {
            return Beat::Wait(at);
        }
        if self.asked.is_some() {
            return Beat::Dead;
        }
        self.asked = Some(now);
        Beat::Ping
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_asks_once_and_gives_up_unless_something_comes() {
        let at = |secs| Instant::ZERO.after(Duration::from_secs(secs));
        let mut pulse = Pulse::new(Heartbeat::default(), at(0));
        assert_eq!(pulse.beat(at(19)), Beat::Wait(at(20)));
        assert_eq!(pulse.beat(at(20)), Beat::Ping);
        assert_eq!(pulse.beat(at(21)), Beat::Wait(at(30)));
        pulse.heard(at(29));
        assert_eq!(pulse.beat(at(30)), Beat::Wait(at(49)));
        assert_eq!(pulse.beat(at(60)), Beat::Ping);
        assert_eq!(pulse.beat(at(70)), Beat::Dead);
    }

    #[test]
    fn a_clock_that_jumps_kills_nobody_unasked() {
        let at = |secs| Instant::ZERO.after(Duration::from_secs(secs));
        let mut pulse = Pulse::new(Heartbeat::default(), at(1_000_000));
        // Back by days: it waits until then at the latest.
        assert_eq!(pulse.beat(at(0)), Beat::Wait(at(1_000_020)));
        pulse.heard(at(0));
        assert_eq!(pulse.beat(at(0)), Beat::Wait(at(20)));
        // Ahead by days: it asks first.
        assert_eq!(pulse.beat(at(9_000_000)), Beat::Ping);
        assert_eq!(pulse.beat(at(9_000_001)), Beat::Wait(at(9_000_010)));
    }
}
