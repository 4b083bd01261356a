//! What does a fit look like?

use becalm_fit::Fitted;
use becalm_report::{Colour, LineChart, Rule, Series};

/// The width of a drawing, in pixels.
const WIDTH: f64 = 940.0;

/// Mean time by the number found: flat while there was a worker for each, and rising behind it.
pub fn curve(fitted: &Fitted) -> Option<LineChart> {
    let curve = &fitted.curve;
    if curve.len() < 2 {
        return None;
    }
    let points = |of: &dyn Fn(&becalm_fit::Found) -> f64| {
        let points = curve.iter().map(|it| (it.number, of(it) * 1e3));
        points.collect::<Vec<_>>()
    };
    let mut chart = LineChart::new("Time by the number found")
        .x_label("requests under way when a request began")
        .y_label("mean ms to the answer")
        .with_size(WIDTH, 340.0)
        .series(Series::line(
            "measured",
            Colour::Blue,
            points(&|it| it.mean),
        ))
        .series(
            Series::line(
                "95 % interval, low",
                Colour::Sky,
                points(&|it| it.interval.0),
            )
            .patterned(3),
        )
        .series(
            Series::line(
                "95 % interval, high",
                Colour::Sky,
                points(&|it| it.interval.1),
            )
            .patterned(3),
        );
    if curve.iter().any(|it| it.fitted.is_some()) {
        let fitted = points(&|it| it.fitted.unwrap_or(f64::NAN));
        chart = chart.series(Series::line("fitted", Colour::Orange, fitted).dashed());
    }
    Some(chart)
}

/// First tries and requests a second, over the log.
pub fn arrivals(fitted: &Fitted) -> Option<LineChart> {
    let windows = &fitted.windows;
    let last = windows.last()?;
    let end = last.from.as_secs_f64() + last.length.as_secs_f64();
    let steps = |of: &dyn Fn(&becalm_fit::Window) -> f64| {
        let steps = windows.iter().map(|it| (it.from.as_secs_f64(), of(it)));
        steps.chain([(end, of(last))]).collect::<Vec<_>>()
    };
    #[expect(clippy::cast_precision_loss)] // to be seen
    let requests = |it: &becalm_fit::Window| it.requests as f64 / it.length.as_secs_f64();
    let chart = LineChart::new("Arrivals")
        .x_label("seconds since the first request")
        .y_label("per second")
        .with_size(WIDTH, 260.0)
        .series(Series::steps("requests", Colour::Purple, steps(&requests)))
        .series(Series::steps(
            "first tries",
            Colour::Blue,
            steps(&|it| it.rate),
        ));
    Some(if fitted.capacity.is_measured() {
        chart.rule(Rule::new(fitted.capacity.value, "capacity"))
    } else {
        chart
    })
}
