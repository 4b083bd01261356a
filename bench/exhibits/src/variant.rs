//! Which clients are set against each other? Plain data.

use becalm_report::Colour;
use serde::{Deserialize, Serialize};

/// Whose connection the tasks of a process share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Client {
    /// `redis::aio::ConnectionManager` with its defaults.
    Manager,
    /// becalm-redis, told that every command may be repeated.
    GateOff,
    /// becalm-redis as it is.
    GateOn,
}

/// One client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variant {
    /// The name in the JSON document and of `--only`: stable.
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// What it is, in a few words.
    pub description: &'static str,
    pub colour: Colour,
    pub client: Client,
}

/// The names of all.
pub const NAMES: [&str; 3] = ["connection-manager", "gate-off", "gate-on"];

/// All variants of a drill.
pub const ALL: [Variant; 3] = [
    Variant {
        name: NAMES[0],
        title: "ConnectionManager",
        description: "of redis 1.8, with its defaults: it dials again, and repeats no command",
        colour: Colour::Orange,
        client: Client::Manager,
    },
    Variant {
        name: NAMES[1],
        title: "gate off",
        description: "becalm-redis, told by .repeatable() that every command may be sent again",
        colour: Colour::Red,
        client: Client::GateOff,
    },
    Variant {
        name: NAMES[2],
        title: "gate on",
        description: "becalm-redis as it is: an increment is sent again only if it is proved that it was not sent",
        colour: Colour::Green,
        client: Client::GateOn,
    },
];
