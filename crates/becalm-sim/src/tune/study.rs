//! Which policy is recommended, and what was found on the way?

use becalm::Policy;

use crate::record::Recording;
use crate::scenario::Scenario;
use crate::study::{Chart, ChartKind, Contender, Figure, Plan, Study};
use crate::verdict::{Brief, Runs, Survived, describe, longest_outage};
use crate::world;

use super::candidates::candidates;
use super::front::{compromise, front};
use super::halving::halve;
use super::objectives::Objectives;
use super::reasons::reasons;
use super::space::Space;
use super::trial::Trial;

/// A policy that was tried to the end.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Tuned {
    /// What it is called: `given`, `unretried`, `default`, or a number.
    pub name: String,
    /// The policy.
    pub policy: Policy,
    /// What it costs.
    pub objectives: Objectives,
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Tuning {
    /// The policies that no other beats, from the lowest load on the service to the highest. Not
    /// empty.
    pub front: Vec<Tuned>,
    /// The one that is recommended.
    pub recommended: Tuned,
    /// The policy that was given.
    pub given: Tuned,
    /// Why, in sentences.
    pub reasons: Vec<String>,
    /// Policies that were tried.
    pub policies: usize,
    /// Runs that were made.
    pub runs: u64,
    /// Everything as a study: the front, the recommended first.
    pub study: Study,
}

/// Runs of a case in each round. Eight policies of 32 have all 14.
const ROUNDS: [u32; 3] = [2, 4, 8];
/// So many are left at the end, at least: a front of fewer offers no choice.
const LEAST: usize = 8;
/// The given policy and that without retries are compared with to the end.
const ALWAYS: usize = 2;

/// Tries policies in the scenario that `build` makes of each.
pub fn tune(
    brief: &Brief,
    space: &Space,
    given: &Policy,
    plan: &Plan<'_>,
    build: impl Fn(&Policy) -> Scenario,
) -> Tuning {
    tune_with(world::run, brief, space, given, plan, build)
}

/// The same, with what runs a scenario. Equal seeds find the same, on any number of threads. The
/// plan's runs are those of a case in the last round.
pub fn tune_with(
    run: impl Fn(&Scenario, u64) -> Recording + Sync,
    brief: &Brief,
    space: &Space,
    given: &Policy,
    plan: &Plan<'_>,
    build: impl Fn(&Policy) -> Scenario,
) -> Tuning {
    let runs = Runs::new(run, plan);
    let timeouts = build(given)
        .populations
        .into_iter()
        .filter_map(|it| it.timeout);
    let policies = candidates(space, given, timeouts.min(), plan.seed);
    let mut trials: Vec<Trial> = policies
        .iter()
        .map(|policy| Trial::new(build(policy)))
        .collect();
    let last = plan.runs.unwrap_or(ROUNDS[2]).max(1);
    let rounds = [last.div_ceil(4), last.div_ceil(2), last];
    announce(&runs, &trials, rounds);
    let tried = halve(
        trials.len(),
        ALWAYS,
        LEAST,
        &rounds,
        |place, round| match trials.get_mut(place) {
            Some(trial) => trial.attempt(&runs, round),
            None => Objectives::new(1.0, f64::INFINITY, 1.0, f64::INFINITY),
        },
    );
    let tuned: Vec<Tuned> = tried
        .iter()
        .filter_map(|(place, objectives)| {
            Some(Tuned {
                name: name(*place, policies.get(*place)?),
                policy: policies.get(*place)?.clone(),
                objectives: *objectives,
            })
        })
        .collect();
    let choice = Choice::of(&tuned, given);
    let outage = |tuned: &Tuned| longest_outage(&build(&tuned.policy), &runs, last.max(10));
    let (own, of_given) = (outage(&choice.recommended), outage(&choice.given));
    let outages = (own.as_ref(), of_given.as_ref());
    let reasons = reasons(policies.len(), &tuned, &choice, outages);
    let study = study(
        brief,
        &choice,
        &reasons,
        (plan.seed, last, runs.events()),
        outages.0,
    );
    Tuning {
        front: choice.front,
        recommended: choice.recommended,
        given: choice.given,
        reasons,
        policies: policies.len(),
        runs: runs.done(),
        study,
    }
}

/// The front, and what is chosen of it.
pub(super) struct Choice {
    pub(super) front: Vec<Tuned>,
    pub(super) recommended: Tuned,
    pub(super) given: Tuned,
}

