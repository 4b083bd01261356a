//! What can be said about the logs that are fitted?

use std::path::PathBuf;
use std::time::Duration;

use becalm::duration::parse as duration;
use becalm_fit::log::Kind;

use super::asked::RangeArgs;

/// Fit a scenario to an access log: what the service can do, and when it is called
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
#[command(long_about = LONG_ABOUT, after_help = EXAMPLES, after_long_help = AFTER_HELP, arg_required_else_help = true)]
pub struct Args {
    /// Access logs of one service, in any order; "-" is standard input
    ///
    /// The files that a rotation left are read as one log, by time. A compressed one comes on standard input: zcat
    /// access.log.2.gz | becalm fit - access.log.1 access.log
    #[arg(value_name = "LOG", required_unless_present_any = ["prometheus", "show_query"])]
    pub logs: Vec<PathBuf>,

    /// The format of the lines: nginx, envoy, apache (with %D), traefik, json, pairs (name=value), haproxy, alb, elb or csv
    /// [default: found out by the first lines]
    #[arg(long, value_name = "FORMAT", help_heading = LINES)]
    pub format: Option<Kind>,

    #[arg(long, value_name = "TEXT", conflicts_with = "format", help_heading = LINES, help = WRITTEN)]
    pub log_format: Option<String>,

    #[arg(long, value_name = "NAMES", conflicts_with_all = ["format", "log_format"], help_heading = LINES, help = NAMED)]
    pub json_fields: Option<String>,

    /// The share of all requests that the log has, above 0 and at most 1 [default: 1]
    ///
    /// No log shows that lines were left out, and what a request found cannot be counted in one where they were: less than 1
    /// gives rates, and no workers and no capacity.
    #[arg(long, value_name = "SHARE", value_parser = share, default_value_t = 1.0, hide_default_value = true, help_heading = LINES)]
    pub sampled: f64,

    #[command(flatten)]
    pub range: RangeArgs,

    /// Leave out requests that took longer than this, such as long polls and streams, which take no worker: 10s
    ///
    /// Without it they are left out where the log says something without them alone, and becalm says so.
    #[arg(long, value_name = "DURATION", value_parser = duration, help_heading = LINES)]
    pub longer_than: Option<Duration>,

    /// Read the requests of one upstream alone: its address as the log has it, or its number in the order of appearance
    #[arg(long, value_name = "UPSTREAM", conflicts_with = "split", help_heading = POOLS)]
    pub pool: Option<String>,

    /// Fit each upstream apart, up to 32 of them
    #[arg(long, conflicts_with = "out", help_heading = POOLS)]
    pub split: bool,

    /// One pool of workers wrote the log, although it names no upstream
    #[arg(long, help_heading = POOLS)]
    pub one_pool: bool,

    /// Write the scenario into this file, for "becalm storm FILE"
    #[arg(long, value_name = "FILE.toml", help_heading = REPORTS)]
    pub out: Option<PathBuf>,

    /// The name that the scenario gets
    #[arg(long, value_name = "NAME", default_value = "fitted", help_heading = REPORTS)]
    pub name: String,

    /// Write a report: one HTML file that needs no other
    #[arg(long, value_name = "FILE", help_heading = REPORTS)]
    pub report: Option<PathBuf>,

    /// Print one JSON document instead (--help shows its shape)
    #[arg(long, help_heading = REPORTS)]
    pub json: bool,

    /// Exit with 1 unless the log shows how much the service can do, for a build
    #[arg(long, help_heading = REPORTS)]
    pub strict: bool,
}

const WRITTEN: &str = "How a line is written, as nginx's log_format or Apache's LogFormat (the text or the whole directive), Envoy's text \
                       format or gunicorn's --access-logformat has it";

const NAMED: &str = "Which members of a JSON object, or of name=value, say what: start=ts,duration=took:ms,status=res.code (and end, client, \
                     method, target, id, upstream, upstream-time, retries); units are s, ms, us and ns";

