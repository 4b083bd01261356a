//! Does a study hold what is shown of it, the same on every run?

mod by_hand;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use becalm::{Budget, Policy};
use becalm_sim::catalogue::Candidate;
use becalm_sim::record::{Recording, Stopped};
use becalm_sim::scenario::Scenario;
use becalm_sim::study::{ChartKind, Plan, Study, Verdict};
use becalm_sim::verdict::{Brief, Foretold, Resolution, Thoroughness, study_with};
use by_hand::{eager, hung, world};

fn candidates() -> Vec<Candidate> {
    let candidate = |name: &str, policy| Candidate::new(name, policy);
    vec![
        candidate("eager", eager()),
        candidate("calm", Policy::default().budget(Budget::ratio(0.05))),
    ]
}

fn studied(seed: u64) -> Study {
    let mut plan = Plan::default();
    plan.seed = seed;
    let mut thoroughness = Thoroughness::default();
    thoroughness.map = Some(Resolution {
        lengths: 3,
        loads: 4,
        runs: 2,
    });
    let brief = Brief {
        name: "by-hand".into(),
        question: "What happens to it?".into(),
        asked: vec![("rate".into(), "600".into())],
    };
    study_with(
        world(1.5),
        &brief,
        thoroughness,
        &candidates(),
        &plan,
        |policy| hung(600.0, policy),
    )
    .unwrap()
}

/// Of a storm, for which runs go on otherwise.
#[test]
fn where_no_verdict_is_asked_for_no_run_is_made_for_one() {
    for (rules, verdict, runs) in [
        (false, None, 5 + 3),
        (true, Some(Verdict::Metastable), 5 + 3 + 2),
    ] {
        let made = AtomicU64::new(0);
        let run = |scenario: &Scenario, seed| {
            made.fetch_add(1, Ordering::Relaxed);
            world(1.0)(scenario, seed)
        };
        let mut thoroughness = Thoroughness::QUICK;
        thoroughness.rules = rules;
        let candidates = &candidates()[..1];
        let (brief, plan) = (Brief::default(), Plan::default());
        let build = |policy: &Policy| hung(600.0, policy);
        let study = study_with(run, &brief, thoroughness, candidates, &plan, build).unwrap();
        assert_eq!(study.contenders[0].verdict, verdict);
        assert_eq!(made.into_inner(), runs);
    }
}

#[test]
fn each_contender_has_a_verdict_and_figures_that_agree() {
    let study = studied(1);
    let [eager, calm] = &study.contenders[..] else {
        panic!("two were asked about");
    };
    assert_eq!(eager.verdict, Some(Verdict::Metastable));
    assert_eq!(calm.verdict, Some(Verdict::Vulnerable));
    let value = |contender: &becalm_sim::study::Contender, id: &str| {
        let found = contender.figures.iter().find(|it| it.id == id);
        found.unwrap_or_else(|| panic!("no figure {id}")).value
    };
    assert_eq!(value(eager, "recovery_p50_s"), None);
    assert_eq!(value(eager, "recovered_share"), Some(0.0));
    assert_eq!(value(calm, "recovered_share"), Some(100.0));
    assert_eq!(value(eager, "hidden_capacity"), Some(250.0));
    assert_eq!(value(eager, "longest_outage_s"), None);
    let outage = value(calm, "longest_outage_s").unwrap();
    assert!((3.0..=3.5).contains(&outage), "{outage}");
    assert_eq!(value(calm, "peak_per_bucket"), Some(240.0));
    assert!(
        study
            .answer
            .starts_with("Under eager the service stays down")
    );
    assert!(
        study.answer.contains("2 400 attempts a second"),
        "{}",
        study.answer
    );
    assert!(
        study.answer.contains(
            "Under calm it comes back within 1.0 s (100 % of the calls give up until then), but not with triggers twice as long. It survives an outage of 2.99 s, and not one of 3.36 s."
        ),
        "{}",
        study.answer
    );
    assert_eq!((study.runs, study.seed), (10, 1));
    assert!(study.events > 0);
}

#[test]
fn ids_are_unique_and_every_contender_has_the_same() {
    let study = studied(1);
    let ids: Vec<Vec<&str>> = study
        .contenders
        .iter()
        .map(|it| it.figures.iter().map(|figure| figure.id).collect())
        .collect();
    assert_eq!(ids[0], ids[1]);
    let mut unique = ids[0].clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), ids[0].len());
}

