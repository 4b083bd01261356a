//! What is studied? A scenario of the catalogue, or one's own in a file.

use std::path::PathBuf;

use becalm::Policy;
use becalm_sim::catalogue::{Candidate, Entry, Parameters};
use becalm_sim::change::changed;
use becalm_sim::scenario::Scenario;
use becalm_sim::study::{Plan, Study};
use becalm_sim::sweep::{self, InvalidSweep, Point, Sweep};
use becalm_sim::tune::{self, Space, Tuning};
use becalm_sim::verdict::{self, Brief};

use super::beginning::OWN;
use super::own::{self, Own};
use super::section::places;

/// What the command line names.
#[derive(Debug)]
pub enum Named {
    Entry(&'static Entry, Parameters),
    File(PathBuf),
}

/// What is studied, read and valid.
#[derive(Debug)]
pub enum Subject<'a> {
    Entry(&'static Entry, &'a Parameters),
    Own(Box<Own<'a>>),
}

/// Whether the text names a file rather than a scenario of the catalogue.
pub fn is_file(text: &str) -> bool {
    text.contains('/') || text.to_ascii_lowercase().ends_with(".toml")
}

impl Named {
    /// Reads what is in a file.
    ///
    /// # Errors
    ///
    /// A sentence that names the file, the line and the remedy.
    pub fn open(&self) -> Result<Subject<'_>, String> {
        match self {
            Self::Entry(entry, parameters) => Ok(Subject::Entry(entry, parameters)),
            Self::File(path) => Ok(Subject::Own(Box::new(Own::open(path)?))),
        }
    }
}

impl Subject<'_> {
    /// The policy that flags start from.
    pub fn policy(&self) -> Policy {
        match self {
            Self::Entry(entry, _) => (entry.policy)(),
            Self::Own(own) => own.policy().clone(),
        }
    }

    /// The scenario under a policy, with its places; `None` where it has none, or cannot be.
    pub fn scenario(&self, policy: &Policy) -> Option<Scenario> {
        match self {
            Self::Entry(entry, parameters) => {
                entry.validate(parameters, policy).ok()?;
                entry.scenario().map(|build| build(parameters, policy))
            }
            Self::Own(own) => Some(own.under(policy)),
        }
    }

    /// Whether it is one's own, in a file.
    pub const fn is_file(&self) -> bool {
        matches!(self, Self::Own(_))
    }

    /// What is compared where nothing is asked for, in the syntax of `--compare`.
    pub fn contenders(&self) -> &'static [&'static str] {
        match self {
            Self::Entry(entry, _) => entry.contenders,
            Self::Own(_) => &[OWN],
        }
    }

    /// Studies it.
    ///
    /// # Errors
    ///
    /// Parameters that make no sense together, in a sentence.
    pub fn study(&self, candidates: &[Candidate], plan: &Plan<'_>) -> Result<Study, String> {
        match self {
            Self::Entry(entry, parameters) => {
                let studied = entry.study(parameters, candidates, plan);
                studied.map_err(|invalid| invalid.to_string())
            }
            Self::Own(own) => own.study(candidates, plan),
        }
    }
}

