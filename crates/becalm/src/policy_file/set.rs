//! How is one key of a policy set from a text? By the reader of policy files.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{Draft, read};
use crate::grammar::Given;
use crate::policy::{Policy, Unreadable};
use crate::retry_on::RetryOn;

impl Policy {
    /// Sets one key of a policy file from a text: for flags, for environment variables, for the arguments of another
    /// language. A duration, a word or a number is written as in a file, without quotes; `none` clears what may be left out.
    ///
    /// The key `preset` sets all keys to those of the preset, so it comes first. A list of `retry_on` is a key of its own, such
    /// as `retry_on.statuses`, and its text has commas. Each value is checked by itself; whether the policy is valid as a whole,
    /// [`validate`](Self::validate) says after the last key.
    ///
    /// # Errors
    ///
    /// The key is unknown, or the text is no value of it: the error names the key and the remedy, and the policy is as it was.
    ///
    /// ```
    /// use becalm::Policy;
    /// let mut policy = Policy::default();
    /// for (key, text) in [
    ///     ("preset", "grpc"),
    ///     ("attempts", "5"),
    ///     ("deadline", "30s"),
    ///     ("budget", "ratio:0.1,burst:20"),
    ///     ("retry_on.statuses", "429, 5xx"),
    /// ] {
    ///     policy.set(key, text)?;
    /// }
    /// assert!(policy.validate().is_ok());
    /// let slip = policy.set("budget", "ratoi:0.1").unwrap_err();
    /// assert_eq!(slip.to_string(), "budget: there is no budget `ratoi`; did you mean `ratio`?");
    /// # Ok::<(), becalm::policy::Unreadable>(())
    /// ```
    pub fn set(&mut self, key: &str, text: &str) -> Result<(), Unreadable> {
        let text = text.trim();
        let set = match key.strip_prefix("retry_on.") {
            Some(list) => set_list(self, list, text),
            None => Draft::set_in(self, key, Given::Written(text.to_owned())),
        };
        set.map_err(Unreadable::new)
    }
}

/// Sets one list of what is repeated, and leaves the others.
fn set_list(policy: &mut Policy, list: &str, text: &str) -> Result<(), String> {
    let items = text
        .split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty());
    let items = items.map(|item| {
        let number = item.parse().map(Given::Whole);
        number.unwrap_or_else(|_| Given::Quoted(item.to_owned()))
    });
    let table = Vec::from([(list.to_owned(), Given::List(items.collect()))]);
    let new = Arc::unwrap_or_clone(read::<Arc<RetryOn>>("retry_on", Given::Table(table))?);
    let lists = Arc::make_mut(policy.retry_on.get_or_insert_default());
    lists.methods = new.methods.or(lists.methods.take());
    lists.statuses = new.statuses.or(lists.statuses);
    lists.codes = new.codes.or(lists.codes);
    lists.failures = new.failures.or(lists.failures);
    Ok(())
}