#[test]
fn charts_are_small_and_show_every_contender() {
    let study = studied(1);
    let ids: Vec<&str> = study.charts.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "arrivals",
            "goodput",
            "queue",
            "amplification",
            "latency",
            "recovery"
        ]
    );
    for chart in &study.charts {
        let ChartKind::Lines(lines) = &chart.kind else {
            panic!("{} has lines", chart.id);
        };
        let names: Vec<&str> = lines.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["eager", "calm"]);
        for (_, points) in lines {
            assert!(!points.is_empty() && points.len() <= 600, "{}", chart.id);
        }
    }
    let arrivals = &study.charts[0];
    assert_eq!(arrivals.bands, [(10.0, 12.0, "orders hangs".to_owned())]);
    assert_eq!(arrivals.levels, [(1000.0, "capacity".to_owned())]);
    let ChartKind::Lines(lines) = &arrivals.kind else {
        unreachable!();
    };
    // 600 calls a second, four attempts each from 10 s on.
    assert_eq!(lines[0].1[0], (0.0, 600.0));
    assert_eq!(lines[0].1[399], (39.9, 2400.0));
}

/// Calls take 20 ms, but are lost in the seconds from 10 to 12: for good under `eager`.
#[test]
fn latencies_and_failures_are_told_by_phase() {
    let study = studied(1);
    let values = |contender: usize, phase: &str| {
        ["latency_?_p50_ms", "latency_?_p99_ms", "given_up_?_share"].map(|id| {
            let id = id.replace('?', phase);
            let figures = &study.contenders[contender].figures;
            let found = figures.iter().find(|it| it.id == id);
            found.unwrap_or_else(|| panic!("no figure {id}")).value
        })
    };
    let fast = |[p50, p99, given_up]: [Option<f64>; 3]| {
        let is_20_ms = |it: Option<f64>| it.is_some_and(|it| (it / 20.0 - 1.0).abs() < 0.016);
        is_20_ms(p50) && is_20_ms(p99) && given_up == Some(0.0)
    };
    for contender in [0, 1] {
        assert!(fast(values(contender, "before")));
        for phase in ["during", "recovering"] {
            assert_eq!(values(contender, phase), [None, None, Some(100.0)]);
        }
    }
    assert_eq!(values(0, "recovered"), [None; 3]);
    assert!(fast(values(1, "recovered")));
}

#[test]
fn a_line_of_latency_has_a_gap_where_no_call_succeeds() {
    let study = studied(1);
    let charts = &study.contenders[1].charts;
    let latency = charts.iter().find(|it| it.id == "latency").unwrap();
    let ChartKind::Lines(lines) = &latency.kind else {
        panic!("lines");
    };
    let names: Vec<&str> = lines.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["median", "p99"]);
    for (_, points) in lines {
        for (second, y) in points {
            let is_lost = (10.0..=12.0).contains(second);
            assert_eq!(!y.is_finite(), is_lost, "{second}");
        }
        // The last calls may be under way at the end.
        assert_eq!(points.len(), 39);
    }
    assert!(latency.is_logarithmic);
}

#[test]
fn without_a_trigger_no_phase_has_a_figure() {
    let study = study_with(
        world(1.5),
        &Brief::default(),
        Thoroughness::QUICK,
        &candidates(),
        &Plan::default(),
        |policy| by_hand::unhung(600.0, policy),
    )
    .unwrap();
    let figures = &study.contenders[0].figures;
    let of_phases = ["before", "during", "recovering", "recovered"];
    let of_phases = figures.iter().filter(|figure| {
        let words: Vec<&str> = figure.id.split('_').collect();
        words.len() > 2 && of_phases.iter().any(|phase| words[1..].contains(phase))
    });
    let mut count = 0;
    for figure in of_phases {
        assert_eq!(figure.value, None, "{}", figure.id);
        count += 1;
    }
    assert!(count >= 12, "{count}");
    let whole = figures.iter().find(|it| it.id == "latency_p99_ms").unwrap();
    assert!(whole.value.is_some());
}

#[test]
fn a_phase_map_has_a_cell_for_each_load_and_length() {
    let study = studied(1);
    let ChartKind::Map {
        columns,
        rows,
        cells,
        ..
    } = &study.contenders[0].charts[0].kind
    else {
        panic!("a map");
    };
    assert_eq!(columns, &[0.25, 2.0, 16.0]);
    assert_eq!((rows.first(), rows.last()), (Some(&0.125), Some(&1.0)));
    // Half of the hidden capacity: the two short hangs are survived. Above it: none is.
    assert_eq!(cells[..3], [0.0, 0.0, 1.0]);
    assert_eq!(cells[9..], [1.0, 1.0, 1.0]);
}

