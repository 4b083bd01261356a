//! What does the simulator make of the same calls?
//!
//! Service and policy are those of the drill, and each call begins at the moment when it really
//! began. What differs: nothing takes time but the work, the queue, the waits and the fault. There
//! are no connections, no scheduler and no other process. The figures are those of the drill, by the
//! same arithmetic.

mod record;

use std::collections::BTreeMap;
use std::time::Duration;

use becalm::Policy;
use becalm_report::{Cell, Page, Table};
use becalm_sim::record::Recording as Simulated;
use becalm_sim::scenario::{Arrivals, Scenario};
use becalm_sim::world;

use super::judged::{Judged, scenario};
use super::judgement::Contender;
use super::ledger::{Count, Recording};
use super::replay::DRAIN;
use super::setup::Setup;
use super::show::Section;
use super::statistics::amplification;

/// One policy in the simulator.
#[derive(Debug, Clone, PartialEq)]
pub struct Twin {
    pub recording: Recording,
    pub judged: Judged,
    /// How long it was watched after the fault.
    pub after: Duration,
}

/// What the words of the table mean.
const LEGEND: &str =
    "measured > simulated, over the whole drill; amplification: attempts / first tries";

/// Runs the calls that began at these times through the simulator, once under each policy.
pub fn all(setup: &Setup, contenders: &[Contender], began: &[Duration], seed: u64) -> Vec<Twin> {
    let began = Arrivals::Trace(began.iter().copied().collect());
    let twins = contenders.iter().map(|contender| {
        let policy = &contender.variant.policy;
        let mut scenario = scenario(setup, policy, began.clone());
        scenario.horizon = scenario.horizon.saturating_add(DRAIN);
        Twin::of(&scenario, setup, Duration::ZERO, policy, seed)
    });
    twins.collect()
}

impl Twin {
    /// One run of this scenario, judged as the drill is: by calls that began so long before the fault.
    pub fn of(
        scenario: &Scenario,
        setup: &Setup,
        lead: Duration,
        policy: &Policy,
        seed: u64,
    ) -> Self {
        let run = world::run(scenario, seed);
        Self {
            judged: Judged::run(lead, &run, setup, policy, setup.length()),
            recording: counted(&run),
            after: setup.after,
        }
    }
}

/// The simulator's counts by the names of the drill. The simulator does not count the attempts that
/// are in flight at once.
fn counted(recording: &Simulated) -> Recording {
    let (Some(clients), Some(service)) =
        (recording.populations.first(), recording.services.first())
    else {
        return Recording::default();
    };
    let retries = || {
        let sent = clients.attempts.iter().zip(&clients.first_tries);
        let sent = sent.zip(&clients.hedges);
        let retries = sent.map(|((all, first), hedges)| all.saturating_sub(first + hedges));
        retries.collect()
    };
    let counts = |kind| match kind {
        Count::Succeeded => clients.succeeded.clone(),
        Count::SucceededOf => clients.succeeded_of.clone(),
        Count::ServedNobody => service.stale.clone(),
        Count::Served => service.served.clone(),
        Count::Refused => service.refused.clone(),
        Count::Arrived => service.arrived.clone(),
        Count::Unconnected => vec![0; clients.calls.len()],
        Count::Hedge => clients.hedges.clone(),
        Count::Retry => retries(),
        Count::FirstTry => clients.first_tries.clone(),
        Count::Call => clients.calls.clone(),
    };
    let stops: BTreeMap<_, _> = clients.stops.iter().map(|(stop, n)| (stop.0, *n)).collect();
    Recording::of(counts, stops, 0)
}

/// What was measured beside what was simulated.
pub fn table(contenders: &[Contender], twins: &[Twin]) -> Table {
    let header = ["policy", "amplification", "measured", "simulated"];
    let rows = contenders.iter().zip(twins).map(|(contender, twin)| {
        let amplification = [&contender.recording, &twin.recording]
            .map(|recording| amplification(recording).map_or("-".into(), |it| format!("{it:.3}")));
        [
            Cell::new(&*contender.variant.title).colour(contender.variant.colour),
            amplification.join(" > ").into(),
            contender.judged.cell(),
            twin.judged.cell(),
        ]
    });
    rows.fold(Table::new(header), Table::row)
}

/// The figures side by side, if there are any, as the last section of a terminal.
pub fn section(contenders: &[Contender], twins: &[Twin]) -> Option<Section> {
    (!twins.is_empty()).then(|| Section {
        table: table(contenders, twins),
        legend: LEGEND,
        conclusion: "The simulator was given the service, the policies and the moments at which the calls began."
            .into(),
        more: "",
    })
}

/// Adds them to a page, if there are any. `service` is which one the simulator was given.
pub fn on_page(page: Page, service: &str, contenders: &[Contender], twins: &[Twin]) -> Page {
    if twins.is_empty() {
        return page;
    }
    page.heading("What the simulator makes of it")
        .paragraph(&format!(
            "The simulator of becalm storm was given {service}, the same policies and the moments at which the calls began."
        ))
        .table(&table(contenders, twins))
        .paragraph(LEGEND)
}

#[cfg(test)]
pub mod tests {
    use super::super::arrivals::poisson;
    use super::super::judgement::tests::contenders;
    use super::super::setup::tests::usual;
    use super::super::statistics::tests::protected;
    use super::*;
    use becalm_report::terminal::Painter;

    /// The usual drill in the simulator.
    pub fn twins() -> Vec<Twin> {
        let setup = usual();
        let began = poisson(setup.load, setup.length(), 7);
        all(&setup, &contenders(&protected()), &began, 7)
    }

    #[test]
    fn every_policy_does_in_the_simulator_what_it_is_in_the_drill_to_show() {
        use super::super::variant::Role;
        for (contender, twin) in contenders(&protected()).iter().zip(twins()) {
            let expected = match contender.variant.role {
                Role::Storm => "metastable",
                _ => "back",
            };
            assert_eq!(twin.judged.name(), expected, "{}", contender.variant.name);
        }
    }

    #[test]
    fn the_counts_keep_the_laws_of_the_drill() {
        let setup = usual();
        let began = poisson(setup.load, setup.length(), 7);
        for twin in twins() {
            let total = |kind| twin.recording.total(kind);
            assert_eq!(total(Count::Call), began.len() as u64);
            assert!(total(Count::FirstTry) <= total(Count::Call));
            assert!(total(Count::Retry) <= 3 * total(Count::FirstTry));
            assert!(total(Count::ServedNobody) <= total(Count::Served));
            assert!(total(Count::Served) + total(Count::Refused) <= total(Count::Arrived));
            let gave_up: u64 = twin.recording.stops.values().sum();
            assert!(total(Count::Succeeded) + gave_up <= total(Count::Call));
            assert!(gave_up > 0, "while the service hangs, calls give up");
        }
    }

    #[test]
    fn the_table_fits_a_terminal() {
        let text = table(&contenders(&protected()), &twins()).to_terminal(Painter::Plain);
        assert_eq!(text.lines().count(), 7);
        assert!(text.lines().all(|line| line.chars().count() < 80), "{text}");
    }
}
