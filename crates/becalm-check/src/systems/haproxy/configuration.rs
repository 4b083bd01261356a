//! What holds in each backend of a file, where other files are read before and beside it?
//!
//! HAProxy reads the files of several `-f` as one, in their order (`doc/management.txt` of 2.6, section 3).

use std::collections::{HashMap, HashSet};

use super::lines::{Line, Section, sections};
use super::proxies::{Leads, Proxy, Rules};
use super::{HAPROXY, is_haproxy};
use crate::code;
use crate::document::{Document, Together};
use crate::list::list;
use crate::reading::Reading;
use crate::template::{self, is_placeholder};

/// What the files that are read together have for each other.
#[derive(Debug, Default)]
pub struct Files<'a> {
    defaults: Vec<Defaults<'a>>,
    names: HashSet<String>,
    fronts: Fronts<'a>,
    /// Of each file, how many of the defaults stand before it.
    before: Vec<usize>,
}

/// What the sections that take requests leave to the backends that they lead to.
#[derive(Debug, Default)]
struct Fronts<'a> {
    by_name: HashMap<String, Rules<'a>>,
    /// Of those whose requests choose the backend.
    to_any: Option<Rules<'a>>,
}

impl<'a> Fronts<'a> {
    fn add(&mut self, front: &Proxy<'a>) {
        for name in front.leads_to() {
            if name.contains("%[") || is_placeholder(name) {
                Rules::beside(&mut self.to_any, &front.rules);
            } else if let Some(same) = self.by_name.get_mut(name) {
                same.and(&front.rules);
            } else {
                self.by_name.insert(name.to_owned(), front.rules.clone());
            }
        }
    }

    /// Of those that lead to this backend, if any does.
    fn of(&self, backend: &str) -> Option<Rules<'a>> {
        let mut all = self.by_name.get(backend).cloned();
        if let Some(any) = &self.to_any {
            Rules::beside(&mut all, any);
        }
        all
    }
}

/// A section `defaults` with its name.
#[derive(Debug, Clone)]
struct Defaults<'a> {
    name: String,
    proxy: Proxy<'a>,
}

