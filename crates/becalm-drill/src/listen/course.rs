//! How is the client watched? From its first request on, through the fault, and after it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use becalm::support::Human;

use super::before::Before;
use super::plan::{Plan, variant};
use super::retried::{Moments, Tries};
use super::watched;
use crate::drill::Broken;
use crate::fault::{Faults, Seen};
use crate::ledger::BUCKET;
use crate::live::{Display, View};
use crate::setup::Setup;
use crate::show::Show;
use crate::stage::FRAME;

/// What was seen of a course that has come to its end.
#[derive(Debug, Default)]
pub struct Course {
    pub(super) seen: Seen,
    pub(super) before: Before,
    pub(super) moments: Moments,
    pub(super) lateness: Duration,
}

/// Breaks what the client calls, and makes it whole again.
///
/// # Errors
///
/// A signal has ended it, or it could not be held. Nothing is broken then.
pub fn hold(plan: &Plan, show: &Show<'_>, signal: &AtomicUsize) -> Result<Course, Broken> {
    let faults = Faults::start(&plan.faults)?;
    let address = faults
        .address()
        .map_or_else(String::new, |it| it.to_string());
    show.console.write(&format!(
        "listens at {address}: let your client call there in place of {}\n",
        plan.upstream
    ));
    let watched = watch(plan, &faults, show, signal);
    // Whatever happened, before anything else.
    let lifted = faults.lift();
    let course = watched?;
    // Nothing is broken any more, and what was measured stands.
    if let Err(why) = lifted.and_then(|()| faults.stop()) {
        show.console.note(&why);
    }
    Ok(course)
}

/// When the first request came.
fn first_request(
    plan: &Plan,
    faults: &Faults,
    ended: impl Fn() -> bool,
) -> Result<Instant, Broken> {
    let since = Instant::now();
    loop {
        if ended() {
            return Err(Broken::Signal);
        }
        // What has come meanwhile is placed in time by the proxy, so that a long look costs nothing.
        let (asked, seen) = (Instant::now(), faults.seen()?);
        if let Some(first) = watched::first(&seen) {
            let before = seen.since.saturating_sub(first);
            return Ok(asked.checked_sub(before).unwrap_or(asked));
        }
        if since.elapsed() > plan.wait {
            let refused = format!(
                "no request came within {}: let your client call {} while the drill runs, or give --wait more time",
                Human(plan.wait),
                faults
                    .address()
                    .map_or_else(String::new, |it| it.to_string()),
            );
            return Err(refused.into());
        }
        std::thread::sleep(BUCKET);
    }
}

/// Waits for the client, breaks what it calls, lifts it, and watches.
fn watch(
    plan: &Plan,
    faults: &Faults,
    show: &Show<'_>,
    signal: &AtomicUsize,
) -> Result<Course, Broken> {
    let setup = &plan.setup;
    let ended = || signal.load(Ordering::Relaxed) != 0;
    let began = first_request(plan, faults, ended)?;
    let mut display = Display::on(show);
    let variants = [variant()];
    let mut course = Course::default();
    let (mut part, mut grace) = (Part::Before, Duration::ZERO);
    loop {
        if ended() {
            return Err(Broken::Signal);
        }
        let elapsed = began.elapsed();
        course.seen = faults.seen()?;
        if elapsed >= part.until(setup, grace) {
            let tries = Tries::of(&course.seen);
            let late = |due: Duration| began.elapsed().saturating_sub(due);
            part = match part {
                Part::Before => {
                    course.before = Before::of(&course.seen);
                    grace = course.before.grace(setup.before);
                    if course.before.is_enough() && course.before.is_well() {
                        faults.begin()?;
                        course.lateness = late(setup.before);
                        course.moments.begun = tries;
                        Part::FirstHalf
                    } else {
                        Part::Over
                    }
                }
                Part::FirstHalf => {
                    course.moments.middle = tries;
                    Part::SecondHalf
                }
                Part::SecondHalf => {
                    faults.lift()?;
                    course.lateness = course.lateness.max(late(setup.trigger_end()));
                    course.moments.lifted = tries;
                    Part::After
                }
                Part::After => {
                    course.moments.over = tries;
                    Part::Over
                }
                Part::Over => Part::Over,
            };
        }
        let recording = watched::recording(&course.seen, setup.length());
        let view = View {
            setup,
            variants: &variants,
            recordings: std::slice::from_ref(&recording),
            elapsed: elapsed.min(setup.length()),
        };
        if part == Part::Over {
            display.finish(&view);
            return Ok(course);
        }
        display.show(&view);
        let due = part.until(setup, grace).saturating_sub(began.elapsed());
        std::thread::sleep(due.min(FRAME));
    }
}

/// How far a course has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Before,
    FirstHalf,
    SecondHalf,
    After,
    Over,
}

impl Part {
    /// The calls of the end have the `grace` of being answered.
    fn until(self, setup: &Setup, grace: Duration) -> Duration {
        match self {
            Self::Before => setup.before,
            Self::FirstHalf => setup.before + setup.trigger / 2,
            Self::SecondHalf => setup.trigger_end(),
            Self::After | Self::Over => setup.length() + grace,
        }
    }
}
