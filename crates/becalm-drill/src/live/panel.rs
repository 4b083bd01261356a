//! What is seen of one policy in a few columns of a terminal?

use std::time::Duration;

use becalm::Policy;
use becalm_report::Colour;
use becalm_report::format::plain;
use becalm_report::terminal::{Painter, columns, fit, sparkline};

use super::View;
use super::condition::condition;
use crate::ledger::{BUCKET, Count, Recording};
use crate::setup::Setup;
use crate::statistics::{Measured, amplification_within, per_second};
use crate::variant::Variant;

/// The tops of the two scales: the same for all policies, so that they can be compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tops {
    pub arrivals: f64,
    pub answers: f64,
}

impl Tops {
    /// Tops that everything so far fits under.
    pub fn of(view: &View<'_>, cells: usize) -> Self {
        let most = |count| {
            let rates = view
                .recordings
                .iter()
                .flat_map(|it| rates(it, count, view, cells));
            rates.filter(|rate| !rate.is_nan()).fold(0.0, f64::max)
        };
        Self {
            arrivals: most(Count::Arrived)
                .max(view.setup.known_capacity().unwrap_or(view.setup.load) * 1.25),
            answers: most(Count::Succeeded).max(view.setup.load),
        }
    }
}

/// How high the two charts of a panel are, in lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heights {
    pub arrivals: usize,
    pub answers: usize,
}

impl Heights {
    /// The lines of a panel beside its charts.
    pub const OTHERS: usize = 11;
}

/// A panel of `width` columns: what arrives, what is answered, the figures of the last second.
pub fn panel(
    view: &View<'_>,
    index: usize,
    width: usize,
    heights: Heights,
    tops: Tops,
    painter: Painter,
) -> Vec<String> {
    let (variant, recording) = (&view.variants[index], &view.recordings[index]);
    let rates = |count| rates(recording, count, view, width).collect::<Vec<_>>();
    let muted = |text: &str| painter.paint(Colour::Muted, &fit(text, width));
    let mut lines = vec![
        painter.bold(&painter.paint(variant.colour, &fit(&variant.title, width))),
        muted(&variant.detail),
        muted(&figure("requests/s", &scale(tops.arrivals), width)),
    ];
    let arrivals = columns(&rates(Count::Arrived), heights.arrivals, tops.arrivals);
    lines.extend(paint_overload(
        &arrivals, variant, view.setup, tops, painter,
    ));
    lines.push(time_axis(view.setup, width, painter));
    lines.push(muted(&figure("answered/s", &scale(tops.answers), width)));
    let answers = columns(&rates(Count::Succeeded), heights.answers, tops.answers);
    lines.extend(answers.iter().map(|line| painter.paint(Colour::Blue, line)));
    lines.push(time_axis(view.setup, width, painter));
    lines.extend(figures(view, recording, &variant.policy, width, painter));
    lines
}

/// A policy in three lines, for a terminal that is small.
pub fn strip(
    view: &View<'_>,
    index: usize,
    width: usize,
    tops: Tops,
    painter: Painter,
) -> Vec<String> {
    let (variant, recording) = (&view.variants[index], &view.recordings[index]);
    let (colour, words) = condition(recording, view.setup, &variant.policy, view.elapsed);
    let left = fit(&variant.title, width / 2);
    let right = fit(&words, width - width / 2);
    let cells = width.saturating_sub(9);
    let spark = |count, top| {
        sparkline(
            &rates(recording, count, view, cells).collect::<Vec<_>>(),
            top,
        )
    };
    let load = spark(Count::Arrived, tops.arrivals);
    let answered = spark(Count::Succeeded, tops.answers);
    vec![
        painter.paint(variant.colour, &left) + &painter.paint(colour, &right),
        format!("requests {}", painter.paint(variant.colour, &load)),
        format!("answered {}", painter.paint(Colour::Blue, &answered)),
    ]
}

/// The rate in each of so many cells of the whole course; none where it is still to come.
fn rates<'a>(
    recording: &'a Recording,
    count: Count,
    view: &View<'_>,
    cells: usize,
) -> impl Iterator<Item = f64> + 'a {
    let (length, elapsed) = (view.setup.length(), view.elapsed);
    (0..cells).map(move |cell| {
        let edge = |cell: usize| {
            let buckets = length.as_nanos() / BUCKET.as_nanos() * cell as u128 / cells as u128;
            BUCKET * u32::try_from(buckets).unwrap_or(u32::MAX)
        };
        let time = edge(cell)..edge(cell + 1);
        if time.end > elapsed {
            f64::NAN
        } else {
            per_second(
                recording.within(count, time.clone()),
                time.end.saturating_sub(time.start),
            )
        }
    })
}

