//! What does a study look like? Its charts as drawings.

use becalm_report::terminal::Painter;
use becalm_report::{
    Band, BarChart, Colour, Figure as _, LineChart, MapChart, Page, Rule, Scale, Series,
};
use becalm_sim::study::{Chart, ChartKind, Contender, Verdict};

/// A chart that can be drawn anywhere.
#[derive(Debug, Clone)]
pub enum Drawing {
    Lines(LineChart),
    Bars(BarChart),
    Map(MapChart),
}

/// The width of a drawing, in pixels.
const WIDTH: f64 = 940.0;
/// The height of lines in a terminal.
pub const LINES: usize = 8;
/// Below which they say nothing.
const FEWEST_LINES: usize = 3;

impl Drawing {
    /// The drawing of a chart of these policies; nothing of a kind that is not known.
    pub fn of(chart: &Chart, policies: &[Contender]) -> Option<Self> {
        match &chart.kind {
            ChartKind::Lines(lines) => Some(Self::Lines(line_chart(chart, lines, policies))),
            ChartKind::Bars(bars) => Some(Self::Bars(bar_chart(chart, bars, policies))),
            ChartKind::Map {
                columns,
                rows,
                cells,
                value,
            } => {
                let map = MapChart::new(&*chart.title, columns.clone(), rows.clone())
                    .labels(&*chart.x, &*chart.y, &**value)
                    .cells(cells.clone())
                    .with_width(WIDTH);
                // A share has the whole scale, so that two maps can be compared.
                let is_share = cells
                    .iter()
                    .all(|it| !it.is_finite() || (0.0..=1.0).contains(it));
                Some(Self::Map(if is_share { map.range(0.0, 1.0) } else { map }))
            }
            _ => None,
        }
    }

    /// As a file of its own.
    pub fn to_svg(&self) -> String {
        match self {
            Self::Lines(chart) => chart.to_svg(),
            Self::Bars(chart) => chart.to_svg(),
            Self::Map(chart) => chart.to_svg(),
        }
    }

    /// Its data, as RFC 4180.
    pub fn to_csv(&self) -> String {
        match self {
            Self::Lines(chart) => chart.to_csv(),
            Self::Bars(chart) => chart.to_csv(),
            Self::Map(chart) => chart.to_csv(),
        }
    }

    /// In characters; lines in this height.
    pub fn to_terminal(&self, width: usize, height: usize, painter: Painter) -> String {
        match self {
            Self::Lines(chart) => chart.to_terminal(width, height, painter),
            Self::Bars(chart) => chart.to_terminal(width, painter),
            Self::Map(chart) => chart.to_terminal(width, painter),
        }
    }

    /// In at most this many lines, if it can be read in them.
    pub fn within(&self, most: usize, width: usize, painter: Painter) -> Option<String> {
        let heights = (FEWEST_LINES..=LINES).rev();
        let mut drawn = heights.map(|height| self.to_terminal(width, height, painter));
        drawn.find(|it| it.lines().count() <= most)
    }

    /// Lower, so that it stands above the fold.
    pub fn low(&self) -> Self {
        match self {
            Self::Lines(chart) => Self::Lines(chart.clone().with_size(WIDTH, 250.0)),
            other => other.clone(),
        }
    }

    /// The page with the drawing at its end.
    pub fn on(&self, page: Page) -> Page {
        match self {
            Self::Lines(chart) => page.figure(chart, ""),
            Self::Bars(chart) => page.figure(chart, ""),
            Self::Map(chart) => page.figure(chart, ""),
        }
    }
}

/// Whether a chart has nothing to show: values, and all of them zero.
pub fn is_all_zero(chart: &Chart) -> bool {
    let values: Vec<f64> = match &chart.kind {
        ChartKind::Lines(lines) => lines.iter().flat_map(|it| &it.1).map(|it| it.1).collect(),
        ChartKind::Bars(bars) => bars.iter().map(|it| it.1).collect(),
        ChartKind::Map { cells, .. } => cells.clone(),
        _ => return false,
    };
    let mut finite = values.into_iter().filter(|it| it.is_finite()).peekable();
    finite.peek().is_some() && finite.all(|it| it == 0.0)
}

/// The colour of the series of this name at this place: no policy that is down is green, and none that is not is red.
fn colour(index: usize, name: &str, policies: &[Contender]) -> Colour {
    let policy = policies.iter().find(|it| it.name == name);
    let is_down = policy.and_then(|it| it.verdict).map(Verdict::is_down);
    match (Colour::of_series(index), is_down) {
        (Colour::Green, Some(true)) => Colour::Red,
        (Colour::Red, Some(false)) => Colour::Green,
        (colour, _) => colour,
    }
}

fn line_chart(
    chart: &Chart,
    lines: &[(String, Vec<(f64, f64)>)],
    policies: &[Contender],
) -> LineChart {
    let drawing = LineChart::new(&*chart.title)
        .x_label(&*chart.x)
        .y_label(&*chart.y)
        .y_scale(scale(chart))
        .with_size(WIDTH, 320.0);
    let bands = chart.bands.iter();
    let drawing = bands.fold(drawing, |drawing, (from, to, name)| {
        drawing.band(Band::new(*from, *to, &**name))
    });
    let drawing = rules(chart).fold(drawing, LineChart::rule);
    lines
        .iter()
        .zip(0..)
        .fold(drawing, |drawing, ((name, points), index)| {
            let colour = colour(index, name, policies);
            drawing.series(Series::line(&**name, colour, with_gaps(points)).patterned(index))
        })
}

