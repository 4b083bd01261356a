//! From which shared configurations does an instance take what it does not say itself?

use std::cell::OnceCell;
use std::collections::HashMap;

use super::super::spring::{imports, lacks_base};
use super::{Key, Node, get};
use crate::code;
use crate::document::Document;
#[cfg(test)]
use crate::document::LOOKED_AT;
use crate::reading::Reading;

/// The configurations of a module that instances may stand on.
pub struct Configs<'n> {
    named: Named<'n>,
    /// Whether those of other documents are not seen.
    is_alone: bool,
    elsewhere: OnceCell<Option<Elsewhere>>,
}

type Elsewhere = (String, &'static str);

impl<'n> Configs<'n> {
    pub fn of(module: Option<&'n Node>, is_alone: bool) -> Self {
        Self {
            named: named(module, &["configs"]),
            is_alone,
            elsewhere: OnceCell::new(),
        }
    }

    /// Where a config that is in none of the files may be, and what helps.
    fn elsewhere(&self, document: &Document<'_>) -> Option<&Elsewhere> {
        let found = self.elsewhere.get_or_init(|| {
            #[cfg(test)]
            LOOKED_AT
                .set(LOOKED_AT.get() + document.tree.map_or(0, |it| it.entries().len() as u64));
            if self.is_alone {
                let sentence = "the document is read without the others of the file".to_owned();
                return Some((sentence, "split the file"));
            }
            if let Some(import) = imports(document) {
                let sentence = format!("`spring.config.import` takes `{import}` as well");
                let remedy = "check that file as well, or what the server of it gives";
                return Some((sentence, remedy));
            }
            let sentence = "a file of a profile is read on top of the one without".to_owned();
            let remedy = "name that file as well, such as application.yml";
            lacks_base(document).then_some((sentence, remedy))
        });
        found.as_ref()
    }
}

/// Configs or instances by their names.
pub type Named<'n> = HashMap<&'n str, &'n (Key, Node)>;

/// Those that stand at these places of a module; of several of a name the first.
pub fn named<'n>(module: Option<&'n Node>, places: &[&str]) -> Named<'n> {
    let mut named = Named::new();
    let tables = places.iter().filter_map(|it| get(module?, it));
    for entry in tables.flat_map(Node::entries) {
        #[cfg(test)]
        LOOKED_AT.set(LOOKED_AT.get() + 1);
        named.entry(&entry.0.name).or_insert(entry);
    }
    named
}

/// How many configs one may stand on.
const MOST: usize = 100;

/// The configurations of an instance: its own, and those that it stands on.
#[derive(Debug)]
pub struct Levels<'n>(pub Vec<&'n Node>);

impl<'n> Levels<'n> {
    /// `createRetryConfig`: the `baseConfig`, or from 2.0 on the one called `default`, each of which may stand on another.
    pub fn of(
        reading: &mut Reading<'_>,
        configs: &Configs<'n>,
        name: &str,
        given: &'n Node,
    ) -> Self {
        let of_name = |name: &str| configs.named.get(name).copied();
        let has_default = reading.version != "1.7";
        let mut levels = vec![given];
        let (mut name, mut top) = (name.to_owned(), given);
        loop {
            let base = get(top, "baseConfig").filter(|it| it.text().is_some());
            let next = match base {
                Some(base) => {
                    let said = base.text().unwrap_or_default();
                    let found = of_name(said);
                    let is_again = found
                        .is_some_and(|(_, it)| levels.iter().any(|level| std::ptr::eq(*level, it)));
                    let is_missing = found.is_none();
                    let elsewhere = is_missing.then(|| configs.elsewhere(&reading.document));
                    if let Some((where_, remedy)) = elsewhere.flatten() {
                        let sentence = format!(
                            "the config `{said}` is not here, and what it says is not seen: {where_}"
                        );
                        reading.find(base.span, code::NOT_SEEN, sentence, *remedy);
                        return Self(levels);
                    }
                    if found.is_none() || is_again {
                        let why = if is_again {
                            "stands on itself"
                        } else {
                            "is not there"
                        };
                        let sentence = format!(
                            "{} refuses the instance, as the config `{said}` {why}",
                            reading.who()
                        );
                        reading.find(base.span, code::REFUSED, sentence, "name one of `configs`");
                        return Self(levels);
                    }
                    found
                }
                None if has_default && name != "default" => of_name("default"),
                None => None,
            };
            let Some((key, next)) = next else {
                return Self(levels);
            };
            if levels.len() > MOST {
                let sentence = format!(
                    "the config `{}` is not read: the instance stands on {MOST} others before it",
                    key.name
                );
                reading.find(
                    key.span,
                    code::NOT_KNOWN,
                    sentence,
                    "let configs stand on fewer",
                );
                return Self(levels);
            }
            levels.push(next);
            (name, top) = (key.name.clone(), next);
        }
    }

    /// What the first of them says that says anything.
    pub fn value(&self, name: &str) -> Option<&'n Node> {
        self.0
            .iter()
            .find_map(|it| get(it, name).filter(|it| !it.is_null()))
    }

    /// Those from this one on.
    pub fn from(&self, at: usize) -> Self {
        Self(self.0[at..].to_vec())
    }
}
