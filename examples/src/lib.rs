//! How do real programs retry? Each module is one, to be copied; `tests/` runs it against the real
//! thing.

#![forbid(unsafe_code)]

pub mod axum_chat;
pub mod axum_payments;
pub mod boxed_service;
pub mod chat_client;
pub mod grpc_orders;
pub mod hyper_client;
pub mod orders_service;
#[cfg(doctest)]
mod pages;
pub mod postgres_orders;
pub mod rabbitmq_orders;
pub mod redis_counter;
pub mod reqwest_client;
pub mod smol_client;
pub mod thread_pool;
pub mod three_services;
pub mod tower_service;
pub mod websocket_feed;
