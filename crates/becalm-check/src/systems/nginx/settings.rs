//! Which directives about the next server hold in a block?

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use becalm::Policy;

use super::directives::Directive;
use super::words::Listed;
use crate::code;
use crate::list::list;
use crate::meant::nearest;
use crate::reading::Reading;
use crate::said::Said;
use crate::system::Remedies;

/// A module that passes requests on, by what its directives begin with.
#[derive(Debug)]
pub struct Family {
    pub prefix: &'static str,
    /// What its `_next_upstream` takes.
    pub words: &'static [&'static str],
    /// What helps in its directives, in place of those of `proxy`.
    pub remedies: Remedies,
}

macro_rules! of {
    ($module:literal, $before:literal, $directive:literal) => {
        concat!($before, " `", $module, "_", $directive, "`")
    };
}

macro_rules! family {
    ($module:literal, $words:expr) => {{
        const LOWER: &str = of!($module, "lower", "next_upstream_tries");
        const SHORTER: &str = of!($module, "shorten", "read_timeout");
        const TIMEOUT: &str = of!($module, "set", "next_upstream_timeout 10s;");
        const OUT: &str = of!($module, "leave `non_idempotent` out of", "next_upstream");
        Family {
            prefix: $module,
            words: $words,
            remedies: &[
                ("no-budget", LOWER),
                ("retries-at-once", LOWER),
                ("no-growth", LOWER),
                ("hints-ignored", LOWER),
                ("repeats-non-idempotent", OUT),
                ("attempt-timeout-fills-deadline", SHORTER),
                ("no-deadline", TIMEOUT),
            ],
        }
    }};
}

pub const FAMILIES: &[Family] = &[
    Family {
        prefix: "proxy",
        words: list!(
            "error timeout invalid_header non_idempotent http_500 http_502 http_503 http_504 \
             http_403 http_404 http_429 updating off"
        ),
        remedies: &[],
    },
    family!("fastcgi", OF_GATEWAY),
    family!("uwsgi", OF_GATEWAY),
    family!("scgi", OF_GATEWAY),
    family!("grpc", OF_GRPC),
    family!("memcached", OF_CACHE),
];

const OF_CACHE: &[&str] = list!("error timeout invalid_response not_found off");
const OF_GRPC: &[&str] = list!(
    "error timeout invalid_header non_idempotent http_500 http_502 http_503 http_504 http_403 \
     http_404 http_429 off"
);
const OF_GATEWAY: &[&str] = list!(
    "error timeout invalid_header non_idempotent http_500 http_503 http_403 http_404 http_429 \
     updating off"
);

impl Family {
    pub fn passes(&self, directive: &str) -> bool {
        directive.strip_prefix(self.prefix) == Some("_pass")
    }
}

/// What holds for one module: the directives of the innermost block that has them.
#[derive(Debug, Clone, Default)]
pub struct Of<'a> {
    pub next: Option<Said<'a, Rc<Listed>>>,
    pub tries: Option<Said<'a, u32>>,
    pub timeout: Option<Said<'a, Duration>>,
    pub read_timeout: Option<Said<'a, Duration>>,
    pub connect_timeout: Option<Said<'a, Duration>>,
    pub request_buffering: Option<Said<'a, bool>>,
}

/// What holds in a block, for each of [`FAMILIES`].
#[derive(Debug, Clone)]
pub struct Settings<'a> {
    families: Rc<[Of<'a>]>,
    /// What is included around it, and is not among the files.
    pub unseen: Option<Rc<Unseen<'a>>>,
}

/// What a block includes, and what the blocks around it do.
#[derive(Debug)]
pub struct Unseen<'a> {
    pub own: Vec<Said<'a, ()>>,
    pub outer: Option<Rc<Self>>,
    /// Whether it was told, and what is around it: once for all that is passed on there.
    pub is_told: Cell<bool>,
}

impl Default for Settings<'_> {
    fn default() -> Self {
        Self {
            families: FAMILIES.iter().map(|_| Of::default()).collect(),
            unseen: None,
        }
    }
}

