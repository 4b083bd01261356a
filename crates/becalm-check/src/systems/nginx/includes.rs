//! What stands in the files that a file includes, where they are named beside it?
//!
//! nginx puts the directives of such a file in place of the `include` (`ngx_conf_include` of 1.22, `src/core/ngx_conf_file.c`).
//! An `include` stays as it is where that is not known here: files that include each other, and several of its name.

use foldhash::HashMap;

use super::directives::{Directive, Unreadable, directives};
use super::is_nginx;
use super::upstreams::Upstreams;
use crate::document::{DEEPEST, Together};
use crate::template;

/// The files of nginx that are read together.
#[derive(Debug)]
pub struct Files<'a> {
    all: Vec<File<'a>>,
    /// By their names.
    by_name: HashMap<&'a str, Vec<usize>>,
    /// Those of all files.
    pub upstreams: Upstreams<'a>,
}

#[derive(Debug)]
struct File<'a> {
    name: &'a str,
    text: &'a str,
    /// Why it cannot be read.
    error: Option<Unreadable>,
    /// Its directives, with those that it includes once it is joined.
    directives: Vec<Directive<'a>>,
    /// What it includes.
    patterns: Vec<String>,
    is_joined: bool,
    /// Whether another file has it in place of an `include`.
    is_included: bool,
}

/// Includes within includes grow without bound: of all files together, at most so many directives come of includes.
const MOST: usize = 200_000;

impl<'a> Files<'a> {
    pub fn of(together: &[Together<'a>]) -> Self {
        let mut left: Vec<_> = together.iter().collect();
        let mut files = Self {
            all: Vec::new(),
            by_name: HashMap::default(),
            upstreams: Upstreams::NONE,
        };
        loop {
            let is_readable = |it: &&Together<'_>| {
                (is_nginx(it.text) || files.includes(it.file)) && template::first(it.text).is_none()
            };
            let (found, others): (Vec<&Together<'a>>, Vec<_>) =
                left.into_iter().partition(is_readable);
            let is_done = found.is_empty();
            files.all.extend(found.into_iter().map(File::of));
            left = others;
            if is_done {
                break;
            }
        }
        files.join();
        for (at, file) in files.all.iter().enumerate() {
            files.by_name.entry(file.name).or_default().push(at);
        }
        for file in &files.all {
            files.upstreams.gather(&file.directives);
        }
        files
    }

    fn includes(&self, name: &str) -> bool {
        let mut others = self.all.iter().filter(|it| it.name != name);
        others.any(|it| it.patterns.iter().any(|it| matches(it, name)))
    }

    /// Whether another file has it in place of an `include`.
    pub fn is_included(&self, name: &str) -> bool {
        self.of_name(name).any(|it| it.is_included)
    }

    fn of_name(&self, name: &str) -> impl Iterator<Item = &File<'a>> {
        let all = self.by_name.get(name).into_iter().flatten();
        all.map(|at| &self.all[*at])
    }

    /// Whether files are named that an `include` may mean.
    pub fn has(&self, pattern: &str) -> bool {
        self.all.iter().any(|it| matches(pattern, it.name))
    }

    /// The directives of a file with those that it includes, or why it cannot be read; `None` of a file that is none of nginx.
    pub fn joined(&self, name: &str, text: &str) -> Option<Result<&[Directive<'a>], Unreadable>> {
        let known = self.of_name(name).find(|it| std::ptr::eq(it.text, text))?;
        Some(match known.error {
            Some(error) => Err(error),
            None => Ok(&known.directives),
        })
    }

    /// Puts what is included in its places: first in files that include nothing. Of files in a circle none is ever ready.
    fn join(&mut self) {
        let mut targets = Vec::new();
        for at in 0..self.all.len() {
            let patterns = self.all[at].patterns.iter();
            targets.push(
                patterns
                    .flat_map(|it| self.targets(at, it))
                    .collect::<Vec<_>>(),
            );
        }
        let mut left = MOST;
        loop {
            let is_joined = |at: &usize| self.all[*at].is_joined;
            let is_ready = |at: &usize| !is_joined(at) && targets[*at].iter().all(is_joined);
            let ready: Vec<_> = (0..self.all.len()).filter(is_ready).collect();
            if ready.is_empty() {
                break;
            }
            for at in ready {
                self.join_at(at, &mut left);
                self.all[at].is_joined = true;
            }
        }
        for at in 0..self.all.len() {
            if !self.all[at].is_joined {
                self.join_at(at, &mut left);
            }
        }
    }

    fn join_at(&mut self, at: usize, left: &mut usize) {
        let own = std::mem::take(&mut self.all[at].directives);
        let mut taken = Vec::new();
        let joined = self.joined_at(at, own, 0, left, &mut taken);
        self.all[at].directives = joined;
        for target in taken {
            self.all[target].is_included = true;
        }
    }