#[test]
fn equal_seeds_make_equal_studies() {
    assert_eq!(studied(7), studied(7));
    assert_ne!(studied(7).contenders, studied(8).contenders);
}

/// A study makes its parts side by side, and each part has threads of its own.
#[test]
fn runs_of_all_searches_share_the_threads_and_one_that_does_not_fit_beside_others_is_made_alone() {
    const THREADS: usize = 3;
    let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let run = |scenario: &Scenario, seed| {
        let beside = running.fetch_add(1, Ordering::SeqCst);
        most.fetch_max(beside + 1, Ordering::SeqCst);
        let mut recording = world(1.5)(scenario, seed);
        for _ in 0..100 {
            std::thread::yield_now();
        }
        if beside > 0 {
            recording.stopped = Some(Stopped::Crowded);
        }
        running.fetch_sub(1, Ordering::SeqCst);
        recording
    };
    let studied = |run: &(dyn Fn(&Scenario, u64) -> Recording + Sync), threads| {
        let mut plan = Plan::default();
        (plan.threads, plan.runs) = (threads, Some(10));
        let (brief, thoroughness) = (Brief::default(), Thoroughness::default());
        let build = |policy: &Policy| hung(600.0, policy);
        study_with(run, &brief, thoroughness, &candidates(), &plan, build).unwrap()
    };
    let crowded = studied(&run, THREADS);
    assert_eq!(crowded.contenders, studied(&world(1.5), 1).contenders);
    let most = most.into_inner();
    assert!((2..=THREADS).contains(&most), "{most}");
}

#[test]
fn progress_never_passes_what_is_planned() {
    use std::sync::Mutex;
    let seen = Mutex::new(Vec::new());
    let progress = |done, planned| seen.lock().unwrap().push((done, planned));
    let mut plan = Plan::default();
    plan.progress = Some(&progress);
    plan.runs = Some(3);
    study_with(
        world(1.5),
        &Brief::default(),
        Thoroughness::QUICK,
        &candidates(),
        &plan,
        |policy| hung(600.0, policy),
    )
    .unwrap();
    let seen = seen.into_inner().unwrap();
    assert!(seen.iter().all(|(done, planned)| done <= planned));
    assert!(seen.windows(2).all(|pair| pair[0].0 < pair[1].0));
}

#[test]
fn a_study_foretells_its_runs_and_the_progress_never_moves_its_goal() {
    use std::sync::Mutex;
    let told = Mutex::new(Vec::new());
    let all = Mutex::new(Vec::new());
    let foretold = |it: &Foretold| told.lock().unwrap().push(*it);
    let progress = |_, of| all.lock().unwrap().push(of);
    let mut plan = Plan::default();
    plan.foretold = Some(&foretold);
    plan.progress = Some(&progress);
    plan.runs = Some(4);
    let brief = Brief::default();
    let thoroughness = Thoroughness::default();
    let candidates = candidates();
    let build = |policy: &Policy| hung(600.0, policy);
    study_with(world(1.5), &brief, thoroughness, &candidates, &plan, build).unwrap();
    let told = told.into_inner().unwrap();
    let [foretold] = &told[..] else {
        panic!("once, and beforehand: {told:?}");
    };
    let all = all.into_inner().unwrap();
    let done = all.len() as u64;
    assert!(all.iter().all(|of| *of == foretold.runs), "{foretold:?}");
    assert!(done <= foretold.runs && done > foretold.runs / 4, "{done}");
    // 24 000 calls a run; the searches are of shorter runs and other loads.
    let calls = 24_000 * foretold.runs;
    assert!(
        (calls..20 * calls).contains(&foretold.events),
        "{foretold:?}"
    );
    // One client, whose calls fail in nearly every run.
    let most = foretold.runs;
    assert!(
        (most * 9 / 10..=most).contains(&foretold.clients),
        "{foretold:?}"
    );
    assert!((100..2_000_000).contains(&foretold.bytes), "{foretold:?}");
}

