//! Which pictures does a sweep have?

use crate::study::{Chart, ChartKind, Contender};

use super::axis::Axis;
use super::grid::Sweep;

/// Lines that can be told apart in a picture.
const MOST_LINES: usize = 12;
/// Bars that can be read in a picture.
const MOST_BARS: usize = 40;

/// What is drawn over an axis: the figure, and the picture's title.
const FIGURES: [(&str, &str, &str); 4] = [
    ("recovered_share", "Runs that came back", "share of runs, %"),
    (
        "amplification",
        "Attempts for each first try",
        "attempts per first try",
    ),
    ("success_share", "Calls that succeed", "share of calls, %"),
    ("latency_p99_ms", "Latency of successful calls, p99", "ms"),
];

/// A map where exactly two axes have numbers and no other is there; lines over the first axis with
/// numbers, one for each combination of the others; bars where none has numbers.
pub(super) fn pictures(sweep: &Sweep, contenders: &[Contender]) -> Vec<Chart> {
    let numbered = sweep
        .axes
        .iter()
        .position(|axis| axis.values.len() > 1 && axis.numbers().is_some());
    let Some(along) = numbered else {
        return bars(contenders);
    };
    let mut charts: Vec<Chart> = map(sweep, contenders).into_iter().collect();
    let lines = FIGURES
        .iter()
        .filter_map(|figure| lines(sweep, along, contenders, figure));
    charts.extend(lines);
    charts
}

/// The value of a figure.
pub(super) fn value(contender: &Contender, id: &str) -> Option<f64> {
    contender.figures.iter().find(|it| it.id == id)?.value
}

fn lines(
    sweep: &Sweep,
    along: usize,
    contenders: &[Contender],
    (id, title, y): &(&str, &str, &str),
) -> Option<Chart> {
    let axis = sweep.axes.get(along)?;
    let numbers = axis.numbers()?;
    let mut lines: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
    for (index, contender) in contenders.iter().enumerate() {
        let places = places(sweep, index);
        let (Some(x), Some(y)) = (
            places.get(along).and_then(|at| numbers.get(*at)),
            value(contender, id),
        ) else {
            continue;
        };
        let name = others(sweep, along, &places);
        match lines.iter_mut().find(|(it, _)| *it == name) {
            Some((_, points)) => points.push((*x, y)),
            None => lines.push((name, vec![(*x, y)])),
        }
    }
    if lines.is_empty() || lines.len() > MOST_LINES {
        return None;
    }
    for (_, points) in &mut lines {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    Some(Chart {
        id: format!("sweep_{id}"),
        title: (*title).into(),
        x: label(axis),
        y: (*y).into(),
        kind: ChartKind::Lines(lines),
        ..Chart::default()
    })
}

fn map(sweep: &Sweep, contenders: &[Contender]) -> Option<Chart> {
    let [rows, columns] = &sweep.axes[..] else {
        return None;
    };
    let (row_values, column_values) = (rows.numbers()?, columns.numbers()?);
    // Rows and columns rise, however they were written.
    let row_order = rising(&row_values);
    let column_order = rising(&column_values);
    let cell = |row: &usize, column: &usize| {
        let contender = contenders.get(row * column_values.len() + column);
        let back = contender.and_then(|it| value(it, "recovered_share"));
        back.map_or(f64::NAN, |it| 1.0 - it / 100.0)
    };
    let cells = row_order
        .iter()
        .flat_map(|row| column_order.iter().map(move |column| cell(row, column)));
    let sorted = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values
    };
    Some(Chart {
        id: "sweep_map".into(),
        title: "Where the service stays down".into(),
        x: label(columns),
        y: label(rows),
        kind: ChartKind::Map {
            cells: cells.collect(),
            columns: sorted(column_values.clone()),
            rows: sorted(row_values),
            value: "share of runs that do not come back".into(),
        },
        ..Chart::default()
    })
}

fn bars(contenders: &[Contender]) -> Vec<Chart> {
    if contenders.is_empty() || contenders.len() > MOST_BARS {
        return Vec::new();
    }
    let chart = |(id, title, y): &(&str, &str, &str)| {
        let bars = contenders
            .iter()
            .filter_map(|it| Some((it.name.clone(), value(it, id)?)));
        Chart {
            id: format!("sweep_{id}"),
            title: (*title).into(),
            y: (*y).into(),
            kind: ChartKind::Bars(bars.collect()),
            ..Chart::default()
        }
    };
    FIGURES.iter().map(chart).collect()
}

/// The place on each axis of the point with this index.
fn places(sweep: &Sweep, mut index: usize) -> Vec<usize> {
    let mut places: Vec<usize> = sweep
        .axes
        .iter()
        .rev()
        .map(|axis| {
            let size = axis.values.len().max(1);
            let place = index % size;
            index /= size;
            place
        })
        .collect();
    places.reverse();
    places
}

/// The values of all axes but one.
fn others(sweep: &Sweep, along: usize, places: &[usize]) -> String {
    let axes = sweep.axes.iter().zip(places).enumerate();
    let named = axes.filter(|(axis, _)| *axis != along);
    let values = named.filter_map(|(_, (axis, place))| {
        let value = axis.values.get(*place)?;
        Some(format!("{}={value}", axis.name))
    });
    let name = values.collect::<Vec<_>>().join(" ");
    if name.is_empty() { "all".into() } else { name }
}

fn rising(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| {
        let of = |index: &usize| values.get(*index).copied().unwrap_or(f64::NAN);
        of(a).total_cmp(&of(b))
    });
    order
}

fn label(axis: &Axis) -> String {
    format!("{}{}", axis.name, axis.unit())
}
