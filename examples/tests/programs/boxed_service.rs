//! Is the short service the engine's equal, too?

use becalm_examples::boxed_service::Boxed;
use proptest::prelude::*;
use tower_service::Service;

use crate::tower_service::told_by_engine;
use crate::trace::{told, traces};

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn c6_a_boxed_service_tells_what_the_engine_tells(trace in traces()) {
        let by_service = told(&trace, |retrier, service| Boxed { service, retrier }.call(()));
        prop_assert_eq!(by_service, told_by_engine(&trace));
    }
}
