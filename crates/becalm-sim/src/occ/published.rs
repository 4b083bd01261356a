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
    /// All, in the order of the original's results.
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

    /// What a contest of each of [`CLIENTS`] takes: writes, and milliseconds until the last client has
    /// succeeded.
    pub const fn figures(self) -> [[u32; CLIENTS.len()]; 2] {
        match self {
            Self::None => [
                [
                    51, 153, 287, 467, 690, 956, 1261, 1610, 1993, 2422, 2889, 3392, 3938, 4520,
                    5137, 5797, 6494, 7229, 8003,
                ],
                [
                    381, 607, 777, 958, 1143, 1319, 1500, 1678, 1849, 2031, 2201, 2371, 2539, 2709,
                    2874, 3041, 3211, 3371, 3538,
                ],
            ],
            Self::Exponential => [
                [
                    51, 148, 275, 436, 621, 832, 1058, 1303, 1566, 1854, 2160, 2480, 2818, 3173,
                    3542, 3928, 4327, 4742, 5155,
                ],
                [
                    3574, 14_163, 22_222, 29_383, 36_278, 42_725, 48_133, 53_741, 58_924, 63_495,
                    68_331, 72_675, 77_305, 81_569, 85_363, 89_869, 93_707, 97_746, 101_317,
                ],
            ],
            Self::Equal => [
                [
                    42, 108, 182, 262, 347, 435, 526, 619, 714, 813, 911, 1011, 1115, 1219, 1324,
                    1432, 1539, 1650, 1759,
                ],
                [
                    717, 1615, 2635, 3562, 4230, 4816, 5379, 5834, 6252, 6702, 6976, 7388, 7656,
                    7999, 8317, 8610, 8875, 9214, 9430,
                ],
            ],
            Self::Full => [
                [
                    39, 100, 171, 250, 333, 419, 509, 602, 698, 796, 896, 999, 1104, 1210, 1318,
                    1428, 1542, 1656, 1772,
                ],
                [
                    468, 1004, 1669, 2370, 2913, 3432, 3779, 4213, 4591, 4910, 5245, 5553, 5815,
                    6167, 6387, 6728, 6933, 7151, 7442,
                ],
            ],
            Self::Decorrelated => [
                [
                    38, 101, 181, 273, 375, 487, 606, 732, 863, 1004, 1148, 1290, 1445, 1602, 1760,
                    1924, 2089, 2257, 2435,
                ],
                [
                    432, 815, 1255, 1708, 2232, 2751, 3232, 3719, 4153, 4570, 5010, 5390, 5813,
                    6160, 6537, 6895, 7247, 7621, 7852,
                ],
            ],
        }
    }
}

/// The numbers of clients that the original measures, each in a contest of its own.
pub const CLIENTS: [u32; 19] = [
    10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 130, 140, 150, 160, 170, 180, 190,
];
