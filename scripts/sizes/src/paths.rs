//! What does a path mean, and in which file is it defined?

use crate::sources::{ModuleId, Sources, What};
use std::collections::{BTreeMap, BTreeSet};

/// What a path means.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// A module of the crate.
    Module(ModuleId),
    /// A name that this module of the crate defines.
    Item(ModuleId, String),
}

/// Looks names up, through imports and re-exports.
pub struct Paths<'a> {
    sources: &'a Sources,
    in_functions: BTreeMap<(ModuleId, String), Vec<String>>,
}

/// The names that are being looked up: a re-export may lead to itself in another namespace.
type Open = BTreeSet<(ModuleId, String)>;

impl<'a> Paths<'a> {
    /// Looks names up in `sources`.
    pub fn new(sources: &'a Sources) -> Self {
        Self {
            sources,
            in_functions: BTreeMap::new(),
        }
    }

    /// Lets `name` mean `path` in `module`, where a function imports it.
    pub fn import_in_function(&mut self, module: ModuleId, name: String, path: Vec<String>) {
        self.in_functions.insert((module, name), path);
    }

    /// What `path` means where it stands in `module`. Empty for what another crate defines.
    pub fn resolve(&self, module: ModuleId, path: &[String]) -> Vec<Target> {
        self.follow(module, path, &mut Open::new())
    }

    fn follow(&self, module: ModuleId, path: &[String], open: &mut Open) -> Vec<Target> {
        let Some((mut targets, mut rest)) = self.start(module, path, open) else {
            return Vec::new();
        };
        while let Some((next, after)) = rest.split_first() {
            let modules: Vec<ModuleId> = targets
                .iter()
                .filter_map(|target| match target {
                    Target::Module(module) => Some(*module),
                    Target::Item(..) => None,
                })
                .collect();
            if modules.is_empty() {
                // What follows is a variant, or a method.
                break;
            }
            // A macro may have made a name that is not found: it is taken for one of the module.
            targets = modules
                .into_iter()
                .flat_map(|module| {
                    self.look_up(module, next, open)
                        .unwrap_or_else(|| vec![Target::Item(module, next.clone())])
                })
                .collect();
            rest = after;
        }
        targets
    }

    /// What the first segments mean, and what is left of the path.
    fn start<'p>(
        &self,
        module: ModuleId,
        path: &'p [String],
        open: &mut Open,
    ) -> Option<(Vec<Target>, &'p [String])> {
        let (first, mut rest) = path.split_first()?;
        let mut at = module;
        match first.as_str() {
            "crate" => {
                while let Some(parent) = self.sources.modules[at].parent {
                    at = parent;
                }
            }
            "self" => {}
            "super" => {
                at = self.sources.modules[at].parent?;
            }
            name => {
                let found = self.look_up(module, name, open).or_else(|| {
                    let path = self.in_functions.get(&(module, name.to_string()))?;
                    Some(self.follow(module, path, open))
                })?;
                return Some((found, rest));
            }
        }
        while let Some((next, after)) = rest.split_first().filter(|(next, _)| *next == "super") {
            debug_assert_eq!(next, "super");
            at = self.sources.modules[at].parent?;
            rest = after;
        }
        Some((vec![Target::Module(at)], rest))
    }

    /// What `name` means in `module`: nothing where it has no such name.
    fn look_up(&self, module: ModuleId, name: &str, open: &mut Open) -> Option<Vec<Target>> {
        if !open.insert((module, name.to_string())) {
            return None;
        }
        let found = self.named(module, name, open).or_else(|| {
            let globs = &self.sources.modules[module].globs;
            globs.iter().find_map(|glob| {
                let targets = self.follow(module, &glob.path, open);
                targets.into_iter().find_map(|target| match target {
                    Target::Module(from) => self.look_up(from, name, open),
                    Target::Item(..) => None,
                })
            })
        });
        open.remove(&(module, name.to_string()));
        found
    }

    fn named(&self, module: ModuleId, name: &str, open: &mut Open) -> Option<Vec<Target>> {
        let all = self.sources.modules[module].names.get(name)?;
        let mut targets = BTreeSet::new();
        for named in all {
            match &named.what {
                What::Module(module) => _ = targets.insert(Target::Module(*module)),
                What::Item => _ = targets.insert(Target::Item(module, name.to_string())),
                What::Import(path) => targets.extend(self.follow(module, path, open)),
            }
        }
        Some(targets.into_iter().collect())
    }
}
