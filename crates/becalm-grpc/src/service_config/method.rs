//! What is configured for one set of methods?

use std::fmt;
use std::str::FromStr;

use becalm::retry_on::Codes;
use becalm::{Budget, Policy};

use super::field::{Field, seconds};
use super::invalid::Fault;
use super::policies;

/// One entry of a service config: methods, and what is retried or hedged when they are called.
#[derive(Debug, Clone, PartialEq)]
pub struct MethodConfig {
    names: Vec<Name>,
    policy: Policy,
}

/// Methods that an entry is for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Name {
    /// The service with its package, such as `shop.v1.Orders`; empty for all of them.
    pub service: String,
    /// The method; empty for all of the service.
    pub method: String,
}

/// As a path, with a star for "all".
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or_all = |name: &str| if name.is_empty() { "*" } else { name }.to_owned();
        write!(f, "/{}/{}", or_all(&self.service), or_all(&self.method))
    }
}

/// Reads what [`Display`](fmt::Display) writes: `/service/method`, with a star for "all".
impl FromStr for Name {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let parts = text.strip_prefix('/').and_then(|text| text.split_once('/'));
        let part = |name: &str| if name == "*" { "" } else { name }.to_owned();
        let is_name = |(service, method): &(&str, &str)| {
            let is_one = |name: &str| !name.is_empty() && !name.contains('/');
            is_one(service) && is_one(method) && (*service != "*" || *method == "*")
        };
        let (service, method) = parts.filter(is_name).ok_or_else(|| InvalidName {
            text: text.to_owned(),
        })?;
        Ok(Self {
            service: part(service),
            method: part(method),
        })
    }
}

/// The text names no methods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidName {
    text: String,
}

impl fmt::Display for InvalidName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text } = self;
        write!(
            f,
            "`{text}` names no methods: write /package.Service/Method, or /package.Service/* for all of a service"
        )
    }
}

impl std::error::Error for InvalidName {}

impl MethodConfig {
    /// The methods that this is for.
    pub fn names(&self) -> &[Name] {
        &self.names
    }

    /// Attempts and waits, or copies, and [what is repeated](Self::codes); the `timeout` is its deadline, and the channel's
    /// throttle its budget. Of one attempt where nothing is retried or hedged.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// What may be tried again: `retryableStatusCodes`, or `nonFatalStatusCodes` of a hedging policy. The policy
    /// lists them ([`RetryOn::codes`](becalm::retry_on::RetryOn::codes)), for any method of HTTP: who configures
    /// retries declares that the calls may be done twice.
    pub fn codes(&self) -> Codes {
        let lists = self.policy.retry_on.as_deref();
        lists.and_then(|lists| lists.codes).unwrap_or_default()
    }
}

/// `None` where a part cannot be read: there are faults then.
pub(super) fn read(
    field: &Field<'_>,
    throttling: Budget,
    faults: &mut Vec<Fault>,
) -> Option<MethodConfig> {
    field.object(faults)?;
    let names = names(field, faults);
    let retry = field.get("retryPolicy");
    let hedging = field.get("hedgingPolicy");
    let policy = match (&retry, &hedging) {
        (Some(_), Some(hedging)) => {
            let sentence =
                "stands beside retryPolicy; a method is retried or hedged, so leave one out";
            faults.push(Fault::new(hedging.path(), sentence));
            None
        }
        (Some(retry), None) => policies::retry(retry, faults),
        (None, Some(hedging)) => policies::hedging(hedging, faults),
        (None, None) => Some(policies::once()),
    }?;
    let mut policy = policy.budget(throttling);
    if let Some(timeout) = field.get("timeout") {
        // 0 is a limit, too: nothing is in time for it.
        match timeout.as_text().and_then(seconds) {
            Some(span) => policy = policy.deadline(span),
            None => timeout.refuse("seconds in the form \"1.5s\"", faults),
        }
    }
    if let Err(invalid) = policy.validate() {
        faults.push(Fault::new(
            field.path(),
            format!("says what no policy can: {invalid}"),
        ));
    }
    Some(MethodConfig { names, policy })
}

/// An entry without names is for nothing.
fn names(field: &Field<'_>, faults: &mut Vec<Fault>) -> Vec<Name> {
    let Some(list) = field.get("name") else {
        return Vec::new();
    };
    let mut names = Vec::new();
    for name in list.list(faults).unwrap_or_default() {
        if name.object(faults).is_none() {
            continue;
        }
        let (service, method) = (name.text("service", faults), name.text("method", faults));
        let (Some(service), Some(method)) = (service, method) else {
            continue;
        };
        if service.is_empty() && !method.is_empty() {
            let sentence = "is missing, and a method belongs to one";
            let path = format!("{}.service", name.path());
            faults.push(Fault::new(path, sentence));
        }
        names.push(Name { service, method });
    }
    names
}
