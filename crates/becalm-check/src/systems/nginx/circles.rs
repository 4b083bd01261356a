//! Which files include each other, directly or through others?

/// Of each file, the first of its circle: itself, where it is in none or is the first. `targets` are what each includes.
pub fn circles(targets: &[Vec<usize>]) -> Vec<usize> {
    let mut sources = vec![Vec::new(); targets.len()];
    for (from, targets) in targets.iter().enumerate() {
        for target in targets {
            sources[*target].push(from);
        }
    }
    // Kosaraju's: the files in the order in which all that they include is done, then back from the last of them.
    let mut order = Vec::new();
    let mut is_seen = vec![false; targets.len()];
    for start in 0..targets.len() {
        walk(targets, start, &mut is_seen, &mut order);
    }
    let mut circles = vec![0; targets.len()];
    let mut is_seen = vec![false; targets.len()];
    for start in order.into_iter().rev() {
        let mut circle = Vec::new();
        walk(&sources, start, &mut is_seen, &mut circle);
        let first = circle.iter().min().copied().unwrap_or(start);
        for at in circle {
            circles[at] = first;
        }
    }
    circles
}

/// Adds what is reached from here and was not seen yet, each after all that is reached from it.
fn walk(next: &[Vec<usize>], start: usize, is_seen: &mut [bool], done: &mut Vec<usize>) {
    if std::mem::replace(&mut is_seen[start], true) {
        return;
    }
    let mut open = vec![(start, 0)];
    while let Some((at, read)) = open.last_mut() {
        if let Some(target) = next[*at].get(*read).copied() {
            *read += 1;
            if !std::mem::replace(&mut is_seen[target], true) {
                open.push((target, 0));
            }
        } else {
            done.push(*at);
            open.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_is_known_by_its_first_file() {
        for (targets, first) in [
            (vec![], vec![]),
            (vec![vec![1], vec![]], vec![0, 1]),
            (vec![vec![1], vec![0]], vec![0, 0]),
            (vec![vec![], vec![2], vec![3], vec![1, 0]], vec![0, 1, 1, 1]),
            (
                vec![vec![1], vec![2], vec![1, 3], vec![4], vec![3]],
                vec![0, 1, 1, 3, 3],
            ),
        ] {
            assert_eq!(circles(&targets), first, "{targets:?}");
        }
    }
}
