//! `tiers`: what does a database get while it fails over, below tiers that retry?

use std::time::Duration;

use becalm::{Budget, Policy};

use super::asked::{Range, World, count};
use super::entry::Studied;
use super::measure::{
    DEVIATIONS, attempts_deviation, clients, comes_back, compare, float, rate, service,
    with_quiet_end, worst_of_each,
};
use super::parts::{bounded, unbounded};
use super::{Entry, Parameters, usual};
use crate::oracle::{flaky, layers, metastable};
use crate::record::total;
use crate::scenario::{Arrivals, Downstream, Effect, Population, Scenario, Trigger};
use crate::study::{Comparison, Plan, Tolerance};
use crate::verdict::judge;
use crate::world;

/// The entry.
pub const TIERS: Entry = Entry {
    name: "tiers",
    title: "retries in several tiers while the database fails over",
    question: "What does the database get, and does it come back from its failover, if two of the \
               tiers above it retry?",
    answer: "A^L requests for each call of a user, L tiers that retry and A attempts in each: 16 for \
             four attempts in two. So its hidden capacity is mu/A^L, and a load above that keeps it \
             down after a failover of seconds, while the clients' own attempts show nothing: one for \
             each call. If the tiers tell each other, L (A - 1) + 1; a budget in each that successes \
             feed earns nothing while the database is away, so that it comes back as without retries, \
             and later by what the budgets held, over the spare capacity.",
    sources: &[
        source!("Amazon Builders' Library: Timeouts, retries, and backoff with jitter"
            at "https://aws.amazon.com/builders-library/timeouts-retries-and-backoff-with-jitter/"),
        source!("Google SRE book, ch. 22: Addressing Cascading Failures"
            at "https://sre.google/sre-book/addressing-cascading-failures/"),
        source!("Bronson et al.: Metastable Failures in Distributed Systems, HotOS'21"
            at "https://sigops.org/s/conferences/hotos/2021/papers/hotos21-s11-bronson.pdf"),
    ],
    parameters: &[
        parameter!("load": Number = "120", "calls of users per second"),
        parameter!("layers": Count = "2",
            "who retries: orders alone (1), the api too (2), and the users (3)"),
        parameter!("propagates": Choice(&["no", "yes"]) = "no",
            "whether a tier knows of the retries and deadlines above it"),
        parameter!("outage": Duration = "5s", "how long the database is away, from 10 s on"),
        parameter!("away": Choice(&["silent", "refuses"]) = "silent",
            "what its callers see of that: no answer, or a refusal"),
        usual::database_workers("4"),
        usual::database_time("20ms"),
        usual::database_queue("200"),
        usual::horizon("60s"),
    ],
    contenders: &["attempts=1", "budget=none", "yours"],
    policy: Policy::default,
    studied: Studied::In(World::new(scenario).within(RANGES)),
    check,
};

/// When the database goes away.
const FROM: Duration = Duration::from_secs(10);

/// The tiers from the edge down, with how long a caller of each waits for an attempt: all attempts of
/// a tier fit into one of the tier above, but for the users, who are in a hurry.
const TIERS_DOWN: [(&str, Duration); 3] = [
    ("api", Duration::from_secs(5)),
    ("orders", Duration::from_secs(2)),
    ("database", Duration::from_millis(250)),
];

/// Instances of a tier above the database, each with a budget of its own.
const INSTANCES: u32 = 4;

const RANGES: &[Range] = &[
    Range::new("layers", 1.0, 3.0),
    Range::new("queue", 1.0, 1e7),
];

