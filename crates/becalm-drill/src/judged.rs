//! What happened to the service under one policy? The simulator's judge says so: there is one meaning
//! of a storm, and of coming back.
//!
//! To it a drill is a [scenario], and what was measured is one run of that. As there, a call counts
//! when it begins, and as answered when it succeeds in the end. One run under one fault cannot tell
//! `stable` from `vulnerable`, so both are *back* here.

use std::time::Duration;

use becalm::Policy;
use becalm_report::{Cell, Colour};
use becalm_sim::record::Recording as Run;
use becalm_sim::record::{PopulationRecord, ServiceRecord};
use becalm_sim::scenario::{
    Arrivals, Distribution, Effect, Population, Scenario, Service, Sharing, Trigger,
};
use becalm_sim::study::Verdict;
use becalm_sim::verdict::{self, judge_sparing, rule_on_one};

use super::ledger::{BUCKET, Count, Recording};
use super::setup::Setup;
use super::void::Void;

/// What happened under one policy, and the verdict on it.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    pub outcome: verdict::Outcome,
    /// None where the service came back; or why there is none.
    pub verdict: Result<Option<Verdict>, Void>,
}

impl Judged {
    /// Judges what was measured in a drill that has come to `elapsed`.
    pub fn measured(
        recording: &Recording,
        setup: &Setup,
        policy: &Policy,
        elapsed: Duration,
    ) -> Self {
        Self::sparing(Duration::ZERO, recording, setup, policy, elapsed)
    }

    /// As [`Judged::measured`], where calls that begin so long before the fault may still wait for their answer when it comes.
    pub fn sparing(
        lead: Duration,
        recording: &Recording,
        setup: &Setup,
        policy: &Policy,
        elapsed: Duration,
    ) -> Self {
        Self::run(lead, &as_a_run(recording), setup, policy, elapsed)
    }

    /// Judges a run of the drill's scenario until `elapsed`.
    pub fn run(
        lead: Duration,
        run: &Run,
        setup: &Setup,
        policy: &Policy,
        elapsed: Duration,
    ) -> Self {
        let mut scenario = scenario(setup, policy, Arrivals::Poisson(setup.load));
        scenario.horizon = elapsed.min(setup.length());
        let outcome = judge_sparing(&scenario, run, lead);
        Self {
            verdict: Ok(rule_on_one(&scenario, &outcome)),
            outcome,
        }
    }

    /// The name in the JSON document: stable.
    pub fn name(&self) -> &'static str {
        match self.verdict {
            Ok(verdict) => verdict.map_or("back", Verdict::as_str),
            Err(void) => void.name(),
        }
    }

    /// The verdict in a table: when the service was back, or what it was.
    pub fn cell(&self) -> Cell {
        let colour = match (self.back_after(), self.verdict) {
            (Some(_), _) => Colour::Green,
            (None, Ok(Some(Verdict::TooShort)) | Err(_)) => Colour::Orange,
            (None, Ok(_)) => Colour::Red,
        };
        Cell::new(self.told()).colour(colour)
    }

    /// When the service was back, or what it was.
    pub fn told(&self) -> String {
        self.back_after()
            .map_or_else(|| self.name().to_owned(), back)
    }

    /// Whether retries alone kept the service down. Where its capacity is known, what is metastable is offered more than that;
    /// where it is not, nothing shows that the retries are too many.
    pub fn is_storm(&self) -> bool {
        self.verdict == Ok(Some(Verdict::Metastable)) && self.outcome.pressed.is_some()
    }

    /// Why a longer drill may show that the service comes back, and what shows it; none where this one was long enough.
    pub fn open(&self) -> Option<&'static str> {
        let is_open = self.verdict == Ok(Some(Verdict::TooShort));
        is_open.then_some(if self.outcome.is_settling {
            "and still on its way: a longer --after shows when it is"
        } else {
            "though it was offered no more than it can serve: a longer --after shows whether it comes back later"
        })
    }

    /// How long after the fault the service was back. None where it was not.
    pub fn back_after(&self) -> Option<Duration> {
        let time = self.outcome.recovery.time();
        time.filter(|_| self.verdict == Ok(None))
    }
}

