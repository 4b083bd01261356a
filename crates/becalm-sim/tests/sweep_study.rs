//! Does a sweep show what each point came to?

mod by_hand;

use std::convert::Infallible;
use std::sync::Mutex;

use becalm::Policy;
use becalm_sim::catalogue::{Kind, Parameter, Parameters};
use becalm_sim::study::{ChartKind, Contender, Figure, Plan, Study, Verdict};
use becalm_sim::sweep::{Sweep, study};
use becalm_sim::verdict::{Brief, Thoroughness, study_with};
use by_hand::{hung, world};

const PARAMETERS: &[Parameter] = &[Parameter::new("load", Kind::Number, "200", "First tries")];

fn swept(text: &str) -> Study {
    let parameters = Parameters::of(PARAMETERS);
    let sweep = Sweep::read(text, &parameters).unwrap();
    let policy = Policy::default().budget(becalm::Budget::None);
    let points = sweep.points(&policy, &parameters).unwrap();
    let brief = Brief::default();
    let swept = study(&brief, &sweep, &points, &Plan::default(), |point, plan| {
        assert!(plan.is_quick, "the sweep is the map");
        let build = |policy: &Policy| hung(point.parameters.number("load"), policy);
        let one = [point.candidate()];
        let default = Thoroughness::default();
        study_with(world(1.5), &brief, default, &one, plan, build)
    });
    swept.unwrap()
}

#[test]
fn each_point_has_its_verdict() {
    let study = swept("load=200|600|1200,attempts=4|1");
    let verdicts: Vec<_> = study
        .contenders
        .iter()
        .map(|it| it.verdict.unwrap())
        .collect();
    assert_eq!(
        verdicts,
        [
            Verdict::Vulnerable,
            Verdict::Vulnerable,
            Verdict::Metastable,
            Verdict::Vulnerable,
            Verdict::Overloaded,
            Verdict::Overloaded
        ]
    );
    assert!(
        study
            .answer
            .contains("3 vulnerable, 1 metastable and 2 overloaded"),
        "{}",
        study.answer
    );
    assert_eq!(study.contenders[2].name, "load=600 attempts=4");
}

#[test]
fn two_axes_with_numbers_make_a_map_that_rises() {
    let study = swept("load=600|200,attempts=4|1");
    let map = study.charts.iter().find(|it| it.id == "sweep_map").unwrap();
    let ChartKind::Map {
        columns,
        rows,
        cells,
        ..
    } = &map.kind
    else {
        panic!("a map");
    };
    assert_eq!(columns, &[1.0, 4.0]);
    assert_eq!(rows, &[200.0, 600.0]);
    assert_eq!(
        cells,
        &[0.0, 0.0, 0.0, 1.0],
        "600 with four attempts stays down"
    );
}

#[test]
fn lines_run_over_the_first_axis_with_numbers() {
    let study = swept("jitter=full|equal,load=200..600:3");
    assert!(study.charts.iter().all(|it| it.id != "sweep_map"));
    let chart = study
        .charts
        .iter()
        .find(|it| it.id == "sweep_recovered_share")
        .unwrap();
    let ChartKind::Lines(lines) = &chart.kind else {
        panic!("lines");
    };
    let names: Vec<&str> = lines.iter().map(|it| it.0.as_str()).collect();
    assert_eq!(names, ["jitter=full", "jitter=equal"]);
    assert_eq!(lines[0].1, [(200.0, 100.0), (346.0, 0.0), (600.0, 0.0)]);
    assert_eq!(chart.x, "load");
}

/// A sweep whose points come to this peak and this time until 99 % are back.
fn weighed(points: &[(f64, Option<f64>)]) -> String {
    let axes: Vec<String> = (1..=points.len()).map(|it| it.to_string()).collect();
    let parameters = Parameters::of(&[]);
    let sweep = Sweep::read(&format!("attempts={}", axes.join("|")), &parameters).unwrap();
    let grid = sweep.points(&Policy::default(), &parameters).unwrap();
    let swept = study(
        &Brief::default(),
        &sweep,
        &grid,
        &Plan::default(),
        |point, _| {
            let place: usize = point.values[0].parse().unwrap();
            let (peak, back) = points[place - 1];
            let mut contender = Contender::default();
            contender.name.clone_from(&point.name);
            contender.figures = vec![
                Figure::new("peak", "Peak", "", Some(peak)),
                Figure::new("reconnect_p99_s", "Back", "s", back),
            ];
            let mut study = Study::default();
            study.contenders = vec![contender];
            Ok::<_, Infallible>(study)
        },
    );
    swept.unwrap().answer
}

#[test]
fn the_points_that_no_other_beats_are_named_from_the_lowest_peak_up() {
    let answer = weighed(&[
        (900.0, Some(2.0)),
        (100.0, Some(20.0)),
        (500.0, Some(20.0)),
        (300.0, Some(5.0)),
        (50.0, None),
    ]);
    assert_eq!(
        answer,
        "Of 5 points these 3 are beaten by no other in attempts in the fullest bucket and in time \
         until 99 % of the clients are back: attempts=2 (100, 20 s), attempts=4 (300, 5 s) and \
         attempts=1 (900, 2 s). At 1, fewer than 99 % of the clients come back at all."
    );
    let equals = weighed(&[(100.0, Some(5.02)), (100.5, Some(5.0)), (100.2, Some(5.01))]);
    assert!(
        equals.starts_with("Of 3 points none beats attempts=1 (100, 5.02 s) in"),
        "what runs do not tell apart is named once: {equals}"
    );
}

#[test]
fn the_progress_never_goes_back_and_ends_with_all() {
    let told = Mutex::new(Vec::new());
    let tell = |done, all| told.lock().unwrap().push((done, all));
    let mut plan = Plan::default();
    plan.progress = Some(&tell);
    let parameters = Parameters::of(&[]);
    let sweep = Sweep::read("attempts=1..4", &parameters).unwrap();
    let points = sweep.points(&Policy::default(), &parameters).unwrap();
    let swept = study(&Brief::default(), &sweep, &points, &plan, |_, plan| {
        let progress = plan.progress.unwrap();
        progress(1, 2);
        progress(2, 2);
        Ok::<_, Infallible>(Study::default())
    });
    swept.unwrap();
    let told = told.into_inner().unwrap();
    assert!(told.is_sorted_by_key(|it| it.0), "{told:?}");
    assert_eq!(told.first(), Some(&(1, 8)));
    assert_eq!(told.last(), Some(&(8, 8)));
}

#[test]
fn words_alone_make_bars() {
    let study = swept("jitter=full|equal");
    let ChartKind::Bars(bars) = &study.charts[0].kind else {
        panic!("bars");
    };
    assert_eq!(bars[0], ("jitter=full".to_owned(), 100.0));
    assert!(
        study.answer.starts_with("Of 2 points all are vulnerable."),
        "{}",
        study.answer
    );
}
