//! Which lints does a policy have? Files say the same again and again, and equal policies are judged once.

use std::rc::Rc;

use becalm::Policy;
use becalm::lint::Lint;

/// How many policies are remembered: the routes of a file often differ a little.
const MOST: usize = 8;

/// The last policies, each with its lints.
#[derive(Debug, Default)]
pub struct Linted(Vec<(Policy, Rc<[Lint]>)>);

impl Linted {
    /// The lints of this policy.
    pub fn of(&mut self, policy: &Policy) -> Rc<[Lint]> {
        let at = self.0.iter().position(|(it, _)| it == policy);
        let at = at.unwrap_or_else(|| {
            self.0.truncate(MOST - 1);
            self.0.push((policy.clone(), policy.lints().into()));
            self.0.len() - 1
        });
        self.0[..=at].rotate_right(1);
        self.0[0].1.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_that_comes_again_keeps_its_lints() {
        let mut linted = Linted::default();
        let policy = |attempts: u32| Policy::default().attempts(attempts);
        let first = linted.of(&policy(2));
        for attempts in 3..20 {
            assert!(Rc::ptr_eq(&first, &linted.of(&policy(2))));
            assert_eq!(*linted.of(&policy(attempts)), *policy(attempts).lints());
        }
        assert_eq!(linted.0.len(), MOST);
    }
}
