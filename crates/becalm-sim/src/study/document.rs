//! Which names do the parts of a study have in a document, that are pairs in code?

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::ChartKind;

/// A table of two values under these keys.
struct Pair<A, B>((&'static str, A), (&'static str, B));

impl<A: Serialize, B: Serialize> Serialize for Pair<A, B> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self((first, a), (second, b)) = self;
        let mut map = to.serialize_map(Some(2))?;
        map.serialize_entry(first, a)?;
        map.serialize_entry(second, b)?;
        map.end()
    }
}

/// Pairs that are tables with these keys.
struct Pairs<'a, A, B>(&'a [(A, B)], [&'static str; 2]);

impl<A: Serialize, B: Serialize> Serialize for Pairs<'_, A, B> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let [first, second] = self.1;
        to.collect_seq(self.0.iter().map(|(a, b)| Pair((first, a), (second, b))))
    }
}

pub(super) fn attempts<S: Serializer>(of: &[(String, f64)], to: S) -> Result<S::Ok, S::Error> {
    Pairs(of, ["place", "per_call"]).serialize(to)
}

#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
pub(super) fn ends<S: Serializer>(ends: &Option<(f64, f64)>, to: S) -> Result<S::Ok, S::Error> {
    Pair(("low", ends.map(|it| it.0)), ("high", ends.map(|it| it.1))).serialize(to)
}

pub(super) fn intervals<S: Serializer>(
    of: &[(String, (f64, f64))],
    to: S,
) -> Result<S::Ok, S::Error> {
    to.collect_map(
        of.iter()
            .map(|(name, (low, high))| (name, Pair(("low", low), ("high", high)))),
    )
}

pub(super) fn bands<S: Serializer>(bands: &[(f64, f64, String)], to: S) -> Result<S::Ok, S::Error> {
    #[derive(serde::Serialize)]
    struct Band<'a> {
        name: &'a str,
        from: f64,
        to: f64,
    }
    to.collect_seq(bands.iter().map(|(from, to, name)| Band {
        name,
        from: *from,
        to: *to,
    }))
}

pub(super) fn levels<S: Serializer>(of: &[(f64, String)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(of.iter().map(|(at, name)| Pair(("name", name), ("at", at))))
}

/// `kind`, and under the name of that kind what is drawn; nothing of lines and bars that there are none of.
impl Serialize for ChartKind {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        match self {
            Self::Lines(lines) => {
                map.serialize_entry("kind", "lines")?;
                if !lines.is_empty() {
                    map.serialize_entry("lines", &Pairs(lines, ["name", "points"]))?;
                }
            }
            Self::Bars(bars) => {
                map.serialize_entry("kind", "bars")?;
                if !bars.is_empty() {
                    map.serialize_entry("bars", &Pairs(bars, ["name", "value"]))?;
                }
            }
            Self::Map {
                columns,
                rows,
                cells,
                value,
            } => {
                #[derive(serde::Serialize)]
                struct Map<'a> {
                    columns: &'a [f64],
                    rows: &'a [f64],
                    cells: &'a [f64],
                    value: &'a str,
                }
                map.serialize_entry("kind", "map")?;
                let drawn = Map {
                    columns,
                    rows,
                    cells,
                    value,
                };
                map.serialize_entry("map", &drawn)?;
            }
        }
        map.end()
    }
}
