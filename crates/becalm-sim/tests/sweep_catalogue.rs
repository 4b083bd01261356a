//! Can every scenario of the catalogue be swept, and is nonsense refused before anything runs?

use becalm_sim::catalogue::{ENTRIES, Entry, Parameters, find};
use becalm_sim::study::{Chart, ChartKind, Contender, Plan, Study};
use becalm_sim::sweep::{Sweep, study};
use becalm_sim::verdict::Brief;

fn entry(name: &str) -> &'static Entry {
    find(name).expect("an entry of the catalogue")
}

fn parameters(entry: &Entry, settings: &[(&str, &str)]) -> Parameters {
    let mut parameters = Parameters::of(entry.parameters);
    for (name, value) in settings {
        parameters.set(name, value).expect("a parameter");
    }
    parameters
}

fn plan() -> Plan<'static> {
    let mut plan = Plan::default();
    plan.runs = Some(2);
    plan
}

fn swept(name: &str, settings: &[(&str, &str)], text: &str) -> Study {
    let entry = entry(name);
    let parameters = parameters(entry, settings);
    let policy = (entry.policy)();
    let sweep = Sweep::read(text, &parameters).expect("axes");
    let takes = |given: &Parameters, policy: &becalm::Policy| entry.validate(given, policy);
    let points = sweep.points_of(&policy, &parameters, takes);
    let points = points.unwrap_or_else(|error| panic!("{name} {text}: {error}"));
    let brief = Brief::of(entry, &parameters);
    let study = study(&brief, &sweep, &points, &plan(), |point, plan| {
        entry.study(&point.parameters, &[point.candidate()], plan)
    });
    study.expect("every point is valid")
}

fn refused(name: &str, text: &str) -> String {
    let entry = entry(name);
    let parameters = Parameters::of(entry.parameters);
    let policy = (entry.policy)();
    let sweep = Sweep::read(text, &parameters);
    let points = sweep.and_then(|it| {
        it.points_of(&policy, &parameters, |given, policy| {
            entry.validate(given, policy)
        })
    });
    points.expect_err(text).to_string()
}

fn value(contender: &Contender, id: &str) -> f64 {
    let figure = contender.figures.iter().find(|it| it.id == id);
    figure
        .and_then(|it| it.value)
        .unwrap_or_else(|| panic!("{}: {id}", contender.name))
}

const SMALL_HERD: &[(&str, &str)] = &[("clients", "500"), ("outage", "20s"), ("horizon", "2m")];

#[test]
fn a_point_of_a_herd_says_what_its_study_says() {
    let swept = swept("herd", SMALL_HERD, "base=200ms|2s,cap=5s");
    let herd = entry("herd");
    let parameters = parameters(herd, SMALL_HERD);
    for (contender, base) in swept.contenders.iter().zip(["200ms", "2s"]) {
        let mut policy = (herd.policy)();
        policy.base = becalm::duration::parse(base).expect("a time");
        policy.cap = becalm::duration::parse("5s").expect("a time");
        let candidate = becalm_sim::catalogue::Candidate::new(contender.name.clone(), policy);
        let studied = herd
            .study(&parameters, &[candidate], &plan())
            .expect("a study");
        let figures = &studied.contenders[0].figures;
        assert_eq!(contender.figures.len(), figures.len());
        assert!(figures.iter().all(|it| contender.figures.contains(it)));
        let first = contender.figures.iter().take(2).map(|it| it.id);
        assert!(
            first.eq(["peak", "reconnect_p99_s"]),
            "what it is weighed by"
        );
    }
}

#[test]
fn a_herd_is_weighed_by_its_peak_against_the_time_until_it_is_back() {
    let swept = swept("herd", SMALL_HERD, "base=200ms..5s:3,cap=5s..40s:3");
    assert_eq!(swept.contenders.len(), 9);
    // The first wave has N b/base in a bucket, so that a longer base makes a lower peak.
    let peak = |place: usize| value(&swept.contenders[place], "peak");
    assert!(peak(0) > 2.0 * peak(3) && peak(3) > 2.0 * peak(6));
    // After a long outage the clients are spread over the cap.
    let back = |place: usize| value(&swept.contenders[place], "reconnect_p99_s");
    assert!(back(0) < back(1), "{} {}", back(0), back(1));
    let maps = |id: &str| {
        let found = swept.charts.iter().find(|it| it.id == id).expect(id);
        match &found.kind {
            ChartKind::Map { cells, rows, .. } => (cells.clone(), rows.clone()),
            other => panic!("{other:?}"),
        }
    };
    let (cells, rows) = maps("sweep_map_peak");
    assert_eq!(rows, [0.2, 1.0, 5.0]);
    let peaks: Vec<f64> = (0..9).map(peak).collect();
    assert_eq!(cells, peaks, "row by row from the lowest base");
    assert_eq!(
        maps("sweep_map_reconnect_p99_s").0[1].to_bits(),
        back(1).to_bits()
    );
    for id in [
        "sweep_peak",
        "sweep_reconnect_p50_s",
        "sweep_reconnect_last_s",
    ] {
        assert!(swept.charts.iter().any(|it| it.id == id), "{id}");
    }
    assert!(
        swept.answer.starts_with("Of 9 points")
            && swept
                .answer
                .contains("in attempts in the fullest bucket and in time until 99 %"),
        "{}",
        swept.answer
    );
    assert!(
        swept.answer.contains("base=5s cap=5s ("),
        "the lowest peak and soon back: {}",
        swept.answer
    );
}

