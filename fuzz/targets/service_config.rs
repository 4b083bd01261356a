//! Service configs of gRPC: what is read is valid and keeps its bounds, and what is not done is told in sentences.
#![no_main]

use becalm_grpc::service_config::ServiceConfig;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let config = match text.parse::<ServiceConfig>() {
        Ok(config) => config,
        Err(invalid) => {
            assert!(!invalid.faults().is_empty() && !invalid.to_string().is_empty());
            return;
        }
    };
    for method in config.methods() {
        becalm_fuzz::keeps_its_bounds(method.policy(), 7);
        assert!(method.policy().attempts <= becalm_grpc::service_config::MOST_ATTEMPTS);
        for name in method.names() {
            let found = config.method(&format!("/{}/{}", name.service, name.method));
            let is_path = !name.service.is_empty()
                && ![&name.service, &name.method]
                    .iter()
                    .any(|part| part.contains('/'));
            assert!(found.is_some() || !is_path);
        }
    }
    for not_done in config.not_done() {
        assert!(!not_done.path.is_empty() && not_done.to_string().starts_with(&not_done.path));
    }
});