/// The chart of arrivals, red from the first line that lies above the capacity.
fn paint_overload(
    chart: &[String],
    variant: &Variant,
    setup: &Setup,
    tops: Tops,
    painter: Painter,
) -> Vec<String> {
    #[expect(clippy::cast_precision_loss)] // a few lines
    let line_from = |index: usize| {
        let below = (chart.len() - 1 - index) as f64;
        tops.arrivals * below / chart.len() as f64
    };
    let colour = |index| {
        if line_from(index) >= setup.capacity() {
            Colour::Red
        } else {
            variant.colour
        }
    };
    let lines = chart.iter().enumerate();
    lines
        .map(|(index, line)| painter.paint(colour(index), line))
        .collect()
}

/// The time axis, with the fault on it.
fn time_axis(setup: &Setup, width: usize, painter: Painter) -> String {
    let length = setup.length().as_secs_f64();
    #[expect(clippy::cast_precision_loss)] // columns of a terminal
    let middle = |cell: usize| length * (cell as f64 + 0.5) / width as f64;
    let fault = setup.before.as_secs_f64()..setup.trigger_end().as_secs_f64();
    (0..width)
        .map(|cell| {
            if fault.contains(&middle(cell)) {
                painter.paint(Colour::Orange, "━")
            } else {
                painter.paint(Colour::Muted, "─")
            }
        })
        .collect()
}

/// The figures below the charts.
fn figures(
    view: &View<'_>,
    recording: &Recording,
    policy: &Policy,
    width: usize,
    painter: Painter,
) -> Vec<String> {
    let end = view.elapsed.min(view.setup.length());
    let second = end.saturating_sub(Duration::from_secs(1))..end;
    let length = second.end.saturating_sub(second.start);
    let rate = |count| plain(per_second(recording.within(count, second.clone()), length).round());
    let measured = Measured::of(recording, view.setup);
    let amplification = amplification_within(recording, second.clone());
    let amplification = amplification.map_or("-".into(), |it| format!("{it:.2}"));
    let (colour, words) = condition(recording, view.setup, policy, view.elapsed);
    vec![
        figure("arriving/s", &rate(Count::Arrived), width),
        figure("answered/s", &rate(Count::Succeeded), width),
        figure("amplification", &amplification, width),
        figure(
            "peak in 10 ms",
            &plain(measured.peak_arrivals.into()),
            width,
        ),
        painter.bold(&painter.paint(colour, &fit(&words, width))),
    ]
}

/// The top of a scale.
fn scale(top: f64) -> String {
    format!("to {}", plain(top.ceil()))
}

/// A name on the left, its value on the right.
fn figure(name: &str, value: &str, width: usize) -> String {
    let room = width.saturating_sub(value.chars().count());
    fit(name, room) + &fit(value, width - room)
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::setup::tests::usual;
    use crate::statistics::tests::{bounded, open, protected, stormy};
    use crate::variant;

    pub fn with_view(elapsed: u64, check: impl Fn(&View<'_>)) {
        let setup = usual();
        let variants = variant::all(&Policy::default(), setup.client_timeout);
        check(&View {
            setup: &setup,
            variants: &variants,
            recordings: &[
                stormy(),
                stormy(),
                stormy(),
                open(),
                bounded(16),
                protected(),
            ],
            elapsed: Duration::from_millis(elapsed),
        });
    }

    #[test]
    fn every_line_of_a_panel_has_its_width_and_their_number_is_known() {
        let heights = Heights {
            arrivals: 6,
            answers: 3,
        };
        for elapsed in [0, 700, 2_000, 5_000, 10_000, 60_000] {
            with_view(elapsed, |view| {
                for width in [18, 23, 60] {
                    let tops = Tops::of(view, width);
                    for index in 0..6 {
                        let lines = panel(view, index, width, heights, tops, Painter::Plain);
                        assert_eq!(lines.len(), 6 + 3 + Heights::OTHERS);
                        for line in
                            lines
                                .iter()
                                .chain(&strip(view, index, width, tops, Painter::Plain))
                        {
                            assert_eq!(line.chars().count(), width, "{line:?}");
                        }
                    }
                }
            });
        }
    }

    #[test]
    fn what_is_to_come_is_left_blank_and_a_storm_is_higher_than_calm() {
        with_view(5_000, |view| {
            let tops = Tops::of(view, 20);
            let heights = Heights {
                arrivals: 4,
                answers: 2,
            };
            let storm = panel(view, 0, 20, heights, tops, Painter::Plain);
            let calm = panel(view, 5, 20, heights, tops, Painter::Plain);
            let top_line = |panel: &[String]| panel[3].clone();
            assert!(top_line(&storm).contains('█') && !top_line(&calm).contains('█'));
            assert!(
                storm[3..7]
                    .iter()
                    .all(|line| line.ends_with(&" ".repeat(10))),
                "{storm:?}"
            );
        });
    }
}
