//! Which fields do the messages on the way to a retry policy have?
//!
//! As the descriptors in the binary of Envoy 1.40.0 list them. Envoy reads a field as it stands in the
//! `.proto` file or in lower camel case, and refuses a file with any other.

use crate::code;
use crate::document::{Key, Node, Value};
use crate::hints::looks_like_retries;
use crate::list::list;
use crate::meant::did_you_mean;
use crate::reading::{Later, Reading};

/// A message that is looked at field by field.
pub struct Message {
    name: &'static str,
    /// Where its fields are to be written.
    place: &'static str,
    fields: &'static [&'static str],
}

/// The value of this field, and its key.
pub fn entry<'a>(node: &'a Node, field: &str) -> Option<(&'a Key, &'a Node)> {
    let found = node.entries().iter().rfind(|(key, _)| is(key, field));
    found
        .map(|(key, node)| {
            key.asked.set(true);
            (key, node)
        })
        .filter(|(_, node)| !node.is_null())
}

/// The value of this field.
pub fn field<'a>(node: &'a Node, field: &str) -> Option<&'a Node> {
    entry(node, field).map(|(_, node)| node)
}

/// What stands at this path of fields.
pub fn at<'a>(node: &'a Node, path: &[&str]) -> Option<&'a Node> {
    path.iter().try_fold(node, |node, name| field(node, name))
}

/// The items of this field; one value without brackets is a list of it.
pub fn items<'a>(node: &'a Node, name: &str) -> &'a [Node] {
    match field(node, name) {
        Some(list) if matches!(list.value, Value::List(_)) => list.items(),
        Some(one) => std::slice::from_ref(one),
        None => &[],
    }
}

pub fn is(key: &Key, field: &str) -> bool {
    key.name == field || is_camel(&key.name, field)
}

/// Whether it is the field as protobuf's JSON mapping has it: `num_retries` is `numRetries`.
fn is_camel(name: &str, field: &str) -> bool {
    let mut is_first = false;
    let letters = field.bytes().filter_map(|it| {
        let is_first = std::mem::replace(&mut is_first, it == b'_');
        let letter = if is_first {
            it.to_ascii_uppercase()
        } else {
            it
        };
        (it != b'_').then_some(letter)
    });
    field.contains('_') && letters.eq(name.bytes())
}

/// Finds fields that the message does not have. Where they are not refused, those that are about retries alone.
pub fn check(reading: &mut Reading<'_>, node: &Node, message: &Message) {
    for (key, _) in node.entries() {
        if key.name.starts_with('@') || message.fields.iter().any(|it| is(key, it)) {
            continue;
        }
        let (code, then) = match reading.system.schema.refuses {
            Some(_) => (code::NO_SUCH_FIELD, ", and refuses the file"),
            None if message.is_about_retries(key) => {
                (code::KEY_NOT_READ, ": it warns, and leaves the field out")
            }
            None => continue,
        };
        let home = MESSAGES
            .iter()
            .find(|it| it.fields.iter().any(|field| is(key, field)));
        let remedy = Later(|| match home {
            Some(home) => format!("move it to {}, which has it", home.place),
            None => did_you_mean(&key.name, "the fields", message.fields),
        });
        let sentence = format!(
            "{} has no field `{}` in {}{then}",
            reading.who(),
            key.name,
            message.name
        );
        reading.find(key.span, code, sentence, remedy);
    }
}

impl Message {
    /// Whether a field that it does not have is meant for retries, or for what bounds them.
    fn is_about_retries(&self, key: &Key) -> bool {
        let more = [ROUTE.name, ROUTE_ACTION.name, VIRTUAL_HOST.name];
        !more.contains(&self.name) || is(key, "timeout") || looks_like_retries(&key.name)
    }
}

/// Those to which a misplaced field most likely belongs come first.
const MESSAGES: &[&Message] = &[
    &RETRY_BUDGET,
    &RETRY_BACK_OFF,
    &RATE_LIMITED_BACK_OFF,
    &HEDGE_POLICY,
    &RETRY_POLICY,
    &THRESHOLDS,
    &CIRCUIT_BREAKERS,
    &ROUTE_ACTION,
];

pub const RETRY_POLICY: Message = Message {
    name: "a RetryPolicy",
    place: "the `retry_policy` of a route or a virtual host",
    fields: list!(
        "retry_on num_retries per_try_timeout per_try_idle_timeout retry_priority \
         retry_host_predicate retry_options_predicates host_selection_retry_max_attempts \
         retriable_status_codes retry_back_off rate_limited_retry_back_off retriable_headers \
         retriable_request_headers refresh_cluster_on_retry"
    ),
};

