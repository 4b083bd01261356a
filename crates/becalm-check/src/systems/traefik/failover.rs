//! What does a service `failover` send once more?
//!
//! `pkg/server/service/loadbalancer/failover/failover.go`: with `errors`, an answer with a listed status is thrown away and the request
//! sent to the fallback, whatever its method.

use super::Source;
use crate::code;
use crate::document::Node;
use crate::reading::Reading;

pub fn read(reading: &mut Reading<'_>, service: &Node, source: Source) {
    let Some(failover) = source.get(service, "failover") else {
        return;
    };
    let Some((key, errors)) = source.entry(failover, "errors") else {
        return;
    };
    let status = source.get(errors, "status");
    if !status.is_some_and(|it| it.text().is_some() || !it.items().is_empty()) {
        return;
    }
    let fallback = source.get(failover, "fallback");
    let fallback = fallback.and_then(|it| it.text().or_else(|| it.get("name")?.text()));
    let sentence = format!(
        "a request that is answered with a status of this list is sent once more, to {}, whatever its method: no policy here counts it",
        fallback.unwrap_or("the fallback")
    );
    let remedy = "leave `errors` out, so that checks of health alone choose the fallback";
    reading.find(key.span, code::PASSED_ON_AGAIN, sentence, remedy);
}
