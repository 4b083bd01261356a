//! Which runs go on beyond the end of their scenario, and what follows from them?

mod by_hand;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use becalm_sim::record::{Recording, Stopped};
use becalm_sim::scenario::{Scenario, Service};
use becalm_sim::search::Proportion;
use becalm_sim::study::{Plan, Verdict};
use becalm_sim::verdict::{Later, Ruling, Runs, rule};
use by_hand::{Second, eager, fine, hung, length, recording, unhung};

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn of(successes: u32, runs: u32) -> Proportion {
    Proportion { successes, runs }
}

/// A service that can serve 1 000 requests a second gets 600; it hangs from 10 s to 12 s.
fn until(horizon: u64) -> Scenario {
    let mut scenario = hung(600.0, &eager());
    scenario.horizon = seconds(horizon);
    scenario
}

/// The ruling on four runs, and how many runs were made. Under a trigger, `succeed` says how many of 600 calls succeed in a run, by
/// its place, and in a second.
fn ruled(scenario: &Scenario, succeed: impl Fn(usize, u32) -> u32 + Sync) -> (Ruling, u64) {
    ruled_as(scenario, succeed, |_, _| ())
}

/// As [`ruled`], where the recording is another one.
fn ruled_as(
    scenario: &Scenario,
    succeed: impl Fn(usize, u32) -> u32 + Sync,
    other: impl Fn(&Scenario, &mut Recording) + Sync,
) -> (Ruling, u64) {
    let (seeds, made) = (Mutex::new(Vec::new()), AtomicU64::new(0));
    let run = |it: &Scenario, seed: u64| {
        made.fetch_add(1, Ordering::Relaxed);
        let mut seeds = seeds.lock().unwrap();
        if !seeds.contains(&seed) {
            seeds.push(seed);
        }
        let place = seeds.iter().position(|it| *it == seed).unwrap();
        let is_calm = it.triggers.is_empty() && !scenario.triggers.is_empty();
        let mut run = recording((0..length(it)).map(|second| match succeed(place, second) {
            succeed if succeed < 600 && !is_calm => Second {
                calls: 600,
                succeed,
                attempts: 2_400,
            },
            _ => fine(600),
        }));
        run.events = 1_000;
        other(it, &mut run);
        run
    };
    let ruling = rule(scenario, &Runs::new(run, &Plan::default()), 4);
    (ruling, made.into_inner())
}

/// Lost from 10 s on until then.
fn back(at: u32) -> impl Fn(u32) -> u32 {
    move |second| if (10..at).contains(&second) { 0 } else { 600 }
}

/// More and more succeed, until all do.
fn rising(second: u32, until: u32) -> u32 {
    let all = 60 * second.saturating_sub(10) / (until - 10);
    if second < 10 { 600 } else { 10 * all.min(60) }
}

const NEVER: u32 = 10_000;

fn open(ruling: Ruling) -> Later {
    assert_eq!(ruling.verdict, Verdict::TooShort, "{}", ruling.evidence);
    ruling.later.expect("runs went on")
}

#[test]
fn what_cannot_change_the_verdict_does_not_go_on() {
    let lost_later = |second: u32| move |_: usize, at: u32| if at >= second { 0 } else { 600 };
    // Long enough after the trigger.
    assert_eq!(ruled(&until(32), lost_later(36)).0.later, None);
    // Without a trigger, whether all are back or not.
    let mut calm = unhung(600.0, &eager());
    let one_is_lost = |place, at| if place == 0 && at >= 20 { 0 } else { 600 };
    let (ruling, _) = ruled(&calm, one_is_lost);
    assert_eq!((ruling.verdict, ruling.later), (Verdict::Vulnerable, None));
    calm.horizon = seconds(15);
    assert_eq!(ruled(&calm, lost_later(20)).0.later, None);
    // What would take too much.
    let many = |_: &Scenario, run: &mut Recording| run.events = 2_000_000;
    assert_eq!(ruled_as(&until(24), lost_later(30), many).0.later, None);
}

#[test]
fn two_that_are_down_stand_for_all_and_where_one_is_back_all_go_on() {
    let (ruling, made) = ruled(&until(24), |_, at| back(NEVER)(at));
    assert_eq!((ruling.verdict, made), (Verdict::Metastable, 4 + 3 + 2));
    // So are those that are as usual, where that is not enough under so much pressure.
    let (ruling, made) = ruled(&until(24), |_, _| 540);
    assert_eq!((ruling.verdict, made), (Verdict::Metastable, 4 + 3 + 2));
    let ends = [11, NEVER, NEVER, NEVER];
    let (ruling, _) = ruled(&until(24), |place, at| back(ends[place])(at));
    assert_eq!(ruling.verdict, Verdict::Metastable);
    let ends = [11, NEVER, 28, 28];
    let mixed = |place: usize, at| back(ends[place])(at);
    let unseen = |_: &Scenario, run: &mut Recording| run.services[0].queue.clear();
    let (ruling, _) = ruled_as(&until(24), mixed, unseen);
    assert_eq!(open(ruling).went_on, of(2, 3));
    let (ruling, _) = ruled(&until(24), mixed);
    let words = "in 2 of 3 runs that go on it comes back, typically 16.0 s after it. Make";
    assert!(ruling.evidence.contains(words), "{}", ruling.evidence);
    let later = open(ruling);
    assert_eq!((later.went_on, later.back), (of(2, 3), of(3, 4)));
    // 1.5 times 16 s, with three windows and what is not judged, in steps of five seconds.
    assert_eq!(later.needs, Some(seconds(45)));
    // Not all of them, and then all.
    let ends = [11, 11, 28, 28];
    open(ruled(&until(24), |place, at| back(ends[place])(at)).0);
    // No longer than those that showed it.
    let later = open(ruled(&until(24), |_, second| back(56)(second)).0);
    assert_eq!(later.needs, Some(seconds(75)));
}

