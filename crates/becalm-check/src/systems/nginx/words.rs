//! What do the words of `proxy_next_upstream` and its kin mean?

use std::cell::OnceCell;
use std::rc::Rc;

use becalm::classify::FailureKind;
use becalm::retry_on::{Failures, Methods, RetryOn, Statuses};

use super::directives::Word;
use super::settings::Family;
use crate::code;
use crate::document::Span;
use crate::list::list;
use crate::mapping::Draft;
use crate::meant::did_you_mean_words;
use crate::reading::{Later, Reading};
use crate::said::Said;
use crate::template::is_placeholder;

/// All that nginx knows but for those that it calls not idempotent: POST, LOCK and PATCH.
const METHODS: &[&str] =
    list!("GET HEAD PUT DELETE OPTIONS TRACE MKCOL COPY MOVE PROPFIND PROPPATCH UNLOCK");

/// What the words of a list ask for.
#[derive(Debug, Clone, Default)]
pub struct Words {
    statuses: Statuses,
    failures: Failures,
    repeats_all_methods: bool,
    repeats_misses: bool,
    /// A placeholder among them.
    pub unknown: Option<String>,
}

/// The words of a directive, which hold for all that is passed on below it, and are read at the first of these.
#[derive(Debug, Default)]
pub struct Listed {
    words: Vec<Word>,
    /// `None` of `off`.
    read: OnceCell<Option<Words>>,
}

impl Listed {
    pub fn of(words: Vec<Word>) -> Self {
        Self {
            words,
            read: OnceCell::new(),
        }
    }

    /// Those of the same directive that stands once more, too.
    pub fn add(&mut self, words: &[Word]) {
        self.words.extend_from_slice(words);
    }

    pub fn is_off(&self) -> bool {
        let mut words = self.words.iter();
        words.any(|it| it.text.eq_ignore_ascii_case("off"))
    }
}

/// The words of a directive, or the default; `None` of `off`.
pub fn read<'a>(
    reading: &mut Reading<'a>,
    next: Option<&Said<'a, Rc<Listed>>>,
    family: &Family,
) -> Option<Words> {
    let Some((next, listed)) = next.and_then(|it| Some((it, it.value.as_ref()?))) else {
        let mut words = Words::default();
        words.take("error");
        words.take("timeout");
        return Some(words);
    };
    let read = || {
        let file = std::mem::replace(&mut reading.document.file, next.file);
        let words = of_list(reading, listed, family);
        reading.document.file = file;
        words
    };
    listed.read.get_or_init(read).clone()
}

fn of_list(reading: &mut Reading<'_>, listed: &Listed, family: &Family) -> Option<Words> {
    let mut words = Words::default();
    for word in &listed.words {
        // `ngx_conf_set_bitmask_slot` compares without regard to case.
        let text = word.text.to_ascii_lowercase();
        if family.words.contains(&&*text) {
            words.take(&text);
            continue;
        }
        if is_placeholder(&word.text) {
            let sentence = format!(
                "`{}` is filled in elsewhere, so that it is not known here what else is repeated",
                word.text
            );
            let remedy = "check the file with its values filled in";
            reading.find(word.span, code::UNKNOWN_VALUE, sentence, remedy);
            words.unknown = Some(word.text.clone());
            continue;
        }
        let remedy = Later(|| did_you_mean_words(&word.text, family.words));
        let sentence = format!(
            "nginx refuses `{}` in `{}_next_upstream`",
            word.text, family.prefix
        );
        reading.find(word.span, code::REFUSED, sentence, remedy);
    }
    (!listed.is_off()).then_some(words)
}

impl Words {
    fn take(&mut self, word: &str) {
        let mut failures = |kinds: &[FailureKind]| {
            self.failures = kinds.iter().fold(self.failures, |all, kind| all.and(*kind));
        };
        match word {
            "error" => failures(&[FailureKind::Connect, FailureKind::Reset]),
            "timeout" => failures(&[FailureKind::ConnectTimeout, FailureKind::TimedOut]),
            "invalid_header" | "invalid_response" => failures(&[FailureKind::InvalidAnswer]),
            "non_idempotent" => self.repeats_all_methods = true,
            "not_found" => self.repeats_misses = true,
            _ => {
                let status = word.strip_prefix("http_").and_then(|it| it.parse().ok());
                self.statuses = status.map_or(self.statuses, |it| self.statuses.and(it));
            }
        }
    }

    pub fn retry_on(&self) -> RetryOn {
        let methods = if self.repeats_all_methods {
            Methods::Any
        } else {
            Methods::of(METHODS.iter().copied())
        };
        RetryOn::new()
            .methods(methods)
            .statuses(self.statuses)
            .failures(self.failures)
    }

    pub fn lose(&self, draft: &mut Draft, span: Span) {
        if self.repeats_misses {
            let why = "a key that memcached does not have is asked of the next server";
            draft.lose("not_found", why, Some(span));
        }
        if !self.repeats_all_methods {
            let why = "methods that nginx does not know are repeated as GET is";
            draft.lose("methods", why, None);
        }
        if !self.repeats_all_methods && self.failures.contains(FailureKind::Connect) {
            let why = "POST, LOCK and PATCH, too, go to the next server where no connection was made and nothing was sent";
            draft.lose("error", why, Some(span));
        }
    }
}
