//! What do WebSocket clients do by default before they connect again?
//!
//! As a policy: what comes with a connection (the time after which it counts as healthy, close
//! codes) is not part of it.

use super::{BARE, Preset, ms, secs};
use crate::jitter::Jitter;
use crate::policy::Policy;

presets! {
    "reconnecting-websocket" of "pladaria/reconnecting-websocket 4.4.0":
        BARE {
            base: secs(3), multiplier: 1.3, cap: secs(10),
            jitter: Jitter::Proportional(2.0 / 3.0),
        }
        but "The library draws its base from 1 to 5 s once, when it is loaded, and adds no \
             jitter afterwards; here every delay is drawn around a base of 3 s.";

    "reconnecting-websocket-joewalnes" of "joewalnes/reconnecting-websocket, as of November 2026":
        BARE { base: secs(1), multiplier: 1.5, cap: secs(30) };

    "graphql-ws" of "graphql-ws 6.4.2, retryAttempts 5":
        BARE { attempts: 6, base: secs(1), jitter: Jitter::Additive(secs(3)) }
        but "The library adds from 0.3 to 3 s to each delay, here it is from 0 to 3 s.";

    "centrifuge" of "centrifuge-js 5.8":
        BARE { base: ms(500), cap: secs(20), floor: ms(500), jitter: Jitter::Full }
        but "The library adds the draw to its least delay of 0.5 s and clips the sum at 20 s; \
             here the draw ends half a second sooner from the second retry on.";
}
