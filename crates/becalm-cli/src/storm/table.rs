//! How do the figures of several policies stand side by side?

use std::ops::Range;

use becalm_report::{Cell, Colour, Table};
use becalm_sim::study::{Contender, Figure, Study, Verdict};

use super::figures;
use crate::wording::filled;

/// A row for each figure, a column for each of these policies under its heading.
pub fn of_figures(study: &Study, of: Range<usize>, headings: &[String], exact: bool) -> Table {
    let titles = titles(study).into_iter();
    let titles = titles.map(|(id, title)| (None, id, title.to_owned()));
    let rows = titles.chain(titles_of_services(study));
    rows_of(study, of, headings, exact, rows)
}

/// The verdicts, and a row for each of these figures: of the clients, or of a service.
fn rows_of<'a>(
    study: &'a Study,
    of: Range<usize>,
    headings: &[String],
    exact: bool,
    rows: impl Iterator<Item = (Option<&'a str>, &'static str, String)>,
) -> Table {
    let contenders = study.contenders.get(of).unwrap_or_default();
    let these: Vec<&Contender> = contenders.iter().collect();
    rows_of_these(study, &these, headings, exact, rows)
}

/// As [`rows_of`], of policies that need not stand beside each other.
fn rows_of_these<'a>(
    study: &'a Study,
    contenders: &[&Contender],
    headings: &[String],
    exact: bool,
    rows: impl Iterator<Item = (Option<&'a str>, &'static str, String)>,
) -> Table {
    let header = [String::new()].into_iter().chain(headings.iter().cloned());
    let write = if exact {
        figures::whole
    } else if study.contenders.len() <= ROOMY {
        figures::between
    } else {
        figures::value
    };
    let table = Table::new(header);
    let table = if study.contenders.iter().any(|it| it.verdict.is_some()) {
        let cells = contenders.iter().map(|it| verdict(it.verdict));
        table.row([Cell::new("verdict")].into_iter().chain(cells))
    } else {
        table
    };
    rows.fold(table, |table, (service, id, title)| {
        let cells = contenders.iter().map(|contender| {
            let figure = figures_of(contender, service).find(|figure| figure.id == id);
            cell(contender, figure, write)
        });
        table.row([Cell::new(title)].into_iter().chain(cells))
    })
}

/// The figure as a cell. A latency of calls that succeeded says nothing good of a policy under which most of them
/// fail: it has a [mark](MARK), and no weight.
fn cell(contender: &Contender, figure: Option<&Figure>, write: fn(&Figure) -> String) -> Cell {
    let text = figure.map_or_else(String::new, write);
    if figure.is_some_and(|it| is_of_few(contender, it)) {
        Cell::new(text + MARK).colour(Colour::Muted)
    } else {
        Cell::new(text)
    }
}

/// Whether a figure is one of the few calls that succeeded under a policy that keeps the service down.
fn is_of_few(contender: &Contender, figure: &Figure) -> bool {
    let is_ruled = contender.verdict.is_some_and(Verdict::is_down);
    let is_lost = contender.value("lost_share").is_some_and(|it| it >= 50.0);
    (is_ruled || is_lost)
        && figure.value.is_some()
        && figure.id.contains("latency")
        && !figure.id.contains("before")
}

const MARK: &str = "*";

/// What the mark means.
const NOTE: &str = "* of the calls that succeeded, of which there are few: the service is down";

/// What the word means of clients, and of a service among several.
const AMPLIFICATION: [&str; 2] = [
    "amplification: attempts / first tries",
    "amplification of a service: its requests / those that first tries alone bring",
];

/// What the marks and words of a study's figures mean, where it has such.
pub fn notes(study: &Study) -> impl Iterator<Item = &'static str> {
    let all = || study.contenders.iter();
    let is_marked = |of: &Contender| of.figures.iter().any(|it| is_of_few(of, it));
    let mut services = all().flat_map(|it| &it.services);
    let notes = [
        (all().any(is_marked), NOTE),
        (all().any(|it| says(&it.figures)), AMPLIFICATION[0]),
        (services.any(|it| says(&it.figures)), AMPLIFICATION[1]),
    ];
    notes
        .into_iter()
        .filter_map(|(is_had, note)| is_had.then_some(note))
}

