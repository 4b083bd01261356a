//! Which policies does no other beat?

use super::objectives::Objectives;

/// Finds the places of those that no other beats, in their order: the Pareto front.
pub fn front(all: &[Objectives]) -> Vec<usize> {
    let is_beaten = |one: &Objectives| all.iter().any(|other| other.beats(one));
    let unbeaten = all.iter().enumerate().filter(|(_, one)| !is_beaten(one));
    unbeaten.map(|(place, _)| place).collect()
}

/// The rank of each: 0 on the front, 1 on the front of what is left without it, and so on
/// (K. Deb et al., *A fast and elitist multiobjective genetic algorithm: NSGA-II*, 2002).
pub fn ranks(all: &[Objectives]) -> Vec<usize> {
    let mut ranks = vec![usize::MAX; all.len()];
    let mut left: Vec<usize> = (0..all.len()).collect();
    for rank in 0..all.len() {
        let objectives: Vec<Objectives> = left
            .iter()
            .filter_map(|place| all.get(*place).copied())
            .collect();
        let unbeaten = front(&objectives);
        for at in &unbeaten {
            let place = left.get(*at).and_then(|place| ranks.get_mut(*place));
            if let Some(of) = place {
                *of = rank;
            }
        }
        left.retain(|place| ranks.get(*place) == Some(&usize::MAX));
        if left.is_empty() {
            break;
        }
    }
    ranks
}

/// The one of the front that is nearest to the best of each objective, the distances measured in
/// spans of the front (M. Zeleny, *Compromise Programming*, 1973); of equals the first. `None` of
/// nothing.
pub(super) fn compromise(front: &[Objectives]) -> Option<usize> {
    let first = front.first()?.each();
    let mut best = first;
    let mut worst = first;
    for one in front {
        for (index, value) in one.each().into_iter().enumerate() {
            if let (Some(best), Some(worst)) = (best.get_mut(index), worst.get_mut(index)) {
                *best = best.min(value);
                *worst = worst.max(value);
            }
        }
    }
    let distance = |one: &Objectives| -> f64 {
        let spans = best.iter().zip(&worst).zip(one.each());
        spans
            .map(|((best, worst), value)| match worst - best {
                span if span > 0.0 && span.is_finite() => (value - best) / span,
                // The worst is infinite: what is finite is as good as the best.
                span if span > 0.0 => f64::from(u8::from(value.is_infinite())),
                _ => 0.0,
            })
            .map(|part| part * part)
            .sum()
    };
    let distances = front.iter().map(distance).enumerate();
    let nearest = distances.min_by(|a, b| a.1.total_cmp(&b.1));
    nearest.map(|(place, _)| place)
}