/// Users, an api and an order service that scale with their load, and a database that does not.
pub(crate) fn scenario(parameters: &Parameters, policy: &Policy) -> Scenario {
    // Of the callers of each tier: those next to the database retry first.
    let policy_of = |tier: u32| {
        if tier + count(parameters, "layers") >= 3 {
            policy.clone()
        } else {
            Policy::default().attempts(1)
        }
    };
    let [(api, patience), (orders, of_api), (database, of_orders)] = TIERS_DOWN;
    let call = |(target, timeout): (&str, Duration), tier| {
        let mut call = Downstream::new(target, policy_of(tier));
        call.timeout = Some(timeout);
        call.propagates = parameters.text("propagates") == "yes";
        call
    };
    let tier = |name: &str, call: Downstream| {
        let mut tier = unbounded(name, Duration::from_millis(1)).calls(call);
        tier.instances = INSTANCES;
        tier
    };
    let arrivals = Arrivals::Poisson(parameters.number("load"));
    let service = database.to_owned();
    let away = if parameters.text("away") == "refuses" {
        Effect::Down { service }
    } else {
        Effect::Hang { service }
    };
    Scenario::new("tiers", parameters.duration("horizon"))
        .service(tier(api, call((orders, of_api), 1)))
        .service(tier(orders, call((database, of_orders), 2)))
        .service(bounded(database, parameters))
        .population(
            Population::new("users", api, arrivals, policy_of(0))
                .clients(20)
                .timeout(patience),
        )
        .trigger(Trigger::new(FROM, parameters.duration("outage"), away))
}

fn check(plan: &Plan<'_>, quick: bool) -> Vec<Comparison> {
    let seconds = if quick { 12 } else { 202 };
    let mut comparisons = Vec::new();
    for (failures, attempts, tiers) in [(1.0, 4, 2), (0.5, 4, 2), (0.9, 3, 2), (0.7, 3, 3)] {
        comparisons.extend(multiplied((failures, attempts, tiers), plan, seconds));
    }
    comparisons.extend([(1.0, 4, 3), (0.7, 4, 2)].map(|it| added(it, plan, seconds)));
    comparisons.extend([0.5, 0.8].map(|failures| budgeted(failures, plan, seconds)));
    comparisons.extend(worst_of_each(&fates(), (plan, quick), fate));
    comparisons
}