#[test]
fn a_storm_in_one_of_two_runs_that_go_on_is_open() {
    let late = |place, at| if place == 0 && at >= 30 { 0 } else { 600 };
    let later = open(ruled(&until(24), late).0);
    assert_eq!((later.went_on, later.back), (of(1, 2), of(3, 4)));
    let needs = Some(seconds(75));
    assert_eq!((later.horizon, later.needs), (seconds(72), needs));
}

#[test]
fn what_is_still_on_its_way_is_open_until_a_horizon_is_enough() {
    let slowly = |until| move |_: usize, second| rising(second, until);
    let mut chosen = until(24);
    chosen.goes_on = true;
    let (ruling, made) = ruled(&chosen, slowly(250));
    let words = "and at the end it is still on its way. Make the horizon at least 75 s";
    assert!(ruling.evidence.contains(words), "{}", ruling.evidence);
    assert_eq!((open(ruling).settling, made), (4, 4 + 3 + 4));
    // Asked for, each is half as long again at least.
    let later = open(ruled(&until(24), slowly(250)).0);
    assert_eq!(later.needs, Some(seconds(310)));
    let later = open(ruled(&until(24), slowly(900)).0);
    assert_eq!((later.needs, later.horizon), (None, seconds(660)));
    // Where the study chooses up to ten minutes, it is looked for from there on.
    chosen.horizon = seconds(600);
    assert_eq!(open(ruled(&chosen, slowly(900)).0).needs, None);
    // Of runs that cannot go on it is said too.
    let many = |_: &Scenario, run: &mut Recording| run.events = 5_000_000;
    let (ruling, _) = ruled_as(&until(24), slowly(60), many);
    assert!(ruling.evidence.contains("still on its way"));
    assert_eq!(open(ruling).settling, 4);
}

/// What is told of the runs from the first one on is how many there will be.
#[test]
fn no_run_is_made_without_need_and_each_is_announced() {
    let all = |scenario: &Scenario| ruled(scenario, |_, _| 600).1;
    // Two worse cases, and three runs without the trigger where there is one.
    assert_eq!(all(&until(40)), 4 * 3 + 3);
    assert_eq!(all(&unhung(600.0, &eager())), 4 * 3);
    // Where there is no verdict, and where first tries alone are too many.
    let mut unbounded = until(40);
    unbounded.services[0].workers = Service::UNLIMITED;
    assert_eq!(all(&unbounded), 4 + 3);
    assert_eq!(ruled(&unbounded, |_, at| back(NEVER)(at)).1, 4 + 3);
    let (ruling, made) = ruled(&hung(1_200.0, &eager()), |_, at| back(NEVER)(at));
    assert_eq!((ruling.verdict, made), (Verdict::Overloaded, 4 + 3));
    let told = Mutex::new(Vec::new());
    let progress = |_, of| told.lock().unwrap().push(of);
    let mut plan = Plan::default();
    plan.progress = Some(&progress);
    let run = |it: &Scenario, _| recording(vec![fine(600); length(it) as usize]);
    for (each, runs) in [(2, 2 * 3 + 2), (0, 3 + 1)] {
        told.lock().unwrap().clear();
        rule(&until(40), &Runs::new(run, &plan), each);
        let told = told.lock().unwrap();
        assert!(told.len() == runs && told.iter().all(|of| *of == runs as u64));
    }
}

#[test]
fn runs_that_cannot_go_on_leave_open_what_is_offered_no_more_than_can_be_served() {
    let of = |at: u32, horizon: u64, events: u64, stopped: Option<Stopped>| {
        ruled_as(
            &until(horizon),
            move |_, second| back(at)(second),
            move |it, run| {
                let attempts = run.populations[0].calls.clone();
                run.services[0].arrived.clone_from(&attempts);
                run.events = events;
                run.stopped = stopped.filter(|_| it.horizon > seconds(horizon));
            },
        )
    };
    // Three times as many events are too much, and twice as many are not.
    let (ruling, made) = of(30, 24, 2_000_000, None);
    let later = open(ruling);
    assert_eq!((later.needs, made), (Some(seconds(40)), 4 + 3 + 4));
    let (ruling, made) = of(NEVER, 24, 2_000_000, None);
    assert!(!ruling.evidence.contains("on its way"));
    let later = open(ruling);
    assert_eq!((later.needs, made), (None, 4 + 3 + 4));
    let (ruling, _) = of(NEVER, 40, 1_000, Some(Stopped::Memory));
    let words = "No longer run was made";
    assert!(ruling.evidence.contains(words), "{}", ruling.evidence);
    open(ruling);
    // Beyond ten minutes none is looked for, but one that was seen to be enough is asked for.
    let later = open(of(730, 702, 1_000, None).0);
    assert_eq!(later.needs, Some(seconds(765)));
}