impl<'a> Settings<'a> {
    pub fn of(&self, family: &Family) -> Of<'a> {
        let at = FAMILIES.iter().position(|it| it.prefix == family.prefix);
        at.and_then(|at| self.families.get(at))
            .cloned()
            .unwrap_or_default()
    }

    /// What holds in a block with these directives.
    pub fn inside(&self, reading: &mut Reading<'a>, directives: &[Directive<'a>]) -> Self {
        let mut inner = self.clone();
        let mut own: Vec<Of<'a>> = Vec::new();
        for directive in directives {
            let of_family = |(at, family): (usize, &Family)| {
                Some((at, directive.name().strip_prefix(family.prefix)?))
            };
            let Some((at, name)) = FAMILIES.iter().enumerate().find_map(of_family) else {
                continue;
            };
            own.resize_with(FAMILIES.len(), Of::default);
            let file = std::mem::replace(&mut reading.document.file, directive.file);
            own[at].take(reading, name, directive);
            reading.document.file = file;
        }
        if !own.is_empty() {
            let families = own.into_iter().zip(&*self.families);
            inner.families = families.map(|(own, outer)| own.within(outer)).collect();
        }
        let includes = directives.iter().filter(|it| may_set(it));
        let includes: Vec<_> = includes.map(said).collect();
        if !includes.is_empty() {
            inner.unseen = Some(Rc::new(Unseen {
                own: includes,
                outer: inner.unseen,
                is_told: Cell::new(false),
            }));
        }
        inner
    }
}

/// Whether it includes what may say something of the next server; files that come with nginx do not.
fn may_set(directive: &Directive<'_>) -> bool {
    const QUIET: &[&str] = list!("mime.types fastcgi_params fastcgi.conf uwsgi_params scgi_params");
    let file = directive.args().first().map_or("", |it| &*it.text);
    let name = file.rsplit('/').next().unwrap_or_default();
    directive.name() == "include" && !QUIET.contains(&name) && !file.contains("modules-enabled")
}

fn said<'a>(directive: &Directive<'a>) -> Said<'a, ()> {
    let args: Vec<_> = directive.args().iter().map(|it| &*it.text).collect();
    Said {
        value: Some(()),
        text: args.join(" ").into(),
        span: directive.span(),
        file: directive.file,
    }
}

impl<'a> Of<'a> {
    /// What holds where the block around has this.
    fn within(self, outer: &Self) -> Self {
        let outer = outer.clone();
        Self {
            next: self.next.or(outer.next),
            tries: self.tries.or(outer.tries),
            timeout: self.timeout.or(outer.timeout),
            read_timeout: self.read_timeout.or(outer.read_timeout),
            connect_timeout: self.connect_timeout.or(outer.connect_timeout),
            request_buffering: self.request_buffering.or(outer.request_buffering),
        }
    }

    fn take(&mut self, reading: &mut Reading<'a>, name: &str, directive: &Directive<'a>) {
        match name {
            "_next_upstream" => {
                if directive.args().is_empty() {
                    let sentence = format!("nginx refuses `{}` without a word", directive.name());
                    let remedy = "write `error timeout`, which is the default";
                    reading.find(directive.span(), code::REFUSED, sentence, remedy);
                    return;
                }
                // Twice in a block: both lists hold.
                let before = self.next.take().and_then(|it| Rc::into_inner(it.value?));
                let mut words = before.unwrap_or_default();
                words.add(directive.args());
                let Said {
                    text, span, file, ..
                } = said(directive);
                self.next = Some(Said {
                    value: Some(Rc::new(words)),
                    text,
                    span,
                    file,
                });
            }
            "_next_upstream_tries" => {
                let form = "a number of attempts";
                one(reading, directive, &mut self.tries, form, tries);
            }
            "_next_upstream_timeout" => one(reading, directive, &mut self.timeout, TIME, time),
            "_read_timeout" => one(reading, directive, &mut self.read_timeout, TIME, time),
            "_connect_timeout" => one(reading, directive, &mut self.connect_timeout, TIME, time),
            "_request_buffering" => {
                let slot = &mut self.request_buffering;
                one(reading, directive, slot, "`on` or `off`", flag);
            }
            _ if name.starts_with("_next_upstream_") => {
                let known = ["_next_upstream_tries", "_next_upstream_timeout"];
                let meant = nearest(name, known).unwrap_or(known[0]);
                let family = directive.name().strip_suffix(name).unwrap_or_default();
                let sentence = format!("nginx has no directive `{}`", directive.name());
                let remedy = format!("did you mean `{family}{meant}`?");
                reading.find(directive.span(), code::REFUSED, sentence, remedy);
            }
            _ => {}
        }
    }
}

