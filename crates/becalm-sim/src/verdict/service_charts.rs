//! Which pictures does each service of several have? What arrives at it, and what waits.

use crate::study::{Chart, ChartKind};

use super::amplified::Amplified;
use super::charts::bands;
use super::examined::Examined;
use super::load::{accepts, bottleneck};
use super::service_course::ServiceCourse;
use super::services::callers;

/// The courses of each service under all contenders, the service that retries load most under any of
/// them first. What never came, or never waited, has no picture.
pub(super) fn service_courses(examined: &[Examined]) -> Vec<Chart> {
    let Some(Examined { scenario, .. }) = examined.first() else {
        return Vec::new();
    };
    let amplified = examined.iter().filter_map(|it| {
        Amplified::most(&it.scenario, &it.ruling.outcomes, |seen| &seen.since)
            .map(|it| (it.service, it.by))
    });
    let most = amplified.max_by(|a, b| a.1.total_cmp(&b.1));
    let mut order: Vec<usize> = (0..scenario.services.len()).collect();
    order.sort_by_key(|at| most.is_none_or(|most| most.0 != *at));
    let chart = |at: usize, id: &str, title: String, y: &str, of: Of| {
        let lines: Vec<_> = examined
            .iter()
            .filter_map(|it| Some((it.name.clone(), of(it.services.get(at)?).clone())))
            .collect();
        let mut points = lines.iter().flat_map(|(_, line)| line);
        let is_seen = points.any(|point| point.1 > 0.0);
        is_seen.then(|| Chart {
            // Of its place, as a name may be no name of a file.
            id: format!("{id}-{}", at + 1),
            title,
            x: "time, s".into(),
            y: y.into(),
            kind: ChartKind::Lines(lines),
            bands: bands(scenario),
            ..Chart::default()
        })
    };
    let of_service = |at: usize| {
        let service = &scenario.services[at];
        // Where all clients call it, and nobody else, it gets their attempts: they have a picture.
        let is_edge = scenario
            .populations
            .iter()
            .all(|it| it.target == service.name)
            && callers(scenario, at).len() == scenario.populations.len();
        let arrivals = format!("Requests that arrive at {}", service.name);
        let mut arrivals = chart(at, "arrivals", arrivals, "requests per second", |it| {
            &it.arrivals
        });
        if let Some(chart) = &mut arrivals {
            let capacity = accepts(service);
            chart.levels = [(capacity, "capacity".to_owned())]
                .into_iter()
                .filter(|it| it.0.is_finite())
                .collect();
        }
        let queue = format!("Requests that wait for a worker of {}", service.name);
        let queue = chart(at, "queue", queue, "requests", |it| &it.queue);
        let is_nearest = bottleneck(scenario).is_some_and(|it| it.service == at);
        [arrivals.filter(|_| !is_edge), queue.filter(|_| !is_nearest)]
    };
    let charts = order.into_iter().flat_map(of_service);
    charts.flatten().collect()
}

type Of = fn(&ServiceCourse) -> &Vec<(f64, f64)>;
