//! How does the target fare under one policy? Calls, a fault, and what comes of it.

use std::sync::Arc;
use std::time::Duration;

use becalm::duration::Human;
use tokio::time::Instant;

use super::growth::is_growing;
use super::plan::Plan;
use crate::drill::client::Connections;
use crate::drill::fault::Faults;
use crate::drill::judged::{Judged, tenths};
use crate::drill::judgement::Contender;
use crate::drill::ledger::{Count, Ledger, Recording};
use crate::drill::live::{Display, View};
use crate::drill::parts::Stage;
use crate::drill::party::Party;
use crate::drill::replay::{DRAIN, End, Replay};
use crate::drill::setup::Setup;
use crate::drill::statistics::{Phase, count};
use crate::drill::variant::Variant;

/// How much longer it goes on at a time.
const MORE: Duration = Duration::from_secs(1);

/// So long before its end it is decided whether it goes on: the calls go on without a pause.
const AHEAD: Duration = Duration::from_millis(300);

/// Below this share of good calls the target is unwell before anything is broken.
pub const GOOD: f64 = 0.95;

/// Under load an answer may take so many times what it takes without, and the target is well all the same.
const BUSY: u32 = 3;

/// Of fewer calls nothing can be said: of three, all may fail by chance where one in four does.
pub const ENOUGH: u64 = 10;

/// What came of one policy.
#[derive(Debug, Clone)]
pub struct Round {
    /// Its course, as long as it was.
    pub setup: Setup,
    /// When its calls began, from the start.
    pub began: Vec<Duration>,
    /// By how much a call, or the fault, was late at worst.
    pub lateness: Duration,
    /// By how much 99 of 100 calls were late at most.
    pub usual_lateness: Duration,
    /// The share of calls that were good before the fault.
    pub good: f64,
    /// How many calls began before the fault, and after it.
    pub calls: [u64; 2],
    /// How long a client waits for an attempt.
    pub patience: Duration,
}

impl Round {
    /// Whether the target was well before the fault. If not, there was none.
    pub fn was_well(&self) -> bool {
        self.good >= GOOD
    }

    /// Whether too few calls began to say anything.
    pub fn is_idle(&self) -> bool {
        self.was_well() && self.calls.iter().any(|calls| *calls < ENOUGH)
    }

    /// Whether the generator was so late that the figures are those of this machine: more than one call
    /// in a hundred by a tenth of what a client waits, or any by all of it.
    pub fn is_late(&self) -> bool {
        self.usual_lateness > self.patience / 10 || self.lateness > self.patience
    }

    /// Why there is no verdict on it.
    pub fn void(&self) -> Option<&'static str> {
        if !self.was_well() {
            Some("unwell")
        } else if self.is_idle() {
            Some("idle")
        } else {
            self.is_late().then_some("void")
        }
    }
}

/// How long before the fault a call has to begin that says whether the target is well: one that began later may still wait
/// for its answer, which `takes` so long without load.
///
/// # Errors
///
/// A sentence: too little of the time before the fault is left.
pub fn lead(before: Duration, takes: Duration) -> Result<Duration, String> {
    const SECOND: Duration = Duration::from_secs(1);
    let least = SECOND.min(before / 2);
    let lead = least.max(takes * BUSY);
    if lead + least <= before {
        return Ok(lead);
    }
    let enough = (takes * BUSY + SECOND).as_secs() + 1;
    Err(format!(
        "an answer of the target takes {} without load, so that --before {} does not tell whether it is well under load: give it at \
         least {enough}s",
        tenths(takes),
        Human(before),
    ))
}

/// A course that goes on while it is worth it.
struct Course<'a> {
    start: Instant,
    setup: Setup,
    variant: &'a Variant,
    /// How long before the fault calls have to begin that say whether the target is well.
    lead: Duration,
    ledger: Arc<Ledger>,
    faults: Option<&'a Faults>,
    end: End,
    most: Duration,
    step: Step,
    /// By how much the fault was late at worst.
    lateness: Duration,
    good: f64,
    failed: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Before,
    Fault,
    After,
    Over,
}

