//! How is each kind of budget written?

use super::{Kind, Slot};
use crate::budget::{
    Budget, Burst, Concurrency, Grpc, Kind as Of, PerMinute, Ratio, Tokens, Window,
};
use crate::grammar::{Amount, of};

impl Budget {
    /// How its kinds are written, in the order of [`Kind::ALL`](Of::ALL).
    pub(super) const TEXTS: &'static [Kind<Self>; Of::ALL.len()] = &[
        RATIO,
        FIRST_TRIES,
        TOKENS,
        GRPC,
        CONCURRENCY,
        PER_MINUTE,
        WINDOW,
    ];
}

/// The slot of a field of a kind.
macro_rules! part {
    ($kind:ident, $slot:ident, $field:ident $(, unless $default:expr)?) => {
        of!($slot, |it| *it, Budget::$kind(kind) => kind.$field $(, unless $default)?)
    };
}

const RATIO: Kind<Budget> = Kind {
    name: Of::Ratio.as_str(),
    example: "ratio:0.1",
    start: || Budget::Ratio(Ratio::default()),
    first: Some(part!(Ratio, Number, ratio)),
    parameters: &[&[
        ("burst", BURST),
        ("min", MIN),
        ("floor", part!(Ratio, Rate, floor_per_second)),
    ]],
};

const FIRST_TRIES: Kind<Budget> = Kind {
    name: Of::FirstTries.as_str(),
    example: "first-tries:0.1",
    start: || Budget::FirstTries(Ratio::OF_FIRST_TRIES),
    first: Some(part!(FirstTries, Number, ratio)),
    parameters: &[&[
        ("burst", BURST),
        ("min", MIN),
        (
            "floor",
            part!(FirstTries, Rate, floor_per_second, unless 0.0),
        ),
    ]],
};

/// A number of tokens, or the time that earns them.
const BURST: Slot<Budget> = Slot::Amount(
    |it, amount| {
        set_burst(it, |_| match amount {
            Amount::Number(tokens) => tokens.into(),
            Amount::Time(span) => span.into(),
        });
    },
    |it| match burst_of(it)? {
        Burst::Tokens(tokens) => Some(Amount::Number(tokens)),
        Burst::Earned { span, .. } => Some(Amount::Time(span)),
    },
);

/// Beside a number there is none: it makes a burst without a time, which is refused.
const MIN: Slot<Budget> = Slot::Number(
    |it, min| {
        set_burst(it, |burst| Burst::Earned {
            span: burst.span(),
            min,
        });
    },
    |it| match burst_of(it)? {
        Burst::Tokens(_) => None,
        Burst::Earned { min, .. } => Some(min),
    },
);

fn burst_of(budget: &Budget) -> Option<Burst> {
    match budget {
        Budget::Ratio(ratio) | Budget::FirstTries(ratio) => Some(ratio.burst),
        _ => None,
    }
}

fn set_burst(budget: &mut Budget, change: impl FnOnce(Burst) -> Burst) {
    if let Budget::Ratio(ratio) | Budget::FirstTries(ratio) = budget {
        ratio.burst = change(ratio.burst);
    }
}

/// What a success after retries gets back.
const LAST: &str = "last";
const NOTHING: &str = "none";

const TOKENS: Kind<Budget> = Kind {
    name: Of::Tokens.as_str(),
    example: "tokens:500",
    start: || Budget::Tokens(Tokens::default()),
    first: Some(part!(Tokens, Whole, capacity)),
    parameters: &[&[
        ("cost", part!(Tokens, Whole, cost)),
        ("throttled", part!(Tokens, Whole, throttled_cost)),
        ("refund", REFUND),
        ("clean", part!(Tokens, Whole, clean_success)),
    ]],
};

const REFUND: Slot<Budget> = Slot::Word(
    &[
        (LAST, |it| set_refund(it, true)),
        (NOTHING, |it| set_refund(it, false)),
    ],
    |it| match it {
        Budget::Tokens(tokens) if tokens.refund_last => Some(LAST),
        _ => Some(NOTHING),
    },
);

fn set_refund(budget: &mut Budget, last: bool) {
    if let Budget::Tokens(tokens) = budget {
        tokens.refund_last = last;
    }
}

const GRPC: Kind<Budget> = Kind {
    name: Of::Grpc.as_str(),
    example: "grpc:10",
    start: || Budget::Grpc(Grpc::default()),
    first: Some(part!(Grpc, Whole, max_tokens)),
    parameters: &[&[("ratio", part!(Grpc, Number, token_ratio))]],
};

const CONCURRENCY: Kind<Budget> = Kind {
    name: Of::Concurrency.as_str(),
    example: "concurrency:0.2",
    start: || Budget::Concurrency(Concurrency::default()),
    first: Some(part!(Concurrency, Number, share)),
    parameters: &[&[("floor", part!(Concurrency, Whole, floor))]],
};

const PER_MINUTE: Kind<Budget> = Kind {
    name: Of::PerMinute.as_str(),
    example: "per-minute:60",
    start: || Budget::PerMinute(PerMinute::default()),
    first: Some(part!(PerMinute, Whole, retries)),
    parameters: &[],
};

const WINDOW: Kind<Budget> = Kind {
    name: Of::Window.as_str(),
    example: "window:0.2",
    start: || Budget::Window(Window::default()),
    first: Some(part!(Window, Number, share)),
    parameters: &[&[
        ("ttl", part!(Window, Duration, ttl)),
        ("floor", part!(Window, Number, floor_per_second)),
    ]],
};
