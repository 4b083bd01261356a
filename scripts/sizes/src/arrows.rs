//! Which file names something that another file of its crate defines?
//!
//! An arrow goes from a file to the file that defines the name, however many re-exports are between them. There is none
//! from a module to what is inside of it for `mod` or a re-export, and none from a file to the modules around it: what
//! they define is for what is inside.

use crate::paths::{Paths, Target};
use crate::sources::{FileId, ModuleId, Sources, What, paths_of_use};
use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use syn::visit::{self, Visit};
use syn::{ItemMod, ItemUse, Macro, Visibility};

/// The names that tie the first file to the second.
pub type Arrows = BTreeMap<(FileId, FileId), BTreeSet<String>>;

/// The arrows between the files of a crate.
pub fn arrows(sources: &Sources) -> Arrows {
    let mut arrows = Arrows::new();
    for (from, file) in sources.files.iter().enumerate() {
        let mut paths = Paths::new(sources);
        ImportsInFunctions {
            sources,
            module: file.module,
            paths: &mut paths,
        }
        .visit_file(&file.syntax);
        let mut names = Names {
            sources,
            paths,
            from,
            module: file.module,
            arrows: &mut arrows,
        };
        names.visit_file(&file.syntax);
    }
    arrows
}

/// The module in braces that `item` begins inside of `module`.
fn in_braces(sources: &Sources, module: ModuleId, item: &ItemMod) -> Option<ModuleId> {
    item.content.as_ref()?;
    let named = sources.modules[module].names.get(&item.ident.to_string())?;
    named.iter().find_map(|named| match named.what {
        What::Module(inner) if sources.modules[inner].file == sources.modules[module].file => {
            Some(inner)
        }
        _ => None,
    })
}

struct ImportsInFunctions<'s, 'p> {
    sources: &'s Sources,
    module: ModuleId,
    paths: &'p mut Paths<'s>,
}

impl<'ast> Visit<'ast> for ImportsInFunctions<'_, '_> {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if let Some(inner) = in_braces(self.sources, self.module, item) {
            let outer = std::mem::replace(&mut self.module, inner);
            visit::visit_item_mod(self, item);
            self.module = outer;
        }
    }

    fn visit_item_use(&mut self, import: &'ast ItemUse) {
        for (name, path) in paths_of_use(import) {
            let names = &self.sources.modules[self.module].names;
            if let Some(name) = name.filter(|name| !names.contains_key(name)) {
                self.paths.import_in_function(self.module, name, path);
            }
        }
    }
}

struct Names<'s, 'a> {
    sources: &'s Sources,
    paths: Paths<'s>,
    from: FileId,
    module: ModuleId,
    arrows: &'a mut Arrows,
}

impl Names<'_, '_> {
    fn path(&mut self, path: &[String]) {
        for target in self.paths.resolve(self.module, path) {
            self.draw(target);
        }
    }

    fn draw(&mut self, target: Target) {
        let Target::Item(module, name) = target else {
            return;
        };
        let to = self.sources.modules[module].file;
        let of = |file: FileId| self.sources.files[file].module;
        if !self.sources.is_inside(of(self.from), of(to)) {
            self.arrows.entry((self.from, to)).or_default().insert(name);
        }
    }

    /// The paths among the tokens of a macro's call.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Punct(punct) if punct.as_char() == ':' => {
                    colons += 1;
                    continue;
                }
                TokenTree::Ident(ident) if colons == 2 && !path.is_empty() => {
                    path.push(ident.to_string());
                }
                TokenTree::Ident(ident) => {
                    self.path(&std::mem::take(&mut path));
                    // Behind colons that nothing is before stands the name of a crate, or what a macro is given.
                    path.extend((colons != 2).then(|| ident.to_string()));
                }
                TokenTree::Group(group) => {
                    self.path(&std::mem::take(&mut path));
                    self.tokens(group.stream());
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {
                    self.path(&std::mem::take(&mut path));
                }
            }
            colons = 0;
        }
        self.path(&path);
    }
}