/// Holds the drill under one policy; nothing is left of a round that a signal ended, and of the fault
/// neither.
///
/// # Errors
///
/// A sentence: the policy is refused, or the fault could not be begun or lifted.
pub fn hold(
    stage: &Stage<'_>,
    plan: &Plan,
    lead: Duration,
    variant: &Variant,
    connections: Connections,
    faults: Option<&Faults>,
    mut display: Display,
) -> Result<Option<(Contender, Round)>, String> {
    let start = stage.start();
    let ledger = Arc::new(Ledger::new(start, plan.most + DRAIN));
    let policy = variant.policy.clone();
    let party = Party::of(
        connections,
        &variant.name,
        policy,
        stage.seed,
        ledger.clone(),
    );
    let party = party.map_err(|unready| unready.to_string())?;
    let end = End::open();
    end.set(plan.setup.length());
    let replay = Replay::of(start, party, end.clone());
    let mut course = Course {
        start,
        setup: plan.setup.clone(),
        variant,
        lead,
        ledger: ledger.clone(),
        faults,
        end,
        most: plan.most,
        step: Step::Before,
        lateness: Duration::ZERO,
        good: 1.0,
        failed: None,
    };
    let played = stage.play(replay, plan.load.arrivals.clone(), || {
        let next = course.go_on();
        let recording = ledger.recording();
        display.show(&course.view(&[recording]));
        next
    });
    // Whatever happened, before anything else.
    let lifted = faults.map_or(Ok(()), Faults::lift);
    let Some(played) = played? else {
        return Ok(None);
    };
    lifted?;
    if let Some(failed) = course.failed {
        return Err(failed);
    }
    let length = course.setup.length();
    let recording = ledger.recording().until(length + DRAIN);
    display.finish(&course.view(std::slice::from_ref(&recording)));
    let latencies = ledger.latencies();
    let mut contender = Contender::new(variant.clone(), recording, &latencies, &course.setup);
    let round = Round {
        lateness: played.lateness.max(course.lateness),
        usual_lateness: usual_lateness(&played.began, &plan.load.arrivals),
        began: played.began,
        good: course.good,
        calls: [Phase::Before, Phase::After]
            .map(|phase| contender.measured.phases[phase as usize].calls),
        patience: variant
            .policy
            .attempt_timeout
            .unwrap_or(plan.setup.client_timeout),
        setup: course.setup,
    };
    contender.judged.void = round.void();
    Ok(Some((contender, round)))
}

/// The share of good calls of those that began until then; 1 without calls.
fn good(recording: &Recording, until: Duration) -> f64 {
    let of = |what| recording.within(what, Duration::ZERO..until);
    match of(Count::Call) {
        0 => 1.0,
        all => count(of(Count::SucceededOf)) / count(all),
    }
}

/// By how much 99 of 100 calls began later than they were due, at most.
fn usual_lateness(began: &[Duration], due: &[Duration]) -> Duration {
    let late = began
        .iter()
        .zip(due)
        .map(|(began, due)| began.saturating_sub(*due));
    let mut late: Vec<_> = late.collect();
    late.sort_unstable();
    let rank = (late.len() * 99).div_ceil(100);
    late.get(rank.saturating_sub(1))
        .copied()
        .unwrap_or_default()
}

impl Course<'_> {
    /// Does what is due, and says for how long nothing is.
    fn go_on(&mut self) -> Duration {
        let due = self.due();
        let elapsed = self.start.elapsed();
        if elapsed < due {
            return due.saturating_sub(elapsed);
        }
        match self.step {
            Step::Before => self.begin(due),
            Step::Fault => {
                self.broken(Faults::lift, due);
                self.step = Step::After;
            }
            Step::After if self.is_worth_more(elapsed) => {
                self.setup.after += MORE;
                self.end.set(self.setup.length());
            }
            Step::After | Step::Over => self.step = Step::Over,
        }
        Duration::ZERO
    }

    fn due(&self) -> Duration {
        match self.step {
            Step::Before => self.setup.before,
            Step::Fault => self.setup.trigger_end(),
            Step::After => self.setup.length().saturating_sub(AHEAD),
            Step::Over => Duration::MAX,
        }
    }

    /// Nothing is broken that is not well.
    fn begin(&mut self, due: Duration) {
        self.good = good(&self.ledger.recording(), due.saturating_sub(self.lead));
        if self.good < GOOD {
            self.end.set(Duration::ZERO);
            self.step = Step::Over;
            return;
        }
        self.broken(Faults::begin, due);
        self.step = Step::Fault;
    }

    /// Begins or lifts the fault, which should have been so at this time.
    fn broken(&mut self, act: impl FnOnce(&Faults) -> Result<(), String>, due: Duration) {
        let Some(faults) = self.faults else { return };
        if let Err(failed) = act(faults) {
            self.failed.get_or_insert(failed);
            self.end.set(Duration::ZERO);
        }
        self.lateness = self.lateness.max(self.start.elapsed().saturating_sub(due));
    }

    /// Whether the target is still coming back, and there is time for it.
    fn is_worth_more(&self, elapsed: Duration) -> bool {
        let recording = self.ledger.recording();
        self.setup.length() + MORE <= self.most
            && self.judged(elapsed).back_after().is_none()
            && is_growing(&recording, &self.setup, elapsed)
    }

    fn judged(&self, elapsed: Duration) -> Judged {
        let recording = self.ledger.recording();
        Judged::measured(&recording, &self.setup, &self.variant.policy, elapsed)
    }

    fn view<'a>(&'a self, recordings: &'a [Recording]) -> View<'a> {
        View {
            setup: &self.setup,
            variants: std::slice::from_ref(self.variant),
            recordings,
            elapsed: self.start.elapsed(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn calls_that_may_still_wait_for_their_answer_say_nothing() {
        assert_eq!(lead(1_000 * MS, MS), Ok(500 * MS));
        assert_eq!(lead(3_000 * MS, 50 * MS), Ok(1_000 * MS));
        assert_eq!(lead(3_000 * MS, 600 * MS), Ok(1_800 * MS));
        let refused = lead(3_000 * MS, 1_500 * MS).unwrap_err();
        assert!(
            refused.contains("--before 3s") && refused.ends_with("at least 6s"),
            "{refused}"
        );
        assert_eq!(lead(6_000 * MS, 1_500 * MS), Ok(4_500 * MS));
    }
}
