//! Which of these policies should one take?

use becalm_report::format;
use becalm_sim::study::{Contender, Study, Verdict, choice};
use serde::Serialize;

/// The choice, for a program.
#[derive(Debug, Serialize)]
pub struct Decision<'a> {
    /// The policy to take; `None` where none of them will do.
    take: Option<&'a str>,
    /// The policies that do equally well.
    equals: Vec<&'a str>,
    sentence: String,
}

/// The choice; nothing where no verdict was given, or where the question was not which policy to take.
pub fn of(study: &Study) -> Option<Decision<'_>> {
    let choice = choice(&study.contenders)?;
    let (best, verdict) = choice.best;
    let will_do = verdict.is_back();
    let equals = choice.equals.iter().filter(|_| will_do);
    Some(Decision {
        take: will_do.then_some(&*best.name),
        equals: equals.map(|it| it.name.as_str()).collect(),
        sentence: sentence(study)?,
    })
}

/// The choice, and why, in a sentence; nothing where no verdict was given, or where the question was not
/// which policy to take.
pub fn sentence(study: &Study) -> Option<String> {
    let choice = choice(&study.contenders)?;
    let (best, verdict) = choice.best;
    let name = &best.name;
    let why = because(best);
    let others = choice.others;
    let equals = equals(&choice.equals);
    Some(match verdict {
        Verdict::Stable if others == 0 => format!("Keep {name}: {why}."),
        Verdict::Stable => format!("Take {name}: {why}.{equals}"),
        Verdict::Vulnerable if others == 0 => {
            format!("{name} is enough for this trigger and for no worse one: {why}.")
        }
        Verdict::Vulnerable => {
            format!(
                "Take {name}, which is enough for this trigger and for no worse one: {why}.{equals}"
            )
        }
        Verdict::TooShort => {
            let seconds = best.value("needed_horizon_s").map(format::plain);
            let remedy = seconds.map_or_else(
                || "Longer ones that were tried do not show it".to_owned(),
                |it| format!("Give it a horizon of at least {it} s"),
            );
            format!(
                "Nothing is decided: the runs end before it is seen whether the service comes back. {remedy}."
            )
        }
        Verdict::Overloaded if others == 0 => {
            format!(
                "Do not ship {name}: the service does not bear this load even without a trigger."
            )
        }
        Verdict::Overloaded => {
            "None of these will do: the service does not bear this load even without a trigger."
                .to_owned()
        }
        _ if others == 0 => format!("Do not ship {name}: the service stays down under it."),
        _ => "Ship none of these: the service stays down under each.".to_owned(),
    })
}

/// Policies that are named; `--json` has them all.
const MOST_EQUALS: usize = 3;

/// ` Equally good: full and equal.` A policy may be called `none`, so that no verb follows it.
fn equals(these: &[&Contender]) -> String {
    let names: Vec<&str> = these.iter().map(|it| it.name.as_str()).collect();
    match &names[..] {
        [] => String::new(),
        many if many.len() > MOST_EQUALS => format!(" Equally good: {} others.", many.len()),
        [one] => format!(" Equally good: {one}."),
        [before @ .., last] => format!(" Equally good: {} and {last}.", before.join(", ")),
    }
}

