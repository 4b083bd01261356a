//! What does a budget file say? One line, which tells when it is damaged.

use std::fmt;

/// What the file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    /// Tokens, in millionths.
    pub micros: u64,
    /// Up to when the floor has been added: nanoseconds of the machine's monotonic clock.
    pub at: u64,
}

const TITLE: &str = "becalm-budget/1";

impl State {
    /// Adds this much, up to the burst.
    pub fn add(&mut self, micros: u64, burst: u64) {
        self.micros = burst.min(self.micros.saturating_add(micros));
    }

    /// Adds what the time since the last change has brought.
    pub fn elapse(&mut self, now: u64, floor_per_hour: u64, burst: u64) {
        const HOUR: u128 = 3_600_000_000_000;
        if floor_per_hour == 0 {
            return;
        }
        // After a restart of the machine its clock is behind; what it then brings is less than
        // what was due.
        let elapsed = u128::from(now.saturating_sub(self.at));
        let rate = u128::from(floor_per_hour);
        let due = elapsed * rate / HOUR;
        let room = burst.saturating_sub(self.micros);
        match u64::try_from(due) {
            Ok(due) if due < room => {
                self.micros += due;
                // Less than a millionth stays due, so that frequent changes lose nothing.
                let used = u64::try_from((u128::from(due) * HOUR).div_ceil(rate));
                self.at = used.map_or(now, |used| now.min(self.at.saturating_add(used)));
            }
            _ => {
                self.micros += room;
                self.at = now;
            }
        }
    }

    /// The state of this line, if it is one to the last byte.
    pub fn parse(line: &[u8]) -> Option<Self> {
        let line = std::str::from_utf8(line).ok()?;
        let mut words = line.split_ascii_whitespace();
        let is_ours = words.next() == Some(TITLE);
        let micros = words.next()?.strip_prefix("micros=")?.parse().ok()?;
        let at = words.next()?.strip_prefix("at=")?.parse().ok()?;
        let state = Self { micros, at };
        // Written anew, it must be the same to the last byte, check included.
        (is_ours && state.to_string() == line).then_some(state)
    }
}

/// Always the same length, so that one write replaces all of it.
impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let body = format!("{TITLE} micros={:020} at={:020}", self.micros, self.at);
        writeln!(f, "{body} check={:08x}", check(body.as_bytes()))
    }
}

/// FNV-1a of 32 bits (Fowler, Noll, Vo; RFC 9923): tells a damaged line, not a forged one.
fn check(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_reads_back_and_nothing_else_does() {
        let state = State {
            micros: 9_900_000,
            at: 12_345,
        };
        let line = state.to_string();
        assert_eq!(State::parse(line.as_bytes()), Some(state));
        let last = State {
            micros: u64::MAX,
            at: u64::MAX,
        };
        assert_eq!(last.to_string().len(), line.len());
        for end in 0..line.len() {
            assert_eq!(State::parse(&line.as_bytes()[..end]), None, "cut at {end}");
        }
        for place in 0..line.len() {
            let mut damaged = line.clone().into_bytes();
            damaged[place] ^= 1;
            assert_eq!(State::parse(&damaged), None, "damaged at {place}");
        }
        assert_eq!(State::parse(b"[Unit]\nDescription=foreign\n"), None);
    }

    #[test]
    fn the_floor_adds_by_the_time_up_to_the_burst_however_often_it_is_asked() {
        let second = 1_000_000_000;
        let start = State {
            micros: 0,
            at: 5 * second,
        };
        let mut seldom = start;
        seldom.elapse(7 * second, 3 * 3600, 1_000);
        assert_eq!(
            seldom,
            State {
                micros: 6,
                at: 7 * second
            }
        );
        let mut often = start;
        for now in (5 * second..=7 * second).step_by(1_000_003) {
            often.elapse(now, 3 * 3600, 1_000);
        }
        // Each of the six was counted late by less than a nanosecond.
        often.elapse(7 * second + 6, 3 * 3600, 1_000);
        assert_eq!(often.micros, 6);
        let mut full = start;
        full.elapse(u64::MAX, 10_000_000_000 * 3600, 1_000);
        assert_eq!(
            full,
            State {
                micros: 1_000,
                at: u64::MAX
            }
        );
        // After a restart the clock is behind: nothing is added, and it counts from there.
        let mut restarted = start;
        restarted.elapse(second, 3 * 3600, 1_000);
        assert_eq!(
            restarted,
            State {
                micros: 0,
                at: second
            }
        );
        restarted.elapse(2 * second, 3 * 3600, 1_000);
        assert_eq!(restarted.micros, 3);
    }
}
