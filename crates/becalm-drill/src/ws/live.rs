//! What is seen while a drill of reconnects runs? One variant at a time.

use std::time::Duration;

use becalm_report::Colour;
use becalm_report::format::plain;
use becalm_report::terminal::{Painter, columns, fit};

use super::clock::BUCKET;
use super::recording::{Marks, Recording};
use super::setup::{BEFORE, Setup};
use super::tally::Count;
use super::variant::Variant;
use crate::judged::tenths;
use crate::live::Scene;

/// What there is to show.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    pub setup: &'a Setup,
    pub variant: &'a Variant,
    pub recording: &'a Recording,
    pub marks: Marks,
    pub now: Duration,
    /// A line for each variant that is over.
    pub over: &'a [String],
}

impl Scene for View<'_> {
    fn frame(&self, size: (usize, usize), painter: Painter) -> Vec<String> {
        let mut lines = frame(self, size, painter);
        lines.extend(self.over.iter().map(|line| fit(line, size.0)));
        lines
    }

    fn seconds(&self) -> u32 {
        let elapsed = match self.marks.start {
            Duration::ZERO => Duration::ZERO,
            start => self.now.saturating_sub(start),
        };
        u32::try_from(elapsed.as_secs()).unwrap_or(u32::MAX)
    }

    /// Of the last second, once a minute: what a variant came to is told when it is over, and read first.
    fn line(&self, second: u32, _: u32) -> String {
        if second % MINUTE != 0 {
            return String::new();
        }
        let last_second = self.now.saturating_sub(Duration::from_secs(1))..self.now;
        let count = |count| plain(float(self.recording.within(count, last_second.clone())));
        format!(
            "{second}s  {}: {} of {} connected; in this second\n      {} dials, {} refused, {} handshakes, {} of them stale\n",
            self.variant.title,
            plain(float(last(&self.recording.open))),
            plain(float(self.setup.clients)),
            count(Count::Dial),
            count(Count::Refused),
            count(Count::Handshake),
            count(Count::Wasted),
        )
    }
}

/// Seconds.
const MINUTE: u32 = 60;

/// The whole picture for a terminal of this size, line by line.
fn frame(view: &View<'_>, (width, height): (usize, usize), painter: Painter) -> Vec<String> {
    let width = width.clamp(40, 120);
    let chart = height.saturating_sub(10).clamp(4, 24) / 2;
    let muted = |text: &str| painter.paint(Colour::Muted, &fit(text, width));
    let (colour, words) = condition(view);
    let (variant, setup) = (view.variant, view.setup);
    let elapsed = view.now.saturating_sub(view.marks.start);
    let clock = if view.marks.start.is_zero() {
        String::new()
    } else {
        tenths(elapsed)
    };
    let clock = format!("becalm drill ws   {clock}   ");
    let words = fit(&words, width.saturating_sub(clock.chars().count()));
    let title = format!("{}: {}", variant.title, variant.description);
    let mut lines = vec![
        painter.bold(&clock) + &painter.paint(colour, &words),
        muted(&format!(
            "{} clients, {} handshakes/s, so {} at least",
            plain(float(setup.clients)),
            setup.capacity,
            tenths(setup.floor())
        )),
        painter.bold(&painter.paint(variant.colour, &fit(&title, width))),
    ];
    let top = float(setup.clients);
    lines.push(muted(&format!("ws_connections_active, to {}", plain(top))));
    let active = cells(view, width, |bucket| {
        view.recording.active.get(bucket).copied()
    });
    let charts = columns(&active, chart, top);
    lines.extend(charts.iter().map(|it| painter.paint(Colour::Blue, it)));
    let dials = cells(view, width, |bucket| {
        let time = BUCKET * u32::try_from(bucket).unwrap_or(u32::MAX);
        view.recording
            .stretch(Count::Dial, time..time + BUCKET)
            .next()
    });
    let top = dials
        .iter()
        .copied()
        .filter(|it| !it.is_nan())
        .fold(1.0, f64::max);
    lines.push(muted(&format!("dials in 100 ms, to {}", plain(top))));
    let charts = columns(&dials, chart, top);
    lines.extend(charts.iter().map(|it| painter.paint(variant.colour, it)));
    let second = view.now.saturating_sub(Duration::from_secs(1))..view.now;
    let count = |count| plain(float(view.recording.within(count, second.clone())));
    lines.push(fit(
        &format!(
            "last second: {} dials, {} refused, {} handshakes, {} of them stale",
            count(Count::Dial),
            count(Count::Refused),
            count(Count::Handshake),
            count(Count::Wasted)
        ),
        width,
    ));
    lines
}

