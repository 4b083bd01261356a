//! What does the report say to someone who was not there?

use std::collections::BTreeMap;

use becalm_report::{Colour, Page, Table, format};
use becalm_sim::study::{Chart, Contender, Study, Verdict};

use super::picture::{Drawing, is_all_zero};
use super::told::Told;
use super::{first, table, text};
use crate::wording::begun;

/// The study as a self-contained page.
pub fn page(told: &Told) -> Page {
    let study = &told.study;
    let is_crowded = study.contenders.len() > table::SIDE_BY_SIDE;
    let mut page = Page::new(&*study.question);
    let badges = verdicts(&study.contenders);
    if !badges.is_empty() {
        page = page.badges(badges);
    }
    let (said, is_all) = begun(&first::said(told), |it| it.chars().count() <= SAID);
    page = page.conclusion(first::tone(study), &said);
    if let Some(contender) = first::order(study).first().map(|at| &study.contenders[*at]) {
        page = page.figures(&contender.name, table::first_figures(study, contender));
    }
    let picture = first::picture(study);
    let picture = picture.and_then(|at| Drawing::of(&study.charts[at], &study.contenders));
    if let Some(drawing) = &picture {
        page = drawing.low().on(page);
    }
    page = page.contents();
    let is_evidence = study
        .contenders
        .iter()
        .any(|it| it.evidence == study.answer);
    let is_said = is_all && said.ends_with(&study.answer);
    if !is_said && !is_evidence {
        page = page.heading("What was found").paragraph(&study.answer);
    }
    if !is_crowded {
        let names = table::names(&study.contenders);
        page = page
            .heading("What decides")
            .table(&table::that_decide(study, &names));
        page = noted(page, study);
    }
    if let Some(recommended) = &told.recommended {
        page = page
            .heading("The recommended policy")
            .code(&recommended.file);
    }
    if let Some(remedy) = &told.remedy {
        page = page.heading("What would help").paragraph(remedy.sentence());
        let code = remedy.code();
        if !code.is_empty() {
            page = page.code(&code);
        }
    }
    let others = first::others(study).collect();
    let services = study.services.iter().collect();
    for (heading, charts) in [("What happened", others), ("Each service", services)] {
        if !Vec::is_empty(&charts) {
            page = drawings(page.heading(heading), charts, study);
        }
    }
    page = if is_crowded {
        noted(
            page.heading("The figures").table(&all_figures(study)),
            study,
        )
        .details("Why each verdict", |page| evidence(page, &study.contenders))
    } else {
        let page = page.details("All figures", |page| page.table(&all_figures(study)));
        evidence(page.heading("The policies"), &study.contenders)
    };
    for contender in study.contenders.iter().filter(|it| !it.charts.is_empty()) {
        page = drawings(page.heading(&contender.name), &contender.charts, study);
    }
    page.heading("What was asked")
        .definitions(study.asked.iter().map(|(name, value)| (name, value)))
        .heading("Run it again")
        .paragraph(&format!(
            "Simulated by becalm {} with the code that ships; seed {}, {} of each policy, {} \
             events. The same command gives the same figures.",
            env!("CARGO_PKG_VERSION"),
            study.seed,
            text::runs(study.runs),
            format::plain(events(study))
        ))
        .code(&told.command)
}

/// Each verdict with its policy; of many, how many have it.
fn verdicts(contenders: &[Contender]) -> Vec<(Colour, &'static str, String)> {
    let badge = |verdict: Verdict, about| (table::colour(verdict), verdict.as_str(), about);
    let found = contenders
        .iter()
        .filter_map(|it| Some((it.verdict?, &it.name)));
    if contenders.len() <= table::SIDE_BY_SIDE {
        return found
            .map(|(verdict, name)| badge(verdict, name.clone()))
            .collect();
    }
    let mut counts = BTreeMap::new();
    for (verdict, _) in found {
        *counts.entry(verdict).or_insert(0_u32) += 1;
    }
    let counts = counts.into_iter();
    counts
        .map(|(verdict, count)| badge(verdict, format!("{count} of {}", contenders.len())))
        .collect()
}

/// What each policy is, and on what its verdict stands.
fn evidence(page: Page, contenders: &[Contender]) -> Page {
    page.definitions(contenders.iter().map(|it| {
        let sentences = [&*it.policy, &*it.evidence];
        let sentences: Vec<_> = sentences.into_iter().filter(|it| !it.is_empty()).collect();
        (&it.name, sentences.join(". "))
    }))
}

fn drawings<'a>(page: Page, charts: impl IntoIterator<Item = &'a Chart>, study: &Study) -> Page {
    charts.into_iter().fold(page, |page, chart| {
        if is_all_zero(chart) {
            return page.paragraph(&format!("{}: 0 throughout.", chart.title));
        }
        match Drawing::of(chart, &study.contenders) {
            Some(drawing) => drawing.on(page),
            None => page,
        }
    })
}

fn all_figures(study: &Study) -> Table {
    if study.contenders.len() > table::SIDE_BY_SIDE {
        table::of_policies(study, usize::MAX, true)
    } else {
        let all = 0..study.contenders.len();
        table::of_figures(study, all, &table::names(&study.contenders), true)
    }
}

/// Adds what the marks and words of the figures mean.
fn noted(page: Page, study: &Study) -> Page {
    table::notes(study).fold(page, Page::paragraph)
}

/// Letters of what is said first: it is read on a telephone, above the fold.
const SAID: usize = 420;

#[expect(clippy::cast_precision_loss)] // to be read
fn events(study: &Study) -> f64 {
    study.events as f64
}

#[cfg(test)]
mod tests {
    use super::super::told::tests::told;
    use super::*;

    #[test]
    fn the_page_says_all_that_was_asked_found_and_done() {
        let html = page(&told()).to_html();
        for part in [
            "What happens to orders?",
            "Only one comes back.",
            "metastable",
            "&lt;full&gt; was measured.",
            ">1.5 <",
            "(1.25 to 1.75)",
            "The arrivals",
            "Each service",
            "What arrives at the database",
            "database: amplification",
            "capacity",
            "<dt>load</dt><dd>260</dd>",
            "becalm storm orders --seed 7",
        ] {
            assert!(html.contains(part), "{part}");
        }
        assert!(!html.contains("<full>"), "no name becomes markup");
    }

    #[test]
    fn many_policies_have_a_row_each_and_their_verdicts_are_counted() {
        let mut told = told();
        let full = told.study.contenders[1].clone();
        told.study.contenders.extend(vec![full; 9]);
        let html = page(&told).to_html();
        assert!(
            html.contains("10 of 11") && html.contains("1 of 11"),
            "{html}"
        );
        assert_eq!(html.matches("<th scope=\"row\"").count(), 11);
        assert!(html.contains("Why each verdict"));
    }
}
