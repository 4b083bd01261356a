//! What may be repeated? All kinds of a budget must agree.

mod quota;
mod share;
mod slots;
mod window;

use serde_json::{Map, Value};

use quota::{Grpc, Tokens};
use share::Share;
use slots::Slots;
use window::Window;

/// Millionths.
const TOKEN: u64 = 1_000_000;

/// In the order in which they are asked.
const KINDS: [&str; 7] = [
    "ratio",
    "first-tries",
    "tokens",
    "grpc",
    "concurrency",
    "per-minute",
    "window",
];

/// The text of one kind: `ratio:0.1,burst:2,floor:10/h`.
#[derive(Clone, Copy)]
struct Terms<'a>(&'a str);

impl<'a> Terms<'a> {
    fn kind(self) -> &'static str {
        let kind = self.0.split(':').next();
        let known = KINDS.iter().find(|it| Some(**it) == kind);
        known.expect("a kind")
    }

    fn value(self, name: &str) -> Option<&'a str> {
        let mut parts = self.0.split(',').filter_map(|part| part.split_once(':'));
        parts.find(|(of, _)| *of == name).map(|(_, value)| value)
    }

    /// The number with which the text begins.
    fn first(self) -> f64 {
        self.number(self.kind())
    }

    fn number(self, name: &str) -> f64 {
        let number = self.value(name).map(str::parse);
        number.map_or(0.0, |number| number.expect("a number"))
    }
}

fn millionths(number: f64) -> u64 {
    (number * TOKEN as f64).round() as u64
}

/// This part of a whole number: cut, after a millionth was added for what doubles lose.
fn part(whole: u64, fill: f64) -> u64 {
    ((whole as f64 * fill + 1e-6) as u64).min(whole)
}

/// How full a kind is that a reload finds.
#[derive(Clone, Copy)]
enum Fill {
    /// It was in force before, and had this.
    Own { left: u64, fill: f64 },
    /// It is new, and as full as the emptiest.
    New(f64),
}

impl Fill {
    fn part(self) -> f64 {
        match self {
            Fill::Own { fill, .. } | Fill::New(fill) => fill,
        }
    }
}

/// What a retry has taken, and after which reload.
pub struct Paid {
    reload: u64,
    by: Vec<(&'static str, u64)>,
}

#[derive(Default)]
pub struct Budget {
    in_force: Vec<&'static str>,
    reload: u64,
    now: u64,
    ratio: Share,
    first_tries: Share,
    tokens: Tokens,
    grpc: Grpc,
    concurrency: Slots,
    per_minute: Window,
    window: Window,
}

impl Budget {
    pub fn of(text: &str) -> Self {
        let mut new = Self::default();
        new.reload(text);
        new
    }

    pub fn reload(&mut self, text: &str) {
        let before = std::mem::take(&mut self.in_force);
        let found = before.iter().map(|kind| (*kind, self.state(kind)));
        let found: Vec<(&str, u64, f64)> = found
            .map(|(kind, (left, fill))| (kind, left, fill))
            .collect();
        let emptiest = found.iter().fold(1.0, |least: f64, it| least.min(it.2));
        self.reload += 1;
        let mut all: Vec<_> = text
            .split(" + ")
            .filter(|it| *it != "none")
            .map(Terms)
            .collect();
        all.sort_by_key(|terms| KINDS.iter().position(|it| *it == terms.kind()));
        for terms in all {
            let own = found.iter().find(|it| it.0 == terms.kind());
            let fill = own.map_or(Fill::New(emptiest), |&(_, left, fill)| Fill::Own {
                left,
                fill,
            });
            match terms.kind() {
                "ratio" => self.ratio.open(terms, fill, self.now),
                "first-tries" => self.first_tries.open(terms, fill, self.now),
                "tokens" => self.tokens.open(terms, fill),
                "grpc" => self.grpc.open(terms, fill),
                "concurrency" => self.concurrency.open(terms),
                "per-minute" => self.per_minute.open(terms, fill, self.now),
                _ => self.window.open(terms, fill, self.now),
            }
            self.in_force.push(terms.kind());
        }
    }