/// The most in each of so many cells of the whole course; none where it is still to come.
fn cells(view: &View<'_>, width: usize, of: impl Fn(usize) -> Option<u32>) -> Vec<f64> {
    let length = BEFORE + view.setup.outage + view.setup.watch();
    let buckets = super::clock::bucket(length).max(1);
    let start = super::clock::bucket(view.marks.start);
    let cell = |cell: usize| {
        let edge = |cell: usize| start + buckets * cell / width;
        let told = (edge(cell)..edge(cell + 1).max(edge(cell) + 1)).filter_map(&of);
        told.max().map_or(f64::NAN, float)
    };
    (0..width).map(cell).collect()
}

/// How it stands, in a few words.
fn condition(view: &View<'_>) -> (Colour, String) {
    let open = last(&view.recording.open);
    let all = view.setup.clients;
    let Marks {
        start, fault, up, ..
    } = view.marks;
    if start.is_zero() {
        (Colour::Muted, format!("{open} of {all} connected"))
    } else if fault.is_none() {
        (Colour::Green, "all connected".into())
    } else if let Some(up) = up {
        let since = tenths(view.now.saturating_sub(up));
        let words = format!("the server has been up for {since}: {open} of {all} connected");
        let colour = if open == all {
            Colour::Green
        } else {
            Colour::Orange
        };
        (colour, words)
    } else {
        (Colour::Red, "the server is killed".into())
    }
}

fn last(series: &[u32]) -> u32 {
    // The last bucket may lack what a slower process has still to tell.
    let settled = series.len().saturating_sub(2);
    series.get(settled).copied().unwrap_or(0)
}

#[expect(clippy::cast_precision_loss)] // exact up to 2^53
fn float(count: impl Into<u64>) -> f64 {
    count.into() as f64
}

#[cfg(test)]
mod tests {
    use super::super::judgement::tests::{judged, usual};
    use super::*;

    #[test]
    fn the_picture_fits_every_terminal_and_the_line_tells_the_figures() {
        let setup = usual();
        let (contenders, _) = judged();
        for contender in &contenders {
            let marks = contender.held.marks;
            let ended = marks.end.unwrap();
            for now in [Duration::ZERO, Duration::from_secs(2), ended, ended * 9] {
                let view = View {
                    setup: &setup,
                    variant: &contender.variant,
                    recording: &contender.held.recording,
                    marks,
                    now,
                    over: &[],
                };
                for size in [(80, 24), (100, 40), (250, 70), (20, 10), (0, 0)] {
                    let lines = frame(&view, size, Painter::Plain);
                    let wide = lines.iter().map(|it| it.chars().count()).max();
                    assert!(wide <= Some(size.0.clamp(40, 120)), "{wide:?} of {size:?}");
                    assert!(lines.len() <= size.1.max(14), "{} of {size:?}", lines.len());
                }
            }
        }
        let storm = &contenders[0];
        let view = View {
            setup: &setup,
            variant: &storm.variant,
            recording: &storm.held.recording,
            marks: Marks {
                start: BUCKET,
                ..storm.held.marks
            },
            now: Duration::from_secs(9),
            over: &[],
        };
        let line = view.line(60, 1);
        for words in [
            "60s  fixed delay",
            "500 dials, ",
            "100 handshakes, 90 of them stale",
        ] {
            assert!(line.contains(words), "{line}");
        }
        assert!(line.lines().all(|it| it.chars().count() <= 80), "{line}");
        assert_eq!(view.line(8, 1), "");
        let words = condition(&view).1;
        assert!(
            words.starts_with("the server has been up for 5.0 s: 0 of 2000"),
            "{words}"
        );
    }
}
