//! Which of these policies should one take?

use becalm_sim::study::{Contender, Study, Verdict};

/// Calls that succeed, in hundredths, below which two policies do equally well: what chance makes of a
/// few runs.
const EQUAL: f64 = 0.5;

/// The choice, and why, in a sentence; nothing where no verdict was given, or where the question was not
/// which policy to take.
pub fn sentence(study: &Study) -> Option<String> {
    let mut ruled = study.contenders.iter().filter(|it| it.verdict.is_some());
    let first = ruled.next()?;
    let rest: Vec<_> = ruled.collect();
    let best = rest.iter().fold(
        first,
        |best, it| if is_better(it, best) { it } else { best },
    );
    let verdict = best.verdict?;
    let name = &best.name;
    let why = because(best);
    let others = rest.len();
    Some(match verdict {
        Verdict::Stable if others == 0 => format!("Keep {name}: {why}."),
        Verdict::Stable => format!("Take {name}: {why}."),
        Verdict::Vulnerable if others == 0 => {
            format!("{name} is enough for this trigger and for no worse one: {why}.")
        }
        Verdict::Vulnerable => {
            format!("Take {name}, which is enough for this trigger and for no worse one: {why}.")
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

/// Whether this policy is to be taken before the other one. Of two that do equally well the earlier one
/// is kept.
fn is_better(it: &Contender, than: &Contender) -> bool {
    let of = |contender: &Contender| contender.value("success_share").unwrap_or(0.0);
    match it.verdict.cmp(&than.verdict) {
        std::cmp::Ordering::Equal => of(it) > of(than) + EQUAL,
        order => order.is_lt(),
    }
}

/// What the policy does, in its own figures.
fn because(contender: &Contender) -> String {
    let back = contender
        .value("recovery_p50_s")
        .map(|seconds| match seconds {
            seconds if seconds < 0.05 => "the service is back as the trigger ends".to_owned(),
            seconds => format!("the service is back after {seconds:.1} s"),
        });
    let good = contender
        .value("success_share")
        .map(|share| format!("{share:.1} % of the calls succeed"));
    let extra = contender
        .value("amplification_during")
        .map(|attempts| format!("meanwhile {attempts:.2} attempts are made for each first try"));
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
            Figure::new("recovery_p50_s", "Time to come back", "s", Some(2.54)),
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
    fn s6_the_better_verdict_wins_then_the_calls_that_succeed_and_else_the_first() {
        use Verdict::{Metastable, Stable, Vulnerable};
        let said = decided(&[("own", Vulnerable, 99.0), ("full", Stable, 90.0)]);
        let right = "Take full: the service is back after 2.5 s, and 90.0 % of the calls succeed.";
        assert_eq!(said, right);
        let said = decided(&[("own", Stable, 90.0), ("full", Stable, 97.0)]);
        assert!(said.starts_with("Take full"), "{said}");
        let said = decided(&[("own", Stable, 96.8), ("full", Stable, 97.0)]);
        assert!(
            said.starts_with("Take own"),
            "chance decides nothing: {said}"
        );
        let said = decided(&[("own", Vulnerable, 96.8), ("none", Metastable, 5.0)]);
        assert!(
            said.starts_with("Take own, which is enough for this trigger"),
            "{said}"
        );
    }

    #[test]
    fn s6_one_policy_is_kept_or_not() {
        let said = decided(&[("own", Verdict::Stable, 90.0)]);
        assert!(said.starts_with("Keep own: the service is back"), "{said}");
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
    fn s6_where_no_verdict_was_given_nothing_is_decided() {
        let mut study = Study::default();
        study.contenders = vec![Contender::default()];
        assert_eq!(sentence(&study), None);
    }
}