/// When the service was back.
pub fn back(after: Duration) -> String {
    if after < Duration::from_millis(50) {
        "back at once".into()
    } else {
        format!("back in {}", tenths(after))
    }
}

/// Seconds to a tenth.
pub fn tenths(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

/// The drill of one policy as a scenario. All its clients share one retrier, as the drill's do.
pub fn scenario(setup: &Setup, policy: &Policy, arrivals: Arrivals) -> Scenario {
    const SERVICE: &str = "service";
    let time = Distribution::Constant(setup.service_time);
    let service = Service::new(SERVICE, setup.workers, time).queue(setup.queue);
    let clients = Population::new("clients", SERVICE, arrivals, policy.clone())
        .sharing(Sharing::Shared)
        .timeout(setup.client_timeout);
    let hang = Effect::Hang {
        service: SERVICE.into(),
    };
    let mut scenario = Scenario::new("drill", setup.length())
        .service(service)
        .population(clients)
        .trigger(Trigger::new(setup.before, setup.trigger, hang));
    scenario.bucket = BUCKET;
    scenario
}

/// What was measured as the simulator records it, as far as its judge looks.
fn as_a_run(recording: &Recording) -> Run {
    let of = |count| recording.buckets(count).to_vec();
    let mut clients = PopulationRecord::default();
    clients.calls = of(Count::Call);
    clients.succeeded_of = of(Count::SucceededOf);
    clients.first_tries = of(Count::FirstTry);
    clients.attempts = recording.attempts();
    let mut service = ServiceRecord::default();
    service.arrived = of(Count::Arrived);
    let mut run = Run::default();
    run.bucket = BUCKET;
    run.populations = vec![clients];
    run.services = vec![service];
    run
}

#[cfg(test)]
mod tests {
    use super::super::ledger::Recording;
    use super::super::setup::tests::usual;
    use super::super::statistics::tests::{protected, recording, rising, stormy};
    use super::*;

    fn judged(recording: &Recording, setup: &Setup, ms: u64) -> Judged {
        let elapsed = Duration::from_millis(ms);
        Judged::measured(recording, setup, &Policy::default(), elapsed)
    }

    #[test]
    fn retries_that_keep_the_service_down_are_metastable_and_a_storm() {
        let judged = judged(&stormy(), &usual(), 10_000);
        assert_eq!(judged.verdict, Ok(Some(Verdict::Metastable)));
        assert!(judged.is_storm());
        assert!((judged.outcome.offered - 1_040.0).abs() < 1.0);
        assert_eq!((judged.name(), judged.back_after()), ("metastable", None));
        let unknown = Setup {
            workers: Service::UNLIMITED,
            ..usual()
        };
        let judged = self::judged(&stormy(), &unknown, 10_000);
        assert_eq!((judged.name(), judged.is_storm()), ("metastable", false));
    }

    #[test]
    fn a_service_is_back_when_calls_that_begin_are_answered_again() {
        let judged = judged(&protected(), &usual(), 10_000);
        assert_eq!((judged.name(), judged.verdict), ("back", Ok(None)));
        // 30 of the calls from 3 s on succeed, and 260 of those from 4 s on.
        let back = judged.back_after().unwrap();
        assert!(back > Duration::from_millis(850), "{back:?}");
        assert!(back < Duration::from_secs(1), "{back:?}");
    }

    #[test]
    fn a_calm_second_in_a_storm_is_no_recovery() {
        let storm = (260, 780, 1_040, 2);
        let mut seconds = [storm; 10];
        (seconds[0], seconds[6]) = ((260, 0, 260, 260), (260, 0, 260, 260));
        let judged = judged(&recording(seconds), &usual(), 10_000);
        assert!(judged.is_storm());
    }

    #[test]
    fn first_tries_above_the_capacity_are_overload_and_no_storm() {
        let setup = Setup {
            load: 500.0,
            ..usual()
        };
        let mut seconds = [(500, 0, 500, 0); 10];
        seconds[0] = (500, 0, 500, 400);
        let judged = judged(&recording(seconds), &setup, 10_000);
        assert!(
            judged.outcome.pressure > 1.0,
            "to one who looks at attempts alone"
        );
        assert_eq!(judged.verdict, Ok(Some(Verdict::Overloaded)));
        assert!(!judged.is_storm());
    }

    /// `becalm fit` writes the least that a service serves where its log never filled it.
    #[test]
    fn a_service_that_comes_back_is_not_overloaded_whatever_was_said_of_it() {
        let setup = Setup {
            load: 500.0,
            ..usual()
        };
        let mut seconds = [(500, 0, 500, 500); 10];
        (seconds[1], seconds[2]) = ((500, 0, 500, 0), (500, 0, 500, 0));
        let judged = judged(&recording(seconds), &setup, 10_000);
        assert_eq!((judged.name(), judged.verdict), ("back", Ok(None)));
    }

    /// The last three seconds before the fault are hit: without them all was well, and half of it is not.
    #[test]
    fn calls_that_still_wait_when_the_fault_comes_do_not_say_what_is_usual() {
        let [lead, before] = [3, 6].map(Duration::from_secs);
        let setup = Setup {
            load: 40.0,
            before,
            after: Duration::from_secs(2),
            ..usual()
        };
        let mut seconds = [(40, 0, 40, 20); 10];
        seconds[..3].fill((40, 0, 40, 40));
        let run = |lead| {
            let length = setup.length();
            let run = recording(seconds);
            Judged::sparing(lead, &run, &setup, &Policy::default(), length)
        };
        assert_eq!(run(lead).name(), "too-short");
        assert!((run(lead).outcome.usual - 1.0).abs() < 1e-9);
        assert_eq!(run(Duration::ZERO).name(), "back", "as it was");
    }

    #[test]
    fn s4_a_service_that_is_on_its_way_back_when_the_drill_ends_is_not_metastable() {
        let judged = judged(&rising(), &usual(), 10_000);
        assert_eq!((judged.name(), judged.back_after()), ("too-short", None));
        assert!(!judged.is_storm());
        assert!(judged.open().is_some_and(|it| it.contains("on its way")));
    }

    #[test]
    fn what_is_open_has_neither_the_colour_of_a_storm_nor_of_a_service_that_is_back() {
        let of = |recording| judged(&recording, &usual(), 10_000);
        let mut void = of(protected());
        void.verdict = Err(Void::Late);
        let all = [of(stormy()), of(protected()), of(rising()), void];
        let colours = [Colour::Red, Colour::Green, Colour::Orange, Colour::Orange];
        for (judged, colour) in all.iter().zip(colours) {
            assert_eq!(judged.cell(), Cell::new(judged.told()).colour(colour));
        }
    }

    #[test]
    fn s4_a_service_that_stays_down_though_it_is_offered_no_more_than_it_can_serve_is_open() {
        let mut seconds = [(260, 0, 260, 0); 10];
        seconds[0] = (260, 0, 260, 260);
        let judged = judged(&recording(seconds), &usual(), 10_000);
        assert_eq!((judged.name(), judged.is_storm()), ("too-short", false));
        assert!(
            judged
                .open()
                .is_some_and(|it| it.contains("no more than it can serve"))
        );
    }

    #[test]
    fn nothing_is_judged_before_it_was_seen() {
        let back = |ms| judged(&protected(), &usual(), ms).back_after();
        assert_eq!(back(3_000), None);
        assert_eq!(back(4_500), None);
        assert!(back(7_000).is_some());
        let empty = Recording::default();
        assert_eq!(judged(&empty, &usual(), 0).back_after(), None);
    }
}
