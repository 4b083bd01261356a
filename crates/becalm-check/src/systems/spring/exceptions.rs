//! Which failures of a call over HTTP does a list of Java's exceptions name?
//!
//! The classes' own places in their hierarchies: the JDK, spring-projects/spring-framework 7.0 (`RestClientException`,
//! `WebClientException` and their kinds), netty, and `FeignException` of feign. A class of the application says nothing.

use std::sync::LazyLock;

use becalm::classify::FailureKind;
use becalm::retry_on::{Failures, Statuses};

use FailureKind::{Connect, ConnectTimeout, RefusedStream, Reset, TimedOut};

/// What classes stand for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exceptions {
    /// Answers for which a client throws them.
    pub statuses: Statuses,
    /// Failures without an answer.
    pub failures: Failures,
    /// Classes that only the application knows.
    pub unknown: Vec<String>,
}

impl Exceptions {
    /// What these classes, and those below them, stand for.
    pub fn of<'a>(classes: impl IntoIterator<Item = &'a str>) -> Self {
        let mut all = Self::default();
        for class in classes {
            match found(class) {
                Some((statuses, failures)) => {
                    all.statuses = all.statuses.iter().chain(statuses.iter()).collect();
                    all.failures = all.failures.iter().chain(failures).collect();
                }
                None => all.unknown.push(class.to_owned()),
            }
        }
        all
    }

    /// What every exception stands for.
    pub fn all() -> Self {
        static ALL: LazyLock<Exceptions> =
            LazyLock::new(|| Exceptions::of(["java.lang.Throwable"]));
        ALL.clone()
    }

    /// These without what the others stand for.
    #[must_use]
    pub fn without(self, others: &Self) -> Self {
        if others.is_empty() {
            return self;
        }
        let statuses = self.statuses.iter();
        let failures = self.failures.iter();
        Self {
            statuses: statuses
                .filter(|it| !others.statuses.contains(*it))
                .collect(),
            failures: failures
                .filter(|it| !others.failures.contains(*it))
                .collect(),
            unknown: self.unknown,
        }
    }

    /// Whether nothing that a policy knows is named.
    pub fn is_empty(&self) -> bool {
        self.statuses == Statuses::default() && self.failures == Failures::default()
    }
}

fn found(class: &str) -> Option<(Statuses, Vec<FailureKind>)> {
    let (_, statuses, failures) = CLASSES.iter().find(|(it, ..)| *it == class).or_else(|| {
        let (outer, _) = inner(class)?;
        CLASSES.iter().find(|(it, ..)| *it == outer)
    })?;
    let of_one = inner(class).map(|(_, status)| Statuses::default().and(status));
    let statuses = of_one.unwrap_or_else(|| statuses.parse().unwrap_or_default());
    Some((statuses, failures.to_vec()))
}

/// Of a class for one status the class around it: `HttpServerErrorException$ServiceUnavailable`.
fn inner(class: &str) -> Option<(&str, u16)> {
    let (outer, name) = class.rsplit_once(['$', '.'])?;
    let of_status = outer.ends_with("ErrorException")
        || outer.ends_with("ResponseException")
        || outer.ends_with("FeignException");
    let status = super::status(name).or((name == "UnprocessableEntity").then_some(422));
    status.filter(|_| of_status).map(|status| (outer, status))
}

const IO: &[FailureKind] = &[Connect, ConnectTimeout, Reset, TimedOut];
const ALL: &[FailureKind] = &[Connect, ConnectTimeout, RefusedStream, Reset, TimedOut];

const CLASSES: &[(&str, &str, &[FailureKind])] = &[
    ("java.lang.Throwable", "4xx, 5xx", ALL),
    ("java.lang.Exception", "4xx, 5xx", ALL),
    ("java.lang.RuntimeException", "4xx, 5xx", ALL),
    ("java.io.IOException", "", IO),
    ("java.io.UncheckedIOException", "", IO),
    ("java.net.SocketException", "", &[Connect, Reset]),
    ("java.net.ConnectException", "", &[Connect]),
    ("java.net.NoRouteToHostException", "", &[Connect]),
    ("java.net.UnknownHostException", "", &[Connect]),
    (
        "java.net.SocketTimeoutException",
        "",
        &[ConnectTimeout, TimedOut],
    ),
    (
        "java.net.http.HttpTimeoutException",
        "",
        &[ConnectTimeout, TimedOut],
    ),
    (
        "java.net.http.HttpConnectTimeoutException",
        "",
        &[ConnectTimeout],
    ),
    ("java.util.concurrent.TimeoutException", "", &[TimedOut]),
    (
        "io.netty.channel.ConnectTimeoutException",
        "",
        &[ConnectTimeout],
    ),
    (
        "io.netty.handler.timeout.ReadTimeoutException",
        "",
        &[TimedOut],
    ),
    (
        "reactor.netty.http.client.PrematureCloseException",
        "",
        &[Reset],
    ),
    (
        "org.springframework.cloud.gateway.support.TimeoutException",
        "",
        &[TimedOut],
    ),
    (
        "org.springframework.core.NestedRuntimeException",
        "4xx, 5xx",
        IO,
    ),
    (
        "org.springframework.web.client.RestClientException",
        "4xx, 5xx",
        IO,
    ),
    (
        "org.springframework.web.client.ResourceAccessException",
        "",
        IO,
    ),
    (
        "org.springframework.web.client.RestClientResponseException",
        "4xx, 5xx",
        &[],
    ),
    (
        "org.springframework.web.client.HttpStatusCodeException",
        "4xx, 5xx",
        &[],
    ),
    (
        "org.springframework.web.client.HttpServerErrorException",
        "5xx",
        &[],
    ),
    (
        "org.springframework.web.client.HttpClientErrorException",
        "4xx",
        &[],
    ),
    (
        "org.springframework.web.reactive.function.client.WebClientException",
        "4xx, 5xx",
        IO,
    ),
    (
        "org.springframework.web.reactive.function.client.WebClientRequestException",
        "",
        IO,
    ),
    (
        "org.springframework.web.reactive.function.client.WebClientResponseException",
        "4xx, 5xx",
        &[],
    ),
    ("feign.FeignException", "4xx, 5xx", IO),
    ("feign.FeignException.FeignServerException", "5xx", &[]),
    ("feign.FeignException$FeignServerException", "5xx", &[]),
    ("feign.FeignException.FeignClientException", "4xx", &[]),
    ("feign.FeignException$FeignClientException", "4xx", &[]),
    ("feign.RetryableException", "", IO),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_stand_for_statuses_and_failures() {
        let it = Exceptions::of([
            "org.springframework.web.client.HttpServerErrorException$ServiceUnavailable",
            "org.springframework.web.client.HttpClientErrorException.TooManyRequests",
            "java.net.ConnectException",
            "com.example.OutOfStock",
        ]);
        assert_eq!(it.statuses.to_string(), "429, 503");
        assert_eq!(it.failures.to_string(), "connect");
        assert_eq!(it.unknown, ["com.example.OutOfStock"]);
        let others = Exceptions::of(["org.springframework.web.client.HttpClientErrorException"]);
        let left = Exceptions::all().without(&others);
        assert_eq!(left.statuses.to_string(), "5xx");
        assert!(!left.is_empty() && others.without(&Exceptions::all()).is_empty());
    }

    #[test]
    fn statuses_of_all_classes_are_such() {
        for (class, statuses, failures) in CLASSES {
            let read = statuses.parse::<Statuses>();
            assert!(statuses.is_empty() || read.is_ok(), "{class}");
            assert!(!statuses.is_empty() || !failures.is_empty(), "{class}");
        }
    }
}
