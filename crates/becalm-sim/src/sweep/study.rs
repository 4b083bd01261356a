//! What is there to say about a sweep?

use std::sync::atomic::{AtomicU64, Ordering};

use crate::catalogue::Candidate;
use crate::study::{Contender, Figure, Plan, Study};
use crate::verdict::Brief;

use super::answer::{answer, world};
use super::grid::{Point, Sweep};
use super::pictures::pictures;
use super::weighed::weighed;

impl Point {
    /// Its policy, and what is different at single places, under its name.
    pub fn candidate(&self) -> Candidate {
        Candidate::new(self.name.clone(), self.policy.clone()).with(self.changes.iter().cloned())
    }
}

/// Puts the studies of all points of a sweep together: what each came to, and pictures over its axes.
/// The points are those of [`Sweep::points_of`].
///
/// `each` studies one point: its [candidate](Point::candidate) with its parameters, under the plan that
/// it is given, which is quick. Of what it returns, the contender of the point's name counts. So a
/// point says what a study of the same flags says, whatever the scenario is about.
///
/// # Errors
///
/// What `each` refuses.
pub fn study<E>(
    brief: &Brief,
    sweep: &Sweep,
    points: &[Point],
    plan: &Plan<'_>,
    each: impl Fn(&Point, &Plan<'_>) -> Result<Study, E>,
) -> Result<Study, E> {
    let progress = Progress::of(points);
    let (mut contenders, mut runs, mut events) = (Vec::<Contender>::new(), 0, 0);
    for (index, point) in points.iter().enumerate() {
        let tell = |done, all| progress.tell(plan, done, all);
        let mut of_point = plan.clone();
        of_point.is_quick = true;
        of_point.progress = Some(&tell);
        // A point is soon done, and there are many.
        of_point.ruled = None;
        let study = each(point, &of_point)?;
        let own = study
            .contenders
            .into_iter()
            .find(|it| it.name == point.name);
        contenders.extend(own.map(|mut own| {
            own.world = world(sweep, index);
            own
        }));
        runs = study.runs;
        events += study.events;
        progress.end_point();
    }
    // A table of many rows shows the first figures of each.
    if let Some(weighed) = weighed(&contenders) {
        for contender in &mut contenders {
            let place = |it: &Figure| weighed.iter().position(|id| *id == it.id);
            let last = weighed.len();
            contender
                .figures
                .sort_by_key(|it| place(it).unwrap_or(last));
        }
    }
    let axes = sweep.axes.iter();
    // What is swept has no one value.
    let is_fixed = |(name, _): &&(String, String)| !sweep.axes.iter().any(|it| it.name == *name);
    let mut asked: Vec<_> = brief.asked.iter().filter(is_fixed).cloned().collect();
    asked.extend(axes.map(|it| (format!("sweep of {}", it.name), it.values.join(" | "))));
    Ok(Study {
        answer: answer(sweep, &contenders),
        asked,
        charts: pictures(sweep, &contenders),
        contenders,
        runs,
        events,
        ..brief.study(plan)
    })
}

/// How far all points are, told from within one.
struct Progress {
    points: u64,
    ended: AtomicU64,
    /// Runs of the points that have ended.
    before: AtomicU64,
    /// Runs of the current point.
    done: AtomicU64,
}

impl Progress {
    fn of(points: &[Point]) -> Self {
        Self {
            points: points.len() as u64,
            ended: AtomicU64::new(0),
            before: AtomicU64::new(0),
            done: AtomicU64::new(0),
        }
    }

    /// The points to come are taken to be as long as those so far.
    fn tell(&self, plan: &Plan<'_>, done: u64, all: u64) {
        self.done.fetch_max(done, Ordering::Relaxed);
        let Some(progress) = plan.progress else {
            return;
        };
        let before = self.before.load(Ordering::Relaxed);
        let begun = self.ended.load(Ordering::Relaxed) + 1;
        let expected = (before + all.max(done)).saturating_mul(self.points) / begun;
        progress(before + done, expected.max(before + done));
    }

    fn end_point(&self) {
        let done = self.done.swap(0, Ordering::Relaxed);
        self.before.fetch_add(done, Ordering::Relaxed);
        self.ended.fetch_add(1, Ordering::Relaxed);
    }
}