impl Choice {
    /// Of the policies with the fewest lost runs, which is none where any policy keeps the service
    /// up.
    fn of(tuned: &[Tuned], given: &Policy) -> Self {
        let fewest = tuned.iter().map(|it| it.objectives.lost);
        let fewest = fewest.fold(f64::INFINITY, f64::min);
        let mut kept: Vec<&Tuned> = tuned
            .iter()
            .filter(|it| it.objectives.lost <= fewest)
            .collect();
        kept.sort_by(|a, b| a.objectives.load.total_cmp(&b.objectives.load));
        let rounded: Vec<Objectives> = kept.iter().map(|it| it.objectives.rounded()).collect();
        let places = front(&rounded);
        // Of those that cost the same the first: a choice between equals is none.
        let is_first = |place: &&usize| {
            let same = rounded
                .iter()
                .position(|it| Some(it) == rounded.get(**place));
            same == Some(**place)
        };
        let front: Vec<Tuned> = places
            .iter()
            .filter(is_first)
            .filter_map(|place| kept.get(*place).copied().cloned())
            .collect();
        let objectives: Vec<Objectives> = front.iter().map(|it| it.objectives.rounded()).collect();
        let unknown = Tuned {
            name: "given".into(),
            policy: given.clone(),
            objectives: Objectives::new(1.0, f64::INFINITY, 1.0, f64::INFINITY),
        };
        let of_given = tuned.iter().find(|it| it.policy == *given);
        let of_given = of_given.cloned().unwrap_or(unknown);
        let chosen = compromise(&objectives).and_then(|place| front.get(place));
        Self {
            recommended: chosen.cloned().unwrap_or_else(|| of_given.clone()),
            given: of_given,
            front,
        }
    }
}

fn name(place: usize, policy: &Policy) -> String {
    match place {
        0 => "given".into(),
        1 => "unretried".into(),
        _ if policy.budget == Policy::default().budget && place == 2 => "default".into(),
        place => format!("tuned-{}", place - 1),
    }
}

fn announce<R: Fn(&Scenario, u64) -> Recording + Sync>(
    runs: &Runs<'_, R>,
    trials: &[Trial],
    rounds: [u32; 3],
) {
    let cases = trials.iter().map(Trial::cases).max().unwrap_or_default();
    let mut left = trials.len();
    for round in rounds {
        runs.announce(left as u64 * cases * u64::from(round));
        left = left.div_ceil(2).max(LEAST).min(trials.len());
    }
}

fn study(
    brief: &Brief,
    choice: &Choice,
    reasons: &[String],
    (seed, runs, events): (u64, u32, u64),
    outage: Option<&Survived>,
) -> Study {
    let rest = choice.front.iter().filter(|it| **it != choice.recommended);
    let mut contenders: Vec<Contender> = std::iter::once(&choice.recommended)
        .chain(rest)
        .map(contender)
        .collect();
    if !choice.front.contains(&choice.given) && choice.given != choice.recommended {
        contenders.push(contender(&choice.given));
    }
    if let (Some(first), Some(outage)) = (contenders.first_mut(), outage) {
        let title = "Longest outage that is survived";
        let figure = Figure::new("longest_outage_s", title, "s", outage.value());
        first.figures.push(match outage.interval() {
            Some((low, high)) => figure.within(low, high),
            None => figure,
        });
        first.evidence = reasons.join(" ");
    }
    Study {
        scenario: brief.name.clone(),
        question: "Which policy suits it?".into(),
        answer: reasons.join(" "),
        asked: brief.asked.clone(),
        contenders,
        charts: vec![chart(choice)],
        seed,
        runs,
        events,
    }
}

fn contender(tuned: &Tuned) -> Contender {
    let Objectives {
        lost,
        load,
        failed,
        latency,
    } = tuned.objectives;
    let latency = latency.is_finite().then_some(latency);
    Contender {
        name: tuned.name.clone(),
        policy: describe(&tuned.policy),
        figures: vec![
            Figure::new(
                "lost_share",
                "Runs that do not come back",
                "%",
                Some(lost * 100.0),
            ),
            Figure::new(
                "amplification_since",
                "Attempts per first try, from the trigger on",
                "",
                Some(load),
            ),
            Figure::new(
                "success_share",
                "Calls that succeed",
                "%",
                Some((1.0 - failed) * 100.0),
            ),
            Figure::new(
                "latency_p99_ms",
                "Latency of successful calls, p99",
                "ms",
                latency,
            ),
        ],
        ..Contender::default()
    }
}

/// Load on the service against calls that fail: each policy of the front a point, joined in order.
fn chart(choice: &Choice) -> Chart {
    let point = |it: &Tuned| (it.objectives.load, it.objectives.failed * 100.0);
    let one = |name: &str, it: &Tuned| (name.to_owned(), vec![point(it)]);
    Chart {
        id: "front".into(),
        title: "What protection costs".into(),
        x: "attempts per first try, from the trigger on".into(),
        y: "calls that fail, %".into(),
        kind: ChartKind::Lines(vec![
            ("front".into(), choice.front.iter().map(point).collect()),
            one("recommended", &choice.recommended),
            one("given", &choice.given),
        ]),
        ..Chart::default()
    }
}
