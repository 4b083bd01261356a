//! Who runs a scenario many times, and with which seeds?

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError, RwLock};

use becalm::rng::{Random, SplitMix64};

use crate::engine::parallel::{Permits, each_in_order, each_in_order_telling};
use crate::record::Recording;
use crate::scenario::Scenario;
use crate::study::{Plan, Verdict};
use crate::world::{Looks, Sight, Stopped};

use super::certain::{comes_back, judge_until, times};
use super::judge::judge;
use super::outcome::Outcome;
use super::runner::Runner;
use super::too_much::TooMuch;
use super::variation::prolonged;

/// Runs a scenario once under a seed: [`world::run`](crate::world::run), or what a test puts in its
/// place.
pub type Run = fn(&Scenario, u64) -> Recording;

/// Runs that go on before it is believed that all of their kind end like them.
pub(super) const FEW: usize = 2;

/// What happened to a run, and what did in a scenario that goes on, where that was seen.
#[derive(Debug, Clone)]
pub(super) struct Ran {
    pub outcome: Outcome,
    pub later: Option<Outcome>,
}

/// With what was watched of it.
type Watched<U> = (Ran, Option<U>);

/// Runs scenarios under a plan, and counts.
pub struct Runs<'a, R = Run> {
    run: R,
    plan: &'a Plan<'a>,
    /// As many as there are threads: parts of a study that are made side by side share them.
    permits: Permits,
    /// Parts that are made at present.
    parts: AtomicUsize,
    /// A run that has to be alone waits for all others.
    alone: RwLock<()>,
    done: Mutex<u64>,
    planned: AtomicU64,
    expected: AtomicU64,
    events: AtomicU64,
    too_much: OnceLock<TooMuch>,
}

impl<'a, R: Runner> Runs<'a, R> {
    /// Runs by this function under this plan.
    pub const fn new(run: R, plan: &'a Plan<'a>) -> Self {
        Self {
            run,
            plan,
            permits: Permits::of(plan.threads),
            parts: AtomicUsize::new(0),
            alone: RwLock::new(()),
            done: Mutex::new(0),
            planned: AtomicU64::new(0),
            expected: AtomicU64::new(0),
            events: AtomicU64::new(0),
            too_much: OnceLock::new(),
        }
    }

    /// Runs a scenario so many times, and returns what is said of each run, in the order of the
    /// seeds.
    ///
    /// A series is a set of seeds: the same for scenarios that are compared, another where runs have
    /// to be independent. The first run of series 0 has the plan's own seed.
    ///
    /// Runs that together hold more than they may are made again, one after the other. A run that takes
    /// [too much](Self::too_much) even alone is the last: what is said of it and of all that would
    /// follow is said of an empty recording, and means nothing.
    pub fn each<T: Send>(
        &self,
        scenario: &Scenario,
        series: u64,
        runs: u32,
        judge: impl Fn(&Recording) -> T + Sync,
    ) -> Vec<T> {
        self.some(scenario, series, 0..runs, judge)
    }

    /// As [`each`](Self::each), of those runs of the series that have these places.
    pub(super) fn some<T: Send>(
        &self,
        scenario: &Scenario,
        series: u64,
        runs: Range<u32>,
        judge: impl Fn(&Recording) -> T + Sync,
    ) -> Vec<T> {
        let seeds = runs.map(|index| seed(self.plan.seed, series, index));
        let seeds = seeds.collect::<Vec<_>>();
        let run = |seed| (self.run.run(scenario, seed), ());
        self.made(scenario, &seeds, true, run, |_, it, ()| judge(it))
    }

    /// In which of those runs of the series that have these places the service comes back. A run ends when that is certain.
    pub fn back(&self, scenario: &Scenario, series: u64, runs: Range<u32>) -> Vec<bool> {
        let look = |seen: &Sight<'_>| comes_back(scenario, seen);
        let looks = Looks::at(times(scenario), &look);
        let seeds = runs.map(|index| seed(self.plan.seed, series, index));
        let seeds = seeds.collect::<Vec<_>>();
        let run = |seed| (self.looked_at(scenario, seed, &looks), ());
        self.made(scenario, &seeds, true, run, |_, it, ()| {
            let certain = it.certain;
            certain.unwrap_or_else(|| judge(scenario, it).holds())
        })
    }

    fn looked_at(&self, scenario: &Scenario, seed: u64, looks: &Looks<'_>) -> Recording {
        let until = self.run.run_until(scenario, seed, looks);
        until.unwrap_or_else(|| self.run.run(scenario, seed))
    }

