//! What does `--json` hold? A document for programs.
//!
//! Names and units are stable; new ones may be added. A figure that does not exist is `null`.

use becalm_sim::study::{Chart, ChartKind, Contender, Figure, ServiceSeen};
use serde::Serialize;

use super::told::Told;

/// The version of the document: it changes when a name or a meaning does.
const SCHEMA: u32 = 1;

#[derive(Debug, Serialize)]
struct Document<'a> {
    schema: u32,
    becalm: &'static str,
    command: &'a str,
    scenario: &'a str,
    question: &'a str,
    answer: &'a str,
    seed: u64,
    runs: u32,
    events: u64,
    asked: Vec<Asked<'a>>,
    contenders: Vec<ContenderRecord<'a>>,
    /// What a search for a policy came to.
    #[serde(skip_serializing_if = "Option::is_none")]
    recommended: Option<RecommendedRecord<'a>>,
    /// The smallest change that keeps a service up.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<&'a super::remedy::Told>,
    charts: Vec<ChartRecord<'a>>,
    /// Of several services: pictures of each, the one that retries load most first.
    services: Vec<ChartRecord<'a>>,
}

#[derive(Debug, Serialize)]
struct RecommendedRecord<'a> {
    /// As a policy file.
    policy: &'a str,
    reasons: &'a [String],
    /// What is to be written into a scenario file, and in which section.
    lines: &'a [super::remedy::Line],
}

#[derive(Debug, Serialize)]
struct Asked<'a> {
    name: &'a str,
    value: &'a str,
}

#[derive(Debug, Serialize)]
struct ContenderRecord<'a> {
    name: &'a str,
    policy: &'a str,
    /// `stable`, `vulnerable`, `metastable`, `overloaded`, or none was sought.
    verdict: Option<&'static str>,
    evidence: &'a str,
    figures: Vec<FigureRecord>,
    charts: Vec<ChartRecord<'a>>,
    /// What each service of several saw, in the order of the scenario.
    services: Vec<ServiceRecord<'a>>,
}

#[derive(Debug, Serialize)]
struct ServiceRecord<'a> {
    name: &'a str,
    figures: Vec<FigureRecord>,
    phases: Vec<PhaseRecord<'a>>,
}

#[derive(Debug, Serialize)]
struct PhaseRecord<'a> {
    /// `before`, `during`, `after`, `end` or `whole`.
    name: &'static str,
    /// Requests per second.
    arrivals: f64,
    /// Requests for each that first tries bring.
    amplification: Option<f64>,
    /// The longest.
    queue: f64,
    attempts: Vec<AttemptsRecord<'a>>,
}

#[derive(Debug, Serialize)]
struct AttemptsRecord<'a> {
    place: &'a str,
    /// For each of its calls to the service.
    per_call: f64,
}

#[derive(Debug, Serialize)]
struct FigureRecord {
    id: &'static str,
    title: &'static str,
    unit: &'static str,
    value: Option<f64>,
    /// The ends of the 95 % confidence interval.
    low: Option<f64>,
    high: Option<f64>,
}

#[derive(Debug, Serialize)]
struct ChartRecord<'a> {
    id: &'a str,
    title: &'a str,
    x: &'a str,
    y: &'a str,
    /// `lines`, `bars` or `map`.
    kind: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lines: Vec<LineRecord<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    bars: Vec<BarRecord<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    map: Option<MapRecord<'a>>,
    bands: Vec<BandRecord<'a>>,
    levels: Vec<LevelRecord<'a>>,
}

#[derive(Debug, Serialize)]
struct LineRecord<'a> {
    name: &'a str,
    /// Pairs of x and y.
    points: &'a [(f64, f64)],
}

#[derive(Debug, Serialize)]
struct BarRecord<'a> {
    name: &'a str,
    value: f64,
}

#[derive(Debug, Serialize)]
struct MapRecord<'a> {
    columns: &'a [f64],
    rows: &'a [f64],
    /// Row by row from the lowest y.
    cells: &'a [f64],
    value: &'a str,
}

#[derive(Debug, Serialize)]
struct BandRecord<'a> {
    name: &'a str,
    from: f64,
    to: f64,
}

#[derive(Debug, Serialize)]
struct LevelRecord<'a> {
    name: &'a str,
    at: f64,
}

/// The document as text, ended by a line break.
pub fn document(told: &Told) -> Result<String, String> {
    let study = &told.study;
    let document = Document {
        schema: SCHEMA,
        becalm: env!("CARGO_PKG_VERSION"),
        command: &told.command,
        scenario: &study.scenario,
        question: &study.question,
        answer: &study.answer,
        seed: study.seed,
        runs: study.runs,
        events: study.events,
        asked: study
            .asked
            .iter()
            .map(|(name, value)| Asked { name, value })
            .collect(),
        contenders: study.contenders.iter().map(contender).collect(),
        recommended: told.recommended.as_ref().map(|it| RecommendedRecord {
            policy: &it.file,
            reasons: &it.reasons,
            lines: &it.lines,
        }),
        remedy: told.remedy.as_ref(),
        charts: study.charts.iter().map(chart).collect(),
        services: study.services.iter().map(chart).collect(),
    };
    serde_json::to_string(&document)
        .map(|text| text + "\n")
        .map_err(|error| format!("the study cannot be written as JSON: {error}"))
}

