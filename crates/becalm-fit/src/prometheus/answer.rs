//! What does an answer of Prometheus's API say? A matrix, whose series the label `becalm` tells apart.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::Deserialize;

use super::query::LABEL;
use super::range::{Bucket, Point, Range};

/// Why an answer cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unread {
    /// It is no answer of Prometheus's API.
    Shape,
    /// Prometheus says what is wrong with the query.
    Error(String),
    /// It is of one moment, not of a range.
    NoRange,
    /// It has no series, or none that was asked for.
    Empty,
    /// Series do not say what they are.
    Unlabelled,
    /// The histogram is a native one.
    Native,
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape => f.write_str("it is no answer of Prometheus's /api/v1/query_range"),
            Self::Error(sentence) => write!(f, "Prometheus refuses the query: {sentence}"),
            Self::NoRange => f.write_str("it is of one moment; ask /api/v1/query_range"),
            Self::Empty => f.write_str(
                "it has no answers in this range; look at the name of the histogram, at its labels and at --range, and let --step be no shorter than \
                 the time between two scrapes",
            ),
            Self::Unlabelled => write!(
                f,
                "its series do not say what they are; take the query that --show-query prints, or give each series a label \
                 {LABEL} of rate, time_s, bucket_s, in_flight, failed or instances with label_replace"
            ),
            Self::Native => f.write_str(
                "it has native histograms; ask for histogram_count and histogram_sum of them, with the label becalm of rate and time_s",
            ),
        }
    }
}

impl std::error::Error for Unread {}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    data: Option<Data>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Data {
    result_type: String,
    result: serde_json::Value,
}

#[derive(Deserialize)]
struct Series {
    metric: BTreeMap<String, String>,
    #[serde(default)]
    values: Vec<(f64, String)>,
    #[serde(default)]
    histograms: Vec<serde_json::Value>,
}

/// Buckets by their bounds, as seconds.
type Buckets = BTreeMap<i64, Vec<Bucket>>;

