//! How does the target fare under one policy? Calls, a fault, and what comes of it.

use std::sync::Arc;
use std::time::Duration;

use becalm::support::Human;
use tokio::time::Instant;

use super::growth::is_growing;
use super::plan::Plan;
use crate::client::Connections;
use crate::drill::Broken;
use crate::fault::Faults;
use crate::judged::{Judged, tenths};
use crate::judgement::Contender;
use crate::ledger::{Count, Ledger, Recording};
use crate::live::{Display, View};
use crate::party::Party;
use crate::replay::{End, Replay, drain};
use crate::setup::Setup;
use crate::stage::Stage;
use crate::statistics::count;
use crate::variant::Variant;
use crate::void::{ENOUGH, Machine, Void, usual_lateness};

/// How much longer it goes on at a time.
pub const MORE: Duration = Duration::from_secs(1);

/// So long before its end it is decided whether it goes on: the calls go on without a pause.
const AHEAD: Duration = Duration::from_millis(300);

/// Below this share of good calls the target is unwell before anything is broken.
pub const GOOD: f64 = 0.95;

/// Under load an answer may take so many times what it takes without, and the target is well all the same.
const BUSY: u32 = 3;

/// What came of one policy.
#[derive(Debug, Clone)]
pub struct Round {
    /// Its course, as long as it was.
    pub setup: Setup,
    /// When its calls began, from the start.
    pub began: Vec<Duration>,
    /// What this machine did meanwhile.
    pub machine: Machine,
    /// The share of calls that were good before the fault.
    pub good: f64,
    /// Whether the fault was begun.
    pub was_broken: bool,
    /// How long before the fault calls had to begin that say what is usual.
    pub lead: Duration,
}

impl Round {
    /// Whether the target was well before the fault. If not, there was none.
    pub fn was_well(&self) -> bool {
        self.good >= GOOD
    }

    /// Why there is no verdict on it.
    pub fn void(&self) -> Option<Void> {
        let unwell = (!self.was_well()).then_some(Void::Unwell);
        self.machine.void().into_iter().chain(unwell).min()
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
    /// How long a client waits for an attempt.
    patience: Duration,
    ledger: Arc<Ledger>,
    faults: Option<&'a Faults>,
    end: End,
    most: Duration,
    step: Step,
    /// By how much the fault was late at worst.
    lateness: Duration,
    good: f64,
    was_broken: bool,
    failed: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Before,
    Fault,
    After,
    Over,
}

/// Holds the drill under one policy. Whatever happens, nothing is left of the fault.
///
/// # Errors
///
/// A signal has ended it, the policy is refused, or the fault could not be begun or lifted.
pub fn hold(
    stage: &Stage<'_>,
    plan: &Plan,
    lead: Duration,
    variant: &Variant,
    connections: Connections,
    faults: Option<&Faults>,
    mut display: Display<'_>,
) -> Result<(Contender, Round), Broken> {
    let start = stage.start();
    let patience = variant.policy.attempt_timeout;
    let patience = patience.unwrap_or(plan.setup.client_timeout);
    let ledger = Arc::new(Ledger::new(start, plan.most + drain(patience)));
    let policy = variant.policy.clone();
    let party = Party::of(
        connections,
        &variant.name,
        policy,
        stage.seed,
        ledger.clone(),
    )?;
    let end = End::open();
    end.set(plan.setup.length());
    let replay = Replay::of(start, party, end.clone(), patience);
    let mut course = Course {
        start,
        setup: plan.setup.clone(),
        variant,
        lead,
        patience,
        ledger: ledger.clone(),
        faults,
        end,
        most: plan.most.min(plan.load.ends()),
        step: Step::Before,
        lateness: Duration::ZERO,
        good: 1.0,
        was_broken: false,
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
    let played = played?;
    lifted?;
    if let Some(failed) = course.failed {
        return Err(failed.into());
    }
    let length = course.setup.length();
    let recording = ledger.recording().until(length + drain(patience));
    display.finish(&course.view(std::slice::from_ref(&recording)));
    let latencies = ledger.latencies();
    let mut contender = Contender::new(variant.clone(), recording, &latencies, &course.setup);
    contender.judged = course.judged(length);
    let late = [
        played.lateness.max(course.lateness),
        usual_lateness(&played.began, &plan.load.arrivals),
    ];
    let round = Round {
        machine: Machine::of(&contender.recording, &course.setup, patience, late),
        began: played.began,
        good: course.good,
        was_broken: course.was_broken,
        lead,
        setup: course.setup,
    };
    if let Some(void) = round.void() {
        contender.judged.verdict = Err(void);
    }
    Ok((contender, round))
}

/// The share of good calls of those that began until then; 1 without calls.
fn good(recording: &Recording, until: Duration) -> f64 {
    let of = |what| recording.within(what, Duration::ZERO..until);
    match of(Count::Call) {
        0 => 1.0,
        all => count(of(Count::SucceededOf)) / count(all),
    }
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

    /// Nothing is broken that is not well, or where there will be no verdict: nobody calls, or this process stood still.
    fn begin(&mut self, due: Duration) {
        let recording = self.ledger.recording();
        self.good = good(&recording, due.saturating_sub(self.lead));
        let late = self.start.elapsed().saturating_sub(due);
        let stood_still = self.faults.is_some() && late > self.patience;
        if stood_still {
            self.lateness = late;
        }
        let calls = recording.within(Count::Call, Duration::ZERO..due);
        if self.good < GOOD || calls < ENOUGH || stood_still {
            self.end.set(Duration::ZERO);
            self.step = Step::Over;
            return;
        }
        self.was_broken = true;
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
            && is_growing(&recording, &self.setup, self.patience, elapsed)
    }

    fn judged(&self, elapsed: Duration) -> Judged {
        let recording = self.ledger.recording();
        let policy = &self.variant.policy;
        Judged::sparing(self.lead, &recording, &self.setup, policy, elapsed)
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
