//! What do the words of `retry-on` mean?

use becalm::classify::FailureKind;
use becalm::retry_on::{Failures, Methods, RetryOn, Statuses};

use super::lines::{Line, Word};
use crate::code;
use crate::list::list;
use crate::meant::did_you_mean;
use crate::reading::{Later, Reading};
use crate::said::Said;
use crate::template::is_placeholder;

/// What is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listed {
    pub statuses: Statuses,
    pub failures: Failures,
    pub early_data: bool,
}

/// What is repeated where nothing is said.
impl Default for Listed {
    fn default() -> Self {
        let mut listed = Listed::nothing();
        listed.take("conn-failure");
        listed
    }
}

const WORDS: &[&str] = list!(
    "none conn-failure empty-response junk-response response-timeout 0rtt-rejected \
     all-retryable-errors 401 403 404 408 425 500 501 502 503 504"
);

/// Words of later versions: `proxy_parse_retry_on` in `src/proxy.c`.
const LATER: [(&str, &str); 2] = [("421", "3.2"), ("429", "3.1")];

/// The words of a line; those that HAProxy refuses become findings. Of placeholders alone nothing is known.
pub fn read<'a>(reading: &mut Reading<'a>, line: &Line) -> Said<'a, Listed> {
    let mut listed = Listed::nothing();
    let mut is_known = false;
    if line.words.len() < 2 {
        let sentence = "HAProxy refuses `retry-on` without a word";
        let remedy = "write `retry-on conn-failure`, which is the default";
        reading.find(line.span(), code::REFUSED, sentence, remedy);
    }
    for word in line.words.iter().skip(1) {
        is_known |= !is_placeholder(&word.text);
        match &*word.text {
            text if is_placeholder(text) => {
                let sentence = format!(
                    "`{text}` is filled in elsewhere, so that it is not known here what is repeated"
                );
                let remedy = "check the file with its values filled in";
                reading.find(word.span, code::UNKNOWN_VALUE, sentence, remedy);
            }
            "none" if line.words.len() > 2 => {
                let sentence = "HAProxy refuses `none` beside other words";
                let remedy = "leave out one of them";
                reading.find(word.span, code::REFUSED, sentence, remedy);
            }
            text if WORDS.contains(&text) => listed.take(text),
            text if LATER.iter().any(|(it, _)| *it == text) => later(reading, word, &mut listed),
            text => {
                let remedy = Later(|| did_you_mean(text, "the words", WORDS));
                let sentence =
                    format!("HAProxy {} refuses `{text}` in `retry-on`", reading.version);
                reading.find(word.span, code::REFUSED, sentence, remedy);
            }
        }
    }
    Said {
        value: (is_known || line.words.len() < 2).then_some(listed),
        text: line.rest(1).into(),
        span: line.span(),
        file: reading.document.file,
    }
}

fn later(reading: &mut Reading<'_>, word: &Word, listed: &mut Listed) {
    let since = LATER.iter().find(|(it, _)| *it == word.text);
    let since = since.map_or("", |(_, since)| since);
    let sentence = format!(
        "HAProxy {} refuses `{}` in `retry-on`; {since} and later repeat this status",
        reading.version, word.text
    );
    let remedy = "leave it out where an older version reads the file";
    reading.find(word.span, code::REFUSED, sentence, remedy);
    listed.take(&word.text);
}

impl Listed {
    fn nothing() -> Self {
        Self {
            statuses: Statuses::default(),
            failures: Failures::default(),
            early_data: false,
        }
    }

    fn take(&mut self, word: &str) {
        match word {
            "conn-failure" => {
                let both = self.failures.and(FailureKind::Connect);
                self.failures = both.and(FailureKind::ConnectTimeout);
            }
            "empty-response" => self.failures = self.failures.and(FailureKind::Reset),
            "junk-response" => self.failures = self.failures.and(FailureKind::InvalidAnswer),
            "response-timeout" => self.failures = self.failures.and(FailureKind::TimedOut),
            "0rtt-rejected" => self.early_data = true,
            "all-retryable-errors" => {
                let words = list!(
                    "conn-failure empty-response junk-response response-timeout 0rtt-rejected \
                     500 502 503 504"
                );
                for word in words {
                    self.take(word);
                }
            }
            _ => {
                let status = word.parse().ok();
                self.statuses = status.map_or(self.statuses, |it| self.statuses.and(it));
            }
        }
    }

    pub fn is_nothing(&self) -> bool {
        *self == Self::nothing()
    }

    /// Of this, what is of connecting.
    pub fn of_connections(self) -> Self {
        if self.repeats_connecting() {
            Self::default()
        } else {
            Self::nothing()
        }
    }

    /// Whether connecting alone is repeated.
    pub fn is_of_connections(&self) -> bool {
        *self == Self::default()
    }

    /// Whether connecting is repeated, among others.
    pub fn repeats_connecting(&self) -> bool {
        self.failures.contains(FailureKind::Connect)
    }

    pub fn repeats_silence(&self) -> bool {
        self.failures.contains(FailureKind::TimedOut)
    }

    pub fn retry_on(self, methods: Methods) -> RetryOn {
        RetryOn::new()
            .methods(methods)
            .statuses(self.statuses)
            .failures(self.failures)
    }
}
