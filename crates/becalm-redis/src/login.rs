//! Who logs in? Whom a provider names, which is asked outside of every dial.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use becalm::login::{Login as Shared, NoLogin, Renewed};

/// Who logs in.
#[derive(Clone)]
#[non_exhaustive]
pub struct Credentials {
    /// The user of `AUTH`; `None` for the default one.
    pub username: Option<String>,
    /// The password, or the token that stands for it.
    pub password: String,
}

impl Credentials {
    /// These, of the default user.
    pub fn password(password: impl Into<String>) -> Self {
        Self {
            username: None,
            password: password.into(),
        }
    }

    /// These, of this user.
    pub fn of(username: impl Into<String>, password: impl Into<String>) -> Self {
        Self {
            username: Some(username.into()),
            password: password.into(),
        }
    }
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut credentials = f.debug_struct("Credentials");
        credentials.field("username", &self.username);
        credentials.finish_non_exhaustive()
    }
}

pub(crate) type BoxError = Box<dyn Error + Send + Sync>;
type Provided = Pin<Box<dyn Future<Output = Result<Credentials, BoxError>> + Send>>;

/// The login of all dials, and who is asked for it.
#[derive(Clone)]
pub(crate) struct Login {
    shared: Shared<Credentials>,
    provider: Arc<dyn Fn(bool) -> Provided + Send + Sync>,
}

impl Login {
    pub fn new<F, E>(provider: impl Fn(bool) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Credentials, E>> + Send + 'static,
        E: Into<BoxError>,
    {
        Self {
            shared: Shared::new(),
            provider: Arc::new(move |renew| {
                let login = provider(renew);
                Box::pin(async { login.await.map_err(Into::into) })
            }),
        }
    }

    pub fn set_time_limit(&self, limit: Duration) {
        self.shared.set_time_limit(limit);
    }

    /// For a dial.
    pub async fn renewed(&self) -> Result<Renewed<Credentials>, NoLogin> {
        let provider = Arc::clone(&self.provider);
        self.shared.renewed(move |renew| provider(renew)).await
    }
}
