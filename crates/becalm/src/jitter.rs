//! From which interval is a delay drawn?
//!
//! Every draw is from an interval that already lies between floor and cap: nothing is clamped
//! after the draw (but in [`Jitter::DecorrelatedClamped`], which is kept for comparison), so the
//! delays of many clients stay spread even when all of them have reached the cap.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use crate::duration::{self, Human, nanos};
use crate::rng::{Random, uniform};

/// How a delay is drawn around the ceiling c.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub enum Jitter {
    /// c itself. Clients that failed together retry together; linted.
    None,
    /// U(0, c): the widest spread, the least load on the server (Brooker: *Exponential Backoff
    /// and Jitter*, AWS 2015). The default.
    #[default]
    Full,
    /// U(c/2, c): never near zero, half the spread.
    Equal,
    /// U(base, min(cap, 3 x previous)), the previous delay starting at base. The ceiling plays no
    /// part.
    Decorrelated,
    /// min(cap, U(base, 3 x previous)): the form of 2015, clamped after the draw, so that delays
    /// pile up on the cap. For comparison; linted.
    DecorrelatedClamped,
    /// U(c(1 - f), min(cap, c(1 + f))), 0 < f <= 1.
    Proportional(f64),
    /// s + U(0, d) with s = min(c, cap - d), 0 < d <= cap: the jitter stays whole at the cap.
    Additive(Duration),
}

/// What a draw looks at, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub base: u64,
    pub floor: u64,
    pub cap: u64,
    /// At most `cap`.
    pub ceiling: u64,
    /// The last computed delay of the call; `base` before the first.
    pub previous: u64,
}

impl Jitter {
    /// The interval from which the delay is drawn, both ends included, before any clamp.
    #[inline]
    pub(crate) fn interval(self, at: Bounds) -> (u64, u64) {
        let Bounds {
            base,
            floor,
            cap,
            ceiling,
            previous,
        } = at;
        let tripled = previous.saturating_mul(3);
        let (low, high) = match self {
            Self::Decorrelated => (base, tripled.min(cap)),
            Self::DecorrelatedClamped => (base, tripled),
            Self::None => (ceiling, ceiling),
            _ if ceiling <= floor => (floor, cap.min(floor.saturating_add(ceiling))),
            Self::Full => (0, ceiling),
            Self::Equal => (ceiling.div_ceil(2), ceiling),
            Self::Proportional(share) => {
                let swing = fraction(ceiling, share);
                (ceiling - swing, cap.min(ceiling.saturating_add(swing)))
            }
            Self::Additive(width) => {
                let width = nanos(width);
                let start = ceiling.min(cap.saturating_sub(width));
                (start, cap.min(start.saturating_add(width)))
            }
        };
        let low = low.max(floor);
        (low, high.max(low))
    }

    /// Draws a delay.
    #[inline]
    pub(crate) fn draw<R: Random + ?Sized>(self, at: Bounds, random: &mut R) -> u64 {
        let (low, high) = self.interval(at);
        let drawn = uniform(random, low, high);
        match self {
            Self::DecorrelatedClamped => drawn.min(at.cap),
            _ => drawn,
        }
    }
}

/// `value x share` for a share in [0, 1].
fn fraction(value: u64, share: f64) -> u64 {
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation)]
    #[expect(clippy::cast_sign_loss)]
    let part = (value as f64 * share) as u64;
    part.min(value)
}

impl fmt::Display for Jitter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Full => f.write_str("full"),
            Self::Equal => f.write_str("equal"),
            Self::Decorrelated => f.write_str("decorrelated"),
            Self::DecorrelatedClamped => f.write_str("decorrelated-clamped"),
            Self::Proportional(share) => write!(f, "proportional:{share}"),
            Self::Additive(width) => write!(f, "additive:{}", Human(*width)),
        }
    }
}

/// The text names no jitter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnknownJitter {
    /// The name is none of the known ones.
    Name,
    /// `proportional` needs a number behind its colon.
    Share,
    /// `additive` needs a duration behind its colon.
    Width,
}

impl fmt::Display for UnknownJitter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Name => {
                "the jitter is not one of none, full, equal, decorrelated, decorrelated-clamped, \
                 proportional:SHARE, additive:DURATION"
            }
            Self::Share => "proportional jitter needs a share, such as proportional:0.25",
            Self::Width => "additive jitter needs a duration, such as additive:1s",
        })
    }
}

impl core::error::Error for UnknownJitter {}

impl FromStr for Jitter {
    type Err = UnknownJitter;

    fn from_str(text: &str) -> Result<Self, UnknownJitter> {
        let (name, parameter) = text.split_once(':').unwrap_or((text, ""));
        Ok(match (name, parameter) {
            ("none", "") => Self::None,
            ("full", "") => Self::Full,
            ("equal", "") => Self::Equal,
            ("decorrelated", "") => Self::Decorrelated,
            ("decorrelated-clamped", "") => Self::DecorrelatedClamped,
            ("proportional", share) => {
                Self::Proportional(share.parse().map_err(|_| UnknownJitter::Share)?)
            }
            ("additive", width) => {
                Self::Additive(duration::parse(width).map_err(|_| UnknownJitter::Width)?)
            }
            _ => return Err(UnknownJitter::Name),
        })
    }
}
