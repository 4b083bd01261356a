//! What was measured of one variant, in figures?

use std::time::Duration;

use becalm_report::format::plain;
use becalm_report::{Cell, Colour};
use serde::Serialize;

use super::recording::Held;
use super::setup::Setup;
use super::tally::Count;
use crate::judged::tenths;
use crate::origin::in_ms_or_null;

/// The figures of one variant, as they stand in the JSON document.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figures {
    /// From the moment at which a server listens again until all clients have a connection.
    #[serde(rename = "back_after_ms", serialize_with = "in_ms_or_null")]
    pub back: Option<Duration>,
    /// The clients that have one at the end.
    pub open: u32,
    /// The fewest that had one since the fault.
    #[serde(rename = "least_open")]
    pub least: u32,
    /// The most connections that the servers had at once.
    pub most_active: u32,
    /// Dials since a server listens again, all and those of the client that made most.
    pub dials: u64,
    pub most_dials: u32,
    /// The most dials in 100 ms, since then.
    #[serde(rename = "peak_dials_per_bucket")]
    pub peak: u32,
    /// Dials that found nobody, of the whole course; that the server refused; that took too long; that ended in another way.
    pub unconnected: u64,
    pub refused: u64,
    pub timed_out: u64,
    pub broken: u64,
    /// Handshakes that a server did since it listens again, and those of them for clients that had left.
    pub handshakes: u64,
    #[serde(rename = "for_nobody")]
    pub wasted: u64,
    pub gave_up: u64,
    /// Connections since the fault that went on with their session, and that had to begin anew.
    pub resumed: u64,
    pub cold: u64,
    /// Messages that were sent and answered, that were lost, and that came twice.
    pub messages: u64,
    pub lost: u64,
    pub doubled: u64,
    /// How often a client had two connections or dials at once.
    pub two_live: u32,
}

impl Figures {
    /// The figures of what was measured.
    pub fn of(held: &Held) -> Self {
        let (recording, marks, report) = (&held.recording, held.marks, held.report);
        let end = marks.end.unwrap_or_default();
        let fault = marks.fault.unwrap_or(end);
        let up = marks.up.unwrap_or(end);
        let since_fault = |count| recording.within(count, fault..end);
        let since_up = |count| recording.within(count, up..end);
        Self {
            back: report.full_since.map(|at| at.saturating_sub(up)),
            open: report.open,
            least: recording.least_open(fault..end),
            most_active: recording.active.iter().copied().max().unwrap_or(0),
            dials: report.dials,
            most_dials: report.most_dials,
            peak: recording.peak(Count::Dial, up..end),
            unconnected: since_fault(Count::Unconnected),
            refused: since_fault(Count::Refused),
            timed_out: since_fault(Count::TimedOut),
            broken: since_fault(Count::Broken),
            handshakes: since_up(Count::Handshake),
            wasted: since_up(Count::Wasted),
            gave_up: since_fault(Count::GaveUp),
            resumed: since_fault(Count::Resumed),
            cold: since_fault(Count::Cold),
            messages: report.messages,
            lost: report.lost,
            doubled: report.doubled,
            two_live: report.two_live,
        }
    }

    /// What must hold for every variant, in sentences where it does not.
    pub fn broken_laws(&self, setup: &Setup) -> Vec<String> {
        let laws = [
            (self.lost, "messages were lost"),
            (self.doubled, "messages came twice"),
            (
                self.two_live.into(),
                "times a client had two connections or dials at once",
            ),
            (self.gave_up, "clients gave up"),
            (
                self.most_active.saturating_sub(setup.clients).into(),
                "connections were more than there are clients",
            ),
        ];
        let broken = laws.into_iter().filter(|(count, _)| *count > 0);
        broken
            .map(|(count, words)| format!("{count} {words}"))
            .collect()
    }

    /// The share of the clients that had a connection throughout.
    pub fn share_connected(&self, setup: &Setup) -> f64 {
        f64::from(self.least) / f64::from(setup.clients)
    }

    /// In two or three words.
    pub fn verdict(&self, setup: &Setup) -> Cell {
        match self.back {
            Some(back) => Cell::new(format!("back in {}", tenths(back))).colour(Colour::Green),
            None => Cell::new(format!(
                "down, {} of {}",
                plain(self.open.into()),
                plain(setup.clients.into())
            ))
            .colour(Colour::Red),
        }
    }

    /// The name of the verdict in the JSON document.
    pub fn name(&self) -> &'static str {
        if self.back.is_some() { "back" } else { "down" }
    }
}

#[cfg(test)]
pub mod tests {
    use super::super::clock::BUCKET;
    use super::super::recording::{Marks, Recording};
    use super::super::tally::{KINDS, Line};
    use super::super::told::Report;
    use super::*;

    /// Ten seconds of the usual drill, in which nobody is connected from the second second on, but 400 at the end.
    pub fn down() -> Held {
        let mut recording = Recording::default();
        for bucket in 0..102 {
            let level = if bucket < 10 { 2_000 } else { 0 };
            let mut counts = [0; KINDS];
            let is_up = bucket >= 40;
            counts[Count::Dial as usize] = if is_up { 50 } else { 0 };
            counts[Count::Handshake as usize] = if is_up { 10 } else { 0 };
            counts[Count::Wasted as usize] = if is_up { 9 } else { 0 };
            recording.add_server(&Line {
                bucket,
                level,
                counts,
            });
            recording.add_clients(&Line {
                bucket,
                level,
                counts: [0; KINDS],
            });
        }
        Held {
            recording,
            marks: Marks {
                start: Duration::ZERO,
                fault: Some(BUCKET * 10),
                up: Some(BUCKET * 40),
                end: Some(BUCKET * 100),
            },
            report: Report {
                open: 400,
                dials: 3_000,
                most_dials: 4,
                messages: 9_000,
                ..Report::default()
            },
        }
    }

    /// What `down` holds, with everybody connected, all work for somebody, and one dial each.
    pub fn back() -> Held {
        let mut held = down();
        let mut recording = Recording::default();
        for bucket in 0..102 {
            let mut counts = [0; KINDS];
            let is_up = bucket >= 40;
            counts[Count::Dial as usize] = if is_up { 33 } else { 0 };
            counts[Count::Handshake as usize] = if is_up { 33 } else { 0 };
            counts[Count::Resumed as usize] = if bucket == 50 { 2_000 } else { 0 };
            let line = Line {
                bucket,
                level: 2_000,
                counts,
            };
            recording.add_server(&line);
            recording.add_clients(&Line {
                counts: [0; KINDS],
                ..line
            });
        }
        held.recording = recording;
        held.report = Report {
            open: 2_000,
            full_since: Some(BUCKET * 245),
            dials: 2_000,
            most_dials: 1,
            ..held.report
        };
        held
    }

    #[test]
    fn figures_are_those_since_the_server_is_up() {
        let figures = Figures::of(&down());
        assert_eq!((figures.handshakes, figures.wasted), (600, 540));
        assert_eq!(
            (figures.peak, figures.most_active, figures.least),
            (50, 2_000, 0)
        );
        assert_eq!((figures.back, figures.name()), (None, "down"));
    }
}
