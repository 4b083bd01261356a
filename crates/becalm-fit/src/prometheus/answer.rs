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
    /// It is a page of HTML.
    Page,
    /// Prometheus says what is wrong with the query.
    Error(String),
    /// It is of one moment, not of a range.
    NoRange,
    /// It has no series, or none that was asked for.
    Empty,
    /// No step says both how many were answered and how long they took.
    Halves,
    /// A series is called something else.
    Unknown(String),
    /// Series do not say what they are.
    Unlabelled,
    /// The histogram is a native one.
    Native,
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape => f.write_str("it is no answer of Prometheus's /api/v1/query_range"),
            Self::Page => f.write_str(
                "it is a page of HTML, such as one that asks who you are; let curl ask, which can say it (--show-query)",
            ),
            Self::Error(sentence) => write!(f, "Prometheus refuses the query: {sentence}"),
            Self::NoRange => f.write_str("it is of one moment; ask /api/v1/query_range"),
            Self::Empty => f.write_str(
                "it has no answers in this range; look at the name of the histogram, at its labels and at --range, and let --step be no shorter than \
                 the time between two scrapes",
            ),
            Self::Halves => write!(
                f,
                "no step of it says both how many requests were answered ({LABEL}=\"rate\") and how long these took \
                 ({LABEL}=\"time_s\"); without both nothing is told of the service"
            ),
            Self::Unknown(kind) => write!(
                f,
                "a series has the label {LABEL} of {kind}, which says nothing; it is one of {KINDS}"
            ),
            Self::Unlabelled => write!(
                f,
                "its series do not say what they are; take the query that --show-query prints, or give each series a label \
                 {LABEL} with label_replace: {KINDS}"
            ),
            Self::Native => f.write_str(
                "it has native histograms; ask for histogram_count and histogram_sum of them, with the label becalm of rate and time_s",
            ),
        }
    }
}

impl std::error::Error for Unread {}

/// What a series may be; times have a unit.
const KINDS: &str = "rate, time_s, time_ms, time_us, bucket_s, bucket_ms, bucket_us, in_flight, failed, told or instances";
/// No service has as many requests, nor a time as long, in whatever unit.
const MOST: f64 = 1e15;
/// Of fewer requests in a second nothing is told.
const LEAST: f64 = 1e-9;
/// A moment of the year 5138.
const LATEST: f64 = 1e11;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Rate,
    Time,
    Bucket,
    InFlight,
    Failed,
    Told,
    Instances,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    status: String,
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

/// What was answered within bounds, by the moment and the bound's bits, which are in the order of bounds from 0 on.
type Buckets = BTreeMap<(i64, u64), f64>;

impl Range {
    /// What this answer of `/api/v1/query_range` says.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn read(text: &[u8]) -> Result<Self, Unread> {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        if text.trim_ascii_start().starts_with(b"<") {
            return Err(Unread::Page);
        }
        let answer: Answer = serde_json::from_slice(text).map_err(|_| Unread::Shape)?;
        if answer.status == "error" || answer.error.is_some() {
            let error = answer.error.unwrap_or_else(|| "it does not say why".into());
            return Err(Unread::Error(printable(&error, 300)));
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
            let Some(label) = each.metric.get(LABEL) else {
                continue;
            };
            let (kind, scale) = kind(label).ok_or_else(|| Unread::Unknown(printable(label, 40)))?;
            is_labelled = true;
            tells_status |= matches!(kind, Kind::Told | Kind::Failed);
            let bound = each.metric.get("le").and_then(|le| le.parse::<f64>().ok());
            let bound = bound.map(|it| it * scale).filter(|it| *it >= 0.0);
            for (at, value) in &each.values {
                if !(0.0..LATEST).contains(at) {
                    return Err(Unread::Shape);
                }
                let value = value.parse::<f64>().ok();
                let Some(value) = value.filter(|it| (0.0..MOST).contains(it)) else {
                    continue;
                };
                #[expect(clippy::cast_possible_truncation)] // milliseconds of some thousand years
                let key = (at * 1e3).round() as i64;
                let point = points.entry(key).or_insert_with(|| Point {
                    at: *at,
                    ..Point::default()
                });
                match kind {
                    Kind::Rate => point.rate += value,
                    Kind::Time => point.time += value * scale,
                    Kind::Failed => point.failed += value,
                    Kind::InFlight => {
                        point.in_flight = Some(point.in_flight.unwrap_or(0.0) + value);
                    }
                    Kind::Instances => point.instances += value,
                    Kind::Bucket => {
                        if let Some(bound) = bound {
                            *buckets.entry((key, bound.to_bits())).or_default() += value;
                        }
                    }
                    Kind::Told => {}
                }
            }
        }
        if !is_labelled && !series.is_empty() {
            return Err(Unread::Unlabelled);
        }
        for ((key, bound), rate) in buckets {
            if let Some(point) = points.get_mut(&key) {
                let bound = f64::from_bits(bound);
                point.buckets.push(Bucket { bound, rate });
            }
        }
        let answered = |it: &Point| it.rate > LEAST;
        if !points.values().any(answered) {
            return Err(Unread::Empty);
        }
        let points = points.into_values();
        // Without its time a step would seem to take none.
        let points = points.filter(|it| answered(it) && it.time > 0.0);
        let points = points.map(|it| Point {
            failed: it.failed.min(it.rate),
            ..it
        });
        let points: Vec<_> = points.collect();
        if points.is_empty() {
            return Err(Unread::Halves);
        }
        let gaps = points.windows(2).map(|it| it[1].at - it[0].at);
        let step = gaps.fold(f64::INFINITY, f64::min);
        let step = if step.is_finite() { step } else { 15.0 };
        Ok(Self {
            step: Duration::from_secs_f64(step),
            points,
            tells_status,
        })
    }
}