fn contender(contender: &Contender) -> ContenderRecord<'_> {
    ContenderRecord {
        name: &contender.name,
        policy: &contender.policy,
        verdict: contender.verdict.map(becalm_sim::study::Verdict::as_str),
        evidence: &contender.evidence,
        figures: contender.figures.iter().map(figure).collect(),
        charts: contender.charts.iter().map(chart).collect(),
        services: contender.services.iter().map(service).collect(),
    }
}

fn service(service: &ServiceSeen) -> ServiceRecord<'_> {
    let phases = service.phases.iter().map(|phase| PhaseRecord {
        name: phase.name,
        arrivals: phase.arrivals,
        amplification: phase.amplification,
        queue: phase.queue,
        attempts: phase
            .attempts
            .iter()
            .map(|(place, per_call)| AttemptsRecord {
                place,
                per_call: *per_call,
            })
            .collect(),
    });
    ServiceRecord {
        name: &service.name,
        figures: service.figures.iter().map(figure).collect(),
        phases: phases.collect(),
    }
}

fn figure(figure: &Figure) -> FigureRecord {
    FigureRecord {
        id: figure.id,
        title: figure.title,
        unit: figure.unit,
        value: figure.value,
        low: figure.interval.map(|(low, _)| low),
        high: figure.interval.map(|(_, high)| high),
    }
}

fn chart(chart: &Chart) -> ChartRecord<'_> {
    let mut record = ChartRecord {
        id: &chart.id,
        title: &chart.title,
        x: &chart.x,
        y: &chart.y,
        kind: "lines",
        lines: Vec::new(),
        bars: Vec::new(),
        map: None,
        bands: chart
            .bands
            .iter()
            .map(|(from, to, name)| BandRecord {
                name,
                from: *from,
                to: *to,
            })
            .collect(),
        levels: chart
            .levels
            .iter()
            .map(|(at, name)| LevelRecord { name, at: *at })
            .collect(),
    };
    match &chart.kind {
        ChartKind::Bars(bars) => {
            record.kind = "bars";
            record.bars = bars
                .iter()
                .map(|(name, value)| BarRecord {
                    name,
                    value: *value,
                })
                .collect();
        }
        ChartKind::Map {
            columns,
            rows,
            cells,
            value,
        } => {
            record.kind = "map";
            record.map = Some(MapRecord {
                columns,
                rows,
                cells,
                value,
            });
        }
        ChartKind::Lines(lines) => {
            record.lines = lines
                .iter()
                .map(|(name, points)| LineRecord { name, points })
                .collect();
        }
        _ => record.kind = "other",
    }
    record
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::told::tests::told;
    use super::*;

    #[test]
    fn names_and_units_are_stable() {
        let document: Value = serde_json::from_str(&document(&told()).unwrap()).unwrap();
        for (name, expected) in [
            ("schema", json!(1)),
            ("scenario", json!("orders")),
            ("question", json!("What happens to orders?")),
            ("answer", json!("Only one comes back.")),
            ("command", json!("becalm storm orders --seed 7")),
            ("seed", json!(7)),
            ("runs", json!(10)),
            ("events", json!(12_345)),
            ("asked", json!([{ "name": "load", "value": "260" }])),
        ] {
            assert_eq!(document[name], expected, "{name}");
        }
        let [none, full] = [0, 1].map(|index| &document["contenders"][index]);
        assert_eq!(
            (&none["name"], &none["verdict"]),
            (&json!("none"), &json!("metastable"))
        );
        assert_eq!(full["evidence"], "<full> was measured.");
        let amplification = json!({ "id": "amplification", "title": "amplification", "unit": "",
            "value": 1.5, "low": 1.25, "high": 1.75 });
        assert_eq!(none["figures"][0], amplification);
        assert_eq!(
            none["figures"][1]["value"],
            Value::Null,
            "it did not recover"
        );
        let end = json!({ "name": "end", "arrivals": 90.0, "amplification": 9.0, "queue": 0.0,
            "attempts": [{ "place": "orders->database", "per_call": 3.0 }] });
        let database = &none["services"][0];
        assert_eq!(database["name"], "database");
        assert_eq!(database["figures"][0]["value"], 9.0);
        assert_eq!(database["phases"], json!([end]));
        assert_eq!(
            document["services"][0]["title"],
            "What arrives at the database"
        );
        let bars = json!([{ "name": "longest", "value": 5.0 }]);
        assert_eq!(
            (&none["charts"][0]["kind"], &none["charts"][0]["bars"]),
            (&json!("bars"), &bars)
        );
        let [arrivals, map] = [0, 1].map(|index| &document["charts"][index]);
        assert_eq!(arrivals["kind"], "lines");
        assert_eq!(arrivals["lines"][0]["points"][3], json!([3.0, 27.0]));
        assert_eq!(
            arrivals["bands"],
            json!([{ "name": "trigger", "from": 10.0, "to": 12.0 }])
        );
        assert_eq!(
            arrivals["levels"],
            json!([{ "name": "capacity", "at": 40.0 }])
        );
        assert_eq!(map["map"]["cells"], json!([0.0, 0.25, 0.5, null]));
    }
}