impl Range {
    /// What this answer of `/api/v1/query_range` says.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn read(text: &[u8]) -> Result<Self, Unread> {
        let answer: Answer = serde_json::from_slice(text).map_err(|_| Unread::Shape)?;
        if let Some(error) = answer.error {
            let sentence = error.chars().filter(|it| !it.is_control()).take(300);
            return Err(Unread::Error(sentence.collect()));
        }
        let data = answer.data.ok_or(Unread::Shape)?;
        if data.result_type != "matrix" {
            return Err(Unread::NoRange);
        }
        let series: Vec<Series> = serde_json::from_value(data.result).map_err(|_| Unread::Shape)?;
        Self::of(&series)
    }

    fn of(series: &[Series]) -> Result<Self, Unread> {
        let mut points: BTreeMap<i64, Point> = BTreeMap::new();
        let mut buckets = Buckets::new();
        let (mut is_labelled, mut tells_status) = (false, false);
        for each in series {
            if !each.histograms.is_empty() {
                return Err(Unread::Native);
            }
            let Some(kind) = each.metric.get(LABEL) else {
                continue;
            };
            is_labelled = true;
            tells_status |= kind == "told" || kind == "failed";
            let (kind, scale) =
                kind.rsplit_once('_')
                    .map_or((kind.as_str(), 1.0), |it| match it.1 {
                        "s" => (it.0, 1.0),
                        "ms" => (it.0, 1e-3),
                        "us" => (it.0, 1e-6),
                        _ => (kind.as_str(), 1.0),
                    });
            let bound = each.metric.get("le").map(|le| match le.as_str() {
                "+Inf" | "Inf" => f64::INFINITY,
                le => le.parse::<f64>().unwrap_or(f64::NAN) * scale,
            });
            for (at, value) in &each.values {
                let value = value
                    .parse::<f64>()
                    .ok()
                    .filter(|it| it.is_finite() && *it >= 0.0);
                let Some(value) = value else { continue };
                #[expect(clippy::cast_possible_truncation)] // milliseconds of this century
                let key = (at * 1e3).round() as i64;
                let point = points.entry(key).or_insert_with(|| Point {
                    at: *at,
                    ..Point::default()
                });
                match (kind, bound) {
                    ("rate", _) => point.rate += value,
                    ("time", _) => point.time += value * scale,
                    ("failed", _) => point.failed += value,
                    ("in_flight", _) => {
                        point.in_flight = Some(point.in_flight.unwrap_or(0.0) + value);
                    }
                    ("instances", _) => point.instances = value,
                    ("bucket", Some(bound)) if !bound.is_nan() => {
                        buckets
                            .entry(key)
                            .or_default()
                            .push(Bucket { bound, rate: value });
                    }
                    _ => {}
                }
            }
        }
        if !is_labelled && !series.is_empty() {
            return Err(Unread::Unlabelled);
        }
        for (key, mut each) in buckets {
            each.sort_by(|one, other| one.bound.total_cmp(&other.bound));
            if let Some(point) = points.get_mut(&key) {
                point.buckets = each;
            }
        }
        let points: Vec<_> = points.into_values().filter(|it| it.rate > 0.0).collect();
        let gaps = points.windows(2).map(|it| it[1].at - it[0].at);
        let step = gaps.fold(f64::INFINITY, f64::min);
        if points.is_empty() {
            return Err(Unread::Empty);
        }
        let step = if step.is_finite() { step } else { 15.0 };
        Ok(Self {
            step: Duration::from_secs_f64(step),
            points,
            tells_status,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(result: &str) -> Result<Range, Unread> {
        let text = format!(
            r#"{{"status":"success","data":{{"resultType":"matrix","result":[{result}]}}}}"#
        );
        Range::read(text.as_bytes())
    }

    #[test]
    fn series_are_told_apart_by_their_label_and_units_become_seconds() {
        let range = answer(
            r#"{"metric":{"becalm":"rate"},"values":[[10,"100"],[25,"NaN"],[40,"50"]]},
               {"metric":{"becalm":"time_ms"},"values":[[10,"2000"],[40,"500"]]},
               {"metric":{"becalm":"bucket_ms","le":"+Inf"},"values":[[10,"100"]]},
               {"metric":{"becalm":"bucket_ms","le":"20"},"values":[[10,"60"]]},
               {"metric":{"becalm":"in_flight"},"values":[[10,"2.5"]]},
               {"metric":{"becalm":"told"},"values":[[10,"1"]]}"#,
        )
        .expect("a range");
        assert_eq!(
            (range.step, range.points.len()),
            (Duration::from_secs(30), 2)
        );
        let point = &range.points[0];
        assert!((point.time - 2.0).abs() < 1e-9 && point.in_flight == Some(2.5));
        assert_eq!(
            point.buckets[0],
            Bucket {
                bound: 0.02,
                rate: 60.0
            }
        );
        assert!(range.tells_status && point.share_within(0.02) == Some(0.6));
    }

    #[test]
    fn what_is_no_range_is_refused_with_its_reason() {
        for (text, why) in [
            ("hello", Unread::Shape),
            ("{}", Unread::Shape),
            (
                r#"{"status":"error","error":"bad\u001b"}"#,
                Unread::Error("bad".into()),
            ),
            (
                r#"{"data":{"resultType":"vector","result":[]}}"#,
                Unread::NoRange,
            ),
        ] {
            assert_eq!(Range::read(text.as_bytes()), Err(why), "{text}");
        }
        assert_eq!(answer(""), Err(Unread::Empty));
        assert_eq!(
            answer(r#"{"metric":{"le":"1"},"values":[[10,"1"]]}"#),
            Err(Unread::Unlabelled)
        );
        assert_eq!(
            answer(r#"{"metric":{"becalm":"rate"},"histograms":[[10,{}]]}"#),
            Err(Unread::Native)
        );
        assert_eq!(
            answer(r#"{"metric":{"becalm":"rate"},"values":[[10,"0"]]}"#),
            Err(Unread::Empty)
        );
    }
}
