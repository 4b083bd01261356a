//! What is the drill made of? The service, the load, the fault and their bounds: plain data.

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::time::Duration;

use becalm::Policy;
use becalm::support::Human;
use becalm_sim::scenario::Service;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::ledger::BUCKET;
use super::origin::milliseconds;
use super::wire::Wire;

/// Why a course is refused that is no whole number of buckets.
const STEPS: &str = "--before, --trigger and --after are counted in steps of 10ms: give each a multiple of that, and at \
                     least one";

/// The longest drill.
const LONGEST: Duration = Duration::from_secs(120);

/// How long the second part may be: from a second behind its warm-up.
const TAIL: RangeInclusive<Duration> = Duration::from_secs(2)..=Duration::from_secs(60);

/// How long the service of the third part may refuse: a short absence.
const BLIP: Duration = Duration::from_secs(2);

/// The most attempts that all calls under one policy may come to.
const MOST_ATTEMPTS: f64 = 1_000_000.0;

/// The service, the load and the fault. The defaults were found to make a storm that lasts, with
/// a service that two cores can play four times over.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// Requests that the service works on at once.
    pub workers: u32,
    /// Time that a worker spends on one request.
    pub service_time: Duration,
    /// Requests that wait for a worker; one more is refused with status 503.
    pub queue: u32,
    /// First tries per second, at random times (Poisson), however the earlier ones end.
    pub load: f64,
    /// Time after which a client drops an attempt and its connection, unless the policy has an attempt timeout.
    pub client_timeout: Duration,
    /// Time before the fault.
    pub before: Duration,
    /// How long the service's workers hang; it still accepts requests.
    pub trigger: Duration,
    /// Time after the fault.
    pub after: Duration,
    /// Time of the second part, in which some answers are slow; zero leaves it out.
    pub tail: Duration,
    /// How long the service of the third part refuses everything; zero leaves that part out.
    pub blip: Duration,
    /// Through what the calls go.
    pub wire: Wire,
    /// What the fault does, in two or three words.
    pub fault: Cow<'static, str>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            workers: 4,
            service_time: Duration::from_millis(10),
            queue: 200,
            load: 260.0,
            client_timeout: Duration::from_millis(250),
            before: Duration::from_secs(1),
            trigger: Duration::from_secs(2),
            after: Duration::from_secs(7),
            tail: Duration::from_secs(5),
            blip: Duration::from_millis(200),
            wire: Wire::Own,
            fault: "service hangs".into(),
        }
    }
}

impl Setup {
    /// Requests per second that the service can serve; infinite where nobody knows, which
    /// [`Service::UNLIMITED`] workers say, as in a scenario.
    pub fn capacity(&self) -> f64 {
        if self.workers == Service::UNLIMITED {
            return f64::INFINITY;
        }
        f64::from(self.workers) / self.service_time.as_secs_f64()
    }

    /// The capacity, if it is known.
    pub fn known_capacity(&self) -> Option<f64> {
        Some(self.capacity()).filter(|capacity| capacity.is_finite())
    }

    /// From the first arrival to the last.
    pub fn length(&self) -> Duration {
        self.before
            .saturating_add(self.trigger)
            .saturating_add(self.after)
    }

    /// When the service works again, from the start.
    pub fn trigger_end(&self) -> Duration {
        self.before.saturating_add(self.trigger)
    }

    /// The connections that one policy's clients may hold at once: what the service has taken in
    /// for as long as a client waits, and what it is about to refuse.
    pub fn most_connections(&self, policy: &Policy) -> f64 {
        let timeout = policy.attempt_timeout.unwrap_or(self.client_timeout);
        let waiting = self.load * f64::from(policy.attempts) * timeout.as_secs_f64();
        waiting.min(f64::from(self.queue) + f64::from(self.workers)) + 16.0
    }

