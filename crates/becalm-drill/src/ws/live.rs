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
use crate::live::Paper;
use crate::show::{Console, Show};

/// What there is to show.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    pub setup: &'a Setup,
    pub variant: &'a Variant,
    pub recording: &'a Recording,
    pub marks: Marks,
    pub now: Duration,
}

/// The display: a picture that is redrawn, a line a second, or nothing; and a line for each variant that is over.
#[derive(Debug)]
pub struct Display<'a> {
    on: On<'a>,
    over: Vec<String>,
}

#[derive(Debug)]
enum On<'a> {
    Nothing,
    Lines {
        console: &'a dyn Console,
        second: u64,
    },
    Screen(Paper<'a>),
}

impl<'a> Display<'a> {
    /// The display that suits the console.
    pub fn on(show: &Show<'a>) -> Self {
        let console = show.console;
        let on = if show.quiet {
            On::Nothing
        } else if console.is_screen() {
            On::Screen(Paper::enter(console))
        } else {
            On::Lines { console, second: 0 }
        };
        Self {
            on,
            over: Vec::new(),
        }
    }

    /// Shows how things stand.
    pub fn show(&mut self, view: &View<'_>) {
        match &mut self.on {
            On::Nothing => {}
            On::Lines { console, second } => {
                let elapsed = view.now.saturating_sub(view.marks.start).as_secs();
                if !view.marks.start.is_zero() && elapsed > *second {
                    *second = elapsed;
                    console.write(&line(view, elapsed));
                }
            }
            On::Screen(paper) => {
                let size = paper.size();
                let mut lines = frame(view, size, paper.painter());
                lines.extend(self.over.iter().map(|line| fit(line, size.0)));
                paper.draw(&lines);
            }
        }
    }

    /// A variant is over.
    pub fn finished(&mut self, told: &str) {
        self.over.push(told.to_owned());
        if let On::Lines { console, second } = &mut self.on {
            *second = 0;
            console.write(&format!("{told}\n"));
        }
    }
}

/// How the last second went.
fn line(view: &View<'_>, elapsed: u64) -> String {
    let second = view.now.saturating_sub(Duration::from_secs(1))..view.now;
    let count = |count| plain(float(view.recording.within(count, second.clone())));
    format!(
        "{:>4}s  {}  {} of {} connected, {} dials/s, {} refused/s, {} handshakes/s, {} for nobody\n",
        elapsed,
        fit(view.variant.title, 14),
        plain(float(last(&view.recording.open))),
        plain(float(view.setup.clients)),
        count(Count::Dial),
        count(Count::Refused),
        count(Count::Handshake),
        count(Count::Wasted),
    )
}

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
            "last second: {} dials, {} refused, {} handshakes, {} of them for nobody",
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
        };
        let line = line(&view, 8);
        for words in [
            "8s  fixed delay",
            "500 dials/s",
            "100 handshakes/s, 90 for nobody",
        ] {
            assert!(line.contains(words), "{line}");
        }
        let words = condition(&view).1;
        assert!(
            words.starts_with("the server has been up for 5.0 s: 0 of 2000"),
            "{words}"
        );
    }
}
