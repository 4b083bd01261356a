//! What does the original measure? Its figures, and its five strategies as policies.
//!
//! Brooker, *Exponential Backoff And Jitter* (AWS Architecture Blog, 2015), by its published
//! simulator `aws-arch-backoff-simulator` (Apache-2.0): mean of 100 trials, median of 5 seeds.
//! Base 5 ms, cap 2 s.

use std::time::Duration;

use becalm::{Budget, Jitter, Policy};

/// A strategy of the original.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// Again at once.
    None,
    /// Exponential backoff without jitter.
    Exponential,
    /// Half of the ceiling, and the other half at random.
    Equal,
    /// Anything up to the ceiling.
    Full,
    /// Up to three times the last delay; clamped after the draw.
    Decorrelated,
}

impl Strategy {
    /// All, in the order of [`Row`].
    pub const ALL: [Self; 5] = [
        Self::None,
        Self::Exponential,
        Self::Equal,
        Self::Full,
        Self::Decorrelated,
    ];

    /// The name in the original's results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Exponential => "exponential",
            Self::Equal => "equal",
            Self::Full => "full",
            Self::Decorrelated => "decorrelated",
        }
    }

    /// The strategy as a policy.
    ///
    /// The original counts an attempt before it computes the delay, so its first ceiling is
    /// 5 ms x 2^1: a base of 10 ms. Its decorrelated form has no count and starts at 5 ms.
    pub fn policy(self) -> Policy {
        let base = Duration::from_millis(10);
        let policy = match self {
            Self::None => Policy::fixed(Duration::ZERO).jitter(Jitter::None),
            Self::Exponential => Policy::exponential(base).jitter(Jitter::None),
            Self::Equal => Policy::exponential(base).jitter(Jitter::Equal),
            Self::Full => Policy::exponential(base).jitter(Jitter::Full),
            Self::Decorrelated => Policy::exponential(base / 2).jitter(Jitter::DecorrelatedClamped),
        };
        policy
            .cap(Duration::from_secs(2))
            .attempts(Policy::UNLIMITED)
            .budget(Budget::None)
    }

    /// How far a mean of 100 trials may be from the original's, as a share: of the calls, of the
    /// time. From 50 clients up; about four standard deviations of the two means together.
    pub const fn tolerance(self) -> (f64, f64) {
        match self {
            Self::None => (0.015, 0.01),
            Self::Exponential => (0.02, 0.03),
            Self::Equal => (0.015, 0.04),
            Self::Full => (0.015, 0.05),
            Self::Decorrelated => (0.02, 0.07),
        }
    }
}

/// What a contest of so many clients takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Clients.
    pub clients: u32,
    /// Writes, and milliseconds until the last client has succeeded, of each strategy in the order
    /// of [`Strategy::ALL`].
    pub figures: [(u32, u32); 5],
}

/// The figures of 10, 20, ... 190 clients.
pub const ROWS: [Row; 19] = [
    row(10, [(51, 381), (51, 3574), (42, 717), (39, 468), (38, 432)]),
    row(
        20,
        [
            (153, 607),
            (148, 14_163),
            (108, 1615),
            (100, 1004),
            (101, 815),
        ],
    ),
    row(
        30,
        [
            (287, 777),
            (275, 22_222),
            (182, 2635),
            (171, 1669),
            (181, 1255),
        ],
    ),
    row(
        40,
        [
            (467, 958),
            (436, 29_383),
            (262, 3562),
            (250, 2370),
            (273, 1708),
        ],
    ),
    row(
        50,
        [
            (690, 1143),
            (621, 36_278),
            (347, 4230),
            (333, 2913),
            (375, 2232),
        ],
    ),
    row(
        60,
        [
            (956, 1319),
            (832, 42_725),
            (435, 4816),
            (419, 3432),
            (487, 2751),
        ],
    ),
    row(
        70,
        [
            (1261, 1500),
            (1058, 48_133),
            (526, 5379),
            (509, 3779),
            (606, 3232),
        ],
    ),
    row(
        80,
        [
            (1610, 1678),
            (1303, 53_741),
            (619, 5834),
            (602, 4213),
            (732, 3719),
        ],
    ),
    row(
        90,
        [
            (1993, 1849),
            (1566, 58_924),
            (714, 6252),
            (698, 4591),
            (863, 4153),
        ],
    ),
    row(
        100,
        [
            (2422, 2031),
            (1854, 63_495),
            (813, 6702),
            (796, 4910),
            (1004, 4570),
        ],
    ),
    row(
        110,
        [
            (2889, 2201),
            (2160, 68_331),
            (911, 6976),
            (896, 5245),
            (1148, 5010),
        ],
    ),
    row(
        120,
        [
            (3392, 2371),
            (2480, 72_675),
            (1011, 7388),
            (999, 5553),
            (1290, 5390),
        ],
    ),
    row(
        130,
        [
            (3938, 2539),
            (2818, 77_305),
            (1115, 7656),
            (1104, 5815),
            (1445, 5813),
        ],
    ),
    row(
        140,
        [
            (4520, 2709),
            (3173, 81_569),
            (1219, 7999),
            (1210, 6167),
            (1602, 6160),
        ],
    ),
    row(
        150,
        [
            (5137, 2874),
            (3542, 85_363),
            (1324, 8317),
            (1318, 6387),
            (1760, 6537),
        ],
    ),
    row(
        160,
        [
            (5797, 3041),
            (3928, 89_869),
            (1432, 8610),
            (1428, 6728),
            (1924, 6895),
        ],
    ),
    row(
        170,
        [
            (6494, 3211),
            (4327, 93_707),
            (1539, 8875),
            (1542, 6933),
            (2089, 7247),
        ],
    ),
    row(
        180,
        [
            (7229, 3371),
            (4742, 97_746),
            (1650, 9214),
            (1656, 7151),
            (2257, 7621),
        ],
    ),
    row(
        190,
        [
            (8003, 3538),
            (5155, 101_317),
            (1759, 9430),
            (1772, 7442),
            (2435, 7852),
        ],
    ),
];

const fn row(clients: u32, figures: [(u32, u32); 5]) -> Row {
    Row { clients, figures }
}
