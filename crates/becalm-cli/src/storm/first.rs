//! What does a reader of a study see first? What to set and the reason, three figures, and the picture.

use becalm_report::Colour;
use becalm_sim::study::{Chart, Contender, Study, Verdict, choice};

use super::picture::is_all_zero;
use super::told::Told;
use super::{decision, table};
use crate::wording::sentences;

/// The policy that a search started from.
const GIVEN: &str = "given";

/// What to set, and why: sentences, the most important first. The study's answer, where it is one of them, is told to its end.
pub fn said(told: &Told) -> String {
    let study = &told.study;
    let decision = decision::sentence(study);
    let remedy = told.remedy.as_ref();
    let remedy = remedy.and_then(|it| sentences(it.sentence()).next());
    let taken = told.recommended.as_ref().and(study.contenders.first());
    let verdict = told.recommended.as_ref().and_then(|it| it.verdict);
    let taken = taken.map(|it| {
        let verb = match verdict.is_none_or(Verdict::is_back) {
            false => "Under none of these the service was seen to come back; the nearest is",
            true if it.name == GIVEN => "Keep",
            true => "Take",
        };
        format!("{verb} {}: {}.", it.name, it.policy)
    });
    // What holds is told by its own figures; what does not, by what happens under it.
    let is_told = decision.is_some() && tone(study) != Colour::Red;
    let answer = (!is_told).then_some(&*study.answer);
    let parts = [decision.as_deref(), taken.as_deref(), remedy, answer];
    let parts: Vec<&str> = parts.into_iter().flatten().collect();
    parts.join(" ")
}

/// The colour of what is said: that of the policy to take. Red says that none of them will do.
pub fn tone(study: &Study) -> Colour {
    let is_down = |it: &Contender| it.verdict.is_some_and(Verdict::is_down);
    match choice(&study.contenders) {
        Some(choice) => table::colour(choice.best.1),
        None if !study.contenders.is_empty() && study.contenders.iter().all(is_down) => Colour::Red,
        None => Colour::Blue,
    }
}

/// The policies, those first that a reader asks for first: the one to take and its equals.
pub fn order(study: &Study) -> Vec<usize> {
    let mut order: Vec<usize> = (0..study.contenders.len()).collect();
    if let Some(choice) = choice(&study.contenders) {
        let place = |at: &usize| {
            let name = &study.contenders[*at].name;
            let is_equal = choice.equals.iter().any(|it| it.name == *name);
            (choice.best.0.name != *name, !is_equal)
        };
        order.sort_by_key(place);
    }
    order
}

/// The picture: the first chart that shows anything.
pub fn picture(study: &Study) -> Option<usize> {
    let charts = study.charts.iter();
    charts.clone().position(|it| !is_all_zero(it))
}

/// The other charts.
pub fn others(study: &Study) -> impl Iterator<Item = &Chart> {
    let first = picture(study);
    let charts = study.charts.iter().enumerate();
    charts.filter(move |it| Some(it.0) != first).map(|it| it.1)
}

#[cfg(test)]
mod tests {
    use super::super::told::tests::told;
    use super::*;

    #[test]
    fn s5_the_colour_is_that_of_the_policy_to_take() {
        let mut told = told();
        assert_eq!(tone(&told.study), Colour::Green, "beside one that is down");
        told.study.contenders[1].verdict = Some(Verdict::Vulnerable);
        assert_eq!(tone(&told.study), Colour::Orange);
        told.study.contenders[1].verdict = Some(Verdict::Overloaded);
        assert_eq!(tone(&told.study), Colour::Red, "none of them will do");
        told.study.contenders.clear();
        assert_eq!(tone(&told.study), Colour::Blue);
    }

    #[test]
    fn s5_the_policy_to_take_comes_first() {
        let told = told();
        assert_eq!(order(&told.study), [1, 0]);
        assert!(
            said(&told).starts_with("Take <full>: "),
            "{:?}",
            said(&told)
        );
        assert!(!said(&told).contains("Only one comes back."));
    }

    #[test]
    fn s5_where_none_will_do_the_reason_is_said() {
        let mut told = told();
        told.study.contenders.truncate(1);
        let right = "Do not ship none: the service stays down under it. Only one comes back.";
        assert_eq!(said(&told), right);
    }

    #[test]
    fn a_picture_that_shows_nothing_is_not_the_first() {
        let mut told = told();
        assert_eq!(
            (picture(&told.study), others(&told.study).count()),
            (Some(0), 1)
        );
        if let becalm_sim::study::ChartKind::Lines(lines) = &mut told.study.charts[0].kind {
            lines.clear();
            lines.push(("a".into(), vec![(0.0, 0.0), (1.0, 0.0)]));
        }
        assert_eq!(picture(&told.study), Some(1));
    }
}
