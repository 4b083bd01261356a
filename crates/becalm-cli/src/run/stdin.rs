//! What does each attempt read on its standard input?

use std::process::Stdio;

/// What `--stdin` offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Mode {
    /// becalm's own: a retry goes on where the last attempt stopped reading
    #[default]
    Inherit,
    /// Nothing
    Null,
    /// Every attempt reads all of becalm's own from its beginning
    Replay,
}

impl Mode {
    /// What a command is started with.
    pub fn stdio(self) -> Stdio {
        match self {
            Self::Inherit => Stdio::inherit(),
            Self::Null => Stdio::null(),
            Self::Replay => Stdio::piped(),
        }
    }
}
