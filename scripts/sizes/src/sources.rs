//! Which files and modules does a crate have, and which names are in each?
//!
//! A crate is read from its roots (`lib.rs`, `main.rs`) along its `mod` items, without those that only tests
//! compile.

use crate::without_tests::cut_tests;
use proc_macro2::{TokenStream, TokenTree};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, ExprLit, Item, ItemUse, Lit, Meta, UseTree, Visibility};

/// The sources of a crate.
pub struct Sources {
    /// Its files, the roots first.
    pub files: Vec<File>,
    /// Its modules, each after its parent.
    pub modules: Vec<Module>,
}

/// A file that something else than tests reaches.
pub struct File {
    /// Its path below `src`.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
    /// What it holds, without tests.
    pub syntax: syn::File,
    /// The module that it begins.
    pub module: ModuleId,
}

/// The place of a module in [`Sources::modules`].
pub type ModuleId = usize;
/// The place of a file in [`Sources::files`].
pub type FileId = usize;

/// A module: a file, or a part of one.
pub struct Module {
    /// The module around it; a root has none.
    pub parent: Option<ModuleId>,
    /// The file that holds it.
    pub file: FileId,
    /// What a name means in it: more than one thing where the name is in several namespaces, or under several `cfg`.
    pub names: BTreeMap<String, Vec<Named>>,
    /// `use path::*`.
    pub globs: Vec<Imported>,
}

/// What a name of a module means.
pub struct Named {
    /// Whether everybody sees it who sees the module.
    pub public: bool,
    /// Whether the documentation leaves it out.
    pub hidden: bool,
    /// What it is.
    pub what: What,
}

/// What a name is.
pub enum What {
    /// A module.
    Module(ModuleId),
    /// Something that is defined here.
    Item,
    /// Something that is defined at this path.
    Import(Vec<String>),
}

/// The path of a glob import.
pub struct Imported {
    /// Whether everybody sees it who sees the module.
    pub public: bool,
    /// Whether the documentation leaves it out.
    pub hidden: bool,
    /// The path before the star.
    pub path: Vec<String>,
}

impl Sources {
    /// Reads the crate whose sources are in the folder `src`.
    pub fn read(src: &Path) -> io::Result<Self> {
        Self::read_by(&|path| std::fs::read_to_string(src.join(path)).ok())
    }

    /// Reads the crate whose files `text` gives by their paths below `src`.
    pub fn read_by(text: &dyn Fn(&Path) -> Option<String>) -> io::Result<Self> {
        let mut reader = Reader {
            text,
            sources: Self {
                files: Vec::new(),
                modules: Vec::new(),
            },
        };
        for root in ["lib.rs", "main.rs"] {
            if let Some(source) = text(Path::new(root)) {
                reader.file(PathBuf::from(root), source, None, Path::new(""))?;
            }
        }
        Ok(reader.sources)
    }

    /// Whether `module` is `parent` or inside of it.
    pub fn is_inside(&self, module: ModuleId, parent: ModuleId) -> bool {
        let mut at = Some(module);
        while let Some(id) = at {
            if id == parent {
                return true;
            }
            at = self.modules[id].parent;
        }
        false
    }
}

/// The paths that a `use` names, each with the name that it has from then on; `None` is a star.
pub fn paths_of_use(import: &ItemUse) -> Vec<(Option<String>, Vec<String>)> {
    let mut found = Vec::new();
    if import.leading_colon.is_none() {
        flatten(&import.tree, &mut Vec::new(), &mut found);
    }
    found
}

fn flatten(
    tree: &UseTree,
    before: &mut Vec<String>,
    found: &mut Vec<(Option<String>, Vec<String>)>,
) {
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            flatten(&path.tree, before, found);
            before.pop();
        }
        UseTree::Name(name) if name.ident == "self" => {
            found.push((before.last().cloned(), before.clone()));
        }
        UseTree::Name(name) => {
            let name = name.ident.to_string();
            found.push((Some(name.clone()), [before.as_slice(), &[name]].concat()));
        }
        UseTree::Rename(renamed) => {
            let mut path = before.clone();
            if renamed.ident != "self" {
                path.push(renamed.ident.to_string());
            }
            found.push((Some(renamed.rename.to_string()), path));
        }
        UseTree::Glob(_) => found.push((None, before.clone())),
        UseTree::Group(group) => {
            for tree in &group.items {
                flatten(tree, before, found);
            }
        }
    }
}

