//! What does the report say to someone who was not there?

use becalm_report::{Cell, Colour, Page, Table, format};
use becalm_sim::study::{Chart, Contender, Study};

use super::study::Told;
use super::{picture, table};

/// The study as a self-contained page.
pub fn page(told: &Told) -> Page {
    let study = &told.study;
    let page = Page::new(&*study.question).conclusion(tone(study), &study.answer);
    let page = match &told.recommended {
        Some(recommended) => page
            .heading("The recommended policy")
            .code(&recommended.file),
        None => page,
    };
    let page = verdicts(page, &study.contenders);
    let page = charts(page, &study.charts);
    let page = page.heading("The figures").table(&all_figures(study));
    let page = study.contenders.iter().fold(page, |page, contender| {
        if contender.charts.is_empty() {
            return page;
        }
        charts(page.heading(&contender.name), &contender.charts)
    });
    page.heading("What was asked")
        .definitions(study.asked.iter().map(|(name, value)| (name, value)))
        .heading("Run it again")
        .paragraph(&format!(
            "Simulated by becalm {} with the code that ships; seed {}, {} runs of each policy, {} \
             events. The same command gives the same figures.",
            env!("CARGO_PKG_VERSION"),
            study.seed,
            study.runs,
            format::plain(events(study))
        ))
        .code(&told.command)
}

fn all_figures(study: &Study) -> Table {
    if study.contenders.len() > table::SIDE_BY_SIDE {
        table::of_policies(study, usize::MAX, true)
    } else {
        table::of_figures(study, &table::names(&study.contenders), true)
    }
}

/// The colour of the best verdict; no colour says anything where none was sought.
fn tone(study: &Study) -> Colour {
    let verdicts = study.contenders.iter().filter_map(|it| it.verdict);
    verdicts.min().map_or(Colour::Blue, table::colour)
}

/// Each policy with its verdict and the evidence.
fn verdicts(page: Page, contenders: &[Contender]) -> Page {
    if contenders.is_empty() {
        return page;
    }
    let table = Table::new(["policy", "verdict"]);
    let table = contenders.iter().fold(table, |table, it| {
        table.row([Cell::new(&*it.name), table::verdict(it.verdict)])
    });
    let page = if contenders.iter().any(|it| it.verdict.is_some()) {
        page.heading("The verdicts").table(&table)
    } else {
        page.heading("The policies")
    };
    page.definitions(contenders.iter().map(|it| {
        let sentences = [&*it.policy, &*it.evidence];
        let sentences: Vec<_> = sentences.into_iter().filter(|it| !it.is_empty()).collect();
        (&it.name, sentences.join(". "))
    }))
}

fn charts(page: Page, charts: &[Chart]) -> Page {
    charts.iter().fold(page, |page, chart| {
        let drawing = picture::figure(chart);
        drawing.map_or(page.clone(), |drawing| page.figure(&drawing, ""))
    })
}

#[expect(clippy::cast_precision_loss)] // to be read
fn events(study: &Study) -> f64 {
    study.events as f64
}

#[cfg(test)]
mod tests {
    use super::super::study::tests::told;
    use super::*;

    #[test]
    fn the_page_says_all_that_was_asked_found_and_done() {
        let html = page(&told()).to_html();
        for part in [
            "What becomes of orders?",
            "Only one comes back.",
            "metastable",
            "&lt;full&gt; was measured.",
            "1.5 (1.25 to 1.75)",
            "The arrivals",
            "capacity",
            "<dt>load</dt><dd>260</dd>",
            "becalm storm orders --seed 7",
        ] {
            assert!(html.contains(part), "{part}");
        }
        assert!(!html.contains("<full>"), "no name becomes markup");
    }

    #[test]
    fn the_colour_is_that_of_the_best_verdict() {
        let mut told = told();
        assert_eq!(tone(&told.study), Colour::Green);
        told.study.contenders.pop();
        assert_eq!(tone(&told.study), Colour::Red);
        told.study.contenders.clear();
        assert_eq!(tone(&told.study), Colour::Blue);
    }
}
