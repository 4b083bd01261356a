//! Does the real thing do what the mapping of its file says? The same file is mapped and run: attempts, waits and
//! refusals are counted.

mod aws;
mod envoy;
mod envoy_itself;
mod envoy_routes;
mod grpc;
mod grpc_go_java;
mod haproxy;
mod haproxy_log;
mod http;
mod nginx;
mod passed_on;
mod predicted;
mod processes;
mod pyyaml;
mod redispatch;