struct Reader<'a> {
    text: &'a dyn Fn(&Path) -> Option<String>,
    sources: Sources,
}

impl Reader<'_> {
    /// Reads a file whose children are in `folder`, and gives the module that it begins.
    fn file(
        &mut self,
        path: PathBuf,
        text: String,
        parent: Option<ModuleId>,
        folder: &Path,
    ) -> io::Result<ModuleId> {
        let mut syntax = syn::parse_file(&text)
            .map_err(|error| io::Error::other(format!("{}: {error}", path.display())))?;
        cut_tests(&mut syntax);
        let (file, module) = (self.sources.files.len(), self.sources.modules.len());
        let items = syntax.items.clone();
        self.sources.files.push(File {
            path,
            text,
            syntax,
            module,
        });
        self.sources.modules.push(Module::new(parent, file));
        self.items(module, &items, folder)?;
        Ok(module)
    }

    fn items(&mut self, module: ModuleId, items: &[Item], folder: &Path) -> io::Result<()> {
        for item in items {
            self.item(module, item, folder)?;
        }
        Ok(())
    }

    fn item(&mut self, module: ModuleId, item: &Item, folder: &Path) -> io::Result<()> {
        if let Item::Mod(inner) = item {
            for child in self.modules(module, inner, folder)? {
                let (name, what) = (inner.ident.to_string(), What::Module(child));
                self.name(module, name, &inner.vis, &inner.attrs, what);
            }
        } else if let Item::Use(import) = item {
            for (name, path) in paths_of_use(import) {
                if let Some(name) = name {
                    let what = What::Import(path);
                    self.name(module, name, &import.vis, &import.attrs, what);
                } else {
                    let (public, hidden) = seen(&import.vis, &import.attrs);
                    self.sources.modules[module].globs.push(Imported {
                        public,
                        hidden,
                        path,
                    });
                }
            }
        } else if let Item::Macro(called) = item {
            if let Some(name) = &called.ident {
                let exported = called
                    .attrs
                    .iter()
                    .any(|a| a.path().is_ident("macro_export"));
                self.push(module, name.to_string(), exported, is_hidden(&called.attrs));
            } else {
                for (name, public) in defined_in_call(called.mac.tokens.clone()) {
                    self.push(module, name, public, false);
                }
            }
        } else if let Some((name, visibility, attributes)) = defined(item) {
            self.name(module, name, visibility, attributes, What::Item);
        }
        Ok(())
    }

    /// Reads a module of its own file, or in braces; of several files where each platform has another.
    fn modules(
        &mut self,
        parent: ModuleId,
        item: &syn::ItemMod,
        folder: &Path,
    ) -> io::Result<Vec<ModuleId>> {
        let name = item.ident.to_string();
        let inside = folder.join(&name);
        if let Some((_, items)) = &item.content {
            let module = self.sources.modules.len();
            let file = self.sources.modules[parent].file;
            self.sources.modules.push(Module::new(Some(parent), file));
            self.items(module, items, &inside)?;
            return Ok(vec![module]);
        }
        let around = self.sources.files[self.sources.modules[parent].file]
            .path
            .with_file_name("");
        let mut elsewhere = Vec::new();
        for path in item.attrs.iter().filter_map(named_path) {
            let path = around.join(path);
            if let Some(text) = (self.text)(&path) {
                let inside = path.with_file_name("");
                elsewhere.push(self.file(path, text, Some(parent), &inside)?);
            }
        }
        if !elsewhere.is_empty() {
            return Ok(elsewhere);
        }
        for path in [folder.join(format!("{name}.rs")), inside.join("mod.rs")] {
            if let Some(text) = (self.text)(&path) {
                return Ok(vec![self.file(path, text, Some(parent), &inside)?]);
            }
        }
        let place = inside.display();
        Err(io::Error::other(format!("no file for the module {place}")))
    }

    fn name(
        &mut self,
        module: ModuleId,
        name: String,
        visibility: &Visibility,
        attributes: &[Attribute],
        what: What,
    ) {
        let (public, hidden) = seen(visibility, attributes);
        let named = Named {
            public,
            hidden,
            what,
        };
        self.sources.modules[module]
            .names
            .entry(name)
            .or_default()
            .push(named);
    }

    fn push(&mut self, module: ModuleId, name: String, public: bool, hidden: bool) {
        let named = Named {
            public,
            hidden,
            what: What::Item,
        };
        self.sources.modules[module]
            .names
            .entry(name)
            .or_default()
            .push(named);
    }
}

