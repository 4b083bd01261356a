//! Which files reach each other along arrows?

use crate::arrows::Arrows;
use crate::sources::FileId;
use std::collections::BTreeSet;

/// The circles: sets of more than one file in which each is reached from each, the largest first.
pub fn circles(arrows: &Arrows) -> Vec<BTreeSet<FileId>> {
    let mut left: BTreeSet<FileId> = arrows.keys().map(|(from, _)| *from).collect();
    let mut circles = Vec::new();
    while let Some(file) = left.pop_first() {
        let ahead = reached(file, |at| next(arrows, at));
        let circle: BTreeSet<FileId> = ahead
            .into_iter()
            .filter(|other| reached(*other, |at| next(arrows, at)).contains(&file))
            .collect();
        if circle.len() > 1 {
            left.retain(|file| !circle.contains(file));
            circles.push(circle);
        }
    }
    circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    circles
}

fn next(arrows: &Arrows, file: FileId) -> Vec<FileId> {
    arrows
        .range((file, 0)..=(file, FileId::MAX))
        .map(|((_, to), _)| *to)
        .collect()
}

fn reached(file: FileId, next: impl Fn(FileId) -> Vec<FileId>) -> BTreeSet<FileId> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![file]);
    while let Some(at) = open.pop() {
        open.extend(next(at).into_iter().filter(|to| reached.insert(*to)));
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pairs: &[(FileId, FileId)]) -> Vec<Vec<FileId>> {
        let arrows = pairs.iter().map(|pair| (*pair, BTreeSet::new())).collect();
        circles(&arrows)
            .into_iter()
            .map(|circle| circle.into_iter().collect())
            .collect()
    }

    #[test]
    fn files_that_reach_each_other_are_one_circle() {
        assert_eq!(
            found(&[(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (5, 0)]),
            [[0, 1, 2]]
        );
    }

    #[test]
    fn the_largest_circle_comes_first() {
        assert_eq!(
            found(&[(0, 1), (1, 0), (1, 2), (2, 3), (3, 4), (4, 2)]),
            [vec![2, 3, 4], vec![0, 1]]
        );
    }

    #[test]
    fn what_only_leads_on_is_no_circle() {
        assert_eq!(found(&[(0, 1), (0, 2), (1, 3), (2, 3)]), [[0; 0]; 0]);
    }
}
