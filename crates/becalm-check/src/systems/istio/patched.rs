//! What does an `EnvoyFilter` change of retries?
//!
//! It patches Envoy's configuration, which Istio makes. `validateEnvoyFilter` of `pkg/config/validation/envoyfilter` of istio/istio says
//! what is refused, and `patchVirtualHosts` and `patchHTTPRoutes` of `pilot/pkg/networking/core/envoyfilter/rc_patch.go` what each
//! operation does.

use becalm::Budget;

use super::super::envoy::{ENVOY, check_patch, of_patch};
use super::{ISTIO, preset};
use crate::code::{self, Code};
use crate::document::{Key, Node};
use crate::list::list;
use crate::mapping::Origin;
use crate::reading::Reading;
use crate::system::{Schema, System};

/// A patch is written in Envoy's words. Of a field that Envoy does not have `validateEnvoyFilter` warns alone, and
/// `convertToEnvoyFilterWrapper` of `pilot/pkg/model/envoyfilter.go` leaves it out.
const IN_A_PATCH: System = System {
    remedies: ENVOY.remedies,
    fewer: ENVOY.fewer,
    schema: Schema {
        refuses: None,
        ..ISTIO.schema
    },
    ..ISTIO
};

pub fn read(reading: &mut Reading<'_>, spec: &Node) {
    let own = std::mem::replace(&mut reading.system, &IN_A_PATCH);
    patches(reading, spec);
    reading.system = own;
}

fn patches(reading: &mut Reading<'_>, spec: &Node) {
    let name = reading.document.at(&["metadata", "name"]);
    let name = name.and_then(Node::text).unwrap_or("?");
    for patch in spec.list(&["configPatches"]) {
        let Some(value) = patch.at(&["patch", "value"]) else {
            continue;
        };
        let applies_to = patch.get("applyTo").and_then(Node::text);
        let applies_to = applies_to.unwrap_or_default();
        check_patch(reading, applies_to, value);
        let keys = of_retries(applies_to, value);
        let is_new = match operation(patch, applies_to) {
            Operation::Adds => true,
            Operation::Merges => false,
            Operation::Nothing(code, why) => {
                if let Some(key) = keys.first() {
                    let remedy = "set `operation: MERGE`";
                    reading.find(key.span, code, why, remedy);
                }
                value
                    .walk()
                    .flat_map(Node::entries)
                    .for_each(|(key, _)| key.asked.set(true));
                continue;
            }
        };
        not_seen(reading, &keys);
        of_routes(reading, name, applies_to, is_new, value);
    }
}

/// What a patch does with its value.
enum Operation {
    Adds,
    Merges,
    /// It is refused, or passes over its value.
    Nothing(Code, String),
}

fn operation(patch: &Node, applies_to: &str) -> Operation {
    let given = patch.at(&["patch", "operation"]).and_then(Node::text);
    let is_route = applies_to == "HTTP_ROUTE";
    let is_host = applies_to == "VIRTUAL_HOST";
    match given {
        Some("MERGE") => Operation::Merges,
        Some("ADD") => Operation::Adds,
        Some("INSERT_FIRST" | "INSERT_BEFORE" | "INSERT_AFTER") if !is_host => Operation::Adds,
        Some("REPLACE") if !is_route && !is_host => Operation::Adds,
        Some(it @ ("REMOVE" | "REPLACE" | "INSERT_FIRST" | "INSERT_BEFORE" | "INSERT_AFTER")) => {
            let why = format!(
                "Istio does not read the `value` of `operation: {it}` for {applies_to}: these retries are never made"
            );
            Operation::Nothing(code::NEVER_RETRIES, why)
        }
        None | Some("INVALID") => {
            let why = "Istio's validation refuses a patch without an `operation`".to_owned();
            Operation::Nothing(code::REFUSED, why)
        }
        Some(it) => Operation::Nothing(
            code::REFUSED,
            format!("Istio has no operation `{it}`, and the API server refuses it"),
        ),
    }
}

fn of_routes(reading: &mut Reading<'_>, name: &str, applies_to: &str, is_new: bool, value: &Node) {
    let Some((mut draft, span)) = of_patch(reading, applies_to, is_new, value) else {
        return;
    };
    let is_counted = draft
        .origins
        .iter()
        .any(|(key, origin)| *key == "attempts" && *origin != Origin::Default);
    if !is_new && applies_to == "HTTP_ROUTE" && !is_counted {
        draft.policy.attempts = preset().attempts;
        let why = "set by a VirtualService, or Istio's two retries".to_owned();
        draft.origin("attempts", Origin::NotExpressible(why));
    }
    draft.policy.budget = Budget::None;
    let why = "set by a DestinationRule, if at all".to_owned();
    draft.origin("budget", Origin::NotExpressible(why));
    let why = "what a patch leaves out stays as Istio makes it, and a list is added to";
    draft.lose("patch", why, None);
    reading.map(draft, format!("EnvoyFilter {name}"), Vec::new(), span);
}

/// The keys of a patch that change retries, where Envoy has them.
fn of_retries<'n>(applies_to: &str, value: &'n Node) -> Vec<&'n Key> {
    let is_one = |key: &Key| {
        let name = key.name.replace('_', "").to_ascii_lowercase();
        PATCHED.contains(&&*name)
    };
    // A cluster has a policy in its protocol options alone.
    let is_misplaced = |it: &Key| {
        let mut own = value.entries().iter().filter(|_| applies_to == "CLUSTER");
        own.any(|(key, _)| key.span == it.span && key.name.starts_with("retry"))
    };
    let keys = value.walk().flat_map(Node::entries).map(|(key, _)| key);
    keys.filter(|it| is_one(it) && !is_misplaced(it)).collect()
}

/// Tells of what a patch changes of retries.
fn not_seen(reading: &mut Reading<'_>, keys: &[&Key]) {
    for key in keys {
        let sentence = "an EnvoyFilter changes the retries, or their bounds, in what Istio makes and no file has";
        let remedy = "check what `istioctl proxy-config routes -o json` and `istioctl proxy-config clusters -o json` print";
        reading.find(key.span, code::NOT_SEEN, sentence, remedy);
    }
}

const PATCHED: &[&str] = list!("retrypolicy hedgepolicy retrybudget maxretries maxconnectattempts");