#[test]
fn clients_that_give_up_are_never_counted_as_back() {
    // Two delays of at most 1 and 2 s end after an outage of 2 s in a quarter of all cases.
    let short = [("clients", "500"), ("outage", "2s"), ("horizon", "2m")];
    let swept = swept("herd", &short, "attempts=3|unlimited");
    let [few, all] = &swept.contenders[..] else {
        panic!("two points");
    };
    let connected = value(few, "connected");
    assert!(connected > 10.0 && connected < 40.0, "{connected}");
    let never = |id: &str| few.figures.iter().find(|it| it.id == id).unwrap().value;
    for id in ["reconnect_p50_s", "reconnect_p99_s", "reconnect_last_s"] {
        assert_eq!(never(id), None, "{id}");
        assert!(value(all, id) > 0.0);
    }
    assert!(
        swept.answer.contains("none beats attempts=unlimited")
            && swept
                .answer
                .contains("At 1, fewer than 99 % of the clients come back at all."),
        "{}",
        swept.answer
    );
}

#[test]
fn a_contest_is_swept_by_its_largest_alone() {
    let settings = &[("clients", "30")][..];
    let swept = swept("occ", settings, "jitter=none|full,base=5ms|20ms");
    let calls: Vec<f64> = swept
        .contenders
        .iter()
        .map(|it| value(it, "calls"))
        .collect();
    assert!(calls[2] < calls[0], "jitter takes fewer calls: {calls:?}");
    assert_eq!(
        value(&swept.contenders[0], "written_share").to_bits(),
        100_f64.to_bits()
    );
    // Four messages for each call of each of the two trials: no smaller contest has run.
    let all: f64 = calls.iter().sum::<f64>() * 4.0 * 2.0;
    #[expect(clippy::cast_precision_loss)]
    let events = swept.events as f64;
    assert!((events - all).abs() < 0.5, "{events} {all}");
    let ids: Vec<&str> = swept.charts.iter().map(|it| it.id.as_str()).collect();
    assert!(
        ids.contains(&"sweep_calls") && ids.contains(&"sweep_time_ms"),
        "{ids:?}"
    );
    assert!(
        swept.answer.contains("beaten by no other in calls") || swept.answer.contains("none beats")
    );
    let by_size = super_linear(&swept_sizes());
    assert!(by_size, "without jitter calls grow faster than the clients");
}

/// The calls of 10, 20 and 40 clients without jitter.
fn swept_sizes() -> Vec<f64> {
    let swept = swept("occ", &[], "clients=10..40:3,jitter=none");
    swept
        .contenders
        .iter()
        .map(|it| value(it, "calls"))
        .collect()
}

fn super_linear(calls: &[f64]) -> bool {
    calls.len() == 3 && calls[1] > 2.2 * calls[0] && calls[2] > 2.2 * calls[1]
}

#[test]
fn points_are_weighed_under_the_same_parameters_alone() {
    let both = swept("occ", &[], "clients=10|30,jitter=none|full");
    assert!(
        both.answer.starts_with("With clients=10, of 2 points ")
            && both
                .answer
                .contains(" With clients=30, of 2 points none beats jitter=full"),
        "{}",
        both.answer
    );
    let sizes = swept("occ", &[], "clients=10|30");
    assert!(
        sizes
            .answer
            .starts_with("Of 2 points the least of \"Calls until every client has written\""),
        "that fewer clients take fewer calls is no choice: {}",
        sizes.answer
    );
    let verdicts = swept(
        "metastable",
        &[
            ("workers", "1"),
            ("service-time", "50ms"),
            ("horizon", "16s"),
        ],
        "load=5|14",
    );
    assert!(
        !verdicts.answer.contains("most calls succeed"),
        "{}",
        verdicts.answer
    );
}

#[test]
fn a_contest_that_is_given_up_takes_no_time_until_all_have_written() {
    let swept = swept("occ", &[("clients", "30")], "attempts=2|unlimited");
    let [few, all] = &swept.contenders[..] else {
        panic!("two points");
    };
    assert!(value(few, "written_share") < 100.0);
    assert!(
        few.figures
            .iter()
            .all(|it| it.id == "written_share" || it.value.is_none())
    );
    assert!(
        few.evidence.contains("give up before they have written"),
        "{}",
        few.evidence
    );
    assert!(value(all, "time_ms") > 0.0);
}

