//! Which parameters has a world of clients and a service as a rule? One name and one meaning each,
//! whatever the scenario.

use super::Parameter;

/// Requests that a service works on at once.
pub(super) const WORKERS: Parameter = parameter!("workers": Count = "10",
    "requests that are worked on at once");

/// Places of its queue.
pub(super) const QUEUE: Parameter =
    parameter!("queue": Places = "1000", "requests that wait at most");

/// What a request takes where that is drawn.
pub(super) const MEAN_SERVICE_TIME: Parameter = parameter!("service-time": Duration = "10ms",
    "what a request takes on average");

/// Requests that the database behind the service works on at once.
pub(super) const fn database_workers(default: &'static str) -> Parameter {
    let help = "requests that the database works on at once";
    Parameter::new(WORKERS.name, WORKERS.kind, default, help)
}

/// What a request takes there where that is drawn.
pub(super) const fn database_time(default: &'static str) -> Parameter {
    let help = "what a request takes at the database on average";
    Parameter::new(
        MEAN_SERVICE_TIME.name,
        MEAN_SERVICE_TIME.kind,
        default,
        help,
    )
}

/// Places of its queue.
pub(super) const fn database_queue(default: &'static str) -> Parameter {
    let help = "requests that wait for the database at most";
    Parameter::new(QUEUE.name, QUEUE.kind, default, help)
}

/// Clients that share nothing.
pub(super) const CLIENTS: Parameter = parameter!("clients": Count = "20",
    "clients, each with a budget of its own");

/// What a request takes, always the same.
pub(super) const fn service_time(default: &'static str) -> Parameter {
    parameter!("service-time": Duration = default, "how long a request takes")
}

/// Calls of all clients together.
pub(super) const fn load(default: &'static str) -> Parameter {
    parameter!("load": Number = default, "calls per second")
}

/// How patient clients are.
pub(super) const fn timeout(default: &'static str) -> Parameter {
    parameter!("timeout": Duration = default, "when a client gives an attempt up")
}

/// What fails whatever the load.
pub(super) const fn failures(default: &'static str) -> Parameter {
    parameter!("failures": Share = default, "the share of requests that fail")
}

/// The length of a run.
pub(super) const fn horizon(default: &'static str) -> Parameter {
    parameter!("horizon": Duration = default, "how long a run lasts")
}
