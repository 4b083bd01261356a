//! What holds in a section, after its `defaults`?

use std::rc::Rc;
use std::time::Duration;

use becalm::retry_on::Methods;

use super::conditions::{Acls, Holds, METHODS, OfMethods, both, either};
use super::lines::{Line, Section, Word};
use super::retry_on::{self, Listed};
use crate::code;
use crate::reading::Reading;
use crate::said::Said;
use crate::template::is_placeholder;
use crate::told::Told;

/// What a section says about retrying, its defaults included.
#[derive(Debug, Clone, Default)]
pub struct Proxy<'a> {
    pub is_http: bool,
    pub retries: Option<Said<'a, u32>>,
    pub retry_on: Option<Said<'a, Listed>>,
    pub redispatch: Option<Said<'a, ()>>,
    pub connect: Option<Said<'a, Duration>>,
    pub server: Option<Said<'a, Duration>>,
    pub rules: Rules<'a>,
    pub leads: Leads,
    /// Whether its defaults are of no file that is named.
    pub is_in_part: bool,
    /// Whether a rule before ends the rules for some requests.
    lets_through: bool,
    /// Servers that are asked in turn: no backups.
    pub active: usize,
    /// What holds for a server whose own line does not say it.
    default_server: Spare,
    balance: Option<String>,
    acls: Rc<Acls>,
    default_backend: Option<String>,
    use_backends: Vec<String>,
}

/// The rules `disable-l7-retry` of a section.
#[derive(Debug, Clone, Default)]
pub struct Rules<'a> {
    /// For which methods one holds.
    pub unrepeated: OfMethods,
    /// The first that ask for more than the method.
    pub conditions: Vec<Said<'a, ()>>,
    /// Whether there are more of them.
    pub has_more_conditions: bool,
}

impl<'a> Rules<'a> {
    /// With those of a section that leads to the same backend: what one of the two repeats is repeated.
    pub fn and(&mut self, other: &Self) {
        self.unrepeated = both(self.unrepeated, other.unrepeated);
        self.add(other);
    }

    /// As [`Self::and`], where there may be none yet.
    pub fn beside(all: &mut Option<Self>, other: &Self) {
        match all {
            Some(all) => all.and(other),
            None => *all = Some(other.clone()),
        }
    }

    /// With those of what leads here: what one of the two does not repeat is not repeated.
    pub fn or(&mut self, other: &Self) {
        self.unrepeated = either(self.unrepeated, other.unrepeated);
        self.add(other);
    }

    fn add(&mut self, other: &Self) {
        self.has_more_conditions |= other.has_more_conditions;
        other
            .conditions
            .iter()
            .for_each(|it| self.add_condition(it));
    }

    /// Adds a rule that asks for more than the method. One of the defaults holds in a backend and in what leads to it.
    fn add_condition(&mut self, rule: &Said<'a, ()>) {
        let mut all = self.conditions.iter();
        if all.any(|it| (it.file, it.span) == (rule.file, rule.span)) {
            return;
        }
        if self.conditions.len() < MOST_CONDITIONS {
            self.conditions.push(rule.clone());
        } else {
            self.has_more_conditions = true;
        }
    }
}

/// Where requests go from a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Leads {
    #[default]
    Nowhere,
    /// Or to a `dispatch`.
    ToServers,
    /// It answers each request itself.
    Back,
}

/// Whether a server is asked where others are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Spare {
    is_backup: bool,
    is_disabled: bool,
}

impl Spare {
    /// With what this line says.
    fn and(mut self, line: &Line) -> Self {
        for word in &line.words {
            match &*word.text {
                "backup" => self.is_backup = true,
                "no-backup" => self.is_backup = false,
                "disabled" => self.is_disabled = true,
                "enabled" => self.is_disabled = false,
                _ => {}
            }
        }
        self
    }
}

/// So many rules are listed with a backend.
const MOST_CONDITIONS: usize = 8;

impl<'a> Proxy<'a> {
    /// As the defaults of other sections: no `use_backend` is of them, and HAProxy finds no `acl` of them below (run with 2.6.12).
    pub fn into_defaults(mut self) -> Self {
        self.use_backends.clear();
        self.acls = Rc::default();
        self
    }

    /// What holds in this section, of which self is the defaults.
    pub fn with(mut self, reading: &mut Reading<'a>, section: &Section) -> Self {
        self.lets_through = false;
        for line in section.lines.iter().filter(|it| !section.refuses(it)) {
            self.take(reading, line);
            self.take_rule(reading, line);
        }
        self
    }

    /// What holds in this frontend, of which self is the defaults: it does not retry.
    pub fn in_front(mut self, reading: &mut Reading<'a>, section: &Section) -> Self {
        frontend(reading, section);
        for line in &section.lines {
            self.take_rule(reading, line);
        }
        self
    }

