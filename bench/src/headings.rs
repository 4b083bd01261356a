//! Which tables are there, and what does each show?

use crate::measure::Group;

/// One table: what it shows, and in which unit.
pub struct Heading {
    /// Its rows.
    pub group: Group,
    /// Its title.
    pub title: &'static str,
    /// What the title does not say.
    pub explanation: &'static str,
    /// Of its figures.
    pub unit: &'static str,
    /// How its rows are compared with the first one.
    pub compared: Compared,
}

/// How the rows of a table are compared with its first one, and the name of that column.
#[derive(Debug, Clone, Copy)]
pub enum Compared {
    /// Not at all.
    Alone,
    /// By difference.
    Over(&'static str),
    /// By share.
    Of(&'static str),
}

impl Compared {
    /// The name of the column.
    pub fn column(self) -> Option<&'static str> {
        match self {
            Self::Alone => None,
            Self::Over(column) | Self::Of(column) => Some(column),
        }
    }
}

/// In the order of the report.
pub const HEADINGS: [Heading; 26] = [
    Heading {
        group: Group::SuccessAsync,
        title: "An async call that succeeds at once",
        explanation: "Polled in a loop without a runtime.",
        unit: "ns per call",
        compared: Compared::Over("over the bare call"),
    },
    Heading {
        group: Group::SuccessBlocking,
        title: "A blocking call that succeeds at once",
        explanation: "",
        unit: "ns per call",
        compared: Compared::Over("over the bare call"),
    },
    Heading {
        group: Group::RecoveryAsync,
        title: "An async call that fails once, without a wait",
        explanation: "The library's decision and bookkeeping: its timer is replaced by one that is \
                      always ready. tryhard, tokio-retry and tower-resilience have no place to replace \
                      it.",
        unit: "ns per call",
        compared: Compared::Over("over a bare loop"),
    },
    Heading {
        group: Group::RecoveryTimer,
        title: "An async call that fails once and waits a millisecond",
        explanation: "On tokio's timer with its clock paused, so that the wait takes no time but \
                      the timer costs what it costs.",
        unit: "ns per call",
        compared: Compared::Over("over a bare loop"),
    },
    Heading {
        group: Group::RecoveryBlocking,
        title: "A blocking call that fails once, without a wait",
        explanation: "",
        unit: "ns per call",
        compared: Compared::Over("over a bare loop"),
    },
    Heading {
        group: Group::Delay,
        title: "One delay with jitter",
        explanation: "The next one of a schedule without end.",
        unit: "ns per delay",
        compared: Compared::Alone,
    },
    Heading {
        group: Group::Decision,
        title: "A decision after a failure",
        explanation: "From the failed attempt to the delay, the budget asked.",
        unit: "ns per decision",
        compared: Compared::Alone,
    },
    Heading {
        group: Group::Breaker,
        title: "A breaker that stays closed",
        explanation: "One thread, calls that succeed at once, admitted and recorded. What has no \
                      breaker outside of a service or a policy is called through the least of those.",
        unit: "ns per call",
        compared: Compared::Over("over the bare call"),
    },
    Heading {
        group: Group::BreakerTogether,
        title: "Two threads, one breaker that stays closed",
        explanation: "Both threads together.",
        unit: "million calls per second",
        compared: Compared::Of("of the atomic add"),
    },
    Heading {
        group: Group::Hedge,
        title: "A hedge that does not fire",
        explanation: "An async call that succeeds at its first poll, within reach of a timer.",
        unit: "ns per call",
        compared: Compared::Over("over the bare call"),
    },
    Heading {
        group: Group::ThrottleSuccess,
        title: "Budgets and throttles: a call that succeeds at once",
        explanation: "What the library's loop asks of it for such a call, without the loop.",
        unit: "ns per call",
        compared: Compared::Alone,
    },
    Heading {
        group: Group::ThrottleRecovery,
        title: "Budgets and throttles: a call that fails once",
        explanation: "The failure, the retry that is granted, and its success.",
        unit: "ns per call",
        compared: Compared::Alone,
    },
    Heading {
        group: Group::ThrottleTogether,
        title: "Two threads, one budget or throttle",
        explanation: "Calls that succeed at once, both threads together.",
        unit: "million calls per second",
        compared: Compared::Of("of the atomic add"),
    },
    Heading {
        group: Group::Budget,
        title: "Two threads, one budget",
        explanation: "Both threads together.",
        unit: "million operations per second",
        compared: Compared::Of("of the atomic add"),
    },
    Heading {
        group: Group::Stack,
        title: "The whole stack",
        explanation: "Deadline, retry, breaker, budget, attempt timeout: an async call that succeeds at \
                      its first poll, within reach of a timer.",
        unit: "ns per call",
        compared: Compared::Over("over the bare call"),
    },
    Heading {
        group: Group::SuccessInRuntime,
        title: "In a default build: an async call that succeeds at once, inside a runtime",
        explanation: "What a current-thread runtime of tokio blocks on.",
        unit: "ns per call",
        compared: Compared::Over("over the bare call"),
    },
    Heading {
        group: Group::SuccessInTask,
        title: "In a default build: the same in a spawned task",
        explanation: "There becalm notes the task's number, so that no other task is taken for a part of \
                      the call.",
        unit: "ns per call",
        compared: Compared::Over("over the bare call"),
    },
    Heading {
        group: Group::PermanentFailure,
        title: "In a default build: an async call whose first failure is permanent",
        explanation: "Not found, say. becalm keeps a record of the attempt for the error.",
        unit: "ns per call",
        compared: Compared::Over("over the bare call"),
    },
    Heading {
        group: Group::RecoveryInRuntime,
        title: "In a default build: an async call that fails once, without a wait",
        explanation: "Inside a runtime; the timer is replaced by one that is always ready.",
        unit: "ns per call",
        compared: Compared::Over("over a bare loop"),
    },
    Heading {
        group: Group::HoldFew,
        title: "Simulating: ten events pending",
        explanation: "The hold model: each event that is handled schedules another one, memoryless, \
                      a second later on average. One thread. The simulator has one queue for \
                      few events and for many: the heaps show what that costs or gains.",
        unit: "million events per second",
        compared: Compared::Of("of the binary heap"),
    },
    Heading {
        group: Group::HoldSmall,
        title: "Simulating: a thousand events pending",
        explanation: "The same.",
        unit: "million events per second",
        compared: Compared::Of("of the binary heap"),
    },
    Heading {
        group: Group::HoldLarge,
        title: "Simulating: a hundred thousand events pending",
        explanation: "The same.",
        unit: "million events per second",
        compared: Compared::Of("of the binary heap"),
    },
    Heading {
        group: Group::HoldHuge,
        title: "Simulating: ten million events pending",
        explanation: "The same.",
        unit: "million events per second",
        compared: Compared::Of("of the binary heap"),
    },
    Heading {
        group: Group::Herd,
        title: "Simulating: a herd",
        explanation: "20 000 clients lose their connection at once and retry with full jitter, 100 ms \
                      doubled up to 20 s, against a server that refuses for a minute; an event is an \
                      attempt. The delay is one function for all, from a stream of each client's own, \
                      and the engines make the same attempts. One thread, setting up included. The shipping decision draws its \
                      delays from the same streams in its own way, and records every attempt.",
        unit: "million events per second",
        compared: Compared::Of("of the binary heap"),
    },
    Heading {
        group: Group::Runs,
        title: "Simulating: whole runs",
        explanation: "With recording, on one thread. The storms are those of the catalogue as they \
                      stand there, under the entry's policy without a budget: they stay. The herds \
                      retry with full jitter, 1 s doubled up to 30 s, through an outage of five minutes.",
        unit: "million events per second",
        compared: Compared::Alone,
    },
    Heading {
        group: Group::Sweep,
        title: "Simulating: the sweep of a published simulator",
        explanation: "Brooker's contest for one row, 10 to 190 clients, five strategies, a hundred \
                      trials of each: 60 million events. One thread.",
        unit: "s",
        compared: Compared::Alone,
    },
];