    /// Refuses what could not be measured or would not end.
    ///
    /// # Errors
    ///
    /// A sentence that names the flag and the remedy.
    pub fn validate(&self, policy: &Policy) -> Result<(), String> {
        let whole = |time: Duration| time.as_nanos() % BUCKET.as_nanos() == 0;
        let course = [self.before, self.trigger, self.after];
        let second = Duration::from_secs(1);
        let attempts = self.load * self.length().as_secs_f64() * f64::from(policy.attempts);
        let rules = [
            (
                (1..=1_000).contains(&self.workers),
                "--workers must be from 1 to 1000",
            ),
            (
                (Duration::from_millis(1)..=second * 10).contains(&self.service_time),
                "--service-time must be from 1ms to 10s",
            ),
            (
                (1..=100_000).contains(&self.queue),
                "--queue must be from 1 to 100000",
            ),
            (
                (1.0..=5_000.0).contains(&self.load),
                "--load must be from 1 to 5000 first tries per second",
            ),
            (
                (BUCKET..=second * 30).contains(&self.client_timeout),
                "--client-timeout must be from 10ms to 30s",
            ),
            (
                course.into_iter().all(|it| whole(it) && !it.is_zero()),
                STEPS,
            ),
            (
                self.after >= second,
                "--after must be at least 1s: a recovery is judged by a whole second",
            ),
            (
                self.tail.is_zero() || TAIL.contains(&self.tail),
                "--tail must be from 2s to 60s, or 0s to leave the second part out",
            ),
            (
                whole(self.blip) && self.blip <= BLIP,
                "--blip must be a multiple of 10ms up to 2s, or 0s to leave the third part out",
            ),
        ];
        if let Some((_, sentence)) = rules.into_iter().find(|(holds, _)| !holds) {
            return Err(sentence.into());
        }
        if self.length() > LONGEST {
            return Err(format!(
                "the drill would last {}; --before, --trigger and --after may come to {} together",
                Human(self.length()),
                Human(LONGEST)
            ));
        }
        if attempts > MOST_ATTEMPTS {
            let sentence = "the calls may come to more than a million attempts per policy; lower --load, the durations \
                            or --attempts";
            return Err(sentence.into());
        }
        Ok(())
    }

    /// What will keep a storm from lasting, in sentences: legal, but not the demonstration.
    pub fn notes(&self, policy: &Policy) -> Vec<String> {
        let capacity = self.capacity();
        let timeout = policy.attempt_timeout.unwrap_or(self.client_timeout);
        let stale = capacity * timeout.as_secs_f64();
        let mut notes = Vec::new();
        if self.load >= capacity {
            notes.push(format!(
                "{} first tries a second are not below the capacity of {capacity:.0}: the service \
                 is overloaded without any retry",
                self.load
            ));
        } else if self.load * f64::from(policy.attempts) <= capacity {
            notes.push(format!(
                "{} first tries a second x {} attempts stay within the capacity of {capacity:.0}: \
                 no storm can last",
                self.load, policy.attempts
            ));
        }
        if f64::from(self.queue) <= stale {
            notes.push(format!(
                "a queue of {} is served within the client's timeout of {} (capacity x timeout is \
                 {stale:.0}): no work goes stale, so no storm can last",
                self.queue,
                Human(timeout)
            ));
        }
        notes
    }
}

/// The length of a course around a service that is not the drill's own, if it can be judged.
///
/// # Errors
///
/// A sentence that names the flag and the remedy.
pub fn course(before: Duration, trigger: Duration, after: Duration) -> Result<Duration, String> {
    let whole = |time: Duration| time.as_nanos() % BUCKET.as_nanos() == 0 && !time.is_zero();
    if ![before, trigger, after].into_iter().all(whole) {
        return Err(STEPS.into());
    }
    if before < Duration::from_secs(1) || after < Duration::from_secs(3) {
        let sentence = "--before must be at least 1s, which says what is usual, and --after at least 3s: a recovery is judged \
                        by whole seconds";
        return Err(sentence.into());
    }
    Ok(before.saturating_add(trigger).saturating_add(after))
}

impl Serialize for Setup {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut setup = serializer.serialize_map(None)?;
        setup.serialize_entry("clients", &self.wire)?;
        setup.serialize_entry("workers", &self.workers)?;
        setup.serialize_entry("service_time_ms", &milliseconds(self.service_time))?;
        setup.serialize_entry("queue", &self.queue)?;
        setup.serialize_entry("capacity_per_s", &self.capacity())?;
        setup.serialize_entry("rate_per_s", &self.load)?;
        setup.serialize_entry("client_timeout_ms", &milliseconds(self.client_timeout))?;
        told_course(&mut setup, self)?;
        setup.end()
    }
}

