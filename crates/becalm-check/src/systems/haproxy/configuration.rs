//! What holds in each backend of a file, where other files are read before and beside it?
//!
//! HAProxy reads the files of several `-f` as one, in their order (`doc/management.txt` of 2.6, section 3).

use super::conditions::{both, either};
use super::is_haproxy;
use super::lines::{Section, sections};
use super::proxies::Proxy;
use crate::code;
use crate::reading::Reading;
use crate::template;

/// A section that takes requests.
struct Front<'a> {
    file: &'a str,
    proxy: Proxy<'a>,
}

/// Those that have servers to repeat to, each with what holds in it.
pub fn backends<'a, 's>(
    reading: &mut Reading<'a>,
    own: &'s [Section],
) -> Vec<(&'s Section, Proxy<'a>)> {
    let file = reading.document.file;
    let mut defaults = Vec::new();
    let mut fronts = Vec::new();
    let mut backends = Vec::new();
    for other in reading.document.together {
        let is_own = other.file == file && std::ptr::eq(other.text, reading.document.text);
        if is_own {
            let before = std::mem::take(&mut defaults);
            defaults = of_file(reading, own, before, &mut fronts, &mut backends);
        } else if is_haproxy(other.text) && template::first(other.text).is_none() {
            // What is found there is told when that file is read.
            let mut aside = Reading::new(reading.document, reading.system, reading.version);
            aside.document.file = other.file;
            let (read, _) = sections(other.text);
            defaults = of_file(&mut aside, &read, defaults, &mut fronts, &mut Vec::new());
        }
    }
    for (section, proxy) in &mut backends {
        let fronts = in_front_of(section.head.word(1), file, &fronts);
        let unrepeated = fronts.iter().map(|it| it.unrepeated).reduce(both);
        proxy.unrepeated = either(proxy.unrepeated, unrepeated.unwrap_or_default());
        let conditions = fronts.iter().flat_map(|it| it.conditions.clone());
        proxy.conditions.extend(conditions);
    }
    backends
}

type Defaults<'a> = Vec<(String, Proxy<'a>)>;

fn of_file<'a, 's>(
    reading: &mut Reading<'a>,
    sections: &'s [Section],
    mut defaults: Defaults<'a>,
    fronts: &mut Vec<Front<'a>>,
    backends: &mut Vec<(&'s Section, Proxy<'a>)>,
) -> Defaults<'a> {
    let file = reading.document.file;
    for section in sections {
        let kind = section.head.word(0);
        // Each `defaults` begins anew, but for `from`.
        let inherited = match from(reading, section, &defaults) {
            None if kind == "defaults" => Proxy::default(),
            None => defaults
                .last()
                .map(|(_, it)| it.clone())
                .unwrap_or_default(),
            Some(named) => named,
        };
        match kind {
            "defaults" => {
                let proxy = inherited.with(reading, section);
                defaults.push((section.head.word(1).to_owned(), proxy));
            }
            "frontend" => {
                let proxy = inherited.in_front(reading, section);
                fronts.push(Front { file, proxy });
            }
            "backend" | "listen" => {
                let proxy = inherited.with(reading, section);
                if kind == "listen" {
                    let proxy = proxy.clone();
                    fronts.push(Front { file, proxy });
                }
                if proxy.has_servers {
                    backends.push((section, proxy));
                }
            }
            _ => {}
        }
    }
    defaults
}

/// The defaults that a section names.
fn from<'a>(
    reading: &mut Reading<'a>,
    section: &Section,
    defaults: &Defaults<'a>,
) -> Option<Proxy<'a>> {
    let words = &section.head.words;
    let at = words.iter().position(|it| it.text == "from")?;
    let name = section.head.word(at + 1);
    let named = defaults.iter().rev().find(|(it, _)| it == name);
    if named.is_none() {
        let sentence = format!(
            "no `defaults {name}` stands before it in these files: HAProxy refuses `from {name}`"
        );
        let remedy = "name the file that has it, before this one";
        reading.find(section.head.span(), code::REFUSED, sentence, remedy);
    }
    Some(named.map(|(_, it)| it.clone()).unwrap_or_default())
}

/// The sections of this file that lead to a backend; where none does, those of the others.
fn in_front_of<'f, 'a>(backend: &str, file: &str, fronts: &'f [Front<'a>]) -> Vec<&'f Proxy<'a>> {
    let leading = || fronts.iter().filter(|it| it.proxy.leads_to(backend));
    let own: Vec<_> = leading().filter(|it| it.file == file).collect();
    let all = if own.is_empty() {
        leading().collect()
    } else {
        own
    };
    all.into_iter().map(|it| &it.proxy).collect()
}
