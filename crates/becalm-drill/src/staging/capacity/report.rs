//! What is told of a capacity that was measured?

use becalm::support::Human;
use becalm_report::format::plain;
use becalm_report::{Cell, Colour, LineChart, Page, Rule, Series, Table};
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use super::ladder::{Ended, capacity, is_failing, plateau};
use super::rung::Rung;
use super::{Held, Plan};
use crate::drill::Report;
use crate::judged::tenths;
use crate::origin::{begun, milliseconds};
use crate::show::Section;
use crate::staging::canary::Calm;

/// What the words over the table mean.
const LEGEND: &str = "clients: each asks again as soon as it is answered; good: with a status from 200 to 299 in \
                          time";

const SCHEMA: u32 = 1;

/// A climb that is over.
#[derive(Debug, Clone)]
pub struct Measured {
    pub(super) plan: Plan,
    pub(super) held: Held,
}

impl Measured {
    /// Clients from which on more bring no more: about what the target works on at once.
    fn at_once(&self) -> Option<u32> {
        plateau(&self.held.rungs).map(|rung| rung.clients).min()
    }

    /// What it came to, in sentences.
    fn conclusion(&self) -> String {
        let mut sentences = Vec::new();
        if let Calm::Unwell(time, why) = &self.held.calm {
            sentences.push(format!(
                "The target is down: {} after the last call it has not recovered ({why}).",
                tenths(*time)
            ));
        }
        let Some(capacity) = capacity(&self.held.rungs) else {
            sentences.push(self.without());
            return sentences.join(" ");
        };
        let clients = self.at_once().unwrap_or(1);
        let rate = plain(capacity);
        sentences.push(match self.held.ended {
            Ended::Level => format!(
                "The target serves {rate} a second: from {clients} clients on, more of them bring no more answers."
            ),
            Ended::Failing => format!(
                "The target serves {rate} a second at {clients} clients; {}.",
                self.failing()
            ),
            Ended::Rate => format!(
                "The target serves at least {rate} a second: --max-rate {} ended the climb. Allow more if it may get more.",
                plain(self.plan.most_rate)
            ),
            Ended::Time => {
                format!("The target serves at least {rate} a second: --max-time ended the climb.")
            }
            Ended::Clients => format!(
                "The target serves at least {rate} a second: {clients} clients at once did not fill it."
            ),
        });
        sentences.join(" ")
    }

    /// Why it is not known what the target serves.
    fn without(&self) -> String {
        if self.held.rungs.iter().all(|rung| rung.good == 0) {
            return "The target gave no good answer.".into();
        }
        format!(
            "It is not known what the target serves: {}, and a target is measured where at least 95% are good. Give \
             --client-timeout more time, or mend what fails.",
            self.failing()
        )
    }

    /// With how many clients answers failed.
    fn failing(&self) -> String {
        let failing = self.held.rungs.iter().find(|rung| is_failing(rung));
        failing.map_or("with more of them answers failed".into(), |rung| {
            let good = rung.good_share() * 100.0;
            let clients = match rung.clients {
                1 => "one client".into(),
                clients => format!("{clients} clients"),
            };
            format!("with {clients} only {good:.0}% of the answers were good")
        })
    }

    fn table(&self) -> Table {
        let rows = self.held.rungs.iter().map(|rung| {
            let quantile = |share| {
                let latency = rung.latencies.quantile(share);
                Cell::new(latency.map_or("-".into(), |it| format!("{:.1}", milliseconds(it))))
            };
            [
                Cell::new(rung.clients.to_string()),
                Cell::new(plain(rung.rate())),
                Cell::new(format!("{:.0}%", rung.good_share() * 100.0)),
                quantile(0.5),
                quantile(0.99),
            ]
        });
        rows.fold(
            Table::new(["clients", "answers/s", "good", "p50 ms", "p99 ms"]),
            Table::row,
        )
    }
}

impl Serialize for Measured {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut document = begun(serializer, SCHEMA, &self.plan.command)?;
        document.serialize_entry("seed", &self.plan.seed)?;
        document.serialize_entry("setup", &SetupRecord(self))?;
        document.serialize_entry("capacity_per_s", &capacity(&self.held.rungs))?;
        // Whether something else ended the climb than the target.
        document.serialize_entry("at_least", &self.held.ended.is_open())?;
        document.serialize_entry("at_once", &self.at_once())?;
        document.serialize_entry("ended", &self.held.ended)?;
        document.serialize_entry("conclusion", &self.conclusion())?;
        let well_after = self.held.calm.well_after().map(milliseconds);
        document.serialize_entry("well_without_load_after_ms", &well_after)?;
        document.serialize_entry("rungs", &self.held.rungs)?;
        document.end()
    }
}

struct SetupRecord<'a>(&'a Measured);

impl Serialize for SetupRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut setup = serializer.serialize_map(None)?;
        setup.serialize_entry("host", &self.0.plan.target.named())?;
        setup.serialize_entry("request", &self.0.plan.ask.named())?;
        setup.serialize_entry("client_timeout_ms", &milliseconds(self.0.plan.patience))?;
        setup.serialize_entry("max_rate_per_s", &self.0.plan.most_rate)?;
        setup.end()
    }
}

impl Report for Measured {
    fn sections(&self) -> Vec<Section> {
        vec![Section {
            table: self.table(),
            legend: LEGEND,
            conclusion: self.conclusion(),
            more: "what the words mean, the reports",
        }]
    }

