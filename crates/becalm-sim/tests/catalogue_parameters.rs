//! Is a parameter that means nothing refused by its name, and with what would be right?

use becalm_sim::catalogue::{ENTRIES, Kind, Parameter, Parameters, find};
use becalm_sim::study::{Comparison, Plan};

fn sentence(kind: Kind, value: &str) -> Option<String> {
    let parameter = Parameter::new("amount", kind, "1", "what is asked");
    parameter.check(value).err().map(|it| it.to_string())
}

#[test]
fn a_value_is_refused_outside_of_what_its_kind_means() {
    let choice = Kind::Choice(&["open", "closed"]);
    for (kind, good, bad, right) in [
        (
            Kind::Count,
            &["1", "7"][..],
            &["0", "-1", "1.5", "many"][..],
            "from 1 up",
        ),
        (
            Kind::Number,
            &["0", "2.5"],
            &["-0.1", "inf", "NaN", "x"],
            "from 0 up",
        ),
        (
            Kind::Share,
            &["0", "0.5", "1"],
            &["1.01", "-0.1", "NaN"],
            "from 0 to 1",
        ),
        (
            Kind::Duration,
            &["250ms", "0s"],
            &["250", "soon"],
            "such as 250ms",
        ),
        (choice, &["open"], &["Open", ""], "one of open, closed"),
    ] {
        for value in good {
            assert_eq!(sentence(kind, value), None, "{kind:?}");
        }
        for value in bad {
            let said = sentence(kind, value).unwrap_or_else(|| panic!("{kind:?}: {value}"));
            assert!(
                said.starts_with("--amount: ") && said.contains(right),
                "{said}"
            );
        }
    }
}

#[test]
fn a_world_that_makes_no_sense_is_refused_by_the_flag_at_fault() {
    for (name, flag, value, part) in [
        ("metastable", "horizon", "5s", "make it at least"),
        ("metastable", "horizon", "99999h", "horizon"),
        ("metastable", "load", "0", "out of range"),
        ("metastable", "load", "9999999", "out of range"),
        ("metastable", "service-time", "99999h", "service time"),
        ("queue", "workers", "2000000", "out of range"),
        ("layers", "layers", "21", "out of range"),
    ] {
        let entry = find(name).expect("an entry");
        let mut parameters = Parameters::of(entry.parameters);
        parameters.set(flag, value).expect("it reads");
        let candidate = becalm_sim::catalogue::Candidate::new("own", (entry.policy)());
        let refused = entry.study(&parameters, &[candidate], &Plan::default());
        let refused = refused.expect_err(flag);
        assert_eq!(refused.name, flag, "{name}: {refused}");
        assert!(refused.to_string().contains(part), "{name}: {refused}");
    }
    let mut parameters = Parameters::of(find("queue").expect("an entry").parameters);
    let unknown = parameters
        .set("wokers", "3")
        .expect_err("no such parameter");
    assert!(unknown.to_string().contains("wokers"), "{unknown}");
}

/// Below zero as well: what may be off is a share of the size.
#[test]
fn a_relative_tolerance_is_of_the_size_of_what_is_expected() {
    // All that a check returns, with other values in it.
    let mut comparison: Comparison =
        (find("moments").expect("an entry").check)(&Plan::default(), true)
            .into_iter()
            .next()
            .expect("a comparison");
    comparison.tolerance = becalm_sim::study::Tolerance::Relative(0.1);
    for (expected, got, holds) in [
        (100.0, 109.0, true),
        (100.0, 111.0, false),
        (-100.0, -109.0, true),
        (-100.0, -111.0, false),
        (100.0, f64::NAN, false),
    ] {
        (comparison.expected, comparison.got) = (expected, got);
        assert_eq!(comparison.holds(), holds, "{expected} {got}");
    }
}

#[test]
fn s4_a_horizon_that_is_written_out_is_given_and_what_has_no_verdict_does_not_go_on() {
    for entry in ENTRIES {
        let Some(build) = entry.scenario() else {
            continue;
        };
        let goes_on = |parameters: &Parameters| build(parameters, &(entry.policy)()).goes_on;
        let mut parameters = Parameters::of(entry.parameters);
        let is_judged = !["throttle", "priority"].contains(&entry.name);
        assert_eq!(entry.is_judged(), is_judged, "{}", entry.name);
        assert_eq!(goes_on(&parameters), is_judged, "{}", entry.name);
        let default = parameters.text("horizon").to_owned();
        parameters.set("horizon", &default).expect("a duration");
        assert!(!goes_on(&parameters), "{}", entry.name);
    }
}