/// What the policy does, in its own figures.
fn because(contender: &Contender) -> String {
    let answer = contender.value("first_answer_p50_s");
    // The times are of the runs that came back.
    let share = contender.value("recovered_share");
    let share = share.filter(|it| *it < 100.0);
    let these = share.map_or_else(String::new, |it| format!("in {it:.0} % of the runs "));
    let back = contender
        .value("recovery_p50_s")
        .map(|seconds| match seconds {
            seconds if seconds < 0.05 => format!("{these}the service is back as the trigger ends"),
            seconds => {
                let answer = answer.filter(|it| *it >= seconds + 0.05);
                let answer = answer
                    .map_or_else(String::new, |it| format!(" (first answer after {it:.1} s)"));
                format!("{these}calls succeed again after {seconds:.1} s{answer}")
            }
        });
    let good = contender
        .value("success_share")
        .map(|share| format!("{share:.1} % of the calls succeed"));
    let extra = contender.value("amplification_during").map(|attempts| {
        format!("during the trigger {attempts:.2} attempts are made for each first try")
    });
    let parts: Vec<String> = [back, good, extra].into_iter().flatten().collect();
    match parts.split_last() {
        None => "it holds".to_owned(),
        Some((only, [])) => only.clone(),
        Some((last, before)) => format!("{}, and {last}", before.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use becalm_sim::study::Figure;

    use super::*;

    fn contender(name: &str, verdict: Verdict, share: f64) -> Contender {
        let mut contender = Contender::default();
        contender.name = name.into();
        contender.verdict = Some(verdict);
        contender.figures = vec![
            Figure::new("success_share", "Calls that succeed", "%", Some(share)),
            Figure::new("recovery_p50_s", "Calls succeed again", "s", Some(2.54)),
            Figure::new("first_answer_p50_s", "First answer", "s", Some(3.04)),
        ];
        contender
    }

    fn decided(contenders: &[(&str, Verdict, f64)]) -> String {
        let mut study = Study::default();
        let all = contenders.iter();
        study.contenders = all.map(|it| contender(it.0, it.1, it.2)).collect();
        sentence(&study).expect("verdicts")
    }

    #[test]
    fn s6_the_better_verdict_wins_then_the_calls_that_succeed_and_of_equals_the_present_one() {
        use Verdict::{Metastable, Stable, Vulnerable};
        let said = decided(&[("own", Vulnerable, 99.0), ("full", Stable, 90.0)]);
        let right = "Take full: calls succeed again after 2.5 s (first answer after 3.0 s), and 90.0 % of the calls succeed.";
        assert_eq!(said, right);
        let said = decided(&[("own", Stable, 90.0), ("full", Stable, 97.0)]);
        assert!(said.starts_with("Take full"), "{said}");
        let said = decided(&[("own", Stable, 96.8), ("full", Stable, 97.0)]);
        assert!(
            said.starts_with("Take own") && said.ends_with(" Equally good: full."),
            "chance decides nothing: {said}"
        );
        let said = decided(&[("own", Vulnerable, 96.8), ("none", Metastable, 5.0)]);
        assert!(
            said.starts_with("Take own, which is enough for this trigger"),
            "{said}"
        );
    }

    #[test]
    fn s3_a_time_to_come_back_says_of_how_many_runs_it_is() {
        let mut own = contender("own", Verdict::Vulnerable, 90.0);
        let share = Figure::new("recovered_share", "Runs", "%", Some(80.0));
        own.figures.push(share);
        let mut study = Study::default();
        study.contenders = vec![own];
        let said = sentence(&study).expect("a verdict");
        let words =
            "in 80 % of the runs calls succeed again after 2.5 s (first answer after 3.0 s)";
        assert!(said.contains(words), "{said}");
    }

    #[test]
    fn s6_one_policy_is_kept_or_not() {
        let said = decided(&[("own", Verdict::Stable, 90.0)]);
        assert!(said.starts_with("Keep own: calls succeed again"), "{said}");
        let said = decided(&[("own", Verdict::Metastable, 9.0)]);
        assert_eq!(said, "Do not ship own: the service stays down under it.");
        let both = [
            ("a", Verdict::Metastable, 9.0),
            ("b", Verdict::Metastable, 20.0),
        ];
        assert!(decided(&both).starts_with("Ship none of these"));
        let said = decided(&[("own", Verdict::Overloaded, 9.0)]);
        assert!(said.contains("even without a trigger"), "{said}");
    }

    #[test]
    fn s4_where_the_runs_are_too_short_nothing_is_decided_and_the_horizon_is_told() {
        let mut study = Study::default();
        study.contenders = vec![contender("own", Verdict::TooShort, 9.0)];
        let said = sentence(&study).expect("a verdict");
        assert!(said.starts_with("Nothing is decided"), "{said}");
        assert!(said.contains("do not show it"), "{said}");
        let needed = Figure::new("needed_horizon_s", "Enough", "s", Some(90.0));
        study.contenders[0].figures.push(needed);
        let said = sentence(&study).expect("a verdict");
        assert!(
            said.ends_with("Give it a horizon of at least 90 s."),
            "{said}"
        );
    }

    #[test]
    fn s2_programs_hear_of_the_choice_and_its_equals() {
        let decision = |contenders: [Contender; 2]| {
            let mut study = Study::default();
            study.contenders = contenders.into();
            serde_json::to_value(of(&study)).expect("json")
        };
        let both = |verdict| {
            [
                contender("full", verdict, 97.0),
                contender("own", verdict, 97.2),
            ]
        };
        let told = decision(both(Verdict::Stable));
        assert_eq!(
            (&told["take"], &told["equals"]),
            (&"own".into(), &["full"].as_slice().into())
        );
        let told = decision(both(Verdict::Metastable));
        assert_eq!(
            (&told["take"], &told["equals"]),
            (&().into(), &serde_json::json!([]))
        );
    }

    #[test]
    fn s6_where_no_verdict_was_given_nothing_is_decided() {
        let mut study = Study::default();
        study.contenders = vec![Contender::default()];
        assert_eq!(sentence(&study), None);
    }
}