    /// The climb as a self-contained page.
    fn page(&self) -> Page {
        let is_measured =
            capacity(&self.held.rungs).is_some() && self.held.calm.well_after().is_some();
        let colour = if is_measured {
            Colour::Green
        } else {
            Colour::Red
        };
        let rungs = self.held.rungs.iter();
        let points = rungs.map(|rung| (f64::from(rung.clients), rung.rate()));
        let chart = LineChart::new("Good answers per second")
            .x_label("clients")
            .series(Series::line("answers", Colour::Blue, points.collect()))
            .without_legend()
            .with_size(940.0, 320.0);
        let rule = |at: f64| Rule::new(at, format!("capacity {}", plain(at)));
        let chart = capacity(&self.held.rungs)
            .map(rule)
            .into_iter()
            .fold(chart, LineChart::rule);
        Page::new(format!("What does {} serve?", self.plan.target.named()))
            .conclusion(colour, &self.conclusion())
            .paragraph(&format!(
                "Measured by becalm drill: {} at {}, by clients that ask again as soon as they are answered, each over a \
                 connection of its own, and wait {} for an answer. More and more of them, until more bring no more.",
                self.plan.ask.named(),
                self.plan.target.named(),
                Human(self.plan.patience)
            ))
            .figure(&chart, "What more clients bring.")
            .table(&self.table())
            .heading("Measure it again")
            .code(&self.plan.command)
    }

    /// Nothing is expected of a target whose capacity is measured.
    fn is_as_expected(&self) -> bool {
        true
    }
}

/// What is told of a rung as soon as it is known.
pub fn line(rung: &Rung) -> String {
    format!(
        "{:>4} clients: {} answers/s\n",
        rung.clients,
        plain(rung.rate())
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::Ask;
    use crate::fault::allowed::Pinned;
    use crate::latencies::Latencies;
    use crate::origin::tests::keys;
    use serde_json::Value;
    use std::time::Duration;

    fn measured(ended: Ended) -> Measured {
        let second = Duration::from_secs(1);
        let rungs = [(1, 86), (2, 171), (4, 340), (8, 342), (16, 338)];
        let plan = Plan {
            target: Pinned {
                host: "<b>".into(),
                port: 80,
                tls: false,
                path: "/".into(),
                addresses: Vec::new(),
            },
            ask: Ask::default(),
            patience: second,
            most_rate: 500.0,
            most: second,
            settle: second,
            seed: 7,
            command: "becalm drill --target http://b --capacity".into(),
            notes: Vec::new(),
        };
        let held = Held {
            rungs: rungs
                .map(|(clients, good)| Rung::counted(clients, good, 0, second))
                .into(),
            ended,
            calm: Calm::Well {
                after: Duration::from_millis(3),
                takes: Duration::from_millis(3),
            },
        };
        Measured { plan, held }
    }

    #[test]
    fn a_capacity_is_told_with_how_sure_it_is() {
        let level = measured(Ended::Level);
        assert!(
            level
                .conclusion()
                .contains("serves 340 a second: from 4 clients")
        );
        let open = measured(Ended::Rate);
        assert!(
            open.conclusion().contains("at least 340")
                && open.conclusion().contains("--max-rate 500")
        );
        let document: Value = serde_json::from_str(&level.document().unwrap()).unwrap();
        assert_eq!(
            (&document["at_once"], &document["at_least"]),
            (&4.into(), &false.into())
        );
        assert_eq!(document["capacity_per_s"], 340.0);
        assert_eq!(document["rungs"][2]["answers_per_s"], 340.0);
        let html = level.page().to_html();
        assert!(html.contains("&lt;b&gt;:80") && !html.contains("<b>:80"));
    }

    #[test]
    fn a_rung_on_which_answers_failed_is_no_capacity() {
        let mut failing = measured(Ended::Failing);
        let second = Duration::from_secs(1);
        failing.held.rungs = [(4, 400, 0), (8, 800, 100)]
            .map(|(clients, good, bad)| Rung::counted(clients, good, bad, second))
            .into();
        let told = failing.conclusion();
        assert!(
            told.contains("serves 400 a second at 4 clients; with 8 clients only 89%"),
            "{told}"
        );
        failing.held.rungs = vec![Rung::counted(1, 80, 20, second)];
        let told = failing.conclusion();
        assert!(
            told.contains("not known") && told.contains("with one client only 80%"),
            "{told}"
        );
        failing.held.rungs = vec![Rung::counted(1, 0, 20, second)];
        assert!(failing.conclusion().contains("no good answer"));
    }

    #[test]
    fn a_target_that_is_left_down_is_said_first() {
        let mut down = measured(Ended::Failing);
        down.held.calm = Calm::Unwell(Duration::from_secs(30), "it answers 503".into());
        assert!(down.conclusion().starts_with("The target is down"));
    }

    #[test]
    fn every_key_and_its_type_is_pinned() {
        let mut nothing = measured(Ended::Failing);
        nothing.held.rungs.clear();
        nothing.held.calm = Calm::Unwell(Duration::from_secs(30), "it answers 503".into());
        let mut level = measured(Ended::Level);
        let mut latencies = Latencies::default();
        latencies.add(Duration::ZERO, Duration::from_millis(9));
        level.held.rungs[0].latencies = latencies.of(Duration::ZERO..Duration::MAX);
        let documents = [nothing, level].map(|it| it.document().unwrap());
        insta::assert_snapshot!(keys(&documents));
    }
}
