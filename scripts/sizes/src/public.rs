//! What of a crate do its users reach?
//!
//! Counted are types, traits, functions, constants and macros, each once, with all features; not modules, methods, fields
//! and variants.

use crate::paths::{Paths, Target};
use crate::sources::{ModuleId, Sources, What};
use std::collections::{BTreeMap, BTreeSet};

/// The public items of a crate.
#[derive(Debug, PartialEq, Eq)]
pub struct Public {
    /// What a user reaches by a path that the documentation shows.
    pub reachable: BTreeSet<String>,
    /// What a user reaches only by a path that it does not show.
    pub hidden: BTreeSet<String>,
    /// The names at the root of the crate, without modules.
    pub root: BTreeSet<String>,
}

/// The public items of a crate.
pub fn public(sources: &Sources) -> Public {
    let root = sources.files.first().map_or(0, |file| file.module);
    let mut walk = Walk {
        sources,
        paths: Paths::new(sources),
        open: BTreeSet::new(),
        found: BTreeMap::new(),
    };
    walk.module(root, false, &mut Vec::new());
    let at_root = walk.found.values().filter(|found| found.path.len() == 1);
    let root = at_root.map(|found| found.path.concat()).collect();
    let (hidden, reachable): (Vec<_>, Vec<_>) =
        walk.found.into_values().partition(|found| found.hidden);
    let paths = |list: Vec<Found>| {
        list.into_iter()
            .map(|found| found.path.join("::"))
            .collect()
    };
    Public {
        reachable: paths(reachable),
        hidden: paths(hidden),
        root,
    }
}

struct Walk<'a> {
    sources: &'a Sources,
    paths: Paths<'a>,
    open: BTreeSet<ModuleId>,
    found: BTreeMap<(ModuleId, String), Found>,
}

/// An item, by its best path: one that is shown, then a short one.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    hidden: bool,
    length: usize,
    path: Vec<String>,
}

impl Walk<'_> {
    fn module(&mut self, module: ModuleId, hidden: bool, path: &mut Vec<String>) {
        if !self.open.insert(module) {
            return;
        }
        let here = &self.sources.modules[module];
        for (name, meanings) in &here.names {
            path.push(name.clone());
            for named in meanings.iter().filter(|named| named.public) {
                let hidden = hidden || named.hidden;
                match &named.what {
                    What::Module(inner) => self.module(*inner, hidden, path),
                    What::Item => self.item((module, name.clone()), hidden, path),
                    What::Import(imported) => {
                        for target in self.paths.resolve(module, imported) {
                            match target {
                                Target::Module(inner) => self.module(inner, hidden, path),
                                Target::Item(from, name) => self.item((from, name), hidden, path),
                            }
                        }
                    }
                }
            }
            path.pop();
        }
        for glob in here.globs.iter().filter(|glob| glob.public) {
            for target in self.paths.resolve(module, &glob.path) {
                if let Target::Module(inner) = target {
                    self.module(inner, hidden || glob.hidden, path);
                }
            }
        }
        self.open.remove(&module);
    }

    fn item(&mut self, item: (ModuleId, String), hidden: bool, path: &[String]) {
        let found = Found {
            hidden,
            length: path.len(),
            path: path.to_vec(),
        };
        let best = self.found.entry(item).or_insert_with(|| found.clone());
        if found < *best {
            *best = found;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrows::tests::sources;

    fn list(names: &BTreeSet<String>) -> Vec<&str> {
        names.iter().map(String::as_str).collect()
    }

    #[test]
    fn an_item_counts_once_by_its_shortest_path_that_is_shown() {
        let public = public(&sources(&[
            (
                "lib.rs",
                "pub mod a; mod b; pub use a::A; pub use b::*; fn private() {}",
            ),
            (
                "a.rs",
                "pub struct A; pub fn f() {} pub(crate) fn g() {} #[doc(hidden)] pub use crate::b::B;",
            ),
            (
                "b.rs",
                "pub struct B; #[doc(hidden)] pub mod c { pub struct C; }",
            ),
        ]));
        assert_eq!(list(&public.reachable), ["A", "B", "a::f"]);
        assert_eq!(list(&public.hidden), ["c::C"]);
        assert_eq!(list(&public.root), ["A", "B"]);
    }

    #[test]
    fn what_only_a_test_or_the_model_checker_compiles_is_no_users() {
        let public = public(&sources(&[
            (
                "lib.rs",
                "mod a; #[cfg(becalm_loom)] pub use a::A; #[cfg(test)] pub use a::B; #[cfg(any(feature = \"std\", becalm_loom))] pub use a::C;",
            ),
            ("a.rs", "pub struct A; pub struct B; pub struct C;"),
        ]));
        assert_eq!(list(&public.reachable), ["C"]);
    }

    #[test]
    fn what_macros_define_and_export_counts() {
        let public = public(&sources(&[(
            "lib.rs",
            "names! { pub enum E { One } fn private() {} } #[macro_export] macro_rules! m { () => {} } macro_rules! n { () => {} }",
        )]));
        assert_eq!(list(&public.root), ["E", "m"]);
    }
}
