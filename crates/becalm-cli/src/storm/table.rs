//! How do the figures of several policies stand side by side?

use becalm_report::{Cell, Colour, Table};
use becalm_sim::study::{Contender, Study, Verdict};

use super::figures;

/// A row for each figure, a column for each policy under this heading.
pub fn of_figures(study: &Study, headings: &[String], exact: bool) -> Table {
    let header = [String::new()].into_iter().chain(headings.iter().cloned());
    let write = if exact {
        figures::whole
    } else {
        figures::value
    };
    let table = Table::new(header);
    let table = if study.contenders.iter().any(|it| it.verdict.is_some()) {
        let cells = study.contenders.iter().map(|it| verdict(it.verdict));
        table.row([Cell::new("verdict")].into_iter().chain(cells))
    } else {
        table
    };
    titles(study).into_iter().fold(table, |table, (id, title)| {
        let cells = study.contenders.iter().map(|contender| {
            let figure = contender.figures.iter().find(|figure| figure.id == id);
            Cell::new(figure.map_or_else(String::new, write))
        });
        table.row([Cell::new(title)].into_iter().chain(cells))
    })
}

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
    let header = ["policy", "verdict"].into_iter();
    let table = Table::new(header.chain(titles.iter().map(|(_, title)| *title)));
    study.contenders.iter().fold(table, |table, contender| {
        let cells = titles.iter().map(|(id, _)| {
            let figure = contender.figures.iter().find(|figure| figure.id == *id);
            Cell::new(figure.map_or_else(String::new, write))
        });
        let first = [Cell::new(&*contender.name), verdict(contender.verdict)];
        table.row(first.into_iter().chain(cells))
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
        Verdict::Vulnerable => Colour::Orange,
        _ => Colour::Red,
    }
}

/// The policies' names.
pub fn names(contenders: &[Contender]) -> Vec<String> {
    contenders.iter().map(|it| it.name.clone()).collect()
}

/// The figures of which any policy has a value, in the order in which they are met.
fn titles(study: &Study) -> Vec<(&'static str, &'static str)> {
    let mut titles: Vec<(&'static str, &'static str)> = Vec::new();
    let figures = study.contenders.iter().flat_map(|it| &it.figures);
    for figure in figures.filter(|it| it.value.is_some()) {
        if !titles.iter().any(|(id, _)| *id == figure.id) {
            titles.push((figure.id, figure.title));
        }
    }
    titles
}

#[cfg(test)]
mod tests {
    use super::super::study::tests::told;
    use super::*;

    #[test]
    fn a_figure_that_no_policy_has_takes_no_row() {
        let mut study = told().study;
        let names = names(&study.contenders);
        let rows = |study: &Study| of_figures(study, &names, false).to_csv().lines().count();
        assert_eq!(rows(&study), 4, "a header, the verdicts and two figures");
        for contender in &mut study.contenders {
            for figure in &mut contender.figures {
                figure.value = figure.value.filter(|_| figure.id == "amplification");
            }
        }
        assert_eq!(rows(&study), 3);
    }

    #[test]
    fn each_verdict_has_the_colour_of_its_danger() {
        let all = [
            Verdict::Stable,
            Verdict::Vulnerable,
            Verdict::Metastable,
            Verdict::Overloaded,
        ];
        let colours = [Colour::Green, Colour::Orange, Colour::Red, Colour::Red];
        assert_eq!(all.map(colour), colours);
    }
}