impl Subject<'_> {
    /// Studies every point of a sweep that starts from this policy, whose settings are those of this
    /// place where an axis names none.
    ///
    /// # Errors
    ///
    /// Axes, or values of theirs, that make no sense, in a sentence; nothing has run by then.
    pub fn sweep(
        &self,
        axes: &str,
        start: &Candidate,
        at: Option<&str>,
        plan: &Plan<'_>,
    ) -> Result<Study, String> {
        let refused = |invalid: InvalidSweep| format!("--sweep: {invalid}");
        let brief = self.brief();
        match self {
            Self::Entry(entry, parameters) => {
                let sweep = Sweep::read(axes, parameters).map_err(refused)?.at(at);
                let takes = |given: &Parameters, policy: &Policy| entry.validate(given, policy);
                let points = sweep.points_of(&start.policy, parameters, takes);
                let mut points = points.map_err(refused)?;
                let build = |point: &Point| {
                    entry
                        .scenario()
                        .map(|it| it(&point.parameters, &point.policy))
                };
                check_places(&mut points, start, build)?;
                let study = sweep::study(&brief, &sweep, &points, plan, |point, plan| {
                    entry.study(&point.parameters, &[point.candidate()], plan)
                });
                study.map_err(|invalid| format!("--sweep: {invalid}"))
            }
            Self::Own(own) => {
                let parameters = Parameters::of(own::AXES);
                let sweep = Sweep::read(axes, &parameters).map_err(refused)?.at(at);
                // A sweep of what is asked of the service leaves each client its policy.
                let is_for_all = sweep.moves_policy();
                let at = |given: &Parameters, policy: &Policy| own.at(given, policy, is_for_all);
                let takes = |given: &Parameters, policy: &Policy| own.takes(given, policy);
                let points = sweep.points_of(&start.policy, &parameters, takes);
                let mut points = points.map_err(refused)?;
                check_places(&mut points, start, |it| {
                    Some(at(&it.parameters, &it.policy))
                })?;
                let study = sweep::study(&brief, &sweep, &points, plan, |point, plan| {
                    let build = |policy: &Policy| at(&point.parameters, policy);
                    verdict::study(&brief, &[point.candidate()], plan, build)
                });
                study.map_err(|too_much| format!("--sweep: {too_much}"))
            }
        }
    }

    /// Searches for a policy that suits it better than the given one.
    ///
    /// # Errors
    ///
    /// A scenario without a world.
    pub fn tune(
        &self,
        space: &Space,
        start: &Candidate,
        plan: &Plan<'_>,
    ) -> Result<Tuning, String> {
        let refused = |sentence: String| format!("tune: {sentence}");
        let given = &start.policy;
        let build: Box<dyn Fn(&Policy) -> Scenario> = match self {
            Self::Own(own) => Box::new(|policy| own.under(policy)),
            Self::Entry(entry, parameters) => {
                let Some(build) = entry.scenario().filter(|_| entry.is_judged()) else {
                    return Err(refused(no_verdict(entry)));
                };
                let valid = entry.validate(parameters, given);
                valid.map_err(|invalid| refused(invalid.to_string()))?;
                Box::new(move |policy| build(parameters, policy))
            }
        };
        let build = |policy: &Policy| changed(build(policy), &start.changes);
        verdict::judgeable(&build(given)).map_err(|reason| refused(reason.to_string()))?;
        space
            .validate()
            .map_err(|invalid| refused(invalid.to_string()))?;
        let tuned = tune::tune(&self.brief(), space, given, plan, build);
        tuned.map_err(|too_much| refused(too_much.to_string()))
    }

    fn brief(&self) -> Brief {
        match self {
            Self::Entry(entry, parameters) => Brief::of(entry, parameters),
            Self::Own(own) => own.brief(),
        }
    }
}

/// Has the points of a sweep start as they should, and refuses one that names a place that is not there,
/// or makes of it what cannot be judged.
fn check_places(
    points: &mut [Point],
    start: &Candidate,
    build: impl Fn(&Point) -> Option<Scenario>,
) -> Result<(), String> {
    for point in points {
        point.changes.splice(0..0, start.changes.iter().cloned());
        if point.changes.is_empty() {
            continue;
        }
        let scenario = build(point);
        for change in &point.changes {
            places(scenario.as_ref(), change.place()).map_err(|it| format!("--sweep: {it}"))?;
        }
        if let Some(scenario) = scenario {
            let refused = |reason| format!("--sweep: {}: {reason}", point.name);
            verdict::judgeable(&changed(scenario, &point.changes)).map_err(refused)?;
        }
    }
    Ok(())
}

/// Why a scenario without a verdict cannot be tuned, and what shows its trade-offs instead.
fn no_verdict(entry: &Entry) -> String {
    format!(
        "{name} does not ask whether a service stays down, which is what policies are weighed by; \
         \"becalm storm {name} --sweep base=100ms..10s,jitter=full|equal\" shows what happens to each \
         policy of a grid",
        name = entry.name
    )
}
