//! What do all requests of a client share?

use std::sync::Arc;

use reqwest::Url;

use super::credentials::Credentials;
use super::hosts::Retriers;

/// The client below, the retriers, the settings.
#[derive(Debug, Clone)]
pub(super) struct Shared {
    pub below: reqwest::Client,
    pub retriers: Retriers,
    pub settings: Arc<Settings>,
}

#[derive(Debug)]
pub(super) struct Settings {
    pub answers_are_errors: bool,
    #[cfg(feature = "tracing")]
    pub has_spans: bool,
    /// The servers that hear of the scope.
    pub origins: Vec<Url>,
    pub credentials: Vec<Credentials>,
}
