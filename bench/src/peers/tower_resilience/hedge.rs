//! Its hedge: a layer around a service.

use tower::{Layer, Service, service_fn};
use tower_resilience_hedge::HedgeLayer;

use crate::drive::Drive;
use crate::operation::AsyncOperation;
use crate::peers::{HEDGE_AFTER, Through};

/// One hedge after a fixed delay.
pub struct TowerResilienceHedge;

impl Through for TowerResilienceHedge {
    const PACKAGE: &'static str = "tower-resilience-hedge";
    const NOTE: &'static str = "fixed delay";

    fn through<O: AsyncOperation, D: Drive>(mut operation: O, drive: D) -> D::Output {
        let layer = HedgeLayer::new(HEDGE_AFTER);
        let mut service = layer.layer(service_fn(move |()| operation()));
        drive.drive(move || service.call(()))
    }
}
