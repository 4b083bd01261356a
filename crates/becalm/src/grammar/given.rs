//! What value was given, and is it one of the type that is wanted?

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;

use crate::duration;
use crate::suggest::{list, remedy};

/// A value as it was written.
#[cfg_attr(
    not(feature = "serde"),
    expect(dead_code, reason = "most are in files only")
)]
pub(crate) enum Given {
    /// A name without a value.
    Nothing,
    /// Behind a colon, where everything is text.
    Written(String),
    /// A text of a file; the rest stands in files, too.
    Quoted(String),
    Whole(u64),
    Number(f64),
    List(Vec<Given>),
    Table(Vec<(String, Given)>),
}

/// A number, or the time in which it comes together.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Amount {
    Number(f64),
    Time(Duration),
}

/// What stands behind a rate, and the seconds that it is for.
const PER: [(&str, f64); 3] = [("", 1.0), ("/m", 60.0), ("/h", 3600.0)];

/// Each of these reads the value, or says what to write instead.
impl Given {
    pub fn whole(&self) -> Result<u32, String> {
        let whole = match self {
            Self::Written(text) => text.parse().ok(),
            Self::Whole(whole) => u32::try_from(*whole).ok(),
            _ => None,
        };
        whole.ok_or_else(|| self.instead("a whole number"))
    }

    pub fn number(&self) -> Result<f64, String> {
        let number = match self {
            Self::Written(text) => text.parse().ok(),
            #[expect(clippy::cast_precision_loss)] // beyond 2^53 nothing is in range
            Self::Whole(whole) => Some(*whole as f64),
            Self::Number(number) => Some(*number),
            _ => None,
        };
        number.ok_or_else(|| self.instead("a number"))
    }

    /// So many a second.
    pub fn rate(&self) -> Result<f64, String> {
        let (Self::Written(text) | Self::Quoted(text)) = self else {
            return self.number();
        };
        let (count, unit) = text.split_at(text.find('/').unwrap_or(text.len()));
        let unit = if unit == "/s" { "" } else { unit };
        let per = PER.into_iter().find(|(name, _)| *name == unit);
        let rate = per.zip(count.parse::<f64>().ok());
        rate.map(|((_, seconds), count)| count / seconds)
            .ok_or_else(|| "write a number a second, or such as 10/m or 10/h".to_owned())
    }

    /// The quantile of a percentile: 0.999 of 99.9. The point moves in the decimal digits, since a
    /// division by 100 would not read back.
    pub fn percentile(&self) -> Result<f64, String> {
        let text = match self {
            Self::Written(text) => text.clone(),
            Self::Whole(whole) => whole.to_string(),
            Self::Number(number) => number.to_string(),
            _ => String::new(),
        };
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let moved = format!("{whole}{fraction}e-{}", fraction.len() + 2);
        match moved.parse() {
            Ok(quantile) if digits(whole) && digits(fraction) => Ok(quantile),
            _ => Err(self.instead("a number such as 95 or 99.9")),
        }
    }

    pub fn duration(&self) -> Result<Duration, String> {
        match self {
            Self::Written(text) | Self::Quoted(text) => {
                duration::parse(text).map_err(|reason| reason.to_string())
            }
            Self::Nothing => Err("write a duration such as 250ms".to_owned()),
            _ => Err("write a duration in quotes, such as \"250ms\"".to_owned()),
        }
    }

    /// A number without a unit, or else a duration.
    pub fn amount(&self) -> Result<Amount, String> {
        if let Ok(number) = self.number() {
            return Ok(Amount::Number(number));
        }
        let time = self.duration().map(Amount::Time);
        time.map_err(|_| self.instead("a number such as 10, or a duration such as 5s"))
    }

    /// What belongs to the word.
    pub fn word<T: Copy>(&self, words: &[(&'static str, T)]) -> Result<T, String> {
        let text = match self {
            Self::Written(text) | Self::Quoted(text) => text,
            _ => "",
        };
        let known = || words.iter().map(|(word, _)| *word);
        let found = words.iter().find(|(word, _)| *word == text);
        found
            .map(|(_, it)| *it)
            .ok_or_else(|| remedy(text, known(), || list("write ", known(), " or ")))
    }

    /// The text, or an empty one of what is none.
    #[cfg(feature = "serde")]
    pub fn shown_word(&self) -> &str {
        match self {
            Self::Quoted(text) => text,
            _ => "",
        }
    }

    /// The value as it stands in a sentence.
    pub fn shown(&self) -> String {
        match self {
            Self::Written(text) => text.clone(),
            Self::Quoted(text) => format!("{text:?}"),
            Self::Whole(whole) => whole.to_string(),
            Self::Number(number) => number.to_string(),
            Self::Nothing => String::new(),
            Self::List(_) | Self::Table(_) => "{..}".to_owned(),
        }
    }

    fn instead(&self, what: &str) -> String {
        let quotes = match self {
            Self::Quoted(_) => " without quotes",
            _ => "",
        };
        format!("write {what}{quotes}")
    }
}

/// So many a second, written for a second, a minute or an hour: the first in which it is short and
/// reads back as it is.
pub(super) fn of_rate(per_second: f64) -> String {
    #[expect(
        clippy::float_cmp, // it must read back to the last bit
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss
    )]
    let short = PER.into_iter().find_map(|(unit, seconds)| {
        let thousandths = (per_second * seconds * 1000.0 + 0.5) as u64;
        let count = thousandths as f64 / 1000.0;
        (count / seconds == per_second).then_some((count, unit))
    });
    let (count, unit) = short.unwrap_or((per_second, ""));
    format!("{count}{unit}")
}

/// Moves the point in the decimal digits: a multiplication by 100 would not read back.
pub(super) fn of_percentile(quantile: f64) -> String {
    let text = quantile.to_string();
    match text.strip_prefix("0.") {
        Some(digits) if digits.len() <= 2 => format!("{digits:0<2}"),
        Some(digits) => format!("{}.{}", &digits[..2], &digits[2..]),
        None => format!("({text})"), // never valid
    }
}
