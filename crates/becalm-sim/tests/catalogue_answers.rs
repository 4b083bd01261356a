//! Does a study of the catalogue answer its own question, and alike on any number of threads?

use becalm::{Budget, Policy};
use becalm_sim::catalogue::{self, Candidate, Parameters};
use becalm_sim::study::{Plan, Study, Verdict};

fn candidates(policies: &[(&str, Policy)]) -> Vec<Candidate> {
    let each = policies.iter().cloned();
    each.map(|(name, policy)| Candidate::new(name, policy))
        .collect()
}

/// The study of an entry with these parameters: two runs, no searches.
fn studied(
    name: &str,
    values: &[(&str, &str)],
    policies: &[(&str, Policy)],
    threads: usize,
) -> Study {
    let entry = catalogue::find(name).expect("an entry of the catalogue");
    let mut parameters = Parameters::of(entry.parameters);
    for (name, value) in values {
        parameters.set(name, value).expect("a parameter");
    }
    let mut plan = Plan::default();
    (plan.runs, plan.threads, plan.is_quick) = (Some(2), threads, true);
    entry
        .study(&parameters, &candidates(policies), &plan)
        .expect("a study")
}

fn once() -> Policy {
    Policy::default().attempts(1)
}

fn eager() -> Policy {
    Policy::default().budget(Budget::None)
}

fn figure(study: &Study, contender: usize, id: &str) -> f64 {
    let figures = &study.contenders[contender].figures;
    let figure = figures.iter().find(|it| it.id == id);
    figure.and_then(|it| it.value).expect(id)
}

#[test]
fn where_nothing_bounds_a_service_there_is_no_verdict_and_the_answer_tells_what_retries_cost() {
    let policies = [("once", once()), ("eager", eager())];
    let cases: [(&str, &[(&str, &str)]); 2] = [
        ("flaky", &[("load", "200"), ("horizon", "20s")]),
        (
            "small-clients",
            &[("load", "50"), ("outage", "5s"), ("horizon", "30s")],
        ),
    ];
    for (name, values) in cases {
        let study = studied(name, values, &policies, 1);
        for contender in &study.contenders {
            assert_eq!(contender.verdict, None, "{name}: {}", contender.evidence);
            let evidence = &contender.evidence;
            assert!(
                evidence.contains("attempts for each first try"),
                "{evidence}"
            );
            assert!(!evidence.contains("comes back"), "{evidence}");
        }
        let id = if name == "flaky" {
            "amplification"
        } else {
            "amplification_during"
        };
        let eager = format!("{:.2} (eager)", figure(&study, 1, id));
        assert!(study.answer.contains(&eager), "{}", study.answer);
        assert!(
            study.answer.contains("with 1.00 attempts"),
            "{}",
            study.answer
        );
    }
}

#[test]
fn layers_and_loops_answer_in_requests() {
    let layers = [("load", "5"), ("outage", "5s"), ("horizon", "20s")];
    let study = studied(
        "layers",
        &layers,
        &[("once", once()), ("eager", eager())],
        1,
    );
    let reached = figure(&study, 1, "at_bottom");
    assert!(reached > 10.0, "{reached}");
    let words = format!("1.0 (once) and {reached:.1} (eager)");
    assert!(study.answer.contains(&words), "{}", study.answer);
    assert!(study.contenders.iter().all(|it| it.verdict.is_none()));

    let study = studied("loops", &[("horizon", "40s")], &[("eager", eager())], 1);
    let first_tries = figure(&study, 0, "first_tries_per_s");
    // A round is a second of thought and more than one attempt of 50 ms: below 95 a second.
    assert!((50.0..95.0).contains(&first_tries), "{first_tries}");
    let words = format!("{first_tries:.0} first tries");
    assert!(study.answer.contains(&words), "{}", study.answer);
    assert_eq!(study.contenders[0].verdict, None);
}

#[test]
fn a_service_without_a_capacity_of_its_own_is_not_told_a_share_of_it() {
    let values = [
        ("load", "50"),
        ("workers", "50"),
        ("patience", "50s"),
        ("horizon", "100s"),
    ];
    let study = studied("deadline", &values, &[("once", once())], 1);
    assert_eq!(study.contenders[0].verdict, Some(Verdict::Overloaded));
    assert!(!study.answer.contains("capacity"), "{}", study.answer);
    assert!(study.answer.contains("of the calls are answered"));
    let evidence = &study.contenders[0].evidence;
    assert!(evidence.contains("of the calls are answered"), "{evidence}");
}

#[test]
fn what_is_sent_and_who_is_served_is_what_throttle_and_priority_answer() {
    let study = studied("throttle", &[("horizon", "50s")], &[("once", once())], 1);
    let sent = figure(&study, 0, "sent_per_s");
    assert!((sent - 500.0).abs() < 30.0, "{sent}");
    assert!(study.answer.contains(&format!("{sent:.0} (once)")));

    let values = [("outage", "20s"), ("horizon", "60s")];
    let study = studied("priority", &values, &[("once", once())], 1);
    let critical = figure(&study, 0, "critical_served");
    assert!(critical < 90.0, "{critical}");
    let words = format!("{critical:.0} % of the critical calls");
    assert!(study.answer.contains(&words), "{}", study.answer);
}

#[test]
fn the_studies_and_checks_of_kernels_are_the_same_on_any_number_of_threads() {
    let full = [("full", eager().attempts(Policy::UNLIMITED))];
    let herd: &[(&str, &str)] = &[
        ("clients", "300"),
        ("outage", "20s"),
        ("horizon", "60s"),
        ("bucket", "1s"),
    ];
    let cases = [
        ("herd", herd),
        ("clipped", herd),
        ("appointments", &[("clients", "300"), ("capacity", "15")]),
        ("fleet", &[("processes", "20"), ("load", "400")]),
        ("moments", &[("calls", "25000")]),
        ("occ", &[("clients", "20")]),
    ];
    for (name, values) in cases {
        let of = |threads| studied(name, values, &full, threads);
        assert_eq!(of(1), of(3), "{name}");
        let entry = catalogue::find(name).expect("an entry");
        let checked = |threads| {
            let mut plan = Plan::default();
            plan.threads = threads;
            (entry.check)(&plan, true)
        };
        // The check of contests takes seconds, and runs what its study does.
        if name != "occ" {
            assert_eq!(checked(1), checked(3), "{name}");
        }
    }
}
