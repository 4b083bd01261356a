//! What can be said about a Prometheus that is asked in place of a log?

use std::time::Duration;

use becalm::duration::parse as duration;

/// Where a range comes from, and which.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Prometheus, in place of a log")]
pub struct RangeArgs {
    #[arg(long, value_name = "URL|FILE", help = PROMETHEUS, conflicts_with_all = ["logs", "format", "log_format", "json_fields", "sampled", "pool", "split"])]
    pub prometheus: Option<String>,

    #[arg(long, value_name = "NAME[:UNIT]", conflicts_with = "query", help = METRIC)]
    pub metric: Option<String>,

    /// Labels of its series, such as '{job="orders"}'; without them all are one service
    #[arg(
        long = "match",
        value_name = "LABELS",
        default_value = "",
        hide_default_value = true,
        requires = "metric"
    )]
    pub matchers: String,

    /// A gauge of the requests in the service, with the same labels, beside what Little's law says
    #[arg(long, value_name = "NAME", requires = "metric")]
    pub in_flight: Option<String>,

    /// Your own query in place of --metric: each of its series has a label "becalm" that says what it is (--help)
    #[arg(long, value_name = "PROMQL")]
    pub query: Option<String>,

    /// How far back from --until to look
    #[arg(long, value_name = "DURATION", default_value = "6h", value_parser = duration)]
    pub range: Duration,

    /// The end of the range, as RFC 3339 or seconds since 1970 [default: now]
    #[arg(long, value_name = "MOMENT", value_parser = moment)]
    pub until: Option<f64>,

    /// The time between two points: how often Prometheus scrapes the service, or longer
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = duration)]
    pub step: Duration,

    /// Print the query, and how curl asks it, and ask nothing
    #[arg(long, requires = "metric")]
    pub show_query: bool,
}

const PROMETHEUS: &str = "Ask this Prometheus, or read this file of what its /api/v1/query_range answered: http://127.0.0.1:9090, range.json";

const METRIC: &str = "The histogram or summary of how long requests took, with its unit if its name does not say it: \
                      http_request_duration_seconds, rq_time:ms";

fn moment(text: &str) -> Result<f64, String> {
    #[expect(clippy::cast_precision_loss)] // microseconds of this century
    let seconds = becalm_fit::log::moment(text).map(|it| it as f64 / 1e6);
    seconds
        .ok_or_else(|| "write a moment such as 2026-11-23T11:02:31Z, or seconds since 1970".into())
}