/// What a series of this label is, and how many seconds its unit has.
fn kind(label: &str) -> Option<(Kind, f64)> {
    Some(match label {
        "rate" => (Kind::Rate, 1.0),
        "failed" => (Kind::Failed, 1.0),
        "told" => (Kind::Told, 1.0),
        "in_flight" => (Kind::InFlight, 1.0),
        "instances" => (Kind::Instances, 1.0),
        _ => {
            let (kind, unit) = label.rsplit_once('_')?;
            let kind = match kind {
                "time" => Kind::Time,
                "bucket" => Kind::Bucket,
                _ => return None,
            };
            let scale = match unit {
                "s" => 1.0,
                "ms" => 1e-3,
                "us" => 1e-6,
                _ => return None,
            };
            (kind, scale)
        }
    })
}

fn printable(text: &str, most: usize) -> String {
    let letters = text.chars().filter(|it| !it.is_control());
    letters.take(most).collect()
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
            ("\u{feff}{}", Unread::Shape),
            (" <!doctype html>", Unread::Page),
            (
                r#"{"status":"error"}"#,
                Unread::Error("it does not say why".into()),
            ),
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
            answer(r#"{"metric":{"becalm":"rate"},"values":[[1e300,"1"]]}"#),
            Err(Unread::Shape)
        );
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
        for (kind, value, why) in [
            ("told", "1", Unread::Halves),
            ("time_s", "NaN", Unread::Halves),
            ("time_s", "0", Unread::Halves),
            ("time", "1", Unread::Unknown("time".into())),
            ("time_ns", "1", Unread::Unknown("time_ns".into())),
            ("errors", "1", Unread::Unknown("errors".into())),
        ] {
            let read = answer(&format!(
                r#"{{"metric":{{"becalm":"rate"}},"values":[[10,"1"]]}},
                   {{"metric":{{"becalm":"{kind}"}},"values":[[10,"{value}"]]}}"#
            ));
            assert_eq!(read, Err(why), "{kind} {value}");
        }
    }

    #[test]
    fn a_step_without_its_time_is_left_out_and_label_sets_are_added_up() {
        let range = answer(
            r#"{"metric":{"becalm":"rate","pod":"a"},"values":[[10,"3"],[25,"3"],[40,"1e300"]]},
               {"metric":{"becalm":"rate","pod":"b"},"values":[[10,"1"],[25,"1"]]},
               {"metric":{"becalm":"time_s"},"values":[[10,"2"]]},
               {"metric":{"becalm":"failed"},"values":[[10,"5"]]},
               {"metric":{"becalm":"bucket_s","pod":"a","le":"0.1"},"values":[[10,"2"]]},
               {"metric":{"becalm":"bucket_s","pod":"a","le":"+Inf"},"values":[[10,"3"]]},
               {"metric":{"becalm":"bucket_s","pod":"b","le":"0.1"},"values":[[10,"1"]]},
               {"metric":{"becalm":"bucket_s","pod":"b","le":"+Inf"},"values":[[10,"1"]]},
               {"metric":{"becalm":"instances","pod":"a"},"values":[[10,"1"]]},
               {"metric":{"becalm":"instances","pod":"b"},"values":[[10,"1"]]}"#,
        )
        .expect("a range");
        let [point] = &range.points[..] else {
            panic!("{range:?}")
        };
        assert_eq!((point.rate, point.failed, point.instances), (4.0, 4.0, 2.0));
        assert_eq!(point.share_within(0.1), Some(0.75));
    }
}