/// Clients that are refused call again at once: there are many times as many calls as answers.
#[test]
fn s3_clients_of_a_closed_loop_that_find_no_place_are_foretold() {
    use becalm_sim::scenario::{Arrivals, Distribution};
    use becalm_sim::world;
    use std::time::Duration;
    for (clients, queue) in [(50, 1000), (2_000, 1_000), (2_000, 20)] {
        let crowded = |policy: &Policy| {
            let mut scenario = by_hand::unhung(1.0, policy);
            let think = Distribution::Constant(Duration::from_millis(200));
            scenario.populations[0].arrivals = Arrivals::Closed { think };
            scenario.populations[0].clients = clients;
            scenario.services[0].queue = Some(queue);
            scenario.horizon = Duration::from_secs(5);
            scenario
        };
        let told = std::sync::Mutex::new(Vec::new());
        let foretold = |it: &Foretold| told.lock().unwrap().push(*it);
        let mut plan = Plan::default();
        plan.foretold = Some(&foretold);
        plan.runs = Some(1);
        let run = |_: &Scenario, _| becalm_sim::record::Recording::default();
        let (brief, quick) = (Brief::default(), Thoroughness::QUICK);
        study_with(run, &brief, quick, &candidates()[..1], &plan, crowded).unwrap();
        let foretold = told.into_inner().unwrap()[0];
        let took = world::run(&crowded(&eager()), 1).events;
        let each = foretold.events / foretold.runs;
        // Those that go on are longer.
        assert!(
            (took / 3..5 * took).contains(&each),
            "{clients} clients, {queue} places: {each} for {took}"
        );
    }
}

#[test]
fn s3_recorded_calls_count_under_the_ceiling_once_however_fast_they_are_played() {
    use becalm_sim::scenario::Arrivals;
    use std::time::Duration;
    let recorded = |calls: u64| {
        move |policy: &Policy| {
            let mut scenario = hung(1.0, policy);
            let times = (0..calls).map(move |at| Duration::from_millis(40_000 * at / calls));
            scenario.populations[0].arrivals = Arrivals::Trace(times.collect());
            scenario
        }
    };
    let mut plan = Plan::default();
    plan.memory = 2_000_000;
    let studied = |calls| {
        let (brief, quick) = (Brief::default(), Thoroughness::QUICK);
        let run = world(1.5);
        study_with(
            run,
            &brief,
            quick,
            &candidates()[..1],
            &plan,
            recorded(calls),
        )
    };
    // Played at nine tenths of the capacity they are nine times as many calls.
    assert!(studied(4_000).is_ok());
    let refused = studied(100_000).expect_err("1.6 MB, and what a run takes");
    let words = "reduce the recorded calls of clients (100 000)";
    assert!(refused.to_string().contains(words), "{refused}");
}

#[test]
fn every_verdict_is_told_before_any_search_runs() {
    use std::sync::Mutex;
    let told = Mutex::new(Vec::new());
    let ruled = |name: &str, verdict| told.lock().unwrap().push((name.to_owned(), verdict));
    // No scenario that is ruled on has triggers of this length: it is one that a search tries.
    let of_rulings = [0, 2, 4];
    let run = |scenario: &Scenario, seed| {
        let lasts = scenario
            .triggers
            .first()
            .map_or(0, |it| it.length.as_millis());
        if !of_rulings.map(|seconds| seconds * 1000).contains(&lasts) {
            assert_eq!(told.lock().unwrap().len(), 2, "a search runs");
        }
        world(1.5)(scenario, seed)
    };
    let mut plan = Plan::default();
    plan.ruled = Some(&ruled);
    let brief = Brief::default();
    let thoroughness = Thoroughness::default();
    let candidates = candidates();
    let build = |policy: &Policy| hung(600.0, policy);
    study_with(run, &brief, thoroughness, &candidates, &plan, build).unwrap();
    let verdicts = [
        ("eager", Verdict::Metastable),
        ("calm", Verdict::Vulnerable),
    ];
    let told = told.into_inner().unwrap();
    assert!(
        told.iter().map(|it| (&*it.0, it.1)).eq(verdicts),
        "{told:?}"
    );
}

#[test]
fn the_capacity_in_the_pictures_is_counted_in_calls_of_the_clients() {
    use becalm_sim::scenario::{Downstream, Service};
    let behind = |policy: &Policy| {
        let mut scenario = hung(100.0, policy);
        let mut call = Downstream::new("rows", Policy::default().attempts(1));
        call.fan_out = 4;
        scenario.services[0].calls.push(call);
        let (workers, time) = (
            scenario.services[0].workers,
            scenario.services[0].time.clone(),
        );
        scenario.service(Service::new("rows", workers, time))
    };
    let plan = Plan::default();
    let brief = Brief::default();
    let candidates = &candidates()[..1];
    let quick = Thoroughness::QUICK;
    let study = study_with(world(1.5), &brief, quick, candidates, &plan, behind).unwrap();
    // 1 000 requests a second, four of each call.
    assert_eq!(study.charts[0].levels, [(250.0, "capacity".to_owned())]);
}
