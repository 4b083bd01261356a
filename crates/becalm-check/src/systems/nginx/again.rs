//! Where does an `error_page` pass a failed request on once more?
//!
//! nginx makes an internal redirect to the location (`ngx_http_send_special_response`), whose `proxy_pass` begins anew: its
//! attempts come on top of those that failed.

use super::directives::{Directive, Word};
use super::passes::Known;
use super::settings::{FAMILIES, Family, Settings};
use super::upstreams::host;
use crate::code;
use crate::reading::Reading;

/// Tells of each in a server.
pub fn tell<'a>(
    reading: &mut Reading<'a>,
    known: &Known<'a>,
    settings: &Settings<'a>,
    server: &[Directive<'a>],
) {
    let settings = settings.inside(reading, server);
    let locations: Vec<_> = server.iter().filter(|it| it.name() == "location").collect();
    for place in std::iter::once(server).chain(locations.iter().map(|it| it.inner())) {
        for page in place.iter().filter(|it| it.name() == "error_page") {
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
            let to = location.and_then(|it| passed(it.inner()));
            let from = passed(place).map(|it| (it, place)).or_else(|| {
                let mut others = locations.iter().map(|it| it.inner());
                others.find_map(|it| Some((passed(it)?, it)))
            });
            let (true, Some(to), Some((from, of))) = (is_on_failure, to, from) else {
                continue;
            };
            let again = location.map_or(&[][..], |it| it.inner());
            let sentence = format!(
                "a request that failed is passed on once more to {}: up to {} attempts on top of the {} at {}, which no policy here counts, a POST as well",
                host(&to.1),
                attempts(reading, known, &settings, again, &to),
                attempts(reading, known, &settings, of, &from),
                host(&from.1)
            );
            let file = std::mem::replace(&mut reading.document.file, page.file);
            let remedy = "answer with a page that passes nothing on, or set `proxy_next_upstream_tries` in both locations";
            reading.find(page.span(), code::PASSED_ON_AGAIN, sentence, remedy);
            reading.document.file = file;
        }
    }
}

/// Where the directives of a place pass requests on to, and by which family.
fn passed(place: &[Directive<'_>]) -> Option<(&'static Family, String)> {
    place.iter().find_map(|it| {
        let family = FAMILIES.iter().find(|family| family.passes(it.name()))?;
        Some((family, it.args().first()?.text.clone()))
    })
}

/// How many a request makes at most there.
fn attempts<'a>(
    reading: &mut Reading<'a>,
    known: &Known<'a>,
    settings: &Settings<'a>,
    place: &[Directive<'a>],
    (family, name): &(&'static Family, String),
) -> u32 {
    let own = settings.inside(reading, place).of(family);
    let is_off = |it: &Word| it.text == "off";
    let mut words = own.next.iter().flat_map(|it| it.value.iter().flatten());
    if words.any(is_off) {
        return 1;
    }
    let servers = known.servers(host(name)).map_or(1, |it| it.count);
    let tries = own.tries.and_then(|it| it.value).filter(|it| *it > 0);
    tries.map_or(servers, |it| it.min(servers))
}
