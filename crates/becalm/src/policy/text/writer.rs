//! How is a part of a policy written, so that it reads back as it is?

use alloc::string::String;
use core::fmt;

use super::{Kind, Slot, Written};

pub(super) fn write<T: Written>(it: &T, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut kinds = T::KINDS.iter();
    let Some(kind) = kinds.find(|kind| is_of(kind, it)) else {
        return f.write_str("custom"); // a function has no word
    };
    f.write_str(kind.name)?;
    if let Some((slot, value)) = kind.first.as_ref().zip(first(kind, it)) {
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

fn first<T>(kind: &Kind<T>, it: &T) -> Option<String> {
    kind.first.as_ref()?.shown(it)
}

fn is_of<T: Written>(kind: &Kind<T>, it: &T) -> bool {
    match T::KINDS {
        [_] => true,
        _ if kind.first.is_some() => first(kind, it).is_some(),
        _ => (kind.start)() == *it,
    }
}
