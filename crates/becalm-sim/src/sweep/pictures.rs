//! Which pictures does a sweep have?

use crate::study::{Chart, ChartKind, Contender};

use super::axis::Axis;
use super::drawn::{Drawn, OF_VERDICTS, figures};
use super::grid::Sweep;

/// Lines that can be told apart in a picture.
const MOST_LINES: usize = 12;
/// Bars that can be read in a picture.
const MOST_BARS: usize = 40;

/// Maps where exactly two axes have numbers and no other is there: of where the service stays down,
/// or where that is not asked, of what is. Lines over the first axis with numbers, one for each
/// combination of the others; bars where none has numbers.
pub(super) fn pictures(sweep: &Sweep, contenders: &[Contender]) -> Vec<Chart> {
    let numbered = sweep
        .axes
        .iter()
        .position(|axis| axis.values.len() > 1 && axis.numbers().is_some());
    let Some(along) = numbered else {
        return bars(contenders);
    };
    let mut charts = maps(sweep, contenders);
    let lines = figures(contenders).filter_map(|figure| lines(sweep, along, contenders, figure));
    charts.extend(lines);
    charts
}

fn lines(sweep: &Sweep, along: usize, contenders: &[Contender], figure: &Drawn) -> Option<Chart> {
    let axis = sweep.axes.get(along)?;
    let numbers = axis.numbers()?;
    let mut lines: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
    for (index, contender) in contenders.iter().enumerate() {
        let places = places(sweep, index);
        let (Some(x), Some(y)) = (
            places.get(along).and_then(|at| numbers.get(*at)),
            contender.value(figure.id),
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
    let is_positive = lines.iter().flat_map(|it| &it.1).all(|it| it.1 > 0.0);
    Some(Chart {
        id: format!("sweep_{}", figure.id),
        title: figure.title.into(),
        x: label(axis),
        y: figure.y.into(),
        kind: ChartKind::Lines(lines),
        is_logarithmic: figure.is_logarithmic && is_positive,
        ..Chart::default()
    })
}

fn maps(sweep: &Sweep, contenders: &[Contender]) -> Vec<Chart> {
    if contenders.iter().any(|it| it.verdict.is_some()) {
        let stays_down = |it: &Contender| it.value(OF_VERDICTS).map(|it| 1.0 - it / 100.0);
        let map = map(sweep, contenders, stays_down).map(|map| Chart {
            id: "sweep_map".into(),
            title: "Where the service stays down".into(),
            ..named(map, "share of runs that do not come back")
        });
        return map.into_iter().collect();
    }
    let mapped = figures(contenders).filter(|it| it.is_mapped);
    let maps = mapped.filter_map(|figure| {
        let map = map(sweep, contenders, |it| it.value(figure.id))?;
        Some(Chart {
            id: format!("sweep_map_{}", figure.id),
            title: figure.title.into(),
            ..named(map, figure.y)
        })
    });
    maps.collect()
}

/// The map with what its cells are.
fn named(mut map: Chart, of_cell: &str) -> Chart {
    if let ChartKind::Map { value, .. } = &mut map.kind {
        of_cell.clone_into(value);
    }
    map
}

fn map(
    sweep: &Sweep,
    contenders: &[Contender],
    of: impl Fn(&Contender) -> Option<f64>,
) -> Option<Chart> {
    let [rows, columns] = &sweep.axes[..] else {
        return None;
    };
    let (row_values, column_values) = (rows.numbers()?, columns.numbers()?);
    // Rows and columns rise, however they were written.
    let row_order = rising(&row_values);
    let column_order = rising(&column_values);
    let cell = |row: &usize, column: &usize| {
        let contender = contenders.get(row * column_values.len() + column);
        contender.and_then(&of).unwrap_or(f64::NAN)
    };
    let cells = row_order
        .iter()
        .flat_map(|row| column_order.iter().map(move |column| cell(row, column)));
    let sorted = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values
    };
    Some(Chart {
        x: label(columns),
        y: label(rows),
        kind: ChartKind::Map {
            cells: cells.collect(),
            columns: sorted(column_values.clone()),
            rows: sorted(row_values),
            value: String::new(),
        },
        ..Chart::default()
    })
}

fn bars(contenders: &[Contender]) -> Vec<Chart> {
    if contenders.is_empty() || contenders.len() > MOST_BARS {
        return Vec::new();
    }
    let chart = |figure: &Drawn| {
        let bars: Vec<(String, f64)> = contenders
            .iter()
            .filter_map(|it| Some((it.name.clone(), it.value(figure.id)?)))
            .collect();
        Chart {
            id: format!("sweep_{}", figure.id),
            title: figure.title.into(),
            y: figure.y.into(),
            is_logarithmic: figure.is_logarithmic && bars.iter().all(|it| it.1 > 0.0),
            kind: ChartKind::Bars(bars),
            ..Chart::default()
        }
    };
    figures(contenders).map(chart).collect()
}

/// The place on each axis of the point with this index.
pub(super) fn places(sweep: &Sweep, mut index: usize) -> Vec<usize> {
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
