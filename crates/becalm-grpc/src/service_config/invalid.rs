//! What is wrong with a service config, and where?

use std::fmt;

/// A service config that gRPC's clients would refuse, with everything that is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidServiceConfig {
    faults: Vec<Fault>,
}

/// One fault of a service config.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// The field, such as `methodConfig[0].retryPolicy.maxAttempts`; empty for the whole.
    pub path: String,
    /// What is wrong with it and what would be right, as the rest of a sentence that begins with the field.
    pub sentence: String,
}

impl Fault {
    pub(super) fn new(path: impl Into<String>, sentence: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            sentence: sentence.into(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = match self.path.as_str() {
            "" => "the service config",
            path => path,
        };
        write!(f, "{path} {}", self.sentence)
    }
}

impl InvalidServiceConfig {
    pub(super) fn new(faults: Vec<Fault>) -> Self {
        Self { faults }
    }

    pub(super) fn of(path: &str, sentence: String) -> Self {
        Self::new(vec![Fault::new(path, sentence)])
    }

    /// Everything that is wrong, in the order of the config: at least one fault.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }
}

/// One sentence for each fault.
impl fmt::Display for InvalidServiceConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, fault) in self.faults.iter().enumerate() {
            let separator = if at == 0 { "" } else { "; " };
            write!(f, "{separator}{fault}")?;
        }
        Ok(())
    }
}

impl std::error::Error for InvalidServiceConfig {}
