//! Up to which load, or which outage, does the service come back?

use super::axis::{Axis, setting_of};
use super::grid::Sweep;
use super::pictures::places;
use crate::study::{Contender, Verdict};
use crate::verdict::list;

/// Rows that are told one by one; of more the pictures tell.
const MOST_ROWS: usize = 5;

/// Where the service comes back along the last parameter of the scenario that is swept, a sentence for each point of the other axes;
/// nothing where policies alone are swept.
pub(super) fn sentences(sweep: &Sweep, contenders: &[Contender]) -> Option<String> {
    let is_world = |axis: &Axis| setting_of(&axis.name).is_none();
    let last = sweep.axes.iter().rposition(is_world)?;
    let axis = sweep.axes.get(last)?;
    let numbers = axis.numbers();
    let mut rows: Vec<(String, Vec<(usize, Verdict)>)> = Vec::new();
    for (index, contender) in contenders.iter().enumerate() {
        let at = places(sweep, index);
        let others = sweep.axes.iter().zip(&at).enumerate();
        let others = others.filter(|(axis, _)| *axis != last);
        let others = others.filter_map(|(_, (axis, place))| {
            let value = axis.values.get(*place)?;
            Some(format!("{}={value}", axis.name))
        });
        let name = others.collect::<Vec<_>>().join(" ");
        let point = (*at.get(last)?, contender.verdict?);
        match rows.iter_mut().find(|row| row.0 == name) {
            Some(row) => row.1.push(point),
            None => rows.push((name, vec![point])),
        }
    }
    if rows.len() > MOST_ROWS {
        return None;
    }
    let mut told: Vec<(String, Vec<String>)> = Vec::new();
    for (name, mut points) in rows {
        if let Some(numbers) = &numbers {
            points.sort_by(|a, b| numbers[a.0].total_cmp(&numbers[b.0]));
        }
        let sentence = row(axis, &points, numbers.is_some());
        match told.iter_mut().find(|it| it.0 == sentence) {
            Some(same) => same.1.push(name),
            None => told.push((sentence, vec![name])),
        }
    }
    let is_alone = told.len() == 1;
    let sentences = told.iter().map(|(sentence, names)| match &names[..] {
        _ if is_alone => format!("The service {sentence}."),
        names => format!("With {} the service {sentence}.", list(names)),
    });
    Some(sentences.collect::<Vec<_>>().join(" "))
}

/// `comes back up to load=0.8, and not at load=0.9; from a worse trigger up to load=0.7`.
fn row(axis: &Axis, all: &[(usize, Verdict)], is_in_order: bool) -> String {
    let all = all.iter().copied();
    let (unseen, points): (Vec<_>, Vec<_>) = all.partition(|it| it.1 == Verdict::TooShort);
    let each = if unseen.is_empty() {
        "each"
    } else {
        "each other"
    };
    let named = |wanted: bool, is: fn(Verdict) -> bool| -> Vec<String> {
        let these = points.iter().filter(|it| is(it.1) == wanted);
        let values = these.filter_map(|it| axis.values.get(it.0));
        values
            .map(|value| format!("{}={value}", axis.name))
            .collect()
    };
    let place = |is: fn(Verdict) -> bool| {
        let (those, others) = (named(true, is), named(false, is));
        let changes = points.windows(2).filter(|two| is(two[0].1) != is(two[1].1));
        let is_one_step = is_in_order && changes.count() == 1;
        let begins_so = points.first().is_some_and(|it| is(it.1));
        match (&those[..], &others[..]) {
            ([], _) => format!("at no {}", axis.name),
            (_, []) => format!("at {each} {}", axis.name),
            ([.., last], [first, ..]) if is_one_step && begins_so => {
                format!("up to {last}, and not at {first}")
            }
            ([first, ..], [.., last]) if is_one_step => {
                format!("from {first} on, and not at {last}")
            }
            _ => format!("at {}, and not at {}", list(&those), list(&others)),
        }
    };
    let back = place(Verdict::is_back);
    let stable = place(|it| it == Verdict::Stable);
    let mut sentence = format!("comes back {back}");
    if stable != back {
        sentence = format!("{sentence}; from a worse trigger {stable}");
    }
    let unseen: Vec<String> = unseen
        .iter()
        .filter_map(|it| axis.values.get(it.0))
        .map(|value| format!("{}={value}", axis.name))
        .collect();
    if !unseen.is_empty() {
        let at = list(&unseen);
        sentence = format!(
            "{sentence}; at {at} the runs end before that is seen, so make the horizon longer"
        );
    }
    sentence
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{Metastable, Overloaded, Stable, TooShort, Vulnerable};

    fn told(axes: &[(&str, &[&str])], verdicts: &[Verdict]) -> Option<String> {
        let axes = axes.iter().map(|(name, values)| Axis {
            name: (*name).to_owned(),
            values: values.iter().map(|it| (*it).to_owned()).collect(),
        });
        let sweep = Sweep {
            axes: axes.collect(),
            at: None,
        };
        let contenders: Vec<Contender> = verdicts
            .iter()
            .map(|verdict| Contender {
                verdict: Some(*verdict),
                ..Contender::default()
            })
            .collect();
        sentences(&sweep, &contenders)
    }

    #[test]
    fn s2_a_sweep_over_the_world_says_up_to_where() {
        let load: (&str, &[&str]) = ("load", &["0.5", "0.9", "0.7"]);
        for (verdicts, expected) in [
            (
                [Stable, Metastable, Stable],
                "comes back up to load=0.7, and not at load=0.9",
            ),
            (
                [Stable, Vulnerable, Stable],
                "comes back at each load; from a worse trigger up to load=0.7, and not at load=0.9",
            ),
            ([Stable; 3], "comes back at each load"),
            ([Overloaded; 3], "comes back at no load"),
            (
                [Metastable, Stable, Stable],
                "comes back from load=0.7 on, and not at load=0.5",
            ),
            (
                [Stable, TooShort, Vulnerable],
                "comes back at each other load; from a worse trigger up to load=0.5, and not at load=0.7; at load=0.9 the runs \
                 end before that is seen, so make the horizon longer",
            ),
            (
                [Stable, Stable, Metastable],
                "comes back at load=0.5 and load=0.9, and not at load=0.7",
            ),
        ] {
            let said = told(&[load], &verdicts).expect("a world");
            assert_eq!(said, format!("The service {expected}."));
        }
        let ratio: (&str, &[&str]) = ("ratio", &["0.1", "0.2", "0.5"]);
        let outage: (&str, &[&str]) = ("outage", &["500ms", "2s"]);
        let both = told(
            &[ratio, outage],
            &[Stable, Stable, Stable, Stable, Stable, Metastable],
        );
        assert_eq!(
            both.as_deref(),
            Some(
                "With ratio=0.1 and ratio=0.2 the service comes back at each outage. With ratio=0.5 the service comes \
                 back up to outage=500ms, and not at outage=2s."
            )
        );
        assert_eq!(told(&[("base", &["1s", "2s"])], &[Stable, Stable]), None);
    }
}
