//! What does the drill look like? Its counts as charts.

use std::time::Duration;

use becalm::support::Human;
use becalm_report::format::plain;
use becalm_report::{Band, Colour, Grid, LineChart, Rule, Series};

use super::judgement::Contender;
use super::ledger::{BUCKET, Count, Recording};
use super::outcome::Outcome;
use super::setup::Setup;
use super::statistics::per_second;
use super::variant::{Role, Variant};

/// The stretch over which rates are drawn: fine enough for the edges, coarse enough to read.
const STRETCH: Duration = Duration::from_millis(200);

/// Goodput under every policy, in one chart.
pub fn goodput(contenders: &[Contender], setup: &Setup) -> LineChart {
    let offered = contenders.first().map(|contender| {
        let rates = rates(&contender.recording, Count::Call, setup, STRETCH);
        Series::line("calls", Colour::Muted, rates).dashed()
    });
    let chart = with_course(
        LineChart::new("Goodput: calls that succeed, per second"),
        setup,
    );
    let chart = offered.into_iter().fold(chart, LineChart::series);
    let answered = contenders.iter().map(|contender| {
        let rates = rates(&contender.recording, Count::Succeeded, setup, STRETCH);
        Series::line(&*contender.variant.title, contender.colour(), rates)
    });
    answered
        .fold(chart, LineChart::series)
        .with_size(940.0, 260.0)
}

/// What arrives at each service in every bucket, one chart per policy, all on one scale.
pub fn arrivals(contenders: &[Contender], setup: &Setup) -> Grid<LineChart> {
    let peak = contenders.iter().map(|it| it.measured.peak_arrivals);
    let top = f64::from(peak.max().unwrap_or(0));
    let capacity = setup
        .known_capacity()
        .map(|capacity| capacity * BUCKET.as_secs_f64());
    let charts = contenders.iter().map(|contender| {
        let counts = contender.recording.buckets(Count::Arrived);
        let times = (0_u32..).map(|at| BUCKET * at);
        let points = times
            .zip(counts)
            .take_while(|(at, _)| *at < setup.length())
            .map(|(at, count)| (at.as_secs_f64(), f64::from(*count)));
        let variant = &contender.variant;
        let mean = rates(&contender.recording, Count::Arrived, setup, STRETCH)
            .into_iter()
            .map(|(at, rate)| (at, rate * BUCKET.as_secs_f64()));
        let chart = with_course(LineChart::new(title(variant)), setup)
            .y_label("requests per 10 ms")
            .y_reaches(top)
            .without_legend();
        let rule = |at| Rule::new(at, format!("capacity {}", plain(at)));
        let chart = capacity.map(rule).into_iter().fold(chart, LineChart::rule);
        chart
            .series(Series::bars(
                "each 10 ms",
                contender.colour(),
                points.collect(),
            ))
            .series(Series::line(
                "mean of 200 ms",
                contender.colour(),
                mean.collect(),
            ))
            .with_size(470.0, 250.0)
    });
    charts.fold(Grid::new("", 2), Grid::figure)
}

fn title(variant: &Variant) -> String {
    format!("{} ({})", variant.title, variant.description)
}

/// The picture of the README: the best of the storms, and what protects from it.
pub fn side_by_side(outcome: &Outcome) -> Grid<LineChart> {
    let last = |role| {
        let mut contenders = outcome.contenders.iter();
        contenders.rfind(|it| it.variant.role == role)
    };
    let shown: Vec<_> = [Role::Storm, Role::Recovery]
        .into_iter()
        .filter_map(last)
        .collect();
    let setup = &outcome.setup;
    let load = |contender: &Contender| rates(&contender.recording, Count::Arrived, setup, STRETCH);
    let highest = shown.iter().flat_map(|contender| load(contender));
    let top = highest.map(|(_, rate)| rate).fold(0.0, f64::max);
    let charts = shown.iter().map(|contender| {
        let (variant, recording) = (&contender.variant, &contender.recording);
        let answered = rates(recording, Count::Succeeded, setup, STRETCH);
        with_course(LineChart::new(title(variant)), setup)
            .y_label("per second")
            .y_reaches(top)
            .rule(Rule::new(
                setup.capacity(),
                format!("capacity {}", plain(setup.capacity())),
            ))
            .series(Series::line("requests that arrive", Colour::Red, load(contender)).filled())
            .series(Series::line("calls that succeed", Colour::Green, answered))
            .with_size(480.0, 300.0)
    });
    let headline = format!(
        "A service hangs for {}. The same calls twice; only the retries differ.",
        Human(setup.trigger)
    );
    charts.fold(Grid::new(headline, 2), Grid::figure)
}

/// The axis of time, with the fault on it.
fn with_course(chart: LineChart, setup: &Setup) -> LineChart {
    let fault = setup.before.as_secs_f64()..setup.trigger_end().as_secs_f64();
    chart
        .x_label("seconds")
        .x_range(0.0, setup.length().as_secs_f64())
        .band(Band::new(fault.start, fault.end, &*setup.fault))
}

/// The rate over every stretch of the course, at its middle.
fn rates(recording: &Recording, count: Count, setup: &Setup, stretch: Duration) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    let mut from = Duration::ZERO;
    let length = setup.length().min(recording.length());
    while from < length {
        let to = (from + stretch).min(length);
        let rate = per_second(recording.within(count, from..to), to.saturating_sub(from));
        points.push(((from + to).as_secs_f64() / 2.0, rate));
        from = to;
    }
    points
}

#[cfg(test)]
mod tests {
    use super::super::outcome::tests::outcome;
    use super::*;
    use becalm_report::Figure;

    #[test]
    fn every_policy_is_in_every_overview_and_the_fault_is_marked() {
        let outcome = outcome();
        let (contenders, setup) = (&outcome.contenders, &outcome.setup);
        let svgs = [
            goodput(contenders, setup).to_svg(),
            arrivals(contenders, setup).to_svg(),
        ];
        for svg in svgs {
            for contender in &outcome.contenders {
                let title = contender.variant.title.replace('\'', "&#39;");
                assert!(svg.contains(&title), "{title}");
            }
            assert!(svg.contains("service hangs"));
        }
    }

    #[test]
    fn the_picture_of_the_readme_has_a_storm_and_a_calm() {
        let svg = side_by_side(&outcome()).to_svg();
        assert!(svg.contains("full jitter (no budget)"));
        assert!(svg.contains("becalm&#39;s default (full jitter, 10% budget)"));
        assert_eq!(svg.matches("capacity 400").count(), 2);
    }

    #[test]
    fn rates_are_drawn_at_the_middle_of_their_stretch() {
        let outcome = outcome();
        let recording = &outcome.contenders[5].recording;
        let second = Duration::from_secs(1);
        let rates = rates(recording, Count::Succeeded, &outcome.setup, second);
        assert_eq!(rates.len(), 10);
        assert_eq!((rates[0], rates[3]), ((0.5, 260.0), (3.5, 30.0)));
    }
}