impl<'a> Files<'a> {
    pub fn of(together: &[Together<'a>]) -> Self {
        let mut all = Self::default();
        for file in together {
            all.before.push(all.defaults.len());
            if is_haproxy(file.text) && template::first(file.text).is_none() {
                let document = Document {
                    file: file.file,
                    text: file.text,
                    tree: None,
                    beside: &[],
                    together: &[],
                    merges: &[],
                };
                // What is found there is told when that file is read.
                let mut aside = Reading::new(document, &HAPROXY, HAPROXY.newest());
                let (read, _) = sections(file.text);
                let own = Own::of(&mut aside, &read, &all, &all.defaults);
                all.names
                    .extend(own.defaults.iter().map(|it| it.name.clone()));
                all.defaults.extend(own.defaults);
                own.fronts.iter().for_each(|it| all.fronts.add(it));
            }
        }
        all
    }

    /// The defaults of the files before this one.
    fn before(&self, document: &Document<'a>) -> &[Defaults<'a>] {
        let is_own =
            |it: &Together<'_>| it.file == document.file && std::ptr::eq(it.text, document.text);
        let at = document.together.iter().position(is_own);
        let before = at.and_then(|at| self.before.get(at)).copied();
        self.defaults
            .get(..before.unwrap_or_default())
            .unwrap_or_default()
    }
}

/// Of a file, those that have servers to repeat to, each with what holds in it.
pub fn backends<'a, 's>(
    reading: &mut Reading<'a>,
    sections: &'s [Section],
    files: &Files<'a>,
) -> Vec<(&'s Section, Proxy<'a>)> {
    let before = files.before(&reading.document);
    let mut own = Own::of(reading, sections, files, before);
    let mut fronts = Fronts::default();
    own.fronts.iter().for_each(|it| fronts.add(it));
    for (section, proxy) in &mut own.backends {
        let name = section.head.word(1);
        if let Some(rules) = fronts.of(name).or_else(|| files.fronts.of(name)) {
            proxy.rules.or(&rules);
        }
    }
    own.backends
}

/// What stands in a file.
#[derive(Default)]
struct Own<'a, 's> {
    defaults: Vec<Defaults<'a>>,
    /// The sections that take requests.
    fronts: Vec<Proxy<'a>>,
    backends: Vec<(&'s Section, Proxy<'a>)>,
}

impl<'a, 's> Own<'a, 's> {
    fn of(
        reading: &mut Reading<'a>,
        sections: &'s [Section],
        files: &Files<'a>,
        before: &[Defaults<'a>],
    ) -> Self {
        let mut own = Self::default();
        let is_default = |it: &&Section| it.head.word(0) == "defaults";
        let names: HashSet<_> = (sections.iter().filter(is_default))
            .map(Section::name)
            .collect();
        let of_files = before.iter().enumerate();
        let mut by_name: HashMap<_, _> = of_files.map(|(at, it)| (&*it.name, at)).collect();
        for section in sections {
            let kind = section.head.word(0);
            let above = |at: usize| match at.checked_sub(before.len()) {
                None => before.get(at),
                Some(at) => own.defaults.get(at),
            };
            let many = before.len() + own.defaults.len();
            // Each `defaults` begins anew, but for `from`.
            let inherited = match from(&section.head) {
                Some(name) => match by_name.get(name).and_then(|at| above(*at)) {
                    Some(other) => other.proxy.clone(),
                    None if names.contains(name) || files.names.contains(name) => {
                        refused(reading, &section.head, name)
                    }
                    None => unseen(reading, &section.head, name),
                },
                None if kind == "defaults" => Proxy::default(),
                None => many
                    .checked_sub(1)
                    .and_then(above)
                    .map(|it| it.proxy.clone())
                    .unwrap_or_default(),
            };
            match kind {
                "defaults" => {
                    by_name.insert(section.name(), many);
                    own.defaults.push(Defaults {
                        name: section.name().to_owned(),
                        proxy: inherited.with(reading, section).into_defaults(),
                    });
                }
                "frontend" => own.fronts.push(inherited.in_front(reading, section)),
                "backend" | "listen" => {
                    let proxy = inherited.with(reading, section);
                    if kind == "listen" {
                        own.fronts.push(proxy.clone());
                    }
                    let is_asked_for = retries(section).is_some();
                    match proxy.leads {
                        Leads::ToServers => own.backends.push((section, proxy)),
                        Leads::Nowhere if is_asked_for => {
                            servers_elsewhere(reading, section);
                            own.backends.push((section, proxy));
                        }
                        Leads::Nowhere => {
                            if proxy.retries.is_some() || proxy.retry_on.is_some() {
                                no_server(reading, section);
                            }
                        }
                        Leads::Back => never(reading, section),
                    }
                }
                _ => {}
            }
        }
        own
    }
}

/// The first line of a section that is about retries.
fn retries(section: &Section) -> Option<&Line> {
    let is_own = |it: &&Line| ["retries", "retry-on"].contains(&it.word(0));
    section.lines.iter().find(is_own)
}

/// Tells of servers that are not in the file: since 2.4 they come and go while HAProxy runs (`add server`, `doc/management.txt`,
/// section 9.3).
fn servers_elsewhere(reading: &mut Reading<'_>, section: &Section) {
    let (kind, name) = (section.head.word(0), section.head.word(1));
    let sentence = format!(
        "{kind} {name} has no server in these files: what follows holds for those that `add server {name}/NAME` adds while HAProxy runs, and without any nothing is repeated"
    );
    let remedy = format!("add a `server` to {name}, or leave its lines about retries out");
    reading.find(section.head.span(), code::NOT_SEEN, sentence, remedy);
}

/// Tells of a section without a server for which `defaults` ask for retries, but where it answers or leads on by itself.
fn no_server(reading: &mut Reading<'_>, section: &Section) {
    let answers = list!("stats redirect errorfile monitor-uri use_backend default_backend");
    let rules = list!("http-request tcp-request");
    let is_answer = |line: &Line| answers.contains(&line.word(0)) || rules.contains(&line.word(0));
    if section.lines.iter().any(is_answer) {
        return;
    }
    let (kind, name) = (section.head.word(0), section.head.word(1));
    let sentence = format!(
        "{kind} {name} has no server in these files: the retries of its `defaults` repeat nothing, unless `add server` adds one"
    );
    let remedy = format!("add a `server` to {name}, or leave it out");
    reading.note(section.head.span(), code::NOT_SEEN, sentence, remedy);
}

/// Tells of retries in a section that answers by itself (run with 2.6.12).
fn never(reading: &mut Reading<'_>, section: &Section) {
    let Some(line) = retries(section) else {
        return;
    };
    let (kind, name, word) = (section.head.word(0), section.head.word(1), line.word(0));
    let sentence =
        format!("{kind} {name} answers by `http-request return`: `{word}` repeats nothing");
    let remedy = format!("leave `{word}` out");
    reading.find(line.span(), code::NEVER_RETRIES, sentence, remedy);
}

/// The defaults that a section names: `backend b from web`, `defaults from web`.
fn from(head: &Line) -> Option<&str> {
    let first = match head.word(0) {
        "defaults" => 1,
        "frontend" | "backend" | "listen" => 2,
        _ => return None,
    };
    let at = (first..head.words.len()).find(|at| head.word(*at) == "from")?;
    head.words.get(at + 1).map(|it| &*it.text)
}

const NAME_IT: &str = "name the file that has it, before this one";

/// What is read where the defaults stand behind the section.
fn refused<'a>(reading: &mut Reading<'a>, head: &Line, name: &str) -> Proxy<'a> {
    let sentence =
        format!("`defaults {name}` stands after it in these files: HAProxy refuses `from {name}`");
    reading.find(head.span(), code::REFUSED, sentence, NAME_IT);
    Proxy::default()
}

/// What stands in for defaults that no file has.
fn unseen<'a>(reading: &mut Reading<'a>, head: &Line, name: &str) -> Proxy<'a> {
    let sentence = format!(
        "`defaults {name}` is of no file that is named: what it says is not known here; `mode http` and the defaults of HAProxy stand in"
    );
    reading.find(head.span(), code::NOT_SEEN, sentence, NAME_IT);
    let mut proxy = Proxy::default();
    proxy.is_http = true;
    proxy.is_in_part = true;
    proxy
}
