//! What of a file is compiled outside of tests?

use syn::punctuated::Punctuated;
use syn::visit_mut::{self, VisitMut};
use syn::{
    Attribute, Block, Expr, Fields, File, ImplItem, Item, ItemEnum, Meta, Stmt, Token, TraitItem,
};

/// Cuts everything out of `file` that only a build of the tests compiles.
pub fn cut_tests(file: &mut File) {
    CutTests.visit_file_mut(file);
}

/// Whether one of the attributes is `#[cfg(test)]`, or `#[cfg(all(.., test, ..))]`. What only the model checker's build
/// compiles (`becalm_loom`) is a test's, too.
pub fn only_in_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute
                .parse_args::<Meta>()
                .is_ok_and(|condition| needs_test(&condition))
    })
}

fn needs_test(condition: &Meta) -> bool {
    match condition {
        Meta::Path(path) => path.is_ident("test") || path.is_ident("becalm_loom"),
        Meta::List(list) if list.path.is_ident("all") => list
            .parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
            .is_ok_and(|all| all.iter().any(needs_test)),
        _ => false,
    }
}

/// The attributes of an item of a file or module.
pub fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn attributes_in_impl(item: &ImplItem) -> &[Attribute] {
    match item {
        ImplItem::Const(item) => &item.attrs,
        ImplItem::Fn(item) => &item.attrs,
        ImplItem::Macro(item) => &item.attrs,
        ImplItem::Type(item) => &item.attrs,
        _ => &[],
    }
}

fn attributes_in_trait(item: &TraitItem) -> &[Attribute] {
    match item {
        TraitItem::Const(item) => &item.attrs,
        TraitItem::Fn(item) => &item.attrs,
        TraitItem::Macro(item) => &item.attrs,
        TraitItem::Type(item) => &item.attrs,
        _ => &[],
    }
}

fn attributes_of_statement(statement: &Stmt) -> &[Attribute] {
    match statement {
        Stmt::Local(local) => &local.attrs,
        Stmt::Item(item) => attributes(item),
        Stmt::Expr(expression, _) => attributes_of_expression(expression),
        Stmt::Macro(called) => &called.attrs,
    }
}

fn attributes_of_expression(expression: &Expr) -> &[Attribute] {
    match expression {
        Expr::Assign(expression) => &expression.attrs,
        Expr::Block(expression) => &expression.attrs,
        Expr::Call(expression) => &expression.attrs,
        Expr::If(expression) => &expression.attrs,
        Expr::MethodCall(expression) => &expression.attrs,
        _ => &[],
    }
}

struct CutTests;

impl VisitMut for CutTests {
    fn visit_file_mut(&mut self, file: &mut File) {
        file.items.retain(|item| !only_in_tests(attributes(item)));
        visit_mut::visit_file_mut(self, file);
    }

    fn visit_item_mod_mut(&mut self, module: &mut syn::ItemMod) {
        if let Some((_, items)) = &mut module.content {
            items.retain(|item| !only_in_tests(attributes(item)));
        }
        visit_mut::visit_item_mod_mut(self, module);
    }

    fn visit_item_impl_mut(&mut self, block: &mut syn::ItemImpl) {
        block
            .items
            .retain(|item| !only_in_tests(attributes_in_impl(item)));
        visit_mut::visit_item_impl_mut(self, block);
    }

    fn visit_item_trait_mut(&mut self, block: &mut syn::ItemTrait) {
        block
            .items
            .retain(|item| !only_in_tests(attributes_in_trait(item)));
        visit_mut::visit_item_trait_mut(self, block);
    }

    fn visit_block_mut(&mut self, block: &mut Block) {
        block
            .stmts
            .retain(|statement| !only_in_tests(attributes_of_statement(statement)));
        visit_mut::visit_block_mut(self, block);
    }

    fn visit_item_enum_mut(&mut self, item: &mut ItemEnum) {
        keep(&mut item.variants, |variant| !only_in_tests(&variant.attrs));
        visit_mut::visit_item_enum_mut(self, item);
    }

    fn visit_fields_mut(&mut self, fields: &mut Fields) {
        match fields {
            Fields::Named(named) => keep(&mut named.named, |field| !only_in_tests(&field.attrs)),
            Fields::Unnamed(fields) => {
                keep(&mut fields.unnamed, |field| !only_in_tests(&field.attrs));
            }
            Fields::Unit => {}
        }
        visit_mut::visit_fields_mut(self, fields);
    }

    fn visit_expr_struct_mut(&mut self, made: &mut syn::ExprStruct) {
        keep(&mut made.fields, |field| !only_in_tests(&field.attrs));
        visit_mut::visit_expr_struct_mut(self, made);
    }

    fn visit_expr_match_mut(&mut self, matched: &mut syn::ExprMatch) {
        matched.arms.retain(|arm| !only_in_tests(&arm.attrs));
        visit_mut::visit_expr_match_mut(self, matched);
    }
}

fn keep<T>(list: &mut Punctuated<T, Token![,]>, wanted: impl Fn(&T) -> bool) {
    if !list.iter().all(&wanted) {
        *list = std::mem::take(list)
            .into_pairs()
            .filter(|pair| wanted(pair.value()))
            .collect();
    }
}