pub const CORE_RETRY_POLICY: Message = Message {
    name: "a RetryPolicy of config.core.v3",
    place: "the `retry_policy` of the filter",
    fields: list!(
        "retry_back_off num_retries retry_on retry_priority retry_host_predicate \
         host_selection_retry_max_attempts"
    ),
};

pub const RETRY_BACK_OFF: Message = Message {
    name: "a RetryBackOff",
    place: "the `retry_back_off` of a retry policy",
    fields: &["base_interval", "max_interval"],
};

pub const RATE_LIMITED_BACK_OFF: Message = Message {
    name: "a RateLimitedRetryBackOff",
    place: "the `rate_limited_retry_back_off` of a retry policy",
    fields: &["reset_headers", "max_interval"],
};

pub const HEDGE_POLICY: Message = Message {
    name: "a HedgePolicy",
    place: "the `hedge_policy` of a route or a virtual host",
    fields: &[
        "initial_requests",
        "additional_request_chance",
        "hedge_on_per_try_timeout",
    ],
};

pub const CIRCUIT_BREAKERS: Message = Message {
    name: "CircuitBreakers",
    place: "the `circuit_breakers` of the cluster",
    fields: &["thresholds", "per_host_thresholds"],
};

pub const THRESHOLDS: Message = Message {
    name: "Thresholds",
    place: "`circuit_breakers.thresholds` of the cluster",
    fields: list!(
        "priority max_connections max_pending_requests max_requests max_retries retry_budget \
         track_remaining max_connection_pools"
    ),
};

pub const RETRY_BUDGET: Message = Message {
    name: "a RetryBudget",
    place: "`circuit_breakers.thresholds.retry_budget` of the cluster",
    fields: &["budget_percent", "budget_interval", "min_retry_concurrency"],
};

pub const ROUTE: Message = Message {
    name: "a Route",
    place: "the route",
    fields: list!(
        "name match route redirect direct_response filter_action non_forwarding_action metadata \
         decorator typed_per_filter_config request_headers_to_add request_headers_to_remove \
         response_headers_to_add response_headers_to_remove tracing \
         per_request_buffer_limit_bytes stat_prefix request_body_buffer_limit route_specifiers"
    ),
};

pub const ROUTE_ACTION: Message = Message {
    name: "a RouteAction",
    place: "the `route` of the route",
    fields: list!(
        "cluster cluster_header weighted_clusters cluster_specifier_plugin \
         inline_cluster_specifier_plugin cluster_not_found_response_code metadata_match \
         prefix_rewrite regex_rewrite path_rewrite_policy path_rewrite host_rewrite_literal \
         auto_host_rewrite host_rewrite_header host_rewrite_path_regex host_rewrite \
         append_x_forwarded_host timeout idle_timeout flush_timeout early_data_policy \
         retry_policy retry_policy_typed_config request_mirror_policies priority rate_limits \
         include_vh_rate_limits hash_policy cors max_grpc_timeout grpc_timeout_offset \
         upgrade_configs internal_redirect_policy internal_redirect_action \
         max_internal_redirects hedge_policy max_stream_duration"
    ),
};

pub const VIRTUAL_HOST: Message = Message {
    name: "a VirtualHost",
    place: "the virtual host",
    fields: list!(
        "name domains routes matcher require_tls virtual_clusters rate_limits \
         request_headers_to_add request_headers_to_remove response_headers_to_add \
         response_headers_to_remove cors typed_per_filter_config include_request_attempt_count \
         include_attempt_count_in_response retry_policy retry_policy_typed_config hedge_policy \
         include_is_timeout_retry_header per_request_buffer_limit_bytes \
         request_body_buffer_limit request_mirror_policies metadata route_specifiers"
    ),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Span;

    #[test]
    fn fields_have_two_spellings() {
        for (name, field) in [
            ("numRetries", "num_retries"),
            ("retryOn", "retry_on"),
            ("name", "name"),
            ("num_retries", "num_retries"),
        ] {
            assert!(is(&Key::new(Span::new(1, 1, 1), name), field), "{name}");
        }
        for name in [
            "num-retries",
            "numretries",
            "NumRetries",
            "numRetrie",
            "numRetriesX",
        ] {
            assert!(
                !is(&Key::new(Span::new(1, 1, 1), name), "num_retries"),
                "{name}"
            );
        }
    }
}
