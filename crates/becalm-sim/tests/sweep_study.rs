//! Does a sweep show what each point came to?

mod by_hand;

use becalm::Policy;
use becalm_sim::catalogue::{Kind, Parameter, Parameters};
use becalm_sim::study::{ChartKind, Plan, Study, Verdict};
use becalm_sim::sweep::{Sweep, study_with};
use becalm_sim::verdict::{Brief, Thoroughness};
use by_hand::{hung, world};

const PARAMETERS: &[Parameter] = &[Parameter::new("load", Kind::Number, "200", "First tries")];

fn swept(text: &str) -> Study {
    let parameters = Parameters::of(PARAMETERS);
    let sweep = Sweep::read(text, &parameters).unwrap();
    let policy = Policy::default().budget(becalm::Budget::None);
    let points = sweep.points(&policy, &parameters).unwrap();
    study_with(
        world(1.5),
        &Brief::default(),
        Thoroughness::QUICK,
        (&sweep, &points),
        &Plan::default(),
        |parameters, policy| hung(parameters.number("load"), policy),
    )
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
