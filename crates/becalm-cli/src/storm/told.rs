//! What is told of a study, wherever it is told?

use becalm_sim::study::{Study, Verdict};
use serde::Serialize;

use super::remedy;

/// A study, and how it is done again.
#[derive(Debug)]
pub struct Told {
    pub study: Study,
    /// What a search for a policy came to.
    pub recommended: Option<Recommended>,
    /// What would keep the service up.
    pub remedy: Option<remedy::Told>,
    pub command: String,
}

/// A policy that suits the scenario.
#[derive(Debug, Serialize)]
pub struct Recommended {
    /// As a policy file.
    #[serde(rename = "policy")]
    pub file: String,
    /// The verdict on it, by the judge of a study with the same seed; none where nothing bounds a service.
    pub verdict: Option<Verdict>,
    /// The verdict on the given policy.
    pub given_verdict: Option<Verdict>,
    /// Why, in sentences.
    pub reasons: Vec<String>,
    /// What is to be written where, of a scenario in a file; nothing where the given policy stays.
    pub lines: Vec<remedy::Line>,
}

#[cfg(test)]
pub mod tests {
    use becalm_sim::study::{Chart, ChartKind, Contender, Figure, ServicePhase, ServiceSeen};

    use super::*;

    /// Two policies with a verdict each, every kind of chart, and names that are hostile to markup.
    pub fn told() -> Told {
        let contender = |name: &str, verdict, recovery| {
            let mut contender = Contender::default();
            contender.name = name.into();
            contender.policy = "4 attempts".into();
            contender.verdict = Some(verdict);
            contender.evidence = format!("{name} was measured.");
            contender.figures = vec![
                Figure::new("amplification", "amplification", "", Some(1.5))
                    .within(Some((1.25, 1.75))),
                Figure::new("recovery_p50_s", "time to recover", "s", recovery),
            ];
            let mut database = ServiceSeen::default();
            database.name = "database".into();
            let amplification = recovery.map_or(9.0, |_| 1.0);
            database.figures = vec![
                Figure::new("amplification", "amplification", "", Some(amplification)),
                Figure::new("pressure_end", "pressure", "", None),
            ];
            let mut end = ServicePhase::default();
            end.name = "end";
            end.arrivals = 90.0;
            end.amplification = Some(amplification);
            end.attempts = vec![("orders->database".into(), 3.0)];
            database.phases = vec![end];
            contender.services = vec![database];
            contender.charts = vec![chart(
                "queue",
                ChartKind::Bars(vec![("longest".into(), 5.0)]),
            )];
            contender
        };
        let mut study = Study::default();
        study.scenario = "orders".into();
        study.question = "What happens to orders?".into();
        study.answer = "Only one comes back.".into();
        study.asked = vec![("load".into(), "260".into())];
        study.contenders = vec![
            contender("none", Verdict::Metastable, None),
            contender("<full>", Verdict::Stable, Some(2.0)),
        ];
        let points = |top| {
            (0..600)
                .map(|x| (f64::from(x), f64::from(x % 7) * top))
                .collect()
        };
        let map = ChartKind::Map {
            columns: vec![1.0, 2.0],
            rows: vec![100.0, 200.0],
            cells: vec![0.0, 0.25, 0.5, f64::NAN],
            value: "share that stays down".into(),
        };
        let mut arrivals = chart(
            "arrivals",
            ChartKind::Lines(vec![
                ("none".into(), points(9.0)),
                ("<full>".into(), points(1.0)),
            ]),
        );
        arrivals.bands = vec![(10.0, 12.0, "trigger".into())];
        arrivals.levels = vec![(40.0, "capacity".into())];
        study.services = vec![arrivals.clone()];
        study.services[0].title = "What arrives at the database".into();
        study.charts = vec![arrivals, chart("map", map)];
        study.seed = 7;
        study.runs = 10;
        study.events = 12_345;
        let command = "becalm storm orders --seed 7".into();
        Told {
            study,
            recommended: None,
            remedy: None,
            command,
        }
    }

    fn chart(id: &str, kind: ChartKind) -> Chart {
        let mut chart = Chart::default();
        chart.id = id.into();
        chart.title = format!("The {id}");
        (chart.x, chart.y) = ("seconds".into(), "requests".into());
        chart.kind = kind;
        chart
    }
}
