//! What does a plan look like?

use becalm_report::{Figure as _, RangeChart, RangeRow, format, terminal::Painter};
use becalm_sim::forecast::{Forecast, Row};

/// The picture shows this many retries at most: more would not be told apart.
pub const ROWS: usize = 40;

/// The picture as an SVG file.
pub fn svg(forecast: &Forecast) -> String {
    chart(forecast).value_label("delay").to_svg()
}

/// The picture for a terminal of 80 columns, or nothing if there is nothing to see.
pub fn terminal(forecast: &Forecast, painter: Painter) -> String {
    if forecast.total().most.is_zero() {
        return String::new();
    }
    chart(forecast).to_terminal(80, painter)
}

fn chart(forecast: &Forecast) -> RangeChart {
    let title = if forecast.rows.len() > ROWS {
        format!("Delay before each of the first {ROWS} retries")
    } else {
        "Delay before each retry".into()
    };
    let chart = RangeChart::new(title).value_format(format::seconds);
    forecast
        .rows
        .iter()
        .take(ROWS)
        .map(row)
        .fold(chart, RangeChart::row)
}

fn row(row: &Row) -> RangeRow {
    RangeRow {
        label: format!("retry {}", row.retry),
        low: row.delay.least.as_secs_f64(),
        mean: row.delay.mean.as_secs_f64(),
        high: row.delay.most.as_secs_f64(),
        ceiling: Some(row.ceiling.as_secs_f64()),
    }
}
