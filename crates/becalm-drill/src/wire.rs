//! Through which clients do the calls of a drill go?

use serde::Serialize;

/// Through which clients the calls go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub enum Wire {
    /// The drill's own, which do as little as can be.
    #[default]
    #[serde(rename = "own")]
    Own,
    /// becalm-reqwest's, as an application has them.
    #[cfg(feature = "http")]
    #[serde(rename = "becalm-reqwest")]
    Reqwest,
}

impl Wire {
    /// How many attempts may be counted at once beyond those that there are.
    pub fn seen_twice(self) -> u32 {
        match self {
            Self::Own => 0,
            #[cfg(feature = "http")]
            // An observer counts them. It hears of an end just after the place of the attempt has fallen
            // free, and on the drill's other thread one more may have begun in it.
            Self::Reqwest => 1,
        }
    }
}
