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

presets! {
    "envoy" of "Envoy 1.40.0, num_retries 1":
        ENVOY {}
        but "Envoy's route ends a call after 15 s by default, retries included; here it has no deadline.";

    // pilot/pkg/networking/core/cluster_traffic_policy.go, getDefaultCircuitBreakerThresholds: every
    // cluster gets a max_retries of math.MaxUint32 in place of Envoy's 3, which a rolling update of a
    // service exceeds (envoyproxy/gateway#2754).
    "istio" of "Istio's default HTTP retry policy, as of November 2026":
        ENVOY { attempts: 3, budget: Budget::None }
        but "Istio retries on another host. It sets Envoy's max_retries to 2^32 - 1, which bounds \
             nothing.";

    "linkerd-profile" of "Linkerd service profiles, as of November 2026":
        AT_ONCE { budget: FINAGLE_BUDGET }
        but "There a call earns its share when it ends and is not to be retried, here when it \
             begins.";

    // policy-controller/grpc/src/outbound/http.rs, convert_retry, since the annotations came with 2.16.
    "linkerd-annotation" of "Linkerd retry annotations, as of November 2026":
        BARE { attempts: 2, base: ms(50), cap: ms(250), jitter: Jitter::Equal }
        but "There the fourth wait is 200 to 250 ms, mostly 250 ms, and each later one exactly 250 ms, \
             since the jitter is cut at the cap.";

    "gateway-api" of "Kubernetes Gateway API, GEP-1731 and GEP-3388, as of November 2026":
        BECALM { budget: FINAGLE_BUDGET }
        but "The specification leaves attempts and backoff to the implementation, so becalm's \
             defaults stand in.";

    "tower" of "tower 0.5.3, retry layer with TpsBudget":
        BECALM { budget: FINAGLE_BUDGET }
        but "tower leaves attempts and backoff to the caller, so becalm's defaults stand in; \
             its window of 10 s is over after 6 s, so that its floor of 10 a second grants \
             16.7.";
}
