//! What did one retry take, and from whom?

use super::kind::{Kind, Kinds};

/// What one retry took from a budget.
///
/// Not `Clone`: it can be refunded once. One that outlives a reload of its budget returns no more
/// than it took, and nothing to a kind that counts anew since.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a withdrawal is spent when the retry starts, and refunded when it does not"]
pub struct Withdrawal {
    /// What the ratio, or a foreign budget, gave.
    micros: u64,
    receipt: Receipt,
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
        Self {
            micros,
            receipt: Receipt {
                generation: 0,
                paid: Kinds::NONE,
                taken: [0; Kind::ALL.len()],
            },
        }
    }

    pub(super) const fn of_receipt(receipt: Receipt) -> Self {
        // A retry is a token of every kind but one, which has its own price.
        let tokens = if receipt.paid.has(Kind::Tokens) {
            receipt.taken[Kind::Tokens as usize] as u64
        } else if receipt.paid.is_none() {
            0
        } else {
            1
        };
        Self {
            micros: tokens * 1_000_000,
            receipt,
        }
    }

    /// How many millionths of a token were taken: what [`Tokens`](super::Tokens) asked, if they
    /// were asked, or one token. 0 where nothing is taken.
    pub const fn micros(&self) -> u64 {
        self.micros
    }

    pub(super) const fn receipt(&self) -> &Receipt {
        &self.receipt
    }
}