const LINES: &str = "Lines";
const POOLS: &str = "Pools";
const REPORTS: &str = "Reports";

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|it| *it > 0.0 && *it <= 1.0);
    share.ok_or_else(|| "write a share above 0 and at most 1, such as 0.1".into())
}

const LONG_ABOUT: &str = "\
Fit a scenario to an access log: what the service can do, and when it is called

How many requests a request found under way, and how long it took, tell how many the service works on at once, and so \
what it can do, as soon as it was filled now and then; below that the log gives a lower bound, and becalm says so. \
Aborts tell when clients give up, quick refusals tell the queue, and repeated requests tell how clients retry. Each \
value is measured, with its 95 % interval, assumed, or to be asked. Nothing leaves the log but numbers: no address, \
path or id.";

const EXAMPLES: &str = "\
Examples:
  becalm fit /var/log/nginx/becalm.log --out mine.toml && becalm storm mine.toml
  becalm fit access.log access.log.1 --report fit.html
  zcat access.log.2.gz | becalm fit -
  becalm fit app.log --log-format '$msec $status $request_time' --one-pool
  becalm fit app.json --json-fields end=ts,duration=latency:s,status=status
  becalm fit --prometheus http://127.0.0.1:9090 --metric http_request_duration_seconds --match '{job=\"orders\"}'";

const AFTER_HELP: &str = "\
Formats: nginx (any log_format with $request_time and $msec, $time_local or $time_iso8601), Envoy (its default, Istio's, \
others with --log-format), JSON objects of Caddy, Traefik, Kong, pino, Google's load balancer, Envoy Gateway, Istio or \
nginx, others with --json-fields, name=value, HAProxy's option httplog, AWS's load balancers, Apache with --format apache \
or --log-format, Traefik's common, gunicorn with --log-format, and CSV with the header start,duration,status[,client,id,\
target,upstream]: seconds (or start_ms, duration_us and so on), and as status a number or \"abandoned\". No unit is \
guessed. What serves best is nginx's

  log_format becalm '$msec,$request_time,$status,$remote_addr,$http_x_request_id,$upstream_addr,$upstream_response_time';

The JSON document: schema, becalm (version), conclusion, files (format, lines, left_out (the first, of another format), requests, unread, \
first_unread (line, why)), fits (pool (null, or the number of the upstream), requests, length_s, knee (seen, open, refused), ends (answered, \
refused, failed, abandoned), values (id, title, unit, value or null, low and high of the 95 % interval or null, how \
(measured, assumed, ask), because), curve (number, requests, mean_s, low_s, high_s, fitted_s), windows (from_s, length_s, requests, \
rate, knee, workers, capacity, time_s), warnings (code, sentence)), and scenario (as TOML). Names and units are stable; \
new ones may be added.

Examples:
  becalm fit /var/log/nginx/becalm.log --out mine.toml && becalm storm mine.toml
  becalm fit access.log access.log.1 --report fit.html
  zcat access.log.2.gz | becalm fit -
  becalm fit app.log --log-format '$msec $status $request_time' --one-pool
  becalm fit app.json --json-fields end=ts,duration=latency:s,status=status
  becalm fit --prometheus http://127.0.0.1:9090 --metric http_request_duration_seconds --match '{job=\"orders\"}'

Prometheus: one query asks for rates, times, buckets, failures and processes over --range, and is printed; --show-query \
prints it and asks nothing. A series of --query has a label becalm (label_replace(.., \"becalm\", \"rate\", \"\", \"\")): \
rate (answers a second), time_s, time_ms or time_us (what they took, a second), bucket_s, bucket_ms or bucket_us (with le), \
in_flight, failed (answers a second), told (of any value: the status is known) or instances. A series of another label is refused. A range shows a capacity where a stretch of it had no room left, and a \
lower bound elsewhere.

Exit code: 0; 1 with --strict when the log or the range does not show how much the service can do; 2 for a refused command line or \
log.";
