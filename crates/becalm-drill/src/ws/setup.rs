//! What is the drill of reconnects made of? Clients, a server, an outage and their bounds: plain data.

use std::time::Duration;

use becalm::support::Human;
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use super::clock::BUCKET;
use crate::origin::milliseconds;

/// The most clients that one machine is asked for.
const MOST_CLIENTS: u32 = 100_000;

/// The longest that one variant is watched.
const LONGEST: Duration = Duration::from_secs(600);

/// Before the fault.
pub const BEFORE: Duration = Duration::from_secs(1);

/// How long all must be back before the course is over.
pub const AFTER_ALL: Duration = Duration::from_secs(1);

/// The fleet, the server and the outage.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// Clients, each with a connection of its own.
    pub clients: u32,
    /// Time after which a client gives a dial up, and dials again later.
    pub patience: Duration,
    /// The clients' wait: always this with a fixed delay, otherwise the first, which doubles.
    pub base: Duration,
    /// The clients' longest wait, unless the server names another.
    pub cap: Duration,
    /// Between two messages of one client.
    pub every: Duration,
    /// Handshakes per second that the server can do, one after the other.
    pub capacity: u32,
    /// How long the server is down after it was killed.
    pub outage: Duration,
    /// How long a service that does not come back is watched; by default twice as long as the server needs for all clients.
    pub watch: Option<Duration>,
    /// How many servers share clients and capacity: the limit on open files says so.
    pub servers: u32,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            clients: 2_000,
            patience: Duration::from_secs(4),
            base: Duration::from_secs(1),
            cap: Duration::from_secs(5),
            every: Duration::from_secs(2),
            capacity: 100,
            outage: Duration::from_secs(3),
            watch: None,
            servers: 1,
        }
    }
}

impl Setup {
    /// What one handshake costs.
    pub fn cost(&self) -> Duration {
        Duration::from_secs(1) / self.capacity.max(1)
    }

    /// The least time in which the server can take all clients.
    pub fn floor(&self) -> Duration {
        self.cost().saturating_mul(self.clients)
    }

    /// How many connections each server closes in a second when it drains: a tenth less than its successor can take, which then
    /// has no queue.
    pub fn drain_rate(&self) -> u32 {
        let share = self.capacity / self.servers;
        (share - share / 10).max(1)
    }

    /// How long a drain of all takes.
    pub fn draining(&self) -> Duration {
        let clients = self.clients.div_ceil(self.servers);
        Duration::from_secs(clients.into()) / self.drain_rate()
    }

    /// How long a service that does not come back is watched, from the moment at which its server is up again.
    pub fn watch(&self) -> Duration {
        self.watch.unwrap_or(self.floor().saturating_mul(2))
    }

    /// Refuses what could not be measured or would not end.
    ///
    /// # Errors
    ///
    /// A sentence that names the flag and the remedy.
    pub fn validate(&self) -> Result<(), String> {
        let times = [
            (self.patience, "--patience"),
            (self.base, "--base"),
            (self.cap, "--cap"),
            (self.every, "--every"),
            (self.outage, "--outage"),
        ];
        let in_range = Duration::from_millis(10)..=Duration::from_secs(60);
        let wrong = times.into_iter().find(|(time, _)| !in_range.contains(time));
        if let Some((_, flag)) = wrong {
            Err(format!("{flag} must be from 10ms to 60s"))
        } else if !(1..=MOST_CLIENTS).contains(&self.clients) {
            Err(format!("--clients must be from 1 to {MOST_CLIENTS}"))
        } else if !(1..=100_000).contains(&self.capacity) {
            Err("--capacity must be from 1 to 100000 handshakes per second".into())
        } else if self.cap < self.base {
            Err("--cap must not be less than --base".into())
        } else if !(Duration::from_millis(100)..=LONGEST).contains(&self.watch()) {
            Err(format!(
                "each variant would be watched for {}; --watch, or twice --clients / --capacity, must be from 100ms to {}",
                Human(self.watch()),
                Human(LONGEST)
            ))
        } else {
            Ok(())
        }
    }

