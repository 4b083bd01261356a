//! Where does an `error_page` pass a failed request on once more?
//!
//! nginx makes an internal redirect to the location (`ngx_http_send_special_response`), whose `proxy_pass` begins anew: its
//! attempts come on top of those that failed.

use super::directives::Directive;
use super::passes::Known;
use super::settings::FAMILIES;
use super::upstreams::host;
use crate::code;
use crate::reading::Reading;

/// Tells of each in a server.
pub fn tell<'a>(reading: &mut Reading<'a>, known: &Known<'a>, server: &[Directive<'a>]) {
    let locations: Vec<_> = server.iter().filter(|it| it.name() == "location").collect();
    for place in std::iter::once(server).chain(locations.iter().map(|it| it.inner())) {
        for page in place.iter().filter(|it| it.name() == "error_page") {
            let passes = |it: &Directive<'a>| {
                FAMILIES
                    .iter()
                    .any(|family| family.passes(it.name()))
                    .then(|| it.args().first().map(|it| it.text.clone()))?
            };
            let is_on_failure = page
                .args()
                .iter()
                .any(|it| ["500", "502", "503", "504"].contains(&&*it.text));
            let target = page
                .args()
                .last()
                .map(|it| it.text.clone())
                .unwrap_or_default();
            let location = locations
                .iter()
                .find(|it| it.args().last().is_some_and(|it| it.text == target));
            let to = location.and_then(|it| it.inner().iter().find_map(passes));
            let from = place.iter().find_map(passes).or_else(|| {
                locations
                    .iter()
                    .find_map(|it| it.inner().iter().find_map(passes))
            });
            let (true, Some(to), Some(from)) = (is_on_failure, to, from) else {
                continue;
            };
            let count = |name: &str| known.servers(host(name)).map_or(1, |it| it.count);
            let sentence = format!(
                "a request that failed is passed on once more to {}: up to {} attempts on top of the {} at {}, which no policy here counts, a POST as well",
                host(&to),
                count(&to),
                count(&from),
                host(&from)
            );
            let file = std::mem::replace(&mut reading.document.file, page.file);
            let remedy = "answer with a page that passes nothing on, or set `proxy_next_upstream_tries` in both locations";
            reading.find(page.span(), code::PASSED_ON_AGAIN, sentence, remedy);
            reading.document.file = file;
        }
    }
}
