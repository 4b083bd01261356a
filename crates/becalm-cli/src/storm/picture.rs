//! What does a study look like? Its charts as drawings.

use becalm_report::{Band, Colour, LineChart, Rule, Scale, Series};
use becalm_sim::study::{Chart, ChartKind};

/// Apart from each other on light and dark ground, the strongest first.
const COLOURS: [Colour; 6] = [
    Colour::Red,
    Colour::Blue,
    Colour::Green,
    Colour::Purple,
    Colour::Orange,
    Colour::Sky,
];

/// The chart as a drawing.
pub fn figure(chart: &Chart) -> Option<LineChart> {
    let ChartKind::Lines(lines) = &chart.kind else {
        return None;
    };
    let drawing = LineChart::new(&*chart.title)
        .x_label(&*chart.x)
        .y_label(&*chart.y)
        .y_scale(if chart.is_logarithmic {
            Scale::Log
        } else {
            Scale::Linear
        })
        .with_size(940.0, 320.0);
    let bands = chart.bands.iter();
    let drawing = bands.fold(drawing, |drawing, (from, to, name)| {
        drawing.band(Band::new(*from, *to, &**name))
    });
    let levels = chart.levels.iter();
    let drawing = levels.fold(drawing, |drawing, (at, name)| {
        drawing.rule(Rule::new(*at, &**name))
    });
    let coloured = lines.iter().zip(COLOURS.iter().cycle());
    Some(coloured.fold(drawing, |drawing, ((name, points), colour)| {
        drawing.series(Series::line(&**name, *colour, points.clone()))
    }))
}