/// Whether these have a figure of that word.
fn says(figures: &[Figure]) -> bool {
    let mut all = figures.iter().filter(|it| it.value.is_some());
    all.any(|it| it.id.starts_with("amplification"))
}

/// The notes, filled to this width in columns.
pub fn note(study: &Study, width: usize) -> String {
    notes(study).map(|it| filled(width, "", it)).collect()
}

/// The figures by which a policy is chosen, in the order in which a reader asks for them.
const DECISIVE: [&str; 9] = [
    "recovery_p50_s",
    "success_share",
    "amplification_during",
    "amplification_since",
    "longest_outage_s",
    "largest_load",
    "first_answer_p50_s",
    "amplification",
    "latency_p99_ms",
];

/// How many of them are shown, besides the verdict.
const ROWS: usize = 5;

/// How many come first.
const FIRST: usize = 3;

/// The verdict and the few figures that decide between these policies; of a study that has none of them,
/// its first figures.
pub fn that_decide(study: &Study, headings: &[String]) -> Table {
    let rows = decisive(study, ROWS).into_iter();
    let rows = rows.map(|it| (None, it.0, it.1.to_owned()));
    let all = 0..study.contenders.len();
    rows_of(study, all, headings, true, rows)
}

/// The verdict and the three figures that come first, of these policies.
pub fn that_come_first(study: &Study, of: &[&Contender], headings: &[String]) -> Table {
    let rows = decisive(study, FIRST).into_iter();
    let rows = rows.map(|it| (None, it.0, it.1.to_owned()));
    rows_of_these(study, of, headings, false, rows)
}

/// Of one policy the three figures that come first: the value with its unit, and the name.
pub fn first_figures(study: &Study, of: &Contender) -> Vec<(String, &'static str)> {
    let figures = decisive(study, FIRST).into_iter();
    let figures = figures.filter_map(|(id, title)| {
        let figure = of.figures.iter().find(|it| it.id == id)?;
        Some((figures::between(figure), title))
    });
    figures.collect()
}

/// So many of the figures that decide, by their names and titles.
fn decisive(study: &Study, most: usize) -> Vec<(&'static str, &'static str)> {
    let titles = titles(study);
    let mut decisive: Vec<_> = DECISIVE
        .iter()
        .filter_map(|id| titles.iter().find(|it| it.0 == *id))
        .collect();
    let others = titles.iter().filter(|it| !DECISIVE.contains(&it.0));
    decisive.extend(others);
    decisive.truncate(most);
    decisive.into_iter().copied().collect()
}

/// The figures of a policy, or of the service of this name under it.
fn figures_of<'a>(
    contender: &'a Contender,
    service: Option<&str>,
) -> impl Iterator<Item = &'a Figure> {
    let found = match service {
        None => Some(&contender.figures),
        Some(name) => {
            let mut services = contender.services.iter();
            services.find(|it| it.name == name).map(|it| &it.figures)
        }
    };
    found.into_iter().flatten()
}

/// The figures of each service of which any policy has a value, with its name.
fn titles_of_services(study: &Study) -> Vec<(Option<&str>, &'static str, String)> {
    let services = study.contenders.first().map(|it| &it.services);
    let services = services.into_iter().flatten();
    let titles = services.flat_map(|service| {
        let name = service.name.as_str();
        let has_value = move |id| {
            let of_all =
                |it| figures_of(it, Some(name)).any(|it| it.id == id && it.value.is_some());
            study.contenders.iter().any(of_all)
        };
        let figures = service.figures.iter().filter(move |it| has_value(it.id));
        figures.map(move |it| (Some(name), it.id, format!("{name}: {}", it.title)))
    });
    titles.collect()
}

/// Policies up to which there is room for intervals on a terminal.
const ROOMY: usize = 2;

/// The most policies that stand side by side; more have a row each.
pub const SIDE_BY_SIDE: usize = 8;