    fn joined_at(
        &self,
        from: usize,
        directives: Vec<Directive<'a>>,
        depth: usize,
        left: &mut usize,
        taken: &mut Vec<usize>,
    ) -> Vec<Directive<'a>> {
        let mut all = Vec::new();
        for mut directive in directives {
            let targets = directive.includes().map(|it| self.targets(from, it));
            let targets = targets.unwrap_or_default();
            let inner = || targets.iter().flat_map(|it| &self.all[*it].directives);
            let (count, deep) = size(inner());
            let is_known = targets.iter().all(|it| self.all[*it].is_joined);
            if targets.is_empty() || !is_known || count > *left || depth + deep >= DEEPEST {
                let inner = directive.block.take();
                directive.block = inner.map(|it| self.joined_at(from, it, depth + 1, left, taken));
                all.push(directive);
            } else {
                *left -= count;
                all.extend(inner().cloned());
                taken.extend(targets);
            }
        }
        all
    }

    /// The files that this one takes by a pattern: of its own tree of folders where there are several, and of a name without
    /// a `*` the one whose path is most like it. None where that leaves several.
    fn targets(&self, from: usize, pattern: &str) -> Vec<usize> {
        let likeness = |at: &usize| {
            let name = self.all[*at].name;
            (shared(name, self.all[from].name), in_common(pattern, name))
        };
        let is_one = |at: &usize| *at != from && matches(pattern, self.all[*at].name);
        let mut found: Vec<_> = (0..self.all.len()).filter(is_one).collect();
        let nearest = found.iter().map(likeness).max();
        found.retain(|it| Some(likeness(it)) == nearest);
        if found.len() > 1 && !pattern.contains('*') {
            found.clear();
        }
        found
    }
}

impl<'a> File<'a> {
    fn of(file: &Together<'a>) -> Self {
        let (directives, error) = match directives(file.text, file.file) {
            Ok(directives) => (directives, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        let mut patterns = Vec::new();
        gather(&directives, &mut patterns);
        Self {
            name: file.file,
            text: file.text,
            error,
            directives,
            patterns,
            is_joined: false,
            is_included: false,
        }
    }
}

fn gather(directives: &[Directive<'_>], patterns: &mut Vec<String>) {
    for directive in directives {
        patterns.extend(directive.includes().map(str::to_owned));
        gather(directive.inner(), patterns);
    }
}

/// How many directives there are, and how deep they go.
fn size<'d, 'a: 'd>(directives: impl Iterator<Item = &'d Directive<'a>>) -> (usize, usize) {
    directives.fold((0, 0), |(count, deep), it| {
        let (inner, within) = size(it.inner().iter());
        (count + 1 + inner, deep.max(within + 1))
    })
}

fn directory(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(directory, _)| directory)
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// Folders that two paths begin with.
fn shared(one: &str, other: &str) -> usize {
    let parts = |path| directory(path).unwrap_or_default().split('/');
    let both = parts(one).zip(parts(other));
    both.take_while(|(one, other)| one == other).count()
}

/// Parts of two paths that are the same, from their ends.
fn in_common(one: &str, other: &str) -> usize {
    let parts = one.rsplit('/').zip(other.rsplit('/'));
    parts.take_while(|(one, other)| one == other).count()
}

/// Whether this may be the file of this name: where nginx finds its files is not known here. A `*` is of one folder.
fn matches(pattern: &str, name: &str) -> bool {
    if !pattern.contains('*') {
        return last(pattern) == last(name);
    }
    let folder = |path| directory(path).map(last);
    let is_there = folder(pattern).is_none() || folder(pattern) == folder(name);
    is_there && fits(last(pattern), last(name))
}

/// As `glob` reads `*`.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut name) = name.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<_> = rest.split('*').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        let Some((_, behind)) = name.split_once(part) else {
            return false;
        };
        name = behind;
    }
    name.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_of_files_of_its_name_and_folder() {
        for (pattern, name) in [
            ("proxy_params", "etc/proxy_params"),
            ("/etc/nginx/proxy_params", "proxy_params"),
            ("conf.d/*.conf", "etc/nginx/conf.d/app.conf"),
            ("/etc/nginx/sites-enabled/*", "sites-enabled/shop"),
            ("*.inc", "a/b.inc"),
            ("a*b*c", "aXbbXbc"),
            (
                "********************b",
                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab",
            ),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("proxy_params", "proxy_params.bak"),
            ("conf.d/*.conf", "other/app.conf"),
            ("conf.d/*.conf", "app.conf"),
            ("conf.d/*.conf", "conf.d/app"),
            ("sites-enabled/*", "nginx.conf"),
            ("ab*ba", "aba"),
            (
                "*a*a*a*a*a*a*a*a*a*a*a*a*b",
                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            ),
        ] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}