    fn has(&self, kind: &str) -> bool {
        self.in_force.contains(&kind)
    }

    /// What is left, in millionths, and how full that is. A ratio looks at its rate.
    fn state(&mut self, kind: &str) -> (u64, f64) {
        match kind {
            "ratio" => self.ratio.state(self.now),
            "first-tries" => self.first_tries.state(self.now),
            "tokens" => self.tokens.state(),
            "grpc" => self.grpc.state(),
            "concurrency" => self.concurrency.state(),
            "per-minute" => self.per_minute.state(self.now),
            _ => self.window.state(self.now),
        }
    }

    /// Time has come to `at`.
    pub fn pass(&mut self, at: u64) {
        for share in [&mut self.ratio, &mut self.first_tries] {
            share.pass(at - self.now);
        }
        self.now = at;
    }

    /// A call makes its first try. Whether its end is to be told.
    pub fn first_try(&mut self) -> bool {
        if self.has("first-tries") {
            self.first_tries.deposit();
        }
        if self.has("window") {
            self.window.first_try(self.now);
        }
        let counts = self.has("concurrency");
        self.concurrency.calls += u64::from(counts);
        counts
    }

    /// A call has ended that was counted.
    pub fn call_ended(&mut self) {
        self.concurrency.calls -= 1;
    }

    /// An attempt has failed.
    pub fn failed(&mut self, class: &str, is_stop: bool) {
        if self.has("grpc") && (class != "permanent" || is_stop) {
            self.grpc.failed();
        }
    }

    /// A call has succeeded, whose last retry has taken this.
    pub fn success(&mut self, last: Option<Paid>) {
        self.ratio.deposit();
        if self.has("grpc") {
            self.grpc.success();
        }
        match last {
            None if self.has("tokens") => self.tokens.clean(),
            None => (),
            Some(paid) => {
                for (kind, taken) in &paid.by {
                    if *kind == "tokens" && paid.reload == self.reload {
                        self.tokens.success_of(*taken);
                    }
                }
                self.ended(Some(paid));
            }
        }
    }

    /// A retry has ended that did start.
    pub fn ended(&mut self, paid: Option<Paid>) {
        let by = paid.into_iter().flat_map(|paid| paid.by);
        for _ in by.filter(|(kind, _)| *kind == "concurrency") {
            self.concurrency.taken -= 1;
        }
    }

    /// Takes what a retry costs, if every kind has it.
    pub fn take(&mut self, throttled: bool) -> Option<Paid> {
        let mut paid = Paid {
            reload: self.reload,
            by: Vec::new(),
        };
        for kind in self.in_force.clone() {
            let taken = match kind {
                "ratio" => self.ratio.take(self.now),
                "first-tries" => self.first_tries.take(self.now),
                "tokens" => self.tokens.take(throttled),
                "grpc" => self.grpc.grants().then_some(0),
                "concurrency" => self.concurrency.take(),
                "per-minute" => self.per_minute.take(self.now),
                _ => self.window.take(self.now),
            };
            let Some(taken) = taken else {
                self.give_back(paid);
                return None;
            };
            paid.by.push((kind, taken));
        }
        Some(paid)
    }

    /// A retry never starts. A token and a slot come back after a reload as well, all else is forgotten with it.
    pub fn give_back(&mut self, paid: Paid) {
        let is_same = paid.reload == self.reload;
        for (kind, taken) in paid.by {
            match kind {
                "ratio" => self.ratio.give_back(),
                "first-tries" => self.first_tries.give_back(),
                "tokens" if is_same => self.tokens.give_back(taken),
                "concurrency" => self.concurrency.taken -= 1,
                "per-minute" if is_same => self.per_minute.give_back(taken),
                "window" if is_same => self.window.give_back(taken),
                _ => (),
            }
        }
    }

    /// What each kind has left, in millionths.
    pub fn left(&mut self) -> Value {
        let kinds = self.in_force.clone().into_iter();
        let left = kinds.map(|kind| (kind.to_owned(), self.state(kind).0.into()));
        Value::Object(left.collect::<Map<_, _>>())
    }
}
