//! What stands in the files that a file includes, where they are named beside it?
//!
//! nginx puts the directives of such a file in place of the `include` (`ngx_conf_include` of 1.22, `src/core/ngx_conf_file.c`).

use super::circles::circles;
use super::directives::{Directive, directives};
use super::is_nginx;
use super::passes::Known;
use crate::document::{DEEPEST, Together};
use crate::template;

/// The files of nginx that are read together.
#[derive(Debug)]
pub struct Files<'a> {
    all: Vec<File<'a>>,
    /// The files that others have in place of an `include`, and those that nothing includes.
    is_included: Vec<bool>,
    /// Of each file, the first of those that include each other and it in a circle.
    circles: Vec<usize>,
    /// What all files say of names.
    pub known: Known<'a>,
}

#[derive(Debug)]
struct File<'a> {
    name: &'a str,
    directives: Vec<Directive<'a>>,
    /// What it includes.
    patterns: Vec<String>,
    /// Its directives, with those that it includes; of a file that another includes none.
    expanded: Vec<Directive<'a>>,
}

/// Includes within includes grow without bound: of all files together, so many directives come of includes at least, and
/// [`TIMES`] as many as the files hold.
const LEAST: usize = 20_000;
const TIMES: usize = 10;

impl<'a> Files<'a> {
    pub const NONE: Self = Self {
        all: Vec::new(),
        is_included: Vec::new(),
        circles: Vec::new(),
        known: Known::NONE,
    };

    pub fn of(together: &[Together<'a>]) -> Self {
        let mut left: Vec<_> = together.iter().collect();
        let mut files = Self::NONE;
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
        for file in &files.all {
            files.known.gather(&file.directives);
        }
        files
    }

    fn includes(&self, name: &str) -> bool {
        let mut others = self.all.iter().filter(|it| it.name != name);
        others.any(|it| it.patterns.iter().any(|it| matches(it, name)))
    }

    /// Whether another file has it in place of an `include`. Of files that include each other, the first is none.
    pub fn is_included(&self, name: &str) -> bool {
        let own = self.all.iter().position(|it| it.name == name);
        own.is_some_and(|own| self.is_included[own])
    }

    /// Puts what is included in its places.
    fn join(&mut self) {
        let targets: Vec<_> = (0..self.all.len()).map(|it| self.targets_of(it)).collect();
        self.circles = circles(&targets);
        let is_first = |at: usize| self.circles[at] == at;
        let mut is_included: Vec<_> = (0..self.all.len()).map(|it| !is_first(it)).collect();
        for (from, targets) in targets.iter().enumerate() {
            for target in targets {
                let circle = self.circles[*target];
                is_included[circle] |= circle != self.circles[from];
            }
        }
        self.is_included = is_included;
        let held = self.all.iter().map(|it| count(&it.directives));
        let mut left = LEAST.max(held.sum::<usize>().saturating_mul(TIMES));
        for root in 0..self.all.len() {
            if !self.is_included[root] {
                let mut taken = vec![root];
                let own = &self.all[root].directives;
                let expanded = self.expand(own, &mut vec![root], &mut taken, 0, &mut left);
                self.all[root].expanded = expanded;
            }
        }
    }

    fn targets_of(&self, at: usize) -> Vec<usize> {
        let patterns = self.all[at].patterns.iter();
        patterns.flat_map(|it| self.targets(at, it)).collect()
    }

    /// The files that this one takes by a pattern, of its own tree of folders where there are several: all of a `*`,
    /// otherwise the one whose path is most like it.
    fn targets(&self, from: usize, pattern: &str) -> Vec<usize> {
        let name = |at: &usize| self.all[*at].name;
        let near = |at: &usize| shared(name(at), name(&from));
        let is_one = |at: &usize| *at != from && matches(pattern, name(at));
        let mut found: Vec<_> = (0..self.all.len()).filter(is_one).collect();
        let nearest = found.iter().map(near).max();
        found.retain(|it| Some(near(it)) == nearest);
        if !is_glob(pattern) {
            let best = found
                .into_iter()
                .max_by_key(|it| in_common(pattern, name(it)));
            return best.into_iter().collect();
        }
        found
    }

    /// The directives of a file, with those that it includes in place of the `include`. One of what is not named stays.
    pub fn expanded<'s>(&'s self, name: &str, own: &'s [Directive<'a>]) -> &'s [Directive<'a>] {
        let known = self.all.iter().find(|it| it.name == name);
        known.map_or(own, |it| &it.expanded)
    }

    /// `open` are the files in which this stands, `taken` those of the circle of the last that stand somewhere already.
    fn expand(
        &self,
        directives: &[Directive<'a>],
        open: &mut Vec<usize>,
        taken: &mut Vec<usize>,
        depth: usize,
        left: &mut usize,
    ) -> Vec<Directive<'a>> {
        let mut all = Vec::new();
        for directive in directives {
            let from = open.last().copied().unwrap_or_default();
            if open.len() > 1 {
                *left = left.saturating_sub(1);
            }
            let targets = match (directive.name(), directive.args()) {
                ("include", [pattern]) if *left > 0 && depth < DEEPEST => {
                    self.targets(from, &pattern.text)
                }
                _ => Vec::new(),
            };
            if targets.is_empty() {
                let inner = |it: &Vec<_>| self.expand(it, open, taken, depth + 1, left);
                all.push(Directive {
                    block: directive.block.as_ref().map(inner),
                    ..directive.clone()
                });
            }
            let mut entered = Vec::new();
            for target in targets {
                // What leaves a circle does not come back to it.
                let is_within = self.circles[target] == self.circles[from];
                let taken = if is_within { &mut *taken } else { &mut entered };
                if taken.contains(&target) {
                    continue;
                }
                taken.push(target);
                open.push(target);
                let inner = &self.all[target].directives;
                all.extend(self.expand(inner, open, taken, depth + 1, left));
                open.pop();
            }
        }
        all
    }
}