impl Module {
    fn new(parent: Option<ModuleId>, file: FileId) -> Self {
        Self {
            parent,
            file,
            names: BTreeMap::new(),
            globs: Vec::new(),
        }
    }
}

fn defined(item: &Item) -> Option<(String, &Visibility, &[Attribute])> {
    let (name, visibility, attributes) = match item {
        Item::Const(item) => (&item.ident, &item.vis, &item.attrs),
        Item::Enum(item) => (&item.ident, &item.vis, &item.attrs),
        Item::Fn(item) => (&item.sig.ident, &item.vis, &item.attrs),
        Item::Static(item) => (&item.ident, &item.vis, &item.attrs),
        Item::Struct(item) => (&item.ident, &item.vis, &item.attrs),
        Item::Trait(item) => (&item.ident, &item.vis, &item.attrs),
        Item::Type(item) => (&item.ident, &item.vis, &item.attrs),
        Item::Union(item) => (&item.ident, &item.vis, &item.attrs),
        _ => return None,
    };
    Some((name.to_string(), visibility, attributes))
}

/// What the call of a macro seems to define: the names after `struct`, `enum` and the like among its tokens, and
/// whether `pub` is before them.
fn defined_in_call(tokens: TokenStream) -> Vec<(String, bool)> {
    const DEFINES: [&str; 8] = [
        "struct", "enum", "union", "trait", "fn", "const", "static", "type",
    ];
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let word = |at: usize| match tokens.get(at) {
        Some(TokenTree::Ident(ident)) => Some(ident.to_string()),
        _ => None,
    };
    (0..tokens.len())
        .filter_map(|at| {
            let defines = word(at).is_some_and(|word| DEFINES.contains(&word.as_str()));
            let name = word(at + 1).filter(|_| defines)?;
            let public = at
                .checked_sub(1)
                .and_then(word)
                .is_some_and(|word| word == "pub");
            Some((name, public))
        })
        .collect()
}

fn seen(visibility: &Visibility, attributes: &[Attribute]) -> (bool, bool) {
    (
        matches!(visibility, Visibility::Public(_)),
        is_hidden(attributes),
    )
}

/// The file that `#[path = ".."]` names, or `#[cfg_attr(.., path = "..")]`.
fn named_path(attribute: &Attribute) -> Option<String> {
    let named = |meta: &Meta| match meta {
        Meta::NameValue(value) if value.path.is_ident("path") => match &value.value {
            Expr::Lit(ExprLit {
                lit: Lit::Str(path),
                ..
            }) => Some(path.value()),
            _ => None,
        },
        _ => None,
    };
    if attribute.path().is_ident("cfg_attr") {
        let metas = attribute.parse_args_with(Punctuated::<Meta, syn::Token![,]>::parse_terminated);
        return metas.ok()?.iter().skip(1).find_map(named);
    }
    named(&attribute.meta)
}

fn is_hidden(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("doc")
            && attribute
                .parse_args::<syn::Path>()
                .is_ok_and(|path| path.is_ident("hidden"))
    })
}
