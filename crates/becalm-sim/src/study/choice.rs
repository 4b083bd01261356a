//! Which of these policies should one take, in whatever order they are named?

use super::{Contender, Verdict};

/// The policy to take.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Choice<'a> {
    /// The policy, and its verdict.
    pub best: (&'a Contender, Verdict),
    /// The policies that do equally well, by their names.
    pub equals: Vec<&'a Contender>,
    /// How many others were ruled on, with those that do equally well.
    pub others: usize,
}

/// Calls that give up on an ordinary day, and calls that succeed in all, in hundredths, below which two policies do equally
/// well: what chance makes of a few runs.
const EQUAL_BEFORE: f64 = 0.1;
const EQUAL: f64 = 0.5;

/// Attempts for each first try that two decimals do not tell apart.
const EQUAL_LOAD: f64 = 0.005;

/// The policies that are there today, as the command line names them: of equals they stay.
const PRESENT: [&str; 2] = ["own", "yours"];

/// Chooses by the verdict, then by the calls that give up before any trigger (most days are ordinary), then by the calls that succeed.
///
/// Each step keeps all that are as good as the best of it, so that the order of the policies decides nothing. Of those that are left
/// the present one is taken, else the one that brings the least load, and its [equals](Choice::equals) are told.
///
/// `None` where no verdict was given, or where the contenders stand in different [worlds](Contender::world), of
/// which nobody has a choice.
pub fn choice(contenders: &[Contender]) -> Option<Choice<'_>> {
    if contenders.iter().any(|it| !it.world.is_empty()) {
        return None;
    }
    let ruled = contenders.iter().filter(|it| it.verdict.is_some());
    let others = ruled.clone().count().checked_sub(1)?;
    let verdict = ruled.clone().filter_map(|it| it.verdict).min()?;
    let mut left: Vec<&Contender> = ruled.filter(|it| it.verdict == Some(verdict)).collect();
    let of = |it: &Contender, id| it.value(id).unwrap_or(0.0);
    keep_least(&mut left, EQUAL_BEFORE, |it| {
        of(it, "given_up_before_share")
    });
    keep_least(&mut left, EQUAL, |it| -of(it, "success_share"));
    left.sort_by(|a, b| a.name.cmp(&b.name));
    let mut equals = left.clone();
    let present = PRESENT.iter().find_map(|name| {
        let mut left = left.iter();
        left.find(|it| it.name == *name)
    });
    let best = present.copied().or_else(|| {
        keep_least(&mut left, EQUAL_LOAD, |it| of(it, "amplification_during"));
        left.first().copied()
    })?;
    equals.retain(|it| it.name != best.name);
    Some(Choice {
        best: (best, verdict),
        equals,
        others,
    })
}

fn keep_least(left: &mut Vec<&Contender>, equal: f64, cost: impl Fn(&Contender) -> f64) {
    let least = left.iter().map(|it| cost(it)).min_by(f64::total_cmp);
    left.retain(|it| least.is_none_or(|least| cost(it) <= least + equal));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::study::Figure;

    fn contender(name: &str, verdict: Verdict, figures: [f64; 3]) -> Contender {
        let ids = [
            "given_up_before_share",
            "success_share",
            "amplification_during",
        ];
        let figures = ids.into_iter().zip(figures);
        Contender {
            name: name.into(),
            verdict: Some(verdict),
            figures: figures
                .map(|(id, value)| Figure::new(id, "", "", Some(value)))
                .collect(),
            ..Contender::default()
        }
    }

    fn told(contenders: &[Contender]) -> (&str, Vec<&str>) {
        let choice = choice(contenders).expect("verdicts");
        let equals = choice.equals.iter().map(|it| it.name.as_str());
        (choice.best.0.name.as_str(), equals.collect())
    }

    use Verdict::{Metastable, Stable, Vulnerable};

    #[test]
    fn s2_the_verdict_decides_then_ordinary_days_then_the_calls_that_succeed() {
        let a = || contender("a", Stable, [0.0, 90.0, 1.0]);
        assert_eq!(
            told(&[contender("b", Vulnerable, [0.0, 99.0, 1.0]), a()]).0,
            "a"
        );
        assert_eq!(
            told(&[contender("b", Stable, [1.0, 97.0, 1.0]), a()]).0,
            "a"
        );
        assert_eq!(
            told(&[contender("b", Stable, [0.0, 97.0, 1.0]), a()]).0,
            "b"
        );
    }

    #[test]
    fn s2_of_three_that_do_equally_well_the_present_one_stays_and_the_others_are_told() {
        let of = |name| contender(name, Stable, [0.0, 97.0, 1.2]);
        assert_eq!(
            told(&[of("full"), of("own"), of("equal")]),
            ("own", vec!["equal", "full"])
        );
        let calm = contender("z", Stable, [0.0, 97.2, 1.1]);
        assert_eq!(
            told(&[of("full"), of("equal"), calm]),
            ("z", vec!["equal", "full"])
        );
        // Neither differs from the next by what counts, and the first does from the last.
        let chain = [96.5, 96.9, 97.3]
            .map(|share| contender(&format!("{share}"), Stable, [0.0, share, 1.0]));
        assert_eq!(told(&chain), ("96.9", vec!["97.3"]));
    }

    #[test]
    fn s2_worlds_are_no_choice() {
        let mut low = contender("load=0.5", Stable, [0.0, 99.0, 1.0]);
        low.world = "load=0.5".into();
        let high = contender("load=0.9", Metastable, [0.0, 9.0, 1.0]);
        assert_eq!(choice(&[low, high]), None);
        assert_eq!(choice(&[Contender::default()]), None);
    }

    proptest! {
        #[test]
        fn s2_the_order_decides_nothing(
            drawn in prop::collection::vec((0_usize..3, 0_u8..4, 0_u8..12, 0_u8..4), 1..6),
            turn in 0_usize..6,
        ) {
            let all = drawn.iter().enumerate().map(|(index, (verdict, before, success, load))| {
                let verdict = [Stable, Vulnerable, Metastable][*verdict];
                let figures = [
                    f64::from(*before) * 0.06,
                    95.0 + f64::from(*success) * 0.3,
                    1.0 + f64::from(*load) * 0.004,
                ];
                contender(["b", "own", "a", "yours", "c"][index], verdict, figures)
            });
            let mut all: Vec<_> = all.collect();
            let expected = all.clone();
            let count = all.len();
            all.rotate_left(turn % count);
            prop_assert_eq!(told(&all), told(&expected));
            all.reverse();
            prop_assert_eq!(told(&all), told(&expected));
        }
    }
}
