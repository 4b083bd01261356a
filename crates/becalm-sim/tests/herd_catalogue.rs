//! Do the scenarios of huge fleets find their right answers, and tell them alike every time?

use becalm::Jitter;
use becalm_sim::catalogue::{Candidate, Entry, Parameters, find};
use becalm_sim::study::{ChartKind, Plan, Study};

fn plan(seed: u64) -> Plan<'static> {
    let mut plan = Plan::default();
    plan.seed = seed;
    plan.runs = Some(2);
    plan
}

fn holds(name: &str) {
    let entry = find(name).expect("an entry");
    for seed in 1..=3 {
        for comparison in (entry.check)(&plan(seed), true) {
            assert!(comparison.holds(), "seed {seed}: {comparison:?}");
        }
    }
}

#[test]
fn the_herd_is_what_pen_and_paper_say() {
    holds("herd");
}

#[test]
fn clipped_jitter_is_what_pen_and_paper_say() {
    holds("clipped");
}

#[test]
fn a_herd_before_a_door_is_what_pen_and_paper_say() {
    holds("appointments");
}

#[test]
fn a_fleet_with_one_budget_is_what_pen_and_paper_say_and_keeps_its_law() {
    holds("fleet");
}

#[test]
fn the_moments_are_what_pen_and_paper_say() {
    holds("moments");
}

#[test]
fn the_contest_takes_what_the_original_takes() {
    holds("occ");
}

fn study(entry: &'static Entry, settings: &[(&str, &str)], plan: &Plan<'_>) -> Study {
    let mut parameters = Parameters::of(entry.parameters);
    for (name, value) in settings {
        parameters.set(name, value).expect("a parameter");
    }
    let jittered =
        |jitter: Jitter| Candidate::new(jitter.to_string(), (entry.policy)().jitter(jitter));
    let candidates = [Jitter::None, Jitter::Full, Jitter::Equal].map(jittered);
    entry
        .study(&parameters, &candidates, plan)
        .expect("a study")
}

/// Small settings of each.
const SMALL: [(&str, &[(&str, &str)]); 5] = [
    ("herd", &[("clients", "300"), ("outage", "20s")]),
    ("clipped", &[("clients", "300"), ("outage", "70s")]),
    ("moments", &[("calls", "300")]),
    ("occ", &[("clients", "20")]),
    ("appointments", &[("clients", "300"), ("capacity", "15")]),
];

#[test]
fn half_of_a_fleet_is_not_back_while_fewer_than_half_are() {
    let entry = find("herd").expect("an entry");
    let settings = [
        ("clients", "1000"),
        ("outage", "20s"),
        ("accepts", "100"),
        ("horizon", "120s"),
    ];
    let study = study(entry, &settings, &plan(1));
    let of = |contender: &str, id: &str| {
        let contender = study.contenders.iter().find(|it| it.name == contender);
        let figures = &contender.expect("a contender").figures;
        figures.iter().find(|it| it.id == id).expect(id).value
    };
    // Without jitter all come at once, a few waves of which a tenth of a second lets in.
    let connected = of("none", "connected").unwrap();
    assert!((0.5..10.0).contains(&connected), "{connected}");
    assert_eq!(of("none", "reconnect_p50_s"), None);
    assert_eq!(of("none", "reconnect_p99_s"), None);
    assert_eq!(of("full", "connected"), Some(100.0));
    let half = of("full", "reconnect_p50_s").unwrap();
    assert!(half < of("full", "reconnect_p99_s").unwrap());
}

#[test]
fn a_study_names_every_candidate_and_has_a_figure_and_a_line_for_each() {
    for (name, settings) in SMALL {
        let entry = find(name).expect("an entry");
        let study = study(entry, settings, &plan(1));
        assert_eq!((study.scenario.as_str(), study.seed), (name, 1));
        assert!(study.events > 0 && study.asked.len() == entry.parameters.len());
        for contender in ["none", "full", "equal"] {
            let found = study.contenders.iter().find(|it| it.name == contender);
            let found = found.expect("every candidate");
            assert!(!found.figures.is_empty());
            assert!(found.figures.iter().all(|it| it.value.is_some()));
            assert!(study.answer.contains(contender), "{}", study.answer);
            for chart in &study.charts {
                let ChartKind::Lines(lines) = &chart.kind else {
                    panic!("{name}: {:?}", chart.kind)
                };
                let line = lines.iter().find(|line| line.0 == contender);
                assert!(line.is_some_and(|line| line.1.len() > 1), "{name}");
            }
        }
    }
}

#[test]
fn the_charts_of_a_herd_lose_no_peak_and_end_with_everybody_back() {
    let (name, settings) = SMALL[0];
    let study = study(find(name).expect("an entry"), settings, &plan(1));
    for (chart, expected) in study.charts.iter().zip([300.0, 100.0]) {
        let ChartKind::Lines(lines) = &chart.kind else {
            panic!("{:?}", chart.kind)
        };
        for (contender, points) in lines {
            let most = points.iter().map(|point| point.1).fold(0.0, f64::max);
            // Without jitter all 300 come at once; with it never.
            let is_whole = chart.id == "connected" || contender == "none";
            assert_eq!(
                (most - expected).abs() < 1e-9,
                is_whole,
                "{contender}: {most}"
            );
        }
    }
}

#[test]
fn a_picture_of_many_buckets_keeps_its_peaks() {
    let settings = [("clients", "300"), ("outage", "20s"), ("bucket", "5ms")];
    let study = study(find("herd").expect("an entry"), &settings, &plan(1));
    let ChartKind::Lines(lines) = &study.charts[0].kind else {
        panic!("lines")
    };
    let none = lines.iter().find(|it| it.0 == "none").expect("a line");
    let most = none.1.iter().map(|point| point.1).fold(0.0, f64::max);
    assert!(none.1.len() <= 600 && (most - 300.0).abs() < 1e-9, "{most}");
}

