//! What do proxies, meshes and their budgets do by default?

use super::{BARE, BECALM, FINAGLE_BUDGET, Preset, ms};
use crate::backoff::Backoff;
use crate::budget::Budget;
use crate::jitter::Jitter;
use crate::policy::Policy;

const ENVOY: Policy = Policy {
    attempts: 2,
    base: ms(25),
    cap: ms(250),
    jitter: Jitter::Full,
    budget: Budget::concurrency(0.0, 3),
    ..BARE
};

/// Retries at once, without growth.
const AT_ONCE: Policy = Policy {
    backoff: Backoff::Fixed,
    ..BARE
};

pub(super) const PRESETS: &[Preset] = &[
    Preset {
        name: "envoy",
        source: "Envoy 1.40.0, num_retries 1",
        differs: None,
        policy: ENVOY,
    },
    Preset {
        name: "istio",
        source: "Istio's default HTTP retry policy, as of November 2026",
        differs: Some("Istio retries on another host."),
        policy: Policy {
            attempts: 3,
            ..ENVOY
        },
    },
    Preset {
        name: "linkerd-profile",
        source: "Linkerd service profiles, as of November 2026",
        differs: Some(
            "There a call earns its share when it ends and is not to be retried, here when it begins.",
        ),
        policy: Policy {
            budget: FINAGLE_BUDGET,
            ..AT_ONCE
        },
    },
    Preset {
        name: "linkerd-annotation",
        source: "Linkerd retry annotations, as of November 2026",
        differs: None,
        policy: Policy {
            attempts: 2,
            ..AT_ONCE
        },
    },
    Preset {
        name: "gateway-api",
        source: "Kubernetes Gateway API, GEP-1731 and GEP-3388, as of November 2026",
        differs: Some(
            "The specification leaves attempts and backoff to the implementation, so becalm's \
             defaults stand in.",
        ),
        policy: Policy {
            budget: FINAGLE_BUDGET,
            ..BECALM
        },
    },
    Preset {
        name: "tower",
        source: "tower 0.5.3, retry layer with TpsBudget",
        differs: Some(
            "tower leaves attempts and backoff to the caller, so becalm's defaults stand in; its \
             window of 10 s is over after 6 s, so that its floor of 10 a second grants 16.7.",
        ),
        policy: Policy {
            budget: FINAGLE_BUDGET,
            ..BECALM
        },
    },
];
