//! Where does an `error_page` pass a failed request on once more?
//!
//! nginx makes an internal redirect to the location (`ngx_http_send_special_response`), whose `proxy_pass` begins anew: its
//! attempts come on top of those that failed.

use std::cell::OnceCell;
use std::collections::HashMap;

use super::directives::{Directive, Word};
use super::passes::Known;
use super::settings::{FAMILIES, Family, Settings};
use super::upstreams::host;
use crate::code;
use crate::reading::Reading;

/// A server, or a location of it: what it passes on and how often is looked for once.
struct Place<'d, 'a> {
    directives: &'d [Directive<'a>],
    passes: Option<(&'static Family, &'d str)>,
    attempts: OnceCell<u32>,
}

/// Tells of each in a server.
pub fn tell<'a>(
    reading: &mut Reading<'a>,
    known: &Known<'a>,
    settings: &Settings<'a>,
    server: &[Directive<'a>],
) {
    let locations = || server.iter().filter(|it| it.name() == "location");
    let all = std::iter::once(server).chain(locations().map(Directive::inner));
    let is_page = |it: &&Directive<'_>| it.name() == "error_page";
    if all.clone().flatten().all(|it| !is_page(&it)) {
        return;
    }
    let settings = settings.inside(reading, server);
    let places = all.map(|directives| Place {
        directives,
        passes: passed(directives),
        attempts: OnceCell::new(),
    });
    let places: Vec<_> = places.collect();
    let mut named = HashMap::new();
    for (location, place) in locations().zip(&places[1..]) {
        let name = location.args().last();
        named.entry(name.map(|it| &*it.text)).or_insert(place);
    }
    let first = places[1..].iter().find(|it| it.passes.is_some());
    for place in &places {
        for page in place.directives.iter().filter(is_page) {
            let is_failure = |it: &Word| ["500", "502", "503", "504"].contains(&&*it.text);
            let is_on_failure = page.args().iter().any(is_failure);
            let target = page.args().last().map(|it| &*it.text);
            let again = target.and_then(|it| named.get(&Some(it)));
            let from = Some(place).filter(|it| it.passes.is_some()).or(first);
            let (true, Some(again), Some(from)) = (is_on_failure, again, from) else {
                continue;
            };
            let (Some((_, to)), Some((_, of))) = (again.passes, from.passes) else {
                continue;
            };
            let sentence = format!(
                "a request that failed is passed on once more to {}: up to {} attempts on top of the {} at {}, which no policy here counts, a POST as well",
                host(to),
                again.attempts(reading, known, &settings),
                from.attempts(reading, known, &settings),
                host(of)
            );
            let file = std::mem::replace(&mut reading.document.file, page.file);
            let remedy = "answer with a page that passes nothing on, or set `proxy_next_upstream_tries` in both locations";
            reading.find(page.span(), code::PASSED_ON_AGAIN, sentence, remedy);
            reading.document.file = file;
        }
    }
}

/// Where the directives of a place pass requests on to, and by which family.
fn passed<'d>(place: &'d [Directive<'_>]) -> Option<(&'static Family, &'d str)> {
    place.iter().find_map(|it| {
        let family = FAMILIES.iter().find(|family| family.passes(it.name()))?;
        Some((family, &*it.args().first()?.text))
    })
}

impl<'a> Place<'_, 'a> {
    /// How many a request makes at most there.
    fn attempts(
        &self,
        reading: &mut Reading<'a>,
        known: &Known<'a>,
        settings: &Settings<'a>,
    ) -> u32 {
        *self.attempts.get_or_init(|| {
            let Some((family, name)) = self.passes else {
                return 1;
            };
            let own = settings.inside(reading, self.directives).of(family);
            let listed = own.next.and_then(|it| it.value);
            if listed.is_some_and(|it| it.is_off()) {
                return 1;
            }
            let servers = known.servers(host(name)).map_or(1, |it| it.count);
            let tries = own.tries.and_then(|it| it.value).filter(|it| *it > 0);
            tries.map_or(servers, |it| it.min(servers))
        })
    }
}