#[test]
fn a_fleet_that_is_let_in_slowly_comes_back_slowly_and_its_first_peak_is_the_highest() {
    let entry = find("herd").expect("an entry");
    let figures = |settings: &[(&str, &str)]| {
        let study = study(entry, settings, &plan(1));
        let full = study.contenders.iter().find(|it| it.name == "full");
        let figures = full.expect("a contender").figures.clone();
        move |id: &str| {
            let found = figures.iter().find(|it| it.id == id);
            found.and_then(|it| it.value).expect("a value")
        }
    };
    let wide = figures(&[("clients", "300"), ("outage", "60s")]);
    // Full jitter spreads more with every retry.
    assert!(
        wide("late_peak") < wide("peak") / 2.0,
        "{}",
        wide("late_peak")
    );
    let slow = figures(&[("clients", "300"), ("outage", "60s"), ("accepts", "5")]);
    // 300 at 5 a second, and a burst of a tenth of a second.
    assert!(
        slow("reconnect_last_s") >= 59.0,
        "{}",
        slow("reconnect_last_s")
    );
    assert!(
        wide("reconnect_last_s") < 59.0,
        "{}",
        wide("reconnect_last_s")
    );
}

#[test]
fn a_herd_comes_in_by_appointment_and_not_at_all_without_admission() {
    let entry = find("appointments").expect("an entry");
    let settings = [
        ("clients", "5000"),
        ("capacity", "100"),
        ("backlog", "1000"),
        ("ahead", "1m"),
    ];
    let study = study(entry, &settings, &plan(1));
    let of = |contender: &str, id: &str| {
        let contender = study.contenders.iter().find(|it| it.name == contender);
        let figures = &contender.expect("a contender").figures;
        figures.iter().find(|it| it.id == id).expect(id).value
    };
    assert_eq!(of("full", "floor_s"), Some(50.0));
    let last = of("full", "reconnect_last_s").expect("all are back");
    assert!((50.0..51.0).contains(&last), "{last}");
    assert_eq!(
        (of("full", "wasted_share"), of("full", "most_dials")),
        (Some(0.0), Some(2.0))
    );
    // Even a fleet in step comes in by appointment, and no faster than the rest without.
    let in_step = of("none", "reconnect_last_s").expect("all are back");
    assert!((50.0..51.0).contains(&in_step), "{in_step}");
    let open = of("full, no admission", "connected").expect("a share");
    assert!(open < 20.0, "{open}");
    assert!(of("full, no admission", "wasted_share") > Some(80.0));
    assert_eq!(of("full, 503", "wasted_share"), Some(0.0));
    assert!(of("full, 503", "reconnect_last_s") > Some(60.0));
    assert!(study.answer.contains("at least 50.0 s"), "{}", study.answer);
}

#[test]
fn who_takes_no_hint_as_long_as_appointments_are_is_told() {
    let entry = find("appointments").expect("an entry");
    let mut parameters = Parameters::of(entry.parameters);
    for (name, value) in [("clients", "300"), ("capacity", "5"), ("ahead", "2m")] {
        parameters.set(name, value).expect("a parameter");
    }
    let policy = (entry.policy)().max_hint(std::time::Duration::from_secs(10));
    let asked = Candidate::new("short", policy);
    let study = entry
        .study(&parameters, &[asked], &plan(1))
        .expect("a study");
    let short = study.contenders.iter().find(|it| it.name == "short");
    let evidence = &short.expect("a contender").evidence;
    assert!(evidence.contains("further ahead than 10s"), "{evidence}");
}

#[test]
fn equal_seeds_give_equal_studies_and_other_seeds_others() {
    for (name, settings) in SMALL {
        let entry = find(name).expect("an entry");
        let first = study(entry, settings, &plan(7));
        assert_eq!(first, study(entry, settings, &plan(7)), "{name}");
        let other = study(entry, settings, &plan(8));
        assert_ne!(first.contenders, other.contenders, "{name}");
    }
}

#[test]
fn what_cannot_be_simulated_is_refused_by_name() {
    for (name, setting, value) in [
        ("herd", "clients", "5000000000"),
        ("herd", "bucket", "0s"),
        ("herd", "bucket", "1ns"),
        ("clipped", "bucket", "1ns"),
        ("moments", "calls", "100000000"),
        ("occ", "clients", "10001"),
        ("occ", "hop", "0s"),
        ("appointments", "clients", "5000000000"),
        ("appointments", "patience", "2h"),
        ("appointments", "ahead", "1s"),
        ("appointments", "bucket", "0s"),
        ("fleet", "processes", "5000000000"),
        ("fleet", "load", "0"),
        ("fleet", "skew", "11"),
        ("fleet", "burst", "0"),
        ("fleet", "period", "1ms"),
    ] {
        let entry = find(name).expect("an entry");
        let mut parameters = Parameters::of(entry.parameters);
        parameters.set(setting, value).expect("it reads");
        let refused = entry.study(&parameters, &[], &plan(1));
        assert_eq!(refused.map_err(|it| it.name), Err(setting), "{name}");
    }
    let entry = find("herd").expect("an entry");
    let parameters = Parameters::of(entry.parameters);
    let candidate = Candidate::new("never", (entry.policy)().attempts(0));
    let refused = entry.study(&parameters, &[candidate], &plan(1));
    assert_eq!(refused.map_err(|it| it.name), Err("attempts"));
}
