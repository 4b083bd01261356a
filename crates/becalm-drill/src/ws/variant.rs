//! Which ways to come back are set against each other? Plain data.

use becalm::support::Human;
use becalm_report::Colour;

use super::schedule::Schedule;
use super::service::Door;
use super::setup::Setup;

/// What a variant is in the drill to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The server is up again, and the service stays down.
    Storm,
    /// It comes back, and hardly any work is in vain.
    Back,
    /// It comes back as fast as can be, with two dials of each client at most, and no work is in vain.
    Appointments,
    /// Hardly anybody notices: one dial each.
    Drain,
    /// It comes back as with appointments, and nobody finds nobody.
    HandOver,
    /// It comes back as with appointments, and every session goes on.
    Sessions,
}

/// How the server goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It is killed, and nobody listens for a while.
    Kill,
    /// It is killed; its socket is held by another process, and those who dial wait in the kernel.
    KillBehindSocket,
    /// Its successor listens on the same socket, and it sends its clients there.
    Drain,
    /// It goes on, and all of its connections are cut.
    Cut,
}

/// One way to come back.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// The name in the JSON document and of `--only`: stable.
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// What it is, in a few words.
    pub description: String,
    pub colour: Colour,
    pub schedule: Schedule,
    /// Whether the clients come when the server says.
    pub heeds: bool,
    pub door: Door,
    pub fault: Fault,
    pub role: Role,
}

/// The names of all.
pub const NAMES: [&str; 8] = [
    "fixed",
    "exponential",
    "full-jitter",
    "admission",
    "appointments",
    "drain",
    "hand-over",
    "sessions",
];

/// All variants of a drill.
pub fn all(setup: &Setup) -> Vec<Variant> {
    storms(setup).into_iter().chain(guarded(setup)).collect()
}

/// Where the server lets everybody in.
fn storms(setup: &Setup) -> [Variant; 3] {
    let Setup { base, cap, .. } = *setup;
    let waits = format!("{} x 2 up to {}", Human(base), Human(cap));
    let storm = |name, title, description, colour, schedule| Variant {
        name,
        title,
        description,
        colour,
        schedule,
        heeds: true,
        door: Door::Open,
        fault: Fault::Kill,
        role: Role::Storm,
    };
    [
        storm(
            "fixed",
            "fixed delay",
            format!("dials again after {}", Human(base)),
            Colour::Red,
            Schedule::Fixed(base),
        ),
        storm(
            "exponential",
            "exponential",
            format!("{waits}, no jitter"),
            Colour::Orange,
            Schedule::Exponential(base, cap),
        ),
        storm(
            "full-jitter",
            "full jitter",
            format!("drawn below {waits}"),
            Colour::Purple,
            Schedule::FullJitter(base, cap),
        ),
    ]
}

/// Behind admission.
fn guarded(setup: &Setup) -> [Variant; 5] {
    let full_jitter = Schedule::FullJitter(setup.base, setup.cap);
    let guarded = |name, title, description: &str, colour, fault, role| Variant {
        name,
        title,
        description: description.into(),
        colour,
        schedule: full_jitter,
        heeds: true,
        door: Door::Admission,
        fault,
        role,
    };
    [
        Variant {
            heeds: false,
            ..guarded(
                "admission",
                "admission",
                "a bounded queue and 503, clients that hear nothing else",
                Colour::Sky,
                Fault::Kill,
                Role::Back,
            )
        },
        guarded(
            "appointments",
            "appointments",
            "503 with a place of one's own",
            Colour::Green,
            Fault::Kill,
            Role::Appointments,
        ),
        guarded(
            "drain",
            "drain",
            "the old server sends its clients on, one by one",
            Colour::Blue,
            Fault::Drain,
            Role::Drain,
        ),
        guarded(
            "hand-over",
            "hand-over",
            "the listening socket outlives the kill",
            Colour::Ink,
            Fault::KillBehindSocket,
            Role::HandOver,
        ),
        guarded(
            "sessions",
            "sessions",
            "all connections are cut, the server goes on",
            Colour::Muted,
            Fault::Cut,
            Role::Sessions,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::setup::tests::usual;
    use super::*;

    #[test]
    fn each_is_valid_and_has_its_name() {
        let variants = all(&usual());
        let names: Vec<_> = variants.iter().map(|it| it.name).collect();
        assert_eq!(names, NAMES);
        for variant in variants {
            assert_eq!(variant.schedule.reconnect(variant.heeds).validate(), Ok(()));
        }
    }
}
