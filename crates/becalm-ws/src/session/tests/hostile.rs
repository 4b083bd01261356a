//! What does a peer get that keeps no rule?