/// A database that nothing fills and that fails this share of its requests, below so many tiers that
/// retry at once: what each tier gets for each that first tries bring, from the edge down, and the
/// calls of users.
fn amplified(
    (failures, tiers): (f64, u32),
    policy: &Policy,
    propagates: &str,
    (plan, seconds): (&Plan<'_>, u32),
) -> (Vec<f64>, f64) {
    let parameters = TIERS.given(&[
        // What fails always has no spread, and needs few calls.
        ("load", if failures < 1.0 { "500" } else { "20" }.to_owned()),
        ("layers", tiers.to_string()),
        ("propagates", propagates.to_owned()),
        ("workers", "1000000".to_owned()),
        ("service-time", "1ms".to_owned()),
        ("horizon", format!("{seconds}s")),
    ]);
    let mut scenario = scenario(&parameters, policy);
    scenario.triggers.clear();
    if let Some(database) = scenario.services.last_mut() {
        database.failures = failures;
    }
    let scenario = with_quiet_end(scenario);
    let recording = world::run(&scenario, plan.seed);
    let seen = judge(&scenario, &recording).services.into_iter();
    let amplified = seen.map(|it| it.whole.amplification().unwrap_or(f64::NAN));
    (
        amplified.collect(),
        float(total(&clients(&recording).calls)),
    )
}

fn hasty(attempts: u32) -> Policy {
    Policy::fixed(Duration::ZERO).attempts(attempts)
}

/// Each tier by the sum of `layers`: an attempt at it fails if all that it makes below do.
fn multiplied(
    (failures, attempts, tiers): (f64, u32, u32),
    plan: &Plan<'_>,
    seconds: u32,
) -> Vec<Comparison> {
    let policy = hasty(attempts).budget(Budget::None);
    let (got, calls) = amplified((failures, tiers), &policy, "no", (plan, seconds));
    let mut comparisons = Vec::new();
    let (mut failing, mut above) = (failures, tiers);
    for ((name, _), got) in TIERS_DOWN.iter().zip(got).rev() {
        let deviation = attempts_deviation(failing, attempts.saturating_pow(above));
        comparisons.push(compare(
            format!(
                "requests at {name} for each call of a user, {tiers} tiers of {attempts}, {failures} fail"
            ),
            layers::attempts_at_bottom(failing, attempts, above),
            got,
            Tolerance::Absolute(DEVIATIONS * deviation / calls.sqrt()),
        ));
        if above > 0 {
            failing = 1.0 - flaky::success(failing, attempts);
            above -= 1;
        }
    }
    comparisons
}

/// Tiers that know of each other.
fn added(
    (failures, attempts, tiers): (f64, u32, u32),
    plan: &Plan<'_>,
    seconds: u32,
) -> Comparison {
    let policy = hasty(attempts).budget(Budget::None);
    let (got, calls) = amplified((failures, tiers), &policy, "yes", (plan, seconds));
    let deviation = attempts_deviation(failures, tiers * (attempts - 1) + 1);
    compare(
        format!(
            "requests at database for each call of a user, {tiers} tiers of {attempts} that know of \
             each other, {failures} fail"
        ),
        layers::added(failures, attempts, tiers),
        got.last().copied().unwrap_or(f64::NAN),
        Tolerance::Absolute(DEVIATIONS * deviation / calls.sqrt()),
    )
}

/// Two tiers with budgets that successes feed, besides the bursts that they begin with.
fn budgeted(failures: f64, plan: &Plan<'_>, seconds: u32) -> Comparison {
    let burst = 10.0;
    let budget = Budget::ratio(0.1).burst(burst).floor_per_second(0.0);
    let policy = hasty(4).budget(budget);
    let (got, calls) = amplified((failures, 2), &policy, "no", (plan, seconds));
    // By chance there are so many more or fewer of the successes that pay for it; and a token of an
    // upper burst may bring more than a request, or be left.
    let paid = 0.1 * (failures * (1.0 - failures) / calls).sqrt();
    let bursts = 2.0 * burst * f64::from(INSTANCES) / calls;
    compare(
        format!(
            "requests at database for each call of a user, 2 tiers of 4 with a budget of 0.1 of \
             successes each, {failures} fail"
        ),
        layers::budgeted_by_successes(failures, 4, 0.1, 2) + bursts,
        got.last().copied().unwrap_or(f64::NAN),
        Tolerance::Absolute(2.0 * DEVIATIONS * paid + 0.2 * bursts),
    )
}

/// Requests per second that the database of the entry serves.
const CAPACITY: f64 = 200.0;

/// When a failover of the check is looked at: calls that began then have ended.
const LATE: (Duration, Duration) = (Duration::from_secs(40), Duration::from_secs(50));

/// A failover, and what comes of it.
struct Case {
    what: &'static str,
    load: f64,
    policy: Policy,
    tiers: u32,
    comes_back: bool,
}

fn fates() -> Vec<Case> {
    let bare = || Policy::default().budget(Budget::None);
    let case = |what, load, policy, tiers, comes_back| Case {
        what,
        load,
        policy,
        tiers,
        comes_back,
    };
    let below = 0.8 * metastable::hidden_capacity(CAPACITY, 16);
    vec![
        case("no retries", 120.0, bare().attempts(1), 2, true),
        case("two tiers of four", 120.0, bare(), 2, false),
        case(
            "two tiers of four below the hidden capacity",
            below,
            bare(),
            2,
            true,
        ),
        case("two tiers of two", 120.0, bare().attempts(2), 2, false),
        case("two tiers with budgets", 120.0, Policy::default(), 2, true),
    ]
}

/// What happened to the database of a case in one run.
fn fate(case: &Case, seed: u64) -> Vec<Comparison> {
    let parameters = TIERS.given(&[
        ("load", case.load.to_string()),
        ("layers", case.tiers.to_string()),
    ]);
    let scenario = scenario(&parameters, &case.policy);
    let recording = world::run(&scenario, seed);
    let (from, to) = LATE;
    let mut comparisons = vec![comes_back(case.what, case.comes_back, &recording, LATE)];
    if !case.comes_back {
        let most = case.policy.attempts.saturating_pow(case.tiers);
        let arrived = service(&recording, 2).arrived;
        comparisons.push(compare(
            format!(
                "{}: requests per second at database in the storm",
                case.what
            ),
            metastable::collapsed_rate(case.load, most),
            rate(&arrived, recording.bucket, from, to),
            // 1200 calls, each of which counts for all its attempts: 2.9 % is one standard deviation.
            Tolerance::Relative(0.15),
        ));
    }
    comparisons
}
