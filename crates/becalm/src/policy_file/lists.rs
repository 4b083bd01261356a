//! How are the lists of what is repeated written, and read back?

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::value::Value;
use crate::classify::FailureKind;
use crate::grammar::Given;
use crate::policy::text::{Unreadable, add_statuses};
use crate::retry_on::{Codes, Failures, Methods, RetryOn, Statuses, code_names, method_remedy};
use crate::suggest::{list, remedy};

/// The lists, in the order in which they are written.
pub(super) const LISTS: [&str; 4] = ["methods", "statuses", "codes", "failures"];

/// `methods` where all are repeated.
pub(super) const ANY: &str = "any";

impl Value for Arc<RetryOn> {
    fn read(given: Given) -> Result<Self, Unreadable> {
        let entries = match given {
            Given::Table(entries) => entries,
            Given::Written(_) => {
                let sentence = "set one of its lists, such as `retry_on.statuses`, or write none";
                return Err(Unreadable::new(sentence.to_owned()));
            }
            _ => {
                let sentence = "write a table, such as { statuses = [429, \"5xx\"], failures = [\"connect\"] }";
                return Err(Unreadable::new(sentence.to_owned()));
            }
        };
        let mut lists = RetryOn::new();
        for (name, given) in entries {
            let read = match &*name {
                "methods" => once(&mut lists.methods, given, methods),
                "statuses" => once(&mut lists.statuses, given, statuses),
                "codes" => once(&mut lists.codes, given, codes),
                "failures" => once(&mut lists.failures, given, failures),
                _ => {
                    let all = || list("its lists are ", LISTS.into_iter(), " and ");
                    let remedy = remedy(&name, LISTS, all);
                    Err(Unreadable::new(format!(
                        "there is no list `{name}`; {remedy}"
                    )))
                }
            };
            read.map_err(|refused| refused.at(&name))?;
        }
        Ok(Arc::new(lists))
    }

    fn write(&self) -> Option<Given> {
        let texts =
            |words: Vec<String>| Given::List(words.into_iter().map(Given::Quoted).collect());
        let named = |words: Vec<&str>| texts(words.into_iter().map(Into::into).collect());
        let methods = self.methods.as_ref().map(|methods| match methods {
            Methods::Any => Given::Quoted(ANY.to_owned()),
            Methods::Listed(methods) => texts(methods.clone()),
        });
        let status = |entry: String| entry.parse().map_or(Given::Quoted(entry), Given::Whole);
        let statuses = self.statuses.map(Statuses::entries);
        let statuses = statuses.map(|all| Given::List(all.into_iter().map(status).collect()));
        let codes = self.codes.map(|codes| named(codes.names().collect()));
        let failures = self
            .failures
            .map(|all| named(all.iter().map(FailureKind::as_str).collect()));
        let lists = LISTS.into_iter().zip([methods, statuses, codes, failures]);
        let there = lists.filter_map(|(name, list)| Some((name.to_owned(), list?)));
        Some(Given::Table(there.collect()))
    }
}

fn once<T>(
    slot: &mut Option<T>,
    given: Given,
    read: fn(Vec<Given>) -> Result<T, Unreadable>,
) -> Result<(), Unreadable> {
    let items = match given {
        Given::List(items) => items,
        Given::Quoted(any) if any == ANY => Vec::from([Given::Quoted(any)]),
        _ => {
            return Err(Unreadable::new(
                "write a list, which may be empty, such as []".to_owned(),
            ));
        }
    };
    if slot.replace(read(items)?).is_some() {
        return Err(Unreadable::new(
            "the list is there twice; keep one".to_owned(),
        ));
    }
    Ok(())
}

fn methods(items: Vec<Given>) -> Result<Methods, Unreadable> {
    let text = |item| match item {
        Given::Quoted(text) => Ok(text),
        other => {
            let sentence = format!(
                "there is no method {}; write it in quotes, such as \"GET\"",
                other.shown()
            );
            Err(Unreadable::new(sentence))
        }
    };
    let words = items.into_iter().map(text).collect::<Result<Vec<_>, _>>()?;
    if words == [ANY] {
        return Ok(Methods::Any);
    }
    let wrong = words
        .iter()
        .find_map(|word| Some((word, method_remedy(word)?)));
    if let Some((word, remedy)) = wrong {
        return Err(Unreadable::new(format!(
            "there is no method `{word}`; {remedy}"
        )));
    }
    Ok(Methods::Listed(words))
}

fn statuses(items: Vec<Given>) -> Result<Statuses, Unreadable> {
    let mut entries = items.into_iter().map(|item| match item {
        Given::Quoted(text) => text,
        other => other.shown(),
    });
    entries.try_fold(Statuses::default(), |all, entry| add_statuses(all, &entry))
}

fn codes(items: Vec<Given>) -> Result<Codes, Unreadable> {
    let mut codes = Codes::default();
    for item in items {
        let word = item.shown_word();
        let code = match item {
            Given::Whole(code) => u32::try_from(code).ok(),
            _ => Codes::by_name(word),
        };
        let code = code.filter(|code| (1..=16).contains(code));
        let code = code.ok_or_else(|| {
            let all = || list("the codes of failures are ", code_names(), " and ");
            let shown = item.shown();
            let sentence = format!(
                "there is no code of a failure {shown}; {}",
                remedy(word, code_names(), all)
            );
            Unreadable::new(sentence)
        })?;
        codes = codes.and(code);
    }
    Ok(codes)
}

fn failures(items: Vec<Given>) -> Result<Failures, Unreadable> {
    let known = || FailureKind::ALL.iter().map(|kind| kind.as_str());
    let mut failures = Failures::default();
    for item in items {
        let word = item.shown_word();
        let kind = word.parse::<FailureKind>().map_err(|_| {
            let remedy = remedy(word, known(), || list("write ", known(), " or "));
            let sentence = format!("there is no failure {}; {remedy}", item.shown());
            Unreadable::new(sentence)
        })?;
        failures = failures.and(kind);
    }
    Ok(failures)
}
