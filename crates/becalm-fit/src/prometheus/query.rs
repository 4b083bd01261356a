//! What is Prometheus asked? One query, whose series say by a label what each is.

use std::fmt::Write as _;
use std::time::Duration;

use crate::log::Unit;

/// A question about the histogram, or the summary, of a service.
#[derive(Debug, Clone)]
pub struct Query {
    metric: String,
    unit: &'static str,
    matchers: String,
    in_flight: Option<String>,
    window: Duration,
}

/// The label that says what a series is.
pub const LABEL: &str = "becalm";

/// Names that labels have which say how a request was answered, and the values that say that it was not, or not in time.
const STATUSES: [(&str, &str); 8] = [
    ("code", REFUSED),
    ("status", REFUSED),
    ("status_code", REFUSED),
    ("http_status_code", REFUSED),
    ("http_response_status_code", REFUSED),
    ("response_code", REFUSED),
    ("grpc_code", GRPC),
    ("rpc_grpc_status_code", "4|8|13|14"),
];
const REFUSED: &str = "429|5..|5xx|0";
const GRPC: &str = "Unavailable|ResourceExhausted|DeadlineExceeded|Internal";

impl Query {
    /// About this histogram, by its name without `_bucket`, `_sum` or `_count`, and with its unit where the name does not say it:
    /// `http_request_duration_seconds`, `upstream_rq_time:ms`. Of series that have these labels, `{job="orders"}`.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong with it.
    pub fn new(
        metric: &str,
        matchers: &str,
        in_flight: Option<&str>,
        step: Duration,
    ) -> Result<Self, String> {
        let (name, unit) = match metric.rsplit_once(':') {
            Some((name, unit)) if Unit::named(unit).is_some() => (name, Some(unit)),
            _ => (metric, None),
        };
        let base = ["_bucket", "_sum", "_count"]
            .iter()
            .find_map(|it| name.strip_suffix(it));
        let name = base.unwrap_or(name);
        let is_name = |it: &str| {
            !it.is_empty()
                && it
                    .chars()
                    .all(|it| it.is_ascii_alphanumeric() || it == '_' || it == ':')
        };
        if !is_name(name) {
            return Err(format!("{metric} is no name of a metric"));
        }
        let says = |ends: &[&str]| ends.iter().any(|it| name.ends_with(it));
        let unit = match unit {
            Some(unit) => unit,
            None if says(&["_seconds"]) => "s",
            None if says(&["_milliseconds", "_millis", "_ms"]) => "ms",
            None if says(&["_microseconds", "_micros", "_us"]) => "us",
            None => {
                return Err(format!(
                    "the name {name} does not say its unit; write {name}:s, {name}:ms or {name}:us"
                ));
            }
        };
        let unit = match unit {
            "s" => "s",
            "ms" => "ms",
            "us" => "us",
            _ => {
                return Err(format!(
                    "{unit} is no unit of a histogram; write s, ms or us"
                ));
            }
        };
        let inner = matchers.trim();
        let braced = inner.strip_prefix('{').and_then(|it| it.strip_suffix('}'));
        let inner = braced.unwrap_or(inner).trim().trim_end_matches(',');
        if let Some(gauge) = in_flight.filter(|it| !is_name(it)) {
            return Err(format!("{gauge} is no name of a metric"));
        }
        Ok(Self {
            metric: name.to_owned(),
            unit,
            matchers: inner.to_owned(),
            in_flight: in_flight.map(str::to_owned),
            // Four scrapes or more, as most scrape once in a step or more often: of two, one that failed leaves none.
            window: step * 4,
        })
    }

    /// The query, as text.
    pub fn text(&self) -> String {
        let (metric, unit) = (&self.metric, self.unit);
        let window = format!("[{}ms]", self.window.as_millis());
        let all = self.selector("");
        let rate = |suffix: &str| format!("rate({metric}{suffix}{all}{window})");
        let mut text = String::new();
        let mut add = |series: &str, kind: &str| {
            let or = if text.is_empty() { "" } else { " or " };
            let _ = write!(
                text,
                r#"{or}label_replace({series},"{LABEL}","{kind}","","")"#
            );
        };
        add(&format!("sum({})", rate("_count")), "rate");
        add(&format!("sum({})", rate("_sum")), &format!("time_{unit}"));
        add(
            &format!("sum by (le) ({})", rate("_bucket")),
            &format!("bucket_{unit}"),
        );
        let each = |value: fn(&str) -> String, series: &dyn Fn(&str) -> String| {
            let each = STATUSES.map(|(label, refused)| {
                series(&self.selector(&format!("{label}{}", value(refused))))
            });
            each.join(" or ")
        };
        let refused = each(|it| format!("=~\"{it}\""), &|selector| {
            format!("rate({metric}_count{selector}{window})")
        });
        add(&format!("sum({refused})"), "failed");
        let told = each(|_| "!=\"\"".into(), &|selector| {
            format!("{metric}_count{selector}")
        });
        add(&format!("count({told})"), "told");
        add(
            &format!("count(count by (instance) ({metric}_count{all}))"),
            "instances",
        );
        if let Some(gauge) = &self.in_flight {
            add(
                &format!("sum(avg_over_time({gauge}{all}{window}))"),
                "in_flight",
            );
        }
        text
    }

    fn selector(&self, more: &str) -> String {
        let each = [self.matchers.as_str(), more];
        let each: Vec<_> = each.into_iter().filter(|it| !it.is_empty()).collect();
        if each.is_empty() {
            String::new()
        } else {
            format!("{{{}}}", each.join(","))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Duration = Duration::from_secs(15);

    #[test]
    fn one_query_asks_for_all_and_says_what_each_series_is() {
        let query = Query::new(
            "http_request_duration_seconds",
            r#"{job="orders",}"#,
            Some("in_flight"),
            STEP,
        );
        let text = query.expect("a query").text();
        for part in [
            r#"label_replace(sum(rate(http_request_duration_seconds_count{job="orders"}[60000ms])),"becalm","rate","","")"#,
            r#"(sum by (le) (rate(http_request_duration_seconds_bucket{job="orders"}[60000ms])),"becalm","bucket_s","","")"#,
            r#"rate(http_request_duration_seconds_count{job="orders",status=~"429|5..|5xx|0"}[60000ms])"#,
            r#"sum(avg_over_time(in_flight{job="orders"}[60000ms])),"becalm","in_flight""#,
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let bare = Query::new("rq_time_bucket:ms", "", None, STEP)
            .expect("a query")
            .text();
        assert!(
            bare.contains(r#"sum(rate(rq_time_sum[60000ms])),"becalm","time_ms""#),
            "{bare}"
        );
        assert!(!bare.contains("in_flight"), "{bare}");
    }

    #[test]
    fn a_unit_is_not_guessed_and_a_name_is_one() {
        for (metric, part) in [
            ("rq_time", "does not say its unit; write rq_time:s"),
            ("rq_time:ns", "ns is no unit of a histogram"),
            ("a b_seconds", "is no name of a metric"),
            ("", "is no name of a metric"),
        ] {
            let sentence = Query::new(metric, "", None, STEP).expect_err(metric);
            assert!(sentence.contains(part), "{sentence}");
        }
    }
}
