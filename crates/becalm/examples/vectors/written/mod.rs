//! What is in a file of histories? A first line about the file, then one line for each history.

mod calls;
mod dice;
mod layers;
mod policy;
mod words;

use serde_json::{Value, json};

use becalm::{Failure, Hint};
use dice::Dice;

/// Raised when an older reader would not understand a line.
const FORMAT: u32 = 3;

/// The first line, and this many histories after it.
pub fn lines(seed: u64, count: u64) -> impl Iterator<Item = Value> {
    let first = json!({ "format": FORMAT, "seed": seed, "histories": count });
    std::iter::once(first).chain((0..count).map(move |number| history(seed, number)))
}

/// The history of this number: the same whatever the others are.
fn history(seed: u64, number: u64) -> Value {
    let mut dice = Dice::of(seed, number);
    let mut history = match dice.below(8) {
        0..4 => calls::calls(&mut dice),
        4 => policy::schedule(&mut dice),
        _ => words::word(&mut dice),
    };
    history["history"] = number.into();
    history
}

/// A whole number: as digits where a reader that has floats only would lose some.
fn whole(number: u64) -> Value {
    if number < 1 << 53 {
        number.into()
    } else {
        number.to_string().into()
    }
}

/// Nanoseconds, as becalm counts them: 584 years at most.
fn nanos(time: std::time::Duration) -> Value {
    whole(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

fn hint(hint: Option<Hint>) -> Value {
    match hint {
        None => Value::Null,
        Some(Hint::AtLeast(delay)) => json!({ "at_least": nanos(delay) }),
        Some(Hint::Exactly(delay)) => json!({ "exactly": nanos(delay) }),
        Some(Hint::Spread { after, over }) => {
            json!({ "after": nanos(after), "over": nanos(over) })
        }
        Some(Hint::Stop) => "stop".into(),
        Some(other) => unreachable!("{other:?} is no word of a server"),
    }
}

fn failure(failure: &Failure) -> Value {
    json!({
        "class": failure.class.as_str(),
        "effect": failure.effect.as_str(),
        "hint": hint(failure.hint),
    })
}