    /// As [`each`](Self::each) of series 0; a run ends when the service is certain to come back.
    pub(super) fn each_until_back(&self, scenario: &Scenario, runs: u32) -> Vec<Outcome> {
        let look = |seen: &Sight<'_>| comes_back(scenario, seen).filter(|is_back| *is_back);
        let looks = Looks::at(times(scenario), &look);
        let seeds = (0..runs).map(|index| seed(self.plan.seed, 0, index));
        let seeds = seeds.collect::<Vec<_>>();
        let run = |seed| (self.looked_at(scenario, seed, &looks), ());
        let judge = |_, it: &Recording, ()| judge_until(scenario, it);
        self.made(scenario, &seeds, true, run, judge)
    }

    /// What happens to each of series 0, and what is watched of the first of them: to keep the recording of every run would cost
    /// too much, and so would to make it again. The first ones [go on](prolonged) where they are not back, if that is asked for.
    pub(super) fn rulings<U: Send>(
        &self,
        scenario: &Scenario,
        runs: u32,
        go_on: bool,
        watch: impl Fn(&Recording) -> U + Sync,
    ) -> (Vec<Ran>, Option<U>) {
        let longer = prolonged(scenario, 0).filter(|_| go_on && ends_a_bucket(scenario));
        let seed_of = |index| seed(self.plan.seed, 0, index);
        let seeds: Vec<u64> = (0..runs).map(seed_of).collect();
        let watch = |seed, it: &Recording| (seed == self.plan.seed).then(|| watch(it));
        let run = |seed| {
            let is_early = seeds.iter().take(FEW).any(|it| *it == seed);
            let longer = longer.as_ref().filter(|_| is_early);
            let went_on = longer.and_then(|longer| self.went_on(scenario, longer, seed, watch));
            went_on.unwrap_or_else(|| (self.run.run(scenario, seed), None))
        };
        let judge = |seed, it: &Recording, went_on: Option<Watched<U>>| {
            went_on.unwrap_or_else(|| {
                let ran = Ran {
                    outcome: judge(scenario, it),
                    later: None,
                };
                (ran, watch(seed, it))
            })
        };
        let made = self.made(scenario, &seeds, true, run, judge);
        let (all, mut watched): (Vec<Ran>, Vec<Option<U>>) = made.into_iter().unzip();
        (all, watched.iter_mut().find_map(Option::take))
    }