impl<'ast> Visit<'ast> for Names<'_, '_> {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if let Some(inner) = in_braces(self.sources, self.module, item) {
            let outer = std::mem::replace(&mut self.module, inner);
            visit::visit_item_mod(self, item);
            self.module = outer;
        }
    }

    fn visit_item_use(&mut self, import: &'ast ItemUse) {
        let is_re_export = !matches!(import.vis, Visibility::Inherited);
        for (_, path) in paths_of_use(import) {
            for target in self.paths.resolve(self.module, &path) {
                let inside = match &target {
                    Target::Module(_) => continue,
                    Target::Item(module, _) => self.sources.is_inside(*module, self.module),
                };
                if !(is_re_export && inside) {
                    self.draw(target);
                }
            }
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            let names: Vec<String> = path
                .segments
                .iter()
                .map(|segment| segment.ident.to_string())
                .collect();
            self.path(&names);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &'ast Macro) {
        visit::visit_macro(self, called);
        self.tokens(called.tokens.clone());
    }

    // `#[cfg(..)]` and `#[derive(..)]` name nothing of the crate.
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use std::path::Path;

    /// The sources of a crate of these files.
    pub fn sources(files: &[(&str, &str)]) -> Sources {
        Sources::read_by(&|path: &Path| {
            files
                .iter()
                .find(|(name, _)| Path::new(name) == path)
                .map(|(_, text)| (*text).to_string())
        })
        .unwrap()
    }

    fn drawn(files: &[(&str, &str)]) -> Vec<String> {
        let sources = sources(files);
        let name = |file: FileId| sources.files[file].path.display().to_string();
        arrows(&sources)
            .into_iter()
            .map(|((from, to), names)| {
                let names = names.into_iter().collect::<Vec<_>>().join(", ");
                format!("{} -> {}: {names}", name(from), name(to))
            })
            .collect()
    }

    #[test]
    fn an_import_points_to_the_file_that_defines_the_name() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c;"),
            (
                "a.rs",
                "use crate::b::B; use super::c::{self, C as D}; fn f() { c::g() }",
            ),
            ("b.rs", "pub struct B; fn f(_: crate::a::Missing) {}"),
            ("c.rs", "pub struct C; pub fn g() {}"),
        ];
        assert_eq!(
            drawn(&files),
            [
                "a.rs -> b.rs: B",
                "a.rs -> c.rs: C, g",
                "b.rs -> a.rs: Missing"
            ]
        );
    }

    #[test]
    fn a_name_is_followed_through_re_exports_and_stars() {
        let files = [
            ("lib.rs", "mod a; mod room; pub use room::Inner as Renamed;"),
            (
                "a.rs",
                "use crate::Renamed; use crate::room::*; fn f(_: Star) {}",
            ),
            (
                "room/mod.rs",
                "mod inner; mod star; pub use inner::Inner; pub(crate) use self::star::*;",
            ),
            ("room/inner.rs", "pub enum Inner { One }"),
            (
                "room/star.rs",
                "pub struct Star; use super::Inner; const X: Inner = Inner::One;",
            ),
        ];
        assert_eq!(
            drawn(&files),
            [
                "a.rs -> room/inner.rs: Inner",
                "a.rs -> room/star.rs: Star",
                "room/star.rs -> room/inner.rs: Inner",
            ]
        );
    }

    #[test]
    fn a_parent_that_re_exports_points_nowhere_until_it_uses_the_name() {
        let mut files = [
            ("lib.rs", "mod a; pub use a::A;"),
            ("a.rs", "pub struct A;"),
        ];
        assert_eq!(drawn(&files), [""; 0]);
        files[0].1 = "mod a; pub use a::A; pub struct B(A);";
        assert_eq!(drawn(&files), ["lib.rs -> a.rs: A"]);
        files[0].1 = "mod a; use a::A;";
        assert_eq!(drawn(&files), ["lib.rs -> a.rs: A"]);
    }

    #[test]
    fn a_file_may_name_what_the_modules_around_it_define() {
        let files = [
            ("lib.rs", "mod a; mod c; pub struct Root;"),
            ("a.rs", "mod b; pub struct A;"),
            ("a/b.rs", "use super::A; use crate::Root; pub struct B;"),
            ("c.rs", "use crate::a::A;"),
        ];
        assert_eq!(drawn(&files), ["c.rs -> a.rs: A"]);
    }

    #[test]
    fn names_in_macros_functions_and_modules_in_braces_count() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c;"),
            (
                "a.rs",
                "fn f() { use crate::c::{self, C}; assert!(matches!(x, super::b::B::One { .. })); c::h() }
                 mod inner { fn g() { vec![super::super::b::g(); 2]; } }",
            ),
            ("b.rs", "kinds! { pub enum B { One } } pub fn g() {}"),
            ("c.rs", "pub struct C; pub fn h() {}"),
        ];
        assert_eq!(drawn(&files), ["a.rs -> b.rs: B, g", "a.rs -> c.rs: C, h"]);
    }

    #[test]
    fn a_module_has_a_file_for_each_platform() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            (
                "a.rs",
                r#"#[cfg_attr(unix, path = "a/unix.rs")] #[cfg_attr(not(unix), path = "a/elsewhere.rs")] mod system;
                   fn f() { system::f() }"#,
            ),
            ("a/unix.rs", "use crate::b::B; pub fn f() {}"),
            ("a/elsewhere.rs", "pub fn f() {}"),
            ("b.rs", "pub struct B;"),
        ];
        assert_eq!(
            drawn(&files),
            [
                "a.rs -> a/unix.rs: f",
                "a.rs -> a/elsewhere.rs: f",
                "a/unix.rs -> b.rs: B",
            ]
        );
    }

    #[test]
    fn other_crates_tests_and_the_binary_beside_a_library_are_no_arrows() {
        let files = [
            ("lib.rs", "pub mod a; mod b; #[cfg(test)] mod tests;"),
            ("main.rs", "use my_crate::a::A; use ::b::B; fn main() {}"),
            (
                "a.rs",
                "pub struct A; #[cfg(test)] mod tests { use crate::b::B; }",
            ),
            ("b.rs", "pub struct B; use std::fmt; use serde::Serialize;"),
        ];
        assert_eq!(drawn(&files), [""; 0]);
    }
}
