//! Which keys of retries have a value where their system reads a mapping? `retries: 3`.

use crate::checked::Checked;
use crate::document::{Node, Span};
use crate::finding::Finding;
use crate::system::System;
use crate::systems::is_called;
use crate::template::is_placeholder;

/// Tells of each of them that a reader asked for.
pub fn of_known(
    file: &str,
    tree: &Node,
    systems: &[&System],
    told: &dyn Fn(Span) -> bool,
    found: &mut Checked,
) {
    for (key, value) in tree.walk().flat_map(Node::entries) {
        if key.asked.get() != Some(true) {
            continue;
        }
        let is_value = !value.is_table() && !value.is_null();
        let is_filled_in = value.text().is_some_and(is_placeholder);
        if !is_value || is_filled_in {
            continue;
        }
        let is_table = |it: &&&System| it.schema.tables.iter().any(|it| is_called(key, it));
        let Some(system) = systems.iter().find(is_table) else {
            continue;
        };
        if told(value.span) {
            continue;
        }
        let what = value
            .text()
            .map_or_else(|| "a list".to_owned(), |it| format!("`{it}`"));
        let sentence = format!(
            "{what} stands in `{}`, where {} reads a mapping",
            key.name, system.name
        );
        let code = system.schema.of_no_table;
        let remedy = "write its fields below it";
        found.push(Finding::new(file, value.span, code, sentence, remedy));
    }
}
