//! What stands around a route?

use crate::document::Node;

/// A route with what stands around it.
#[derive(Debug, Clone, Copy)]
pub struct Place<'n> {
    pub host: &'n Node,
    pub route: &'n Node,
    pub action: &'n Node,
    /// The connection manager that has its table.
    pub manager: Option<&'n Node>,
}
