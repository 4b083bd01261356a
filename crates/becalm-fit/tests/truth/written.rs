//! The lines that proxies write, and what is read of them.

use std::fmt::Write as _;
use std::io::Cursor;

use becalm_fit::log::{Log, Reader, Said};
use becalm_fit::{Ended, Fit, Fitted, Options, Request};

/// What writes a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proxy {
    Nginx,
    Envoy,
    Haproxy,
    Alb,
}

impl Proxy {
    pub const ALL: [Self; 4] = [Self::Nginx, Self::Envoy, Self::Haproxy, Self::Alb];
}

/// The day of [`crate::log::BEGIN`], on which no log ends.
const DAY: i64 = 1_790_000_000 / 86_400 * 86_400;

/// Hours, minutes and seconds of that day, with this many digits behind.
fn clock(micros: i64, digits: usize) -> String {
    let (second, rest) = (micros / 1_000_000 - DAY, micros % 1_000_000);
    let fraction = format!("{rest:06}");
    format!(
        "{:02}:{:02}:{:02}.{}",
        second / 3_600,
        second / 60 % 60,
        second % 60,
        &fraction[..digits]
    )
}

/// The lines of a log in which the upstream's time is told.
fn lines(proxy: Proxy, log: &[Request]) -> String {
    let mut text = String::new();
    for (at, request) in log.iter().enumerate() {
        let served = request.at_upstream.expect("it is told");
        let (end, status) = (
            request.end(),
            match request.ended {
                Ended::Answered(status) => status,
                Ended::Abandoned => 499,
            },
        );
        let [whole, upstream] = [request.duration, served.duration].map(|it| it as f64 / 1e6);
        let [whole_ms, upstream_ms, before_ms] =
            [request.duration, served.duration, served.earliest].map(|it| it / 1_000);
        let client = at % 250;
        let _ = match proxy {
            Proxy::Nginx => writeln!(
                text,
                "{:.3},{whole:.3},{status},10.0.0.{client},-,127.0.0.1:8000,{upstream:.3}",
                end as f64 / 1e6
            ),
            Proxy::Envoy => writeln!(
                text,
                "[2026-09-21T{}Z] \"GET /a HTTP/1.1\" {status} - 0 512 {whole_ms} {upstream_ms} \"10.0.0.{client}\" \"curl\" \"x\" \"a\" \
                 \"10.2.0.1:80\"",
                clock(request.start, 3)
            ),
            Proxy::Haproxy => writeln!(
                text,
                "10.0.0.{client}:3317 [21/Sep/2026:{}] web app/a {before_ms}/0/0/{upstream_ms}/{whole_ms} {status} 750 - - ---- \
                 9/9/3/3/0 0/0 \"GET /a HTTP/1.1\"",
                clock(request.start, 3)
            ),
            Proxy::Alb => writeln!(
                text,
                "http 2026-09-21T{}Z app/a/5 10.0.0.{client}:2817 10.0.0.1:80 {:.3} {upstream:.3} 0.000 {status} {status} 34 366 \
                 \"GET http://a:80/a HTTP/1.1\" \"curl\" - - arn:a \"Root=1\" \"-\" \"-\" 0 2026-09-21T{}Z \"forward\" \"-\" \"-\" \
                 \"10.0.0.1:80\" \"{status}\" \"-\" \"-\"",
                clock(end, 6),
                served.earliest as f64 / 1e6,
                clock(request.start, 6)
            ),
        };
    }
    text
}

/// What is said of a log that this proxy wrote.
pub fn fit(proxy: Proxy, log: &[Request]) -> Fitted {
    let input = Cursor::new(lines(proxy, log));
    let reader = Reader::open("log", input, &Said::Nothing).unwrap();
    let mut log = Log::new([reader]);
    let mut fit = Fit::new(Options::default());
    while let Some(request) = log.read().unwrap() {
        fit.push(request);
    }
    for tally in log.tallies() {
        assert_eq!(tally.unread, 0, "{tally:?}");
    }
    fit.finish()
}