/// A row for each policy, a column for each figure; the verdict first.
pub fn of_policies(study: &Study, most: usize, exact: bool) -> Table {
    let write = if exact {
        figures::whole
    } else {
        figures::value
    };
    let titles = titles(study);
    let titles = titles.get(..most).unwrap_or(&titles);
    let is_ruled = study.contenders.iter().any(|it| it.verdict.is_some());
    let header = ["policy"].into_iter().chain(is_ruled.then_some("verdict"));
    let table = Table::new(header.chain(titles.iter().map(|(_, title)| *title)));
    study.contenders.iter().fold(table, |table, contender| {
        let cells = titles.iter().map(|(id, _)| {
            let figure = contender.figures.iter().find(|figure| figure.id == *id);
            cell(contender, figure, write)
        });
        let first = [Cell::new(&*contender.name)].into_iter();
        let first = first.chain(is_ruled.then(|| verdict(contender.verdict)));
        table.row(first.chain(cells))
    })
}

/// The verdict in its colour.
pub fn verdict(verdict: Option<Verdict>) -> Cell {
    verdict.map_or_else(
        || Cell::new(""),
        |it| Cell::new(it.as_str()).colour(colour(it)),
    )
}

/// Green is what comes back.
pub fn colour(verdict: Verdict) -> Colour {
    match verdict {
        Verdict::Stable => Colour::Green,
        Verdict::Vulnerable | Verdict::TooShort => Colour::Orange,
        _ => Colour::Red,
    }
}

/// The policies' names.
pub fn names(contenders: &[Contender]) -> Vec<String> {
    contenders.iter().map(|it| it.name.clone()).collect()
}

/// The figures of which any policy has a value, in their own order: what only some have stands where
/// it belongs.
fn titles(study: &Study) -> Vec<(&'static str, &'static str)> {
    let mut titles: Vec<(&'static str, &'static str)> = Vec::new();
    let figures = || study.contenders.iter().flat_map(|it| &it.figures);
    for figure in figures() {
        if !titles.iter().any(|(id, _)| *id == figure.id) {
            titles.push((figure.id, figure.title));
        }
    }
    titles.retain(|(id, _)| figures().any(|it| it.id == *id && it.value.is_some()));
    titles
}

#[cfg(test)]
mod tests {
    use becalm_report::terminal::Painter;

    use super::super::told::tests::told;
    use super::*;

    #[test]
    fn figures_keep_their_order_whoever_has_a_value() {
        let contender = |values: [Option<f64>; 3]| {
            let mut contender = Contender::default();
            let ids = ["first", "second", "third"];
            let figures = ids.into_iter().zip(values);
            contender.figures = figures
                .map(|(id, value)| Figure::new(id, id, "", value))
                .collect();
            contender
        };
        let mut study = Study::default();
        study.contenders = vec![
            contender([None, None, Some(1.0)]),
            contender([Some(2.0), None, Some(2.0)]),
        ];
        let headings = ["a".to_owned(), "b".to_owned()];
        let table = of_figures(&study, 0..2, &headings, false).to_terminal(Painter::Plain);
        let (first, third) = (table.find("first").unwrap(), table.find("third").unwrap());
        assert!(first < third && !table.contains("second"), "{table}");
    }

    #[test]
    fn a_figure_that_no_policy_has_takes_no_row() {
        let mut study = told().study;
        let names = names(&study.contenders);
        let rows = |study: &Study| {
            of_figures(study, 0..names.len(), &names, false)
                .to_csv()
                .lines()
                .count()
        };
        assert_eq!(
            rows(&study),
            5,
            "a header, the verdicts, two figures, and one of a service"
        );
        for contender in &mut study.contenders {
            for figure in &mut contender.figures {
                figure.value = figure.value.filter(|_| figure.id == "amplification");
            }
        }
        assert_eq!(rows(&study), 4);
    }

    #[test]
    fn each_verdict_has_the_colour_of_its_danger() {
        let all = [
            Verdict::Stable,
            Verdict::Vulnerable,
            Verdict::TooShort,
            Verdict::Metastable,
            Verdict::Overloaded,
        ];
        let colours = [
            Colour::Green,
            Colour::Orange,
            Colour::Orange,
            Colour::Red,
            Colour::Red,
        ];
        assert_eq!(all.map(colour), colours);
    }
}