    /// One run to the end of the scenario, and on to that of the longer one where it is not back then. `None` where nobody can look at it,
    /// or it did not come so far.
    fn went_on<U: Send>(
        &self,
        scenario: &Scenario,
        longer: &Scenario,
        seed: u64,
        watch: impl Fn(u64, &Recording) -> Option<U> + Sync,
    ) -> Option<(Recording, Option<Watched<U>>)> {
        let at_end = Mutex::new(None);
        let look = |sight: &Sight<'_>| {
            let outcome = judge(scenario, sight.recording);
            let is_over = outcome.holds() || prolonged(scenario, outcome.events).is_none();
            let told = at_end
                .lock()
                .map(|mut it| *it = Some((outcome, watch(seed, sight.recording))));
            (is_over || told.is_err()).then_some(true)
        };
        let looks = Looks::at_end_of(scenario.horizon, &look);
        let mut recording = self.run.run_until(longer, seed, &looks)?;
        if recording.stopped == Some(Stopped::Crowded) {
            return Some((recording, None));
        }
        let (outcome, watched) = at_end.into_inner().ok()??;
        let is_whole = recording.certain.is_none() && recording.stopped.take().is_none();
        let later = is_whole.then(|| judge(longer, &recording));
        Some((recording, Some((Ran { outcome, later }, watched))))
    }

    /// Runs those of series 0 that have these places once more, in a scenario that goes on. A run that takes more than it
    /// may even alone is left out, and refuses nothing: the question was answered without it.
    pub(super) fn again<T: Send>(
        &self,
        scenario: &Scenario,
        places: &[u32],
        judge: impl Fn(&Recording) -> T + Sync,
    ) -> Vec<T> {
        self.announce(places.len() as u64);
        let seeds = places.iter().map(|place| seed(self.plan.seed, 0, *place));
        let seeds = seeds.collect::<Vec<_>>();
        let run = |seed| (self.run.run(scenario, seed), ());
        self.made(scenario, &seeds, false, run, |_, it, ()| judge(it))
    }

    /// Does parts of a study side by side, as many as there are threads, and returns what they gave in their order: within a part each
    /// batch of runs waits for the one before.
    pub(super) fn side_by_side<J: Sync, T: Send>(
        &self,
        parts: &[J],
        make: impl Fn(&J) -> T + Sync,
    ) -> Vec<T> {
        each_in_order(parts, self.plan.threads, |part| {
            self.parts.fetch_add(1, Ordering::Relaxed);
            let result = make(part);
            self.parts.fetch_sub(1, Ordering::Relaxed);
            result
        })
    }

    /// Threads for a batch of runs: those of all parts together are about twice as many as may run, so that none is idle and no system
    /// runs out of threads.
    fn workers(&self) -> usize {
        let parts = self.parts.load(Ordering::Relaxed).max(1);
        let threads = self.plan.threads;
        threads.min(2 * threads / parts).max(1)
    }

    /// What is said of each run: of its recording, and of what else was seen of it.
    fn made<T: Send, X: Default>(
        &self,
        scenario: &Scenario,
        seeds: &[u64],
        refuses: bool,
        run: impl Fn(u64) -> (Recording, X) + Sync,
        judge: impl Fn(u64, &Recording, X) -> T + Sync,
    ) -> Vec<T> {
        let is_crowded = AtomicBool::new(false);
        let make = |seed: &u64| {
            if self.too_much.get().is_some() {
                return Some(judge(*seed, &Recording::default(), X::default()));
            }
            let (recording, seen) = run(*seed);
            if recording.stopped == Some(Stopped::Crowded) {
                // It is made again; what it did so far depends on the others.
                is_crowded.store(true, Ordering::Relaxed);
                return None;
            }
            self.events.fetch_add(recording.events, Ordering::Relaxed);
            if let Some(stopped) = recording.stopped {
                if !refuses {
                    return None;
                }
                let too_much = || TooMuch::of_a_run(scenario, stopped, self.plan.memory);
                self.too_much.get_or_init(too_much);
            }
            Some(judge(*seed, &recording, seen))
        };
        let beside = |seed: &u64| {
            let _permit = self.permits.take();
            let _others = self.alone.read().unwrap_or_else(PoisonError::into_inner);
            let is_crowded = is_crowded.load(Ordering::Relaxed);
            if is_crowded { None } else { make(seed) }
        };
        let told = |_: usize| self.tell();
        let mut all = each_in_order_telling(seeds, self.workers(), beside, told);
        if is_crowded.load(Ordering::Relaxed) {
            for (seed, one) in seeds.iter().zip(&mut all).filter(|it| it.1.is_none()) {
                let _alone = self.alone.write().unwrap_or_else(PoisonError::into_inner);
                *one = make(seed);
            }
        }
        all.into_iter().flatten().collect()
    }

    fn tell(&self) {
        // Held while it is told, so that the number never falls.
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        *done += 1;
        if let Some(progress) = self.plan.progress {
            let planned = self.planned.load(Ordering::Relaxed);
            let expected = self.expected.load(Ordering::Relaxed);
            progress(*done, planned.max(expected).max(*done));
        }
    }

    /// Tells the verdict on a contender, where that is wanted.
    pub(super) fn ruled(&self, name: &str, verdict: Verdict) {
        if let Some(tell) = self.plan.ruled {
            tell(name, verdict);
        }
    }

    /// Why there is no answer, where a run took more than it may.
    pub fn too_much(&self) -> Option<TooMuch> {
        self.too_much.get().cloned()
    }

    /// Announces that so many runs will come, for the progress.
    pub fn announce(&self, runs: u64) {
        self.planned.fetch_add(runs, Ordering::Relaxed);
    }

    /// Announces how many runs there may be in all, before each part of them is
    /// [announced](Self::announce): without it the progress would fall back as each part begins.
    pub fn expect(&self, runs: u64) {
        self.expected.store(runs, Ordering::Relaxed);
    }

    /// Events that the engine handled in all runs.
    pub fn events(&self) -> u64 {
        self.events.load(Ordering::Relaxed)
    }

    /// Runs that were made.
    pub fn done(&self) -> u64 {
        *self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the last bucket of a scenario is a whole one.
fn ends_a_bucket(scenario: &Scenario) -> bool {
    let bucket = scenario.bucket.as_nanos().max(1);
    scenario.horizon.as_nanos() % bucket == 0
}

/// The seed of a run. Seeds of different series, and of different runs, have nothing in common.
fn seed(first: u64, series: u64, index: u32) -> u64 {
    if (series, index) == (0, 0) {
        return first;
    }
    let of_plan = SplitMix64::new(first).next_u64();
    let of_series = SplitMix64::new(of_plan.wrapping_add(series)).next_u64();
    SplitMix64::new(of_series.wrapping_add(u64::from(index))).next_u64()
}