/// A drawing has a gap only where there is no number: infinity would be its upper edge.
fn with_gaps(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let points = points.iter().copied();
    points
        .map(|(x, y)| (x, if y.is_finite() { y } else { f64::NAN }))
        .collect()
}

fn bar_chart(chart: &Chart, bars: &[(String, f64)], policies: &[Contender]) -> BarChart {
    let drawing = BarChart::new(&*chart.title)
        .value_label(&*chart.y)
        .scale(scale(chart))
        .with_width(WIDTH);
    let drawing = rules(chart).fold(drawing, BarChart::rule);
    bars.iter().zip(0..).fold(drawing, |drawing, (bar, index)| {
        let (name, value) = bar;
        drawing.bar(&**name, colour(index, name, policies), *value)
    })
}

fn scale(chart: &Chart) -> Scale {
    if chart.is_logarithmic {
        Scale::Log
    } else {
        Scale::Linear
    }
}

fn rules(chart: &Chart) -> impl Iterator<Item = Rule> {
    chart
        .levels
        .iter()
        .map(|(at, name)| Rule::new(*at, &**name))
}

#[cfg(test)]
mod tests {
    use super::super::told::tests::told;
    use super::*;

    #[test]
    fn a_line_has_a_gap_where_it_is_not_finite() {
        let mut chart = told().study.charts[0].clone();
        chart.levels.clear();
        let points = vec![(0.0, 1.0), (1.0, 1.0), (2.0, f64::INFINITY), (3.0, 1.0)];
        chart.kind = ChartKind::Lines(vec![("only".into(), points)]);
        let csv = Drawing::of(&chart, &[]).unwrap().to_csv();
        assert!(!csv.contains("inf"), "{csv}");
        assert_eq!(csv.lines().count(), 5, "{csv}");
    }

    #[test]
    fn shares_have_the_whole_scale_and_other_values_their_own() {
        let drawn = |cells: Vec<f64>| {
            let mut chart = told().study.charts.remove(1);
            if let ChartKind::Map { cells: of_map, .. } = &mut chart.kind {
                *of_map = cells;
            }
            Drawing::of(&chart, &[]).unwrap().to_svg()
        };
        let ends = |svg: &str, low: &str, high: &str| {
            [low, high].map(|end| svg.contains(&format!("bc-strong\">{end}</text>")))
        };
        let shares = drawn(vec![0.25, 0.25, 0.5, f64::NAN]);
        assert_eq!(ends(&shares, "0", "1"), [true, true], "{shares}");
        let times = drawn(vec![3.0, 7.0, 5.0, 6.0]);
        assert_eq!(ends(&times, "0", "1"), [false, false], "{times}");
    }

    #[test]
    fn a_logarithmic_chart_has_decades() {
        let mut chart = told().study.contenders.remove(0).charts.remove(0);
        chart.kind = ChartKind::Bars(vec![("a".into(), 1.0), ("b".into(), 900.0)]);
        let marks = |chart: &Chart| {
            Drawing::of(chart, &[])
                .unwrap()
                .to_svg()
                .contains(">10</text>")
        };
        assert!(!marks(&chart));
        chart.is_logarithmic = true;
        assert!(marks(&chart));
    }

    #[test]
    fn s5_a_policy_that_is_down_is_not_green_and_one_that_holds_is_not_red() {
        let mut policies = told().study.contenders;
        let names = ["none", "<full>"].map(|name| {
            (0..6)
                .map(|index| colour(index, name, &policies))
                .collect::<Vec<_>>()
        });
        assert!(!names[0].contains(&Colour::Green) && names[0].contains(&Colour::Red));
        assert!(!names[1].contains(&Colour::Red) && names[1].contains(&Colour::Green));
        policies.clear();
        assert_eq!(colour(4, "none", &policies), Colour::of_series(4));
    }

    #[test]
    fn a_picture_has_as_many_lines_as_there_is_room_for() {
        let told = told();
        let drawing = Drawing::of(&told.study.charts[0], &told.study.contenders).unwrap();
        for most in [8, 11, 13, 40] {
            let text = drawing.within(most, 80, Painter::Plain).unwrap();
            let lines = text.lines().count();
            assert!(lines == most.min(12), "{most}: {text}");
        }
        assert_eq!(drawing.within(6, 80, Painter::Plain), None);
    }

    #[test]
    fn every_kind_of_chart_is_drawn_everywhere() {
        let told = told();
        let charts = told.study.charts.iter();
        for chart in charts.chain(&told.study.contenders[0].charts) {
            let drawing = Drawing::of(chart, &told.study.contenders).unwrap();
            assert!(drawing.to_svg().contains(&chart.title), "{}", chart.id);
            assert!(drawing.to_csv().lines().count() > 1, "{}", chart.id);
            let text = drawing.to_terminal(80, LINES, Painter::Plain);
            assert!(text.contains(&chart.title), "{text}");
            assert!(
                text.lines().all(|line| line.chars().count() <= 80),
                "{text}"
            );
            assert!(drawing.on(Page::new("")).to_html().contains(&chart.title));
        }
    }
}
