//! How is a part of a policy written, so that it reads back as it is?

use core::fmt;

use super::{Kind, Slot, Written};

pub(super) fn write<T: Written>(it: &T, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut kinds = T::KINDS.iter();
    let Some(kind) = kinds.find(|kind| is_of(kind, it)) else {
        return f.write_str("custom"); // a function has no word
    };
    f.write_str(kind.name)?;
    let first = kind.first.as_ref();
    if let Some((slot, value)) = first.and_then(|slot| Some((slot, slot.shown(it)?))) {
        let colon = match slot {
            Slot::Percentile(..) => "",
            _ => ":",
        };
        write!(f, "{colon}{value}")?;
    }
    for (name, slot) in kind.parameters() {
        if let Some(value) = slot.shown(it) {
            write!(f, ",{name}:{value}")?;
        }
    }
    Ok(())
}

fn is_of<T: Written>(kind: &Kind<T>, it: &T) -> bool {
    match &kind.first {
        _ if T::KINDS.len() == 1 => true,
        Some(first) => first.shown(it).is_some(),
        None => (kind.start)() == *it,
    }
}
