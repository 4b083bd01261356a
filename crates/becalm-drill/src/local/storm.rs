//! How is the first part held? All services hang at once, each with its own clients.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use tokio::time::Instant;

use super::Options;
use crate::arrivals;
use crate::drill::Broken;
use crate::judgement::Contender;
use crate::ledger::{Ledger, Recording};
use crate::live::{Display, View};
use crate::replay::{Played, Replay};
use crate::server::{Hang, Service};
use crate::setup::Setup;
use crate::show::Show;
use crate::stage::{FRAME, Stage};
use crate::variant::Variant;
use crate::void::usual_lateness;

/// What was measured under each policy, and what the load generator did.
pub fn hold(
    options: &Options,
    variants: &[Variant],
    show: &Show<'_>,
    signal: &AtomicUsize,
) -> Result<(Vec<Contender>, Played), Broken> {
    let Options { setup, seed, .. } = options;
    let stage = Stage::new(signal, *seed)?;
    let mut display = Display::on(show);
    let start = stage.start();
    let service = Service {
        workers: setup.workers,
        time: setup.service_time,
        queue: setup.queue,
        hang: Some(Hang {
            from: start + setup.before,
            to: start + setup.trigger_end(),
        }),
        refuses: None,
        slow: None,
    };
    let policies = variants.iter().map(|it| (&*it.name, &it.policy));
    let replay = Replay::prepare(start, setup.length(), service, setup.wire, policies, *seed);
    let replay = stage.ready(replay)?;
    let ledgers = replay.ledgers();
    let arrivals = arrivals::poisson(setup.load, setup.length(), *seed);
    let played = stage.play(replay, arrivals.clone(), || {
        let recordings = recordings(&ledgers);
        display.show(&view(setup, variants, &recordings, start));
        FRAME
    })?;
    let recordings = recordings(&ledgers);
    display.finish(&view(setup, variants, &recordings, start));
    let contenders = variants.iter().zip(recordings).zip(&ledgers);
    let late = [played.lateness, usual_lateness(&played.began, &arrivals)];
    let contenders = contenders.map(|((variant, recording), ledger)| {
        Contender::new(variant.clone(), recording, &ledger.latencies(), setup).on(setup, late)
    });
    Ok((contenders.collect(), played))
}

fn recordings(ledgers: &[Arc<Ledger>]) -> Vec<Recording> {
    ledgers.iter().map(|ledger| ledger.recording()).collect()
}

fn view<'a>(
    setup: &'a Setup,
    variants: &'a [Variant],
    recordings: &'a [Recording],
    start: Instant,
) -> View<'a> {
    View {
        setup,
        variants,
        recordings,
        elapsed: start.elapsed(),
    }
}
