//! How much may be admitted, how long do clients wait, how far ahead is anything promised? Plain data.

use core::time::Duration;

use becalm::support::{CellRate, nanos, reasons, require, setters};

/// The settings of admission: plain data.
///
/// ```
/// use becalm_admission::Admission;
/// use std::time::Duration;
///
/// // 500 handshakes a second, at most 64 that run; clients wait for 4 s.
/// let settings = Admission::per_second(500).in_flight(64).patience(Duration::from_secs(4));
/// assert!(settings.validate().is_ok());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Admission {
    /// How many are admitted in each [`per`](Self::per): from 1. What the server can do, costly work included.
    pub rate: u32,
    /// The time of the rate. Default one second.
    pub per: Duration,
    /// How many may be admitted at once after a rest: from 1. Default what the rate brings in 50 ms, at least 1. It is best
    /// at most what the rate brings in an eighth of the patience.
    pub burst: u32,
    /// The most permits that are held at once: from 1. Default none. With a bound, how long permits are held is
    /// measured, and appointments follow what that allows where it is less than the rate.
    pub in_flight: Option<u32>,
    /// How long a client waits for its handshake before it hangs up, the shortest of those that matter: from 1 ms to an
    /// hour. Default 4 s. Who comes without a ticket waits only where the wait is foreseen to take at most half of it, which leaves the rest
    /// for the handshake and for delays; who has waited for all of it is dropped.
    pub patience: Duration,
    /// How far ahead appointments are given: from the patience to a day. Default 60 s. Clients must accept a hint of that
    /// length; those of [`reconnect`](becalm::reconnect) take 5 minutes. With N clients at a
    /// capacity C, N/C serves all of them with one refusal each; a longer one lets those who never come keep places
    /// from others for longer.
    pub horizon: Duration,
}

/// The most places that a book may have: 256 MB of them.
const MOST_PLACES: u128 = 1 << 24;

const DAY: Duration = Duration::from_secs(86_400);

impl Admission {
    /// Admits so many in a second, with the defaults.
    pub const fn per_second(rate: u32) -> Self {
        Self {
            rate,
            per: Duration::from_secs(1),
            burst: if rate < 40 { 1 } else { rate / 20 },
            in_flight: None,
            patience: Duration::from_secs(4),
            horizon: Duration::from_secs(60),
        }
    }

    /// How many without a ticket may wait, and how many with one: what the rate brings within half of the patience,
    /// at least one. Together they are the backlog of capacity x patience.
    pub fn most_waiting(&self) -> u32 {
        self.most_waiting_at(self.share())
    }

    /// How many wait so where each takes this share of the time.
    pub(super) fn most_waiting_at(&self, share: Duration) -> u32 {
        let many = (nanos(self.patience) / 2).checked_div(nanos(share));
        let many = many.unwrap_or(0);
        u32::try_from(many).unwrap_or(u32::MAX).max(1)
    }

    /// One's share of the time.
    pub(super) fn share(&self) -> Duration {
        CellRate::share_of(self.rate, self.per).unwrap_or(Duration::MAX)
    }

    /// How early a ticket is taken: an eighth of the patience.
    pub(super) fn early(&self) -> Duration {
        self.patience / 8
    }

    /// How late a ticket is taken: half of the patience.
    pub(super) fn grace(&self) -> Duration {
        self.patience / 2
    }

    /// Refuses a value that is out of range, naming the field and the remedy.
    ///
    /// # Errors
    ///
    /// The first field at fault.
    pub fn validate(&self) -> Result<(), InvalidAdmission> {
        let share = self.share();
        let patience = Duration::from_millis(1)..=Duration::from_secs(3600);
        let places = self.horizon.as_nanos().checked_div(share.as_nanos());
        require(&[
            (self.rate > 0, InvalidAdmission::Rate),
            (!share.is_zero() && self.per <= DAY, InvalidAdmission::Per),
            (self.burst > 0, InvalidAdmission::Burst),
            (self.in_flight != Some(0), InvalidAdmission::InFlight),
            (
                patience.contains(&self.patience),
                InvalidAdmission::Patience,
            ),
            (
                (self.patience..=DAY).contains(&self.horizon),
                InvalidAdmission::Horizon,
            ),
            (
                places.is_some_and(|places| places <= MOST_PLACES),
                InvalidAdmission::Places,
            ),
        ])
    }
}

setters! {
    /// Setters: each returns the settings with one field changed.
    impl Admission;
    /// Sets the time of the rate.
    per: Duration;
    /// Sets how many may be admitted at once.
    burst: u32;
    /// Sets the bound on permits, or none.
    in_flight: Option<u32>;
    /// Sets how long clients wait.
    patience: Duration;
    /// Sets how far ahead appointments are given.
    horizon: Duration;
}

reasons! {
    /// Why settings of admission are refused.
    InvalidAdmission;
    /// Nobody would be admitted.
    Rate: "rate is 0: nobody would be admitted; set at least 1";
    /// The rate would have no bound, or one that takes days.
    Per: "per must be at least a nanosecond for each of the rate and at most a day; set 1s";
    /// Nobody would be admitted.
    Burst: "burst is 0: nobody would be admitted; set at least 1";
    /// Nobody would be admitted.
    InFlight: "in_flight is 0: nobody would be admitted; set at least 1, or leave it out for no bound";
    /// The patience is out of range.
    Patience: "patience must be from 1ms to 1h; set how long clients wait for a handshake, such as 4s";
    /// The horizon is out of range.
    Horizon: "horizon must be from the patience to a day; set 60s";
    /// The horizon holds too many places.
    Places: "the horizon holds more than 16 million places at this rate; shorten horizon";
}
