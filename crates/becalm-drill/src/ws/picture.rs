//! What does a drill of reconnects look like? Its counts as charts.

use std::time::Duration;

use becalm_report::format::plain;
use becalm_report::{Band, Colour, Grid, LineChart, Rule, Series};

use super::clock::{BUCKET, bucket};
use super::judgement::Contender;
use super::setup::Setup;
use super::tally::Count;
use super::variant::Fault;

/// The connections of the servers under every variant, in one chart.
pub fn connections(contenders: &[Contender], setup: &Setup) -> LineChart {
    let chart = LineChart::new("Connections of the server (ws_connections_active)")
        .y_label("connections")
        .y_reaches(f64::from(setup.clients));
    let killed = contenders.iter().find(|it| it.variant.fault == Fault::Kill);
    let chart = with_course(chart, contenders, killed);
    let lines = contenders.iter().map(|contender| {
        let recording = &contender.held.recording;
        let from = bucket(contender.held.marks.start);
        let told = recording.active.iter().skip(from).take(buckets(contender));
        let points = told
            .zip(0_u32..)
            .map(|(level, at)| (middle(at), f64::from(*level)));
        Series::line(
            contender.variant.title,
            contender.variant.colour,
            points.collect(),
        )
    });
    lines.fold(chart, LineChart::series).with_size(940.0, 320.0)
}

/// The dials in every bucket, one chart for each variant, all on one scale.
pub fn dials(contenders: &[Contender]) -> Grid<LineChart> {
    let peak = contenders.iter().map(|it| it.figures.peak).max();
    let charts = contenders.iter().map(|contender| {
        let variant = &contender.variant;
        let chart = LineChart::new(format!("{} ({})", variant.title, variant.description))
            .y_label("dials per 100 ms")
            .y_reaches(f64::from(peak.unwrap_or(0)))
            .without_legend();
        with_course(chart, contenders, Some(contender))
            .series(Series::bars(
                "dials",
                variant.colour,
                points(contender, Count::Dial),
            ))
            .with_size(470.0, 250.0)
    });
    charts.fold(Grid::new("", 2), Grid::figure)
}

/// What the server did in every second, and for whom, one chart for each variant.
pub fn handshakes(contenders: &[Contender], setup: &Setup) -> Grid<LineChart> {
    let capacity = f64::from(setup.capacity);
    let charts = contenders.iter().map(|contender| {
        let all = per_second(contender, Count::Handshake);
        let wasted = per_second(contender, Count::Wasted);
        let chart = LineChart::new(contender.variant.title)
            .y_label("handshakes per second")
            .y_reaches(capacity * 1.2);
        with_course(chart, contenders, Some(contender))
            .rule(Rule::new(capacity, format!("capacity {}", plain(capacity))))
            .series(Series::line("all", Colour::Green, all).filled())
            .series(Series::line("for clients that had left", Colour::Red, wasted).filled())
            .with_size(470.0, 250.0)
    });
    charts.fold(Grid::new("", 2), Grid::figure)
}

/// The axis of time, with the outage of one variant on it, if it has one.
fn with_course(chart: LineChart, all: &[Contender], one: Option<&Contender>) -> LineChart {
    let length = all.iter().map(buckets).max().unwrap_or(0);
    let length = middle(u32::try_from(length).unwrap_or(u32::MAX));
    let chart = chart.x_label("seconds").x_range(0.0, length);
    let marks = one.map(|it| it.held.marks);
    let Some((start, fault, up)) = marks.and_then(|it| Some((it.start, it.fault?, it.up?))) else {
        return chart;
    };
    if fault == up {
        return chart;
    }
    let since = |at: Duration| at.saturating_sub(start).as_secs_f64();
    chart.band(Band::new(since(fault), since(up), "server down"))
}

fn points(contender: &Contender, count: Count) -> Vec<(f64, f64)> {
    let counts = contender.held.recording.stretch(count, course(contender));
    let points = counts.zip(0_u32..);
    points
        .map(|(count, at)| (middle(at), f64::from(count)))
        .collect()
}

/// The rate over every second, at its middle.
fn per_second(contender: &Contender, count: Count) -> Vec<(f64, f64)> {
    let counts: Vec<_> = contender
        .held
        .recording
        .stretch(count, course(contender))
        .collect();
    let seconds = counts.chunks_exact(10).zip(0_u32..);
    let rates =
        seconds.map(|(second, at)| (f64::from(at) + 0.5, f64::from(second.iter().sum::<u32>())));
    rates.collect()
}

fn course(contender: &Contender) -> std::ops::Range<Duration> {
    let marks = contender.held.marks;
    marks.start..marks.end.unwrap_or(marks.start)
}

fn buckets(contender: &Contender) -> usize {
    let course = course(contender);
    bucket(course.end).saturating_sub(bucket(course.start))
}

/// The middle of a bucket, in seconds.
fn middle(bucket: u32) -> f64 {
    (f64::from(bucket) + 0.5) * BUCKET.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::super::judgement::tests::{judged, usual};
    use super::*;
    use becalm_report::Figure;

    #[test]
    fn every_variant_is_in_every_picture_and_the_outage_is_marked() {
        let (contenders, _) = judged();
        let setup = usual();
        for svg in [
            connections(&contenders, &setup).to_svg(),
            dials(&contenders).to_svg(),
            handshakes(&contenders, &setup).to_svg(),
        ] {
            for contender in &contenders {
                assert!(
                    svg.contains(contender.variant.title),
                    "{}",
                    contender.variant.title
                );
            }
            assert!(svg.contains("server down"));
        }
    }
}