    fn take(&mut self, reading: &mut Reading<'a>, line: &Line) {
        match (line.word(0), line.word(1)) {
            ("mode", mode) => self.is_http = mode == "http",
            ("retries", _) => self.retries = retries(reading, line).or(self.retries.take()),
            // The last one holds.
            ("retry-on", _) => self.retry_on = Some(retry_on::read(reading, line)),
            // Run with 2.6.12: with them a second passes before each retry, as with a single server.
            ("dispatch", _) | ("option", "transparent") => self.lead_to_servers(),
            ("default-server", _) => self.default_server = self.default_server.and(line),
            ("server" | "server-template", _) => {
                self.lead_to_servers();
                let count = if line.word(0) == "server" {
                    1
                } else {
                    of_template(line.word(2))
                };
                let is_active = self.default_server.and(line) == Spare::default();
                let active = if is_active { count } else { 0 };
                self.active = self.active.saturating_add(active);
            }
            // What it lets through meets no further rule.
            ("http-request", "allow") => self.lets_through = true,
            ("http-request", "return") if !self.lets_through => {
                let is_bound = |it: &Word| ["if", "unless"].contains(&&*it.text);
                if !line.words.iter().any(is_bound) {
                    self.leads = Leads::Back;
                }
            }
            ("balance", algorithm) => self.balance = Some(algorithm.to_owned()),
            ("option", "redispatch") => self.redispatch = Some(said(reading, line)),
            ("no", "option") if line.word(2) == "redispatch" => self.redispatch = None,
            ("timeout", "connect") => self.connect = Some(time(reading, line)),
            ("timeout", "server") => self.server = Some(time(reading, line)),
            _ => {}
        }
    }

    fn lead_to_servers(&mut self) {
        if self.leads == Leads::Nowhere {
            self.leads = Leads::ToServers;
        }
    }

    fn take_rule(&mut self, reading: &mut Reading<'a>, line: &Line) {
        match (line.word(0), line.word(1)) {
            ("acl", _) => Rc::make_mut(&mut self.acls).take(line),
            ("default_backend", name) => self.default_backend = Some(name.to_owned()),
            ("use_backend", name) => self.use_backends.push(name.to_owned()),
            ("http-request", "disable-l7-retry") => self.disable(reading, line),
            _ => {}
        }
    }

    fn disable(&mut self, reading: &mut Reading<'a>, line: &Line) {
        let words = line.words.get(2..).unwrap_or_default();
        if let Some((why, word)) = self.acls.refused(words) {
            let sentence = format!("HAProxy {why} `{}`, and refuses the file", word.text);
            let remedy = "write `if` or `unless`, and conditions that an `acl` before it in this section has";
            reading.find(word.span, code::REFUSED, sentence, remedy);
            return;
        }
        let condition = self.acls.condition(words);
        self.rules.unrepeated = either(self.rules.unrepeated, condition);
        if condition.contains(&Holds::Unknown) {
            let rule = said(reading, line);
            let sentence = format!(
                "whether `{}` holds for a request is not known here; requests for which it may are taken for repeated",
                rule.text
            );
            reading.find(line.span(), code::UNKNOWN_VALUE, sentence, "");
            self.rules.add_condition(&rule);
        }
    }

    /// Whether a connection that cannot be made is made to another server, without a wait. Where a hash of the request chooses
    /// the server, the last retry alone is (counted with each algorithm of 2.6.12).
    pub fn goes_elsewhere_at_once(&self) -> bool {
        self.redispatch.is_some() && self.active > 1 && !self.is_hashed()
    }

    fn is_hashed(&self) -> bool {
        let hashes = ["source", "uri", "url_param", "hdr", "rdp-cookie", "hash"];
        let algorithm = self.balance.as_deref().unwrap_or_default();
        let name = algorithm.split('(').next().unwrap_or_default();
        hashes.contains(&name)
    }

    /// The backends that requests go to from here, as far as they are named.
    pub fn leads_to(&self) -> impl Iterator<Item = &str> {
        let all = self.use_backends.iter().chain(&self.default_backend);
        all.map(|it| &**it)
    }

    /// Which methods are repeated: all, but for those that a rule takes out whatever else it asks for.
    pub fn methods(&self) -> Methods {
        if !self.rules.unrepeated.contains(&Holds::Yes) {
            return Methods::Any;
        }
        let all = METHODS.into_iter().zip(self.rules.unrepeated);
        let repeated = all.filter(|(_, holds)| *holds != Holds::Yes);
        Methods::of(repeated.map(|(method, _)| method))
    }