/// Adds when the fault came and went.
///
/// # Errors
///
/// As the serializer says.
pub fn told_course<M: SerializeMap>(setup: &mut M, of: &Setup) -> Result<(), M::Error> {
    setup.serialize_entry("before_ms", &milliseconds(of.before))?;
    setup.serialize_entry("trigger_ms", &milliseconds(of.trigger))?;
    setup.serialize_entry("after_ms", &milliseconds(of.after))?;
    setup.serialize_entry("bucket_ms", &milliseconds(BUCKET))
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::tail::Tail;

    /// The documented defaults.
    pub fn usual() -> Setup {
        Setup::default()
    }

    #[test]
    fn the_defaults_are_valid_and_make_a_storm() {
        let policy = Policy::default();
        assert_eq!(usual().validate(&policy), Ok(()));
        assert_eq!(usual().notes(&policy), [""; 0]);
        assert!((usual().capacity() - 400.0).abs() < 1e-9);
    }

    #[test]
    fn the_second_part_can_be_left_out() {
        let without = Setup {
            tail: Duration::ZERO,
            ..usual()
        };
        assert_eq!(without.validate(&Policy::default()), Ok(()));
        assert!(Tail::of(&usual()).is_some() && Tail::of(&without).is_none());
    }

    #[test]
    fn the_third_part_can_be_left_out_and_is_short() {
        let of = |ms| Setup {
            blip: Duration::from_millis(ms),
            ..usual()
        };
        let refusal = |ms| of(ms).validate(&Policy::default()).err();
        for ms in [0, 10, 2_000] {
            assert_eq!(refusal(ms), None);
        }
        for ms in [205, 2_010] {
            assert!(refusal(ms).is_some_and(|it| it.contains("--blip")), "{ms}");
        }
    }

    #[test]
    fn what_cannot_be_measured_or_would_not_end_is_refused_by_flag() {
        let second = Duration::from_secs(1);
        for (setup, flag) in [
            (
                Setup {
                    workers: 0,
                    ..usual()
                },
                "--workers",
            ),
            (
                Setup {
                    service_time: Duration::ZERO,
                    ..usual()
                },
                "--service-time",
            ),
            (
                Setup {
                    queue: 0,
                    ..usual()
                },
                "--queue",
            ),
            (
                Setup {
                    load: f64::NAN,
                    ..usual()
                },
                "--load",
            ),
            (
                Setup {
                    load: 1e9,
                    ..usual()
                },
                "--load",
            ),
            (
                Setup {
                    client_timeout: Duration::ZERO,
                    ..usual()
                },
                "--client-timeout",
            ),
            (
                Setup {
                    before: Duration::ZERO,
                    ..usual()
                },
                "--before",
            ),
            (
                Setup {
                    trigger: Duration::from_millis(5),
                    ..usual()
                },
                "--trigger",
            ),
            (
                Setup {
                    after: Duration::from_millis(500),
                    ..usual()
                },
                "--after",
            ),
            (
                Setup {
                    after: 118 * second,
                    ..usual()
                },
                "121s",
            ),
            (
                Setup {
                    tail: Duration::from_millis(1_500),
                    ..usual()
                },
                "--tail",
            ),
            (
                Setup {
                    after: Duration::MAX,
                    ..usual()
                },
                "10ms",
            ),
            (
                Setup {
                    load: 5_000.0,
                    after: 60 * second,
                    ..usual()
                },
                "--load",
            ),
        ] {
            let refusal = setup.validate(&Policy::default()).unwrap_err();
            assert!(refusal.contains(flag), "{refusal}");
        }
        let endless = Policy::default().attempts(Policy::UNLIMITED);
        assert!(usual().validate(&endless).is_err());
    }

    #[test]
    fn a_setup_without_a_lasting_storm_is_noted() {
        let policy = Policy::default();
        for (setup, words) in [
            (
                Setup {
                    queue: 100,
                    ..usual()
                },
                "stale",
            ),
            (
                Setup {
                    load: 100.0,
                    ..usual()
                },
                "no storm",
            ),
            (
                Setup {
                    load: 400.0,
                    ..usual()
                },
                "overloaded",
            ),
        ] {
            let notes = setup.notes(&policy);
            assert!(notes.iter().any(|note| note.contains(words)), "{notes:?}");
        }
    }
}
