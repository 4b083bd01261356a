//! Is the default policy as safe as no retries at all?
//!
//! `cargo run --release -p becalm-sim --example safe_as_none -- 1000 1` tries it in every scenario of the
//! catalogue that has a verdict, and in 1,000 drawn ones from seed 1 on: wherever the service comes back
//! without retries it has to come back with the default, to 97 % of that goodput on the same three
//! seeds. Prints each that does not, and how many did.

#![allow(clippy::pedantic)] // shared with a test

mod worlds;

use becalm::{Budget, Policy};
use becalm_sim::engine::each_in_order;
use becalm_sim::engine::parallel::threads;
use worlds::{Beside, catalogue, drawn, shown};

fn main() {
    let mut given = std::env::args().skip(1);
    let mut number = |other: u64| given.next().and_then(|it| it.parse().ok()).unwrap_or(other);
    let (count, first) = (number(1000), number(1));
    let budget = given
        .next()
        .map_or_else(Budget::default, |it| it.parse().expect("a budget"));
    let policy = Policy::default().budget(budget);
    let mut worlds = catalogue();
    let named = worlds.len();
    worlds.extend((first..first + count).map(drawn));
    let tried = each_in_order(&worlds, threads(), |world| Beside::of(world, &policy, 3));
    let mut lowest: Vec<f64> = Vec::new();
    for (place, (world, beside)) in worlds.iter().zip(&tried).enumerate() {
        let name = match place.checked_sub(named) {
            Some(drawn) => format!("seed {}", first + drawn as u64),
            None => world.name.clone(),
        };
        if beside.is_back_without {
            lowest.push(beside.goodput);
        }
        if !beside.holds() {
            let shown = shown(world);
            println!(
                "{name}: {:.1} % of the goodput: {shown}",
                100.0 * beside.goodput
            );
        }
    }
    lowest.sort_by(f64::total_cmp);
    let least = lowest.first().map_or(f64::NAN, |it| 100.0 * it);
    let held = tried
        .iter()
        .filter(|it| it.is_back_without && it.holds())
        .count();
    println!(
        "{held} of {} that come back without retries come back with the default, of {named} of the \
         catalogue and {count} drawn; the lowest has {least:.1} % of the goodput",
        lowest.len()
    );
}