/// Small enough to be swept at a few points in a second.
type Small = (
    &'static str,
    &'static [(&'static str, &'static str)],
    &'static str,
);

const SWEEPS: [Small; 6] = [
    (
        "clipped",
        &[("clients", "200"), ("outage", "70s"), ("horizon", "3m")],
        "cap=16s|32s",
    ),
    (
        "moments",
        &[("calls", "200")],
        "base=50ms..200ms:2,jitter=full|equal",
    ),
    (
        "loops",
        &[("clients", "10"), ("horizon", "10s")],
        "base=100ms|1s",
    ),
    (
        "throttle",
        &[
            ("load", "10"),
            ("accepts", "1"),
            ("clients", "2"),
            ("overload", "3s"),
            ("horizon", "16s"),
        ],
        "attempts=1|2",
    ),
    (
        "layers",
        &[("load", "2"), ("outage", "5s"), ("horizon", "20s")],
        "attempts=1|3",
    ),
    (
        "appointments",
        &[("clients", "300"), ("capacity", "15")],
        "base=500ms|1s",
    ),
];

#[test]
fn what_a_scenario_is_about_is_what_its_sweep_shows() {
    let about = [
        "reconnect_p99_s",
        "last_mean_ms",
        "first_tries_per_s",
        "sent_per_s",
        "at_bottom",
        "reconnect_p99_s",
    ];
    for ((name, settings, text), id) in SWEEPS.into_iter().zip(about) {
        let swept = swept(name, settings, text);
        assert!(
            swept.contenders.iter().all(|it| value(it, id) >= 0.0),
            "{name}"
        );
        let chart = format!("sweep_{id}");
        assert!(
            swept.charts.iter().any(|it: &Chart| it.id == chart),
            "{name}: {chart}"
        );
        assert!(swept.answer.starts_with("Of "), "{name}: {}", swept.answer);
        // Where the study gives no verdict, its points have none either.
        let verdicts = swept.contenders.iter().filter_map(|it| it.verdict).count();
        assert_eq!(verdicts, 0, "{name}");
    }
}

#[test]
fn every_scenario_takes_its_own_defaults_and_runs_nothing_to_say_so() {
    for entry in ENTRIES {
        let parameters = Parameters::of(entry.parameters);
        let policy = (entry.policy)();
        assert_eq!(
            entry.validate(&parameters, &policy),
            Ok(()),
            "{}",
            entry.name
        );
        let nobody = entry
            .study(&parameters, &[], &Plan::default())
            .expect("a study");
        assert_eq!(
            (nobody.events, nobody.contenders.len()),
            (0, 0),
            "{}",
            entry.name
        );
    }
}

#[test]
fn a_value_out_of_its_range_is_refused_with_its_axis_and_the_range() {
    for (name, text, words) in [
        (
            "metastable",
            "load=100|1e7",
            &["load", "1e7", "from 0.001 to 1000000"][..],
        ),
        (
            "metastable",
            "base=1s,workers=10|5000000000",
            &["workers", "5000000000", "to 1000000"],
        ),
        (
            "metastable",
            "load=0..1",
            &["load: \"0\" is refused", "from 0.001"],
        ),
        (
            "layers",
            "layers=2..50:2",
            &["layers: \"50\"", "from 1 to 20"],
        ),
        (
            "cascade",
            "capacity=0|10",
            &["capacity: \"0\"", "from 0.001"],
        ),
        (
            "loops",
            "failures=0.5..1.5",
            &["failures: \"1.14\"", "from 0 to 1"],
        ),
        (
            "herd",
            "clients=10|5000000000",
            &["clients: \"5000000000\"", "at most 4294967295"],
        ),
        (
            "herd",
            "bucket=1ns|1s",
            &["bucket: \"1ns\"", "longer buckets"],
        ),
        ("clipped", "bucket=0s|1s", &["bucket: \"0s\"", "100ms"]),
        (
            "occ",
            "clients=10|20000",
            &["clients: \"20000\"", "from 1 to 10000"],
        ),
        ("occ", "hop=0s|1ms", &["hop: \"0s\"", "some time"]),
        (
            "moments",
            "calls=10|1000000000",
            &["calls: \"1000000000\"", "67 million"],
        ),
        (
            "metastable",
            "multiplier=0.5|2",
            &["multiplier=0.5", "at least 1"],
        ),
        (
            "metastable",
            "outage=1s|59s",
            &["outage=59s", "--horizon", "too short"],
        ),
    ] {
        let sentence = refused(name, text);
        for word in words {
            assert!(
                sentence.contains(word),
                "{name} {text}: \"{word}\": {sentence}"
            );
        }
    }
}
