//! What does a gRPC service config say about trying again?
//!
//! The JSON form of gRPC's `ServiceConfig` (grpc/grpc-proto, `service_config.proto`; grpc/grpc,
//! `doc/service_config.md`): the retry and hedging policies of its methods and the throttle of its channel
//! (gRFC A6), as policies of [`becalm`]. What else it says, of load balancing, message sizes, health checks and the like, is
//! not done, and [told](ServiceConfig::not_done).
//!
//! ```
//! use becalm_grpc::service_config::ServiceConfig;
//! use std::time::Duration;
//!
//! let config: ServiceConfig = r#"{
//!     "methodConfig": [{
//!         "name": [{ "service": "shop.v1.Orders" }],
//!         "timeout": "5s",
//!         "retryPolicy": {
//!             "maxAttempts": 4,
//!             "initialBackoff": "0.1s",
//!             "maxBackoff": "1s",
//!             "backoffMultiplier": 2,
//!             "retryableStatusCodes": ["UNAVAILABLE"]
//!         }
//!     }],
//!     "retryThrottling": { "maxTokens": 10, "tokenRatio": 0.1 }
//! }"#.parse()?;
//!
//! let orders = config.method("/shop.v1.Orders/Place").expect("its service is named");
//! assert_eq!(orders.policy().attempts, 4);
//! assert_eq!(orders.policy().deadline, Some(Duration::from_secs(5)));
//! assert!(orders.codes().contains(14) && !orders.codes().contains(13));
//! # Ok::<(), becalm_grpc::service_config::InvalidServiceConfig>(())
//! ```

mod field;
mod invalid;
mod method;
mod not_done;
mod policies;

pub use becalm::retry_on::Codes;
pub use invalid::{Fault, InvalidServiceConfig};
pub use method::{InvalidName, MethodConfig, Name};
pub use not_done::NotDone;

use std::str::FromStr;

use becalm::Budget;
use serde_json::Value;

use field::Field;

/// The longest list of attempts that gRPC makes: what a config names beyond is cut to it (gRFC A6,
/// *Limits on Retries and Hedges*).
pub const MOST_ATTEMPTS: u32 = 5;

/// A service config: what each method retries or hedges.
#[derive(Debug, Clone, PartialEq)]
pub struct ServiceConfig {
    methods: Vec<MethodConfig>,
    throttling: Budget,
    not_done: Vec<NotDone>,
}

impl ServiceConfig {
    /// What is configured for the method of this path, such as `/shop.v1.Orders/Place`: the entry that names the
    /// method, or else its service, or else the one for all. `None` where nothing is: such a call is made once.
    pub fn method(&self, path: &str) -> Option<&MethodConfig> {
        let (service, method) = path.trim_start_matches('/').rsplit_once('/')?;
        let named = |service: &str, method: &str| {
            let is_named = |name: &Name| name.service == service && name.method == method;
            let mut all = self.methods.iter();
            all.find(|config| config.names().iter().any(is_named))
        };
        named(service, method)
            .or_else(|| named(service, ""))
            .or_else(|| named("", ""))
    }

    /// All entries, in their order.
    pub fn methods(&self) -> &[MethodConfig] {
        &self.methods
    }

    /// The throttle of the whole channel: [`Budget::Grpc`], or [`Budget::None`] where there is none. Each
    /// policy has it as its budget; one retrier for each would not share it, as gRPC's methods do.
    pub fn throttling(&self) -> Budget {
        self.throttling
    }

    /// What the config says and becalm does not do, such as `waitForReady`, `perAttemptRecvTimeout` or load balancing, and what
    /// gRPC does not know. Tell it when the config is read:
    ///
    /// ```
    /// # use becalm_grpc::service_config::ServiceConfig;
    /// let config: ServiceConfig = r#"{ "methodConfig": [{ "name": [{}], "waitForReady": true }] }"#.parse()?;
    /// for not_done in config.not_done() {
    ///     eprintln!("orders.json: {not_done}");
    /// }
    /// # assert_eq!(config.not_done()[0].path, "methodConfig[0].waitForReady");
    /// # Ok::<(), becalm_grpc::service_config::InvalidServiceConfig>(())
    /// ```
    pub fn not_done(&self) -> &[NotDone] {
        &self.not_done
    }
}

/// Reads the JSON.
///
/// As grpc-go does, it takes the names of fields in any case of letters. What it does not know, or becalm does not do, is no
/// fault, as it is none to gRPC's clients: [`not_done`](ServiceConfig::not_done) tells it.
impl FromStr for ServiceConfig {
    type Err = InvalidServiceConfig;

    fn from_str(json: &str) -> Result<Self, Self::Err> {
        let value: Value = serde_json::from_str(json)
            .map_err(|error| InvalidServiceConfig::of("", format!("is not JSON: {error}")))?;
        let mut faults = Vec::new();
        let config = read(&Field::root(&value), &mut faults);
        match config {
            Some(mut config) if faults.is_empty() => {
                config.not_done = not_done::read(&value);
                Ok(config)
            }
            _ => Err(InvalidServiceConfig::new(faults)),
        }
    }
}

fn read(root: &Field<'_>, faults: &mut Vec<Fault>) -> Option<ServiceConfig> {
    root.object(faults)?;
    let throttling = root
        .get("retryThrottling")
        .and_then(|field| policies::throttling(&field, faults));
    let throttling = throttling.unwrap_or(Budget::None);
    let mut methods: Vec<MethodConfig> = Vec::new();
    if let Some(list) = root.get("methodConfig") {
        for field in list.list(faults)? {
            let Some(config) = method::read(&field, throttling, faults) else {
                continue;
            };
            for (at, name) in config.names().iter().enumerate() {
                let mut earlier = methods.iter().flat_map(MethodConfig::names);
                let is_known = earlier.any(|other| other == name);
                if is_known || config.names()[..at].contains(name) {
                    let path = format!("{}.name[{at}]", field.path());
                    let sentence = format!("names {name} again; each name may stand once");
                    faults.push(Fault::new(path, sentence));
                }
            }
            methods.push(config);
        }
    }
    Some(ServiceConfig {
        methods,
        throttling,
        not_done: Vec::new(),
    })
}
