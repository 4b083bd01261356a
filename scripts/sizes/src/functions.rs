//! How long is each function?
//!
//! Its lines of code from `fn` to the closing brace, with what is nested in it.

use crate::sources::File;
use proc_macro2::Span;
use std::collections::BTreeSet;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Block, ImplItemFn, ItemFn, ItemImpl, ItemTrait, Signature, TraitItemFn};

/// A function with its length.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Function {
    /// How many lines of code it has.
    pub lines: usize,
    /// The line on which it begins.
    pub at: usize,
    /// Its name, behind that of its type.
    pub name: String,
}

/// The functions of a file whose lines of code are `code`.
pub fn functions(file: &File, code: &BTreeSet<usize>) -> Vec<Function> {
    let mut lengths = Lengths {
        code,
        owner: String::new(),
        found: Vec::new(),
    };
    lengths.visit_file(&file.syntax);
    lengths.found
}

struct Lengths<'a> {
    code: &'a BTreeSet<usize>,
    owner: String,
    found: Vec<Function>,
}

impl Lengths<'_> {
    fn add(&mut self, signature: &Signature, block: &Block) {
        let (at, end) = (start(signature), block.brace_token.span.close().end().line);
        let name = format!("{}{}", self.owner, signature.ident);
        self.found.push(Function {
            lines: self.code.range(at..=end).count(),
            at,
            name,
        });
    }

    fn inside(&mut self, owner: String, visit: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.owner, owner);
        visit(self);
        self.owner = outer;
    }
}

fn start(signature: &Signature) -> usize {
    let first: Span = signature.span();
    first.start().line
}

impl<'ast> Visit<'ast> for Lengths<'_> {
    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        self.add(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        self.add(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast TraitItemFn) {
        if let Some(block) = &function.default {
            self.add(&function.sig, block);
        }
        visit::visit_trait_item_fn(self, function);
    }

    fn visit_item_impl(&mut self, block: &'ast ItemImpl) {
        let owner = match &*block.self_ty {
            syn::Type::Path(of) => of
                .path
                .segments
                .last()
                .map(|last| format!("{}::", last.ident)),
            _ => None,
        };
        self.inside(owner.unwrap_or_default(), |inside| {
            visit::visit_item_impl(inside, block);
        });
    }

    fn visit_item_trait(&mut self, block: &'ast ItemTrait) {
        let owner = format!("{}::", block.ident);
        self.inside(owner, |inside| {
            visit::visit_item_trait(inside, block);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrows::tests::sources;
    use crate::lines::lines_of_code;
    use quote::ToTokens;

    #[test]
    fn a_function_is_as_long_as_its_lines_of_code() {
        let sources = sources(&[(
            "lib.rs",
            "/// Doc.\n#[must_use]\npub async fn a(\n    b: u8,\n) {\n    // Why.\n\n    c();\n    #[cfg(test)]\n    d();\n}\nimpl<T> X<T> {\n    fn one() {}\n}\n",
        )]);
        let file = &sources.files[0];
        let code = lines_of_code(&file.text, file.syntax.to_token_stream());
        let found: Vec<_> = functions(file, &code)
            .into_iter()
            .map(|function| (function.name, function.at, function.lines))
            .collect();
        assert_eq!(
            found,
            [("a".to_string(), 3, 5), ("X::one".to_string(), 13, 1)]
        );
    }
}
