//! What goes wrong in a drill of a target? A fault of its room, or more load.

use std::fmt;
use std::str::FromStr;

use becalm_sim::scenario::Effect;

use crate::fault::Fault;

/// What goes wrong, while it lasts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Trouble {
    /// Something is broken.
    Fault(Fault),
    /// So many times as many calls, above 1 and up to 100; nothing is broken. Written `load:2`.
    Load(f64),
}

impl Trouble {
    /// What is broken, if anything is.
    pub const fn fault(self) -> Option<Fault> {
        match self {
            Self::Fault(fault) => Some(fault),
            Self::Load(_) => None,
        }
    }

    /// How much more load there is while it lasts: 1 for none.
    pub const fn load(self) -> f64 {
        match self {
            Self::Fault(_) => 1.0,
            Self::Load(factor) => factor,
        }
    }

    /// What comes nearest to it in the simulator, for the service and the clients of these names; nothing
    /// comes near to a slow network. Where what the service calls `is_broken_behind` it, the simulator, which has the service
    /// alone, knows what a hang of that does: nothing gets done.
    pub fn effect(self, is_broken_behind: bool, service: &str, population: &str) -> Option<Effect> {
        let service = service.to_owned();
        Some(match self {
            Self::Fault(Fault::Hold) if is_broken_behind => Effect::Hang { service },
            Self::Fault(Fault::Pour | Fault::Stop(_)) => Effect::Hang { service },
            Self::Fault(_) if is_broken_behind => return None,
            // What the client has given up never arrives.
            Self::Fault(Fault::Hold) => Effect::Loss { share: 1.0 },
            Self::Fault(Fault::Loss(share)) => Effect::Loss { share },
            Self::Fault(Fault::Delay(added)) => Effect::Latency { service, added },
            Self::Fault(Fault::Reset | Fault::Status(_)) => Effect::Down { service },
            Self::Fault(Fault::Slow(_) | Fault::Bandwidth(_)) => return None,
            // The calls that it was given have it.
            Self::Load(_) => Effect::Load {
                population: population.into(),
                factor: 1.0,
            },
        })
    }

    /// What is said of it in a report, as the end of "from 3 s to 5 s ...".
    pub fn sentence(self) -> String {
        match self {
            Self::Fault(fault) => fault.sentence(),
            Self::Load(factor) => format!("{factor} times as many calls came"),
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fault(fault) => fault.fmt(f),
            Self::Load(factor) => write!(f, "load:{factor}"),
        }
    }
}

impl FromStr for Trouble {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some(factor) = text.strip_prefix("load:") else {
            return text
                .parse()
                .map(Self::Fault)
                .map_err(|invalid: String| format!("{invalid}; or load:2"));
        };
        let factor = factor.parse().ok().filter(|it| *it > 1.0 && *it <= 100.0);
        factor.map(Self::Load).ok_or_else(|| {
            "how many times the load must be a number above 1 and up to 100, as in load:2".into()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_broken_behind_a_service_does_to_it_what_it_is_known_to_do() {
        let effect = |text: &str, is_behind| {
            let trouble: Trouble = text.parse().unwrap();
            trouble.effect(is_behind, "a", "b")
        };
        let hang = Effect::Hang {
            service: "a".into(),
        };
        let loss = Effect::Loss { share: 1.0 };
        assert_eq!(effect("hold", true), Some(hang.clone()));
        assert_eq!(effect("hold:forward", true), Some(hang.clone()));
        assert_eq!(effect("hold", false), Some(loss));
        assert_eq!(effect("stop", false), Some(hang));
        for text in ["loss:0.3", "delay:400ms", "reset", "status:503"] {
            assert_eq!(effect(text, true), None, "{text}");
            assert!(effect(text, false).is_some(), "{text}");
        }
    }

    #[test]
    fn troubles_are_read_as_they_are_written() {
        for text in [
            "hold",
            "hold:forward",
            "delay:400ms",
            "status:503",
            "stop:children",
            "load:2",
            "load:1.5",
        ] {
            assert_eq!(text.parse::<Trouble>().unwrap().to_string(), text);
        }
        for text in [
            "load:1", "load:-2", "load:x", "load:nan", "load:", "lod:2", "",
        ] {
            let refused = text.parse::<Trouble>().unwrap_err();
            assert!(refused.contains("load:2"), "{text}: {refused}");
        }
    }
}
