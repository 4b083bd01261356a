//! What did one retry take, and from whom?

use super::kind::{Kind, Kinds};

/// What one retry took from a budget.
///
/// Not `Clone`: it can be refunded once. One that outlives a reload of its budget returns no more
/// than it took, and nothing to a kind that counts anew since.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a withdrawal is spent when the retry starts, and refunded when it does not"]
pub struct Withdrawal(Taken);

#[derive(Debug, PartialEq, Eq)]
enum Taken {
    /// Of a ratio by itself, or of a foreign budget: millionths of a token.
    Micros(u64),
    /// Of a set.
    Receipt(Receipt),
}

/// Which kinds of a set gave something, and what else they must know to take it back.
#[derive(Debug, PartialEq, Eq, Default)]
pub(super) struct Receipt {
    /// Of the set's parameters, when it was taken.
    pub generation: u32,
    pub paid: Kinds,
    /// By kind: what that must know to put back what it gave.
    pub taken: [u32; Kind::ALL.len()],
}

impl Withdrawal {
    /// A withdrawal of this many millionths of a token.
    pub const fn of_micros(micros: u64) -> Self {
        Self(Taken::Micros(micros))
    }

    pub(super) const fn of_receipt(receipt: Receipt) -> Self {
        Self(Taken::Receipt(receipt))
    }

    /// How many millionths of a token were taken: what [`Tokens`](super::Tokens) asked, if they
    /// were asked, or one token. 0 where nothing is taken.
    pub const fn micros(&self) -> u64 {
        match &self.0 {
            Taken::Micros(micros) => *micros,
            Taken::Receipt(receipt) => receipt.tokens() * 1_000_000,
        }
    }

    /// What a set gave; `None` of what another budget gave.
    pub(super) const fn receipt(&self) -> Option<&Receipt> {
        match &self.0 {
            Taken::Receipt(receipt) => Some(receipt),
            Taken::Micros(_) => None,
        }
    }
}

impl Receipt {
    /// A retry is a token of every kind but one, which has its own price.
    const fn tokens(&self) -> u64 {
        if self.paid.has(Kind::Tokens) {
            self.taken[Kind::Tokens as usize] as u64
        } else if self.paid.is_none() {
            0
        } else {
            1
        }
    }
}