    /// What will keep variants from showing what they are there for, in sentences: legal, but not the demonstration.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.floor() <= self.patience {
            notes.push(format!(
                "the server does all {} handshakes in {}, within the clients' patience of {}: none goes \
                 stale, so the service comes back by itself; raise --clients or lower --capacity",
                self.clients,
                Human(self.floor()),
                Human(self.patience)
            ));
        }
        if !self.is_heard_of_in_time() {
            notes.push(self.heard_of() + "; lower --cap, or raise --clients or lower --capacity");
        }
        notes
    }

    /// Whether the longest wait is no longer than the server needs for all. Then nobody is late, and waits that are drawn below it bring
    /// clients at least as fast as the server takes them.
    fn is_heard_of_in_time(&self) -> bool {
        self.cap <= self.floor()
    }

    /// When all clients have heard of a server that is up again, and what follows, in a sentence.
    pub fn heard_of(&self) -> String {
        let follows = if self.is_heard_of_in_time() {
            "so it need not be idle before all are back"
        } else {
            "so the last of them may be late, whatever the server tells them"
        };
        format!(
            "a client that found no server dials again after {} at most, and the server needs {} for all: {follows}",
            Human(self.cap),
            Human(self.floor())
        )
    }
}

impl Serialize for Setup {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut setup = serializer.serialize_map(None)?;
        setup.serialize_entry("clients", &self.clients)?;
        setup.serialize_entry("patience_ms", &milliseconds(self.patience))?;
        setup.serialize_entry("base_ms", &milliseconds(self.base))?;
        setup.serialize_entry("cap_ms", &milliseconds(self.cap))?;
        setup.serialize_entry("every_ms", &milliseconds(self.every))?;
        setup.serialize_entry("capacity_per_s", &self.capacity)?;
        setup.serialize_entry("outage_ms", &milliseconds(self.outage))?;
        setup.serialize_entry("watch_ms", &milliseconds(self.watch()))?;
        setup.serialize_entry("floor_ms", &milliseconds(self.floor()))?;
        setup.serialize_entry("bucket_ms", &milliseconds(BUCKET))?;
        setup.serialize_entry("servers", &self.servers)?;
        setup.end()
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// The documented defaults.
    pub fn usual() -> Setup {
        Setup::default()
    }

    #[test]
    fn the_defaults_are_valid_and_their_floor_is_known() {
        assert_eq!(usual().validate(), Ok(()));
        assert_eq!(usual().notes(), [""; 0]);
        assert_eq!(usual().floor(), Duration::from_secs(20));
        assert_eq!(usual().watch(), Duration::from_secs(40));
    }

    #[test]
    fn what_cannot_be_held_is_refused_by_flag_and_what_shows_nothing_is_noted() {
        type Change = fn(&mut Setup);
        let wrong: [(Change, &str); 8] = [
            (|it| it.clients = 0, "--clients"),
            (|it| it.clients = 100_001, "--clients"),
            (|it| it.capacity = 0, "--capacity"),
            (|it| it.patience = Duration::ZERO, "--patience"),
            (|it| it.every = Duration::from_secs(61), "--every"),
            (|it| it.cap = Duration::from_millis(500), "--cap"),
            (|it| it.capacity = 1, "4000s"),
            (|it| it.watch = Some(Duration::MAX), "--watch"),
        ];
        for (change, words) in wrong {
            let mut setup = usual();
            change(&mut setup);
            let refusal = setup.validate().unwrap_err();
            assert!(refusal.contains(words), "{refusal}");
        }
        let mut quick = usual();
        quick.capacity = 1_000;
        assert!(quick.notes()[0].contains("raise --clients"));
    }

    #[test]
    fn a_cap_beyond_what_the_server_needs_for_all_is_noted_with_both() {
        let mut late = usual();
        assert!(late.heard_of().contains("after 5s at most"));
        assert!(late.heard_of().contains("20s for all: so it need not"));
        late.cap = Duration::from_secs(30);
        let note = late.notes().concat();
        assert!(note.contains("after 30s at most"), "{note}");
        assert!(note.contains("may be late"), "{note}");
        assert!(note.contains("lower --cap"), "{note}");
        late.cap = late.floor();
        assert_eq!(late.notes(), [""; 0]);
    }
}