const TIME: &str = "a time as nginx writes it, such as 10s or 500ms";

fn one<'a, T>(
    reading: &mut Reading<'a>,
    directive: &Directive<'a>,
    slot: &mut Option<Said<'a, T>>,
    form: &str,
    parse: impl Fn(&str) -> Option<T>,
) {
    let refuse = |reading: &mut Reading<'_>, why: &str, remedy: &str| {
        let sentence = format!("nginx refuses `{}` {why}", directive.name());
        reading.find(directive.span(), code::REFUSED, sentence, remedy);
    };
    let [arg] = directive.args() else {
        let remedy = "write one value, in quotes if it has a blank";
        return refuse(reading, "without one value", remedy);
    };
    if slot.is_some() {
        return refuse(reading, "twice in a block", "keep one of them");
    }
    let told = reading.told_text(Some(&arg.text), arg.span, form, parse);
    *slot = Some(Said {
        value: told.known(),
        text: (&*arg.text).into(),
        span: directive.span(),
        file: directive.file,
    });
}

/// `ngx_conf_set_flag_slot`: whatever the case.
pub fn flag(text: &str) -> Option<bool> {
    let is = |word: &str| text.eq_ignore_ascii_case(word);
    (is("on") || is("off")).then(|| is("on"))
}

/// `ngx_atoi`: up to 2^63 - 1. No upstream has more servers than the largest of these attempts.
fn tries(text: &str) -> Option<u32> {
    let is_number = text.bytes().all(|it| it.is_ascii_digit());
    let number: i64 = is_number.then(|| text.parse().ok())??;
    let most = u32::try_from(number).unwrap_or(u32::MAX);
    Some(most.min(Policy::UNLIMITED - 1))
}

/// `ngx_parse_time` in milliseconds: units from the longest to the shortest, each once, months and years not among them; a number alone is
/// seconds.
pub fn time(text: &str) -> Option<Duration> {
    const UNITS: &[(&str, u64)] = &[
        ("w", 7 * 86_400_000),
        ("d", 86_400_000),
        ("h", 3_600_000),
        ("m", 60_000),
        ("s", 1000),
        ("ms", 1),
    ];
    let mut left = text.trim_end_matches(' ');
    let mut allowed = UNITS;
    let mut total = 0_u64;
    while !left.is_empty() {
        let digits = left.bytes().take_while(u8::is_ascii_digit).count();
        let number: u64 = left.get(..digits)?.parse().ok()?;
        left = left.get(digits..)?;
        let letters = left.bytes().take_while(u8::is_ascii_alphabetic).count();
        let unit = left.get(..letters)?;
        left = left.get(letters..)?.trim_start_matches(' ');
        let unit = if unit.is_empty() { "s" } else { unit };
        let at = allowed.iter().position(|(name, _)| *name == unit)?;
        total = total.checked_add(number.checked_mul(allowed[at].1)?)?;
        allowed = &allowed[at + 1..];
    }
    let is_time = !text.is_empty() && i64::try_from(total).is_ok();
    is_time.then(|| Duration::from_millis(total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_nginx_reads_them() {
        for (text, millis) in [
            ("10", 10_000),
            ("10s", 10_000),
            ("500ms", 500),
            ("1m30s", 90_000),
            ("1m 30s", 90_000),
            ("0", 0),
            ("1h2m3s4ms", 3_723_004),
        ] {
            assert_eq!(time(text), Some(Duration::from_millis(millis)), "{text}");
        }
        for text in [
            "",
            "s",
            "-1",
            "1x",
            "1s1m",
            "1M",
            "1y",
            "1s1s",
            "1.5s",
            "99999999999999999999",
            "9223372036854776",
        ] {
            assert_eq!(time(text), None, "{text}");
        }
    }
}
