//! Is the default rule for layers as good as the table of `docs/layers.md` says?

#![allow(clippy::pedantic)] // shared with an example

#[path = "../examples/layers/rows.rs"]
#[allow(dead_code)] // the example prints more
mod rows;

use becalm::{Policy, scope::Nested};
use rows::{Outcome, Row};

fn run(row: Row, nested: Nested, seed: u64) -> Outcome {
    row.outcome(&Policy::default().nested(nested), seed)
}

/// Rows in which the outermost layer alone does worse by so many points, at least.
#[test]
fn the_nearest_layer_saves_what_the_outermost_loses() {
    for (row, points) in [
        (Row::BottomFails, 1.0),
        (Row::EveryLayerFails, 13.0),
        (Row::OneRefuses, 1.0),
        (Row::OneIsSilent, 1.0),
        (Row::MappedToPermanent, 7.0),
        (Row::FiveInSequence, 35.0),
    ] {
        let [nearest, outermost] =
            [Nested::Nearest, Nested::Outermost].map(|nested| run(row, nested, 1).succeeded);
        let saved = nearest - outermost;
        assert!(saved > points, "{row:?}: {nearest} against {outermost}");
    }
}

/// In an overload it costs at most a point, and amplifies by at most 1.2: its ten seconds begin with the half second of calls that
/// each layer's budget holds.
#[test]
fn an_overload_is_not_made_worse() {
    for row in [Row::BottomHangs(2), Row::BottomOverloaded] {
        let mean = |nested, of: fn(&Outcome) -> f64| {
            (1..=3).map(|seed| of(&run(row, nested, seed))).sum::<f64>() / 3.0
        };
        let [nearest, outermost] =
            [Nested::Nearest, Nested::Outermost].map(|nested| mean(nested, |it| it.succeeded));
        assert!(nearest > outermost - 1.0, "{row:?}: {nearest} {outermost}");
        let requests = mean(Nested::Nearest, |it| it.amplification);
        if row == Row::BottomOverloaded {
            assert!((1.0..1.2).contains(&requests), "{requests}");
        }
    }
}