    /// What is repeated of a request.
    pub fn listed(&self) -> Listed {
        let said = self.retry_on.as_ref().filter(|_| self.is_http);
        let listed = said.and_then(|it| it.value).unwrap_or_default();
        if self.rules.unrepeated == [Holds::Yes; METHODS.len()] {
            listed.of_connections()
        } else {
            listed
        }
    }
}

/// How many servers `server-template` makes: `3`, or `2-4`.
fn of_template(range: &str) -> usize {
    let (from, to) = range.split_once('-').unwrap_or(("1", range));
    let number = |it: &str| it.parse::<usize>().ok();
    let count = number(from)
        .zip(number(to))
        .map(|(from, to)| to.saturating_add(1).saturating_sub(from));
    // What is filled in elsewhere is taken for several.
    count.unwrap_or(2)
}

/// A line as a whole.
fn said<'a>(reading: &Reading<'a>, line: &Line) -> Said<'a, ()> {
    Said {
        value: Some(()),
        text: line.rest(1).into(),
        span: line.span(),
        file: reading.document.file,
    }
}

/// A frontend does not retry.
fn frontend(reading: &mut Reading<'_>, section: &Section) {
    for line in &section.lines {
        let (code, does) = match line.word(0) {
            "retries" => (code::KEY_NOT_READ, "ignores"),
            "retry-on" => (code::REFUSED, "refuses"),
            _ => continue,
        };
        let sentence = format!("HAProxy {does} `{}` in a frontend", line.word(0));
        let remedy = "move it to the backend, or to `defaults`";
        reading.find(line.span(), code, sentence, remedy);
    }
}

/// As `atol` reads it into an `int`: what is no number is 0, and what is too large keeps its lower 32 bits.
fn retries<'a>(reading: &mut Reading<'a>, line: &Line) -> Option<Said<'a, u32>> {
    let [_, word] = &*line.words else {
        let sentence = "HAProxy refuses `retries` without one number";
        let remedy = "write `retries 3`";
        reading.find(line.span(), code::REFUSED, sentence, remedy);
        return None;
    };
    let text = &*word.text;
    let told = reading.told_text(Some(text), word.span, "a number of retries", |text| {
        let digits = text.strip_prefix('+').unwrap_or(text);
        let is_number = digits.bytes().all(|it| it.is_ascii_digit());
        is_number.then(|| digits.parse().ok().filter(|it| i32::try_from(*it).is_ok()))?
    });
    let value = match told {
        Told::Is(value, _) => Some(value),
        _ if is_placeholder(text) => None,
        _ => Some(as_int(text)),
    };
    Some(Said {
        value,
        text: text.into(),
        span: line.span(),
        file: reading.document.file,
    })
}

/// Below 0 nothing is repeated.
fn as_int(text: &str) -> u32 {
    let text = text.strip_prefix('+').unwrap_or(text);
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number = text[..digits]
        .parse()
        .unwrap_or(i64::MAX * i64::from(digits > 0));
    let lower = u32::try_from(number & 0xffff_ffff).unwrap_or(0);
    if i32::try_from(lower).is_ok() {
        lower
    } else {
        0
    }
}

fn time<'a>(reading: &mut Reading<'a>, line: &Line) -> Said<'a, Duration> {
    let before = std::mem::replace(&mut reading.misread, code::REFUSED);
    let text = Some(line.word(2)).filter(|it| !it.is_empty());
    let told = reading.told_text(
        text,
        line.span(),
        "a time as HAProxy writes it, such as 5s or 300, of at most 24 days",
        millis,
    );
    reading.misread = before;
    Said {
        value: told.known(),
        text: line.word(2).into(),
        span: line.span(),
        file: reading.document.file,
    }
}

/// Milliseconds, or with a unit; a part of a millisecond is one more. Longer than 2^31 - 1 of them is refused.
fn millis(text: &str) -> Option<Duration> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits)?;
    // It keeps the lower 64 bits (run with 2.6.12): 2^64 is 0.
    let add = |all: u64, digit: u8| all.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
    let number = (digits > 0).then(|| number.bytes().fold(0, add))?;
    let nanos: u64 = match unit {
        "us" => 1000,
        "" | "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return None,
    };
    let time = number.checked_mul(nanos).map(Duration::from_nanos);
    time.filter(|it| it.as_nanos().div_ceil(1_000_000) <= i32::MAX.unsigned_abs().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_retries_is_read_as_haproxy_reads_it() {
        for (text, number) in [
            ("3x", 3),
            ("-1", 0),
            ("x", 0),
            ("4294967298", 2),
            ("4294967295", 0),
            ("99999999999999999999", 0),
        ] {
            assert_eq!(as_int(text), number, "{text}");
        }
    }
}