impl<'a> File<'a> {
    fn of(file: &Together<'a>) -> Self {
        let directives = directives(file.text, file.file).unwrap_or_default();
        Self {
            name: file.file,
            patterns: patterns(&directives),
            expanded: Vec::new(),
            directives,
        }
    }
}

fn patterns(directives: &[Directive<'_>]) -> Vec<String> {
    let mut found = Vec::new();
    for directive in directives {
        match (directive.name(), directive.args()) {
            ("include", [pattern]) => found.push(pattern.text.clone()),
            _ => found.extend(patterns(directive.inner())),
        }
    }
    found
}

fn count(directives: &[Directive<'_>]) -> usize {
    directives.iter().map(|it| 1 + count(it.inner())).sum()
}

fn is_glob(pattern: &str) -> bool {
    pattern.contains(['*', '?', '['])
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

/// Whether this is the file of this name: nobody knows here where nginx finds its files. A `*` is of one folder.
fn matches(pattern: &str, name: &str) -> bool {
    if !is_glob(pattern) {
        return last(pattern) == last(name);
    }
    let folder = |path| directory(path).map(last);
    let is_there = folder(pattern).is_none() || folder(pattern) == folder(name);
    is_there && fits(last(pattern).as_bytes(), last(name).as_bytes())
}

/// As `glob` reads `*` and `?`.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut read) = (0, 0);
    // The last `*`, and how much of the name stands before what follows it.
    let mut star = None;
    while let Some(c) = name.get(read) {
        match (pattern.get(at), star) {
            (Some(b'*'), _) => {
                star = Some((at, read));
                at += 1;
            }
            (Some(it), _) if it == c || *it == b'?' => {
                at += 1;
                read += 1;
            }
            (_, Some((before, skipped))) => {
                star = Some((before, skipped + 1));
                at = before + 1;
                read = skipped + 1;
            }
            (_, None) => return false,
        }
    }
    pattern
        .get(at..)
        .unwrap_or_default()
        .iter()
        .all(|it| *it == b'*')
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
            ("conf.d/a?.conf", "conf.d/ab.conf"),
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
            (
                "*a*a*a*a*a*a*a*a*a*a*a*a*b",
                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            ),
        ] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}
