//! Were those served who got a 429, 502 or 503? If they were, these come as soon as other answers.

use crate::known::WITHIN;

/// How many answers were quick.
#[derive(Debug, Clone, Copy, Default)]
pub struct Quick {
    served: Share,
    unserved: Share,
}

#[derive(Debug, Clone, Copy, Default)]
struct Share {
    quick: u64,
    all: u64,
}

impl Quick {
    /// Adds an answer.
    pub fn served(&mut self, is_quick: bool) {
        self.served.add(is_quick);
    }

    /// Adds one that says that there was nobody to serve it.
    pub fn unserved(&mut self, is_quick: bool) {
        self.unserved.add(is_quick);
    }

    /// Whether quick answers are no more common among those who were not served, as these say, but for chance: then those were
    /// served.
    pub fn are_alike(&self) -> bool {
        let [served, unserved] = [self.served, self.unserved].map(Share::of_all);
        let both = Share {
            quick: self.served.quick + self.unserved.quick,
            all: self.served.all + self.unserved.all,
        };
        let share = both.of_all();
        let error = (share * (1.0 - share) * (self.served.by() + self.unserved.by())).sqrt();
        unserved - served <= WITHIN * error
    }
}

impl Share {
    fn add(&mut self, is_quick: bool) {
        self.all += 1;
        self.quick += u64::from(is_quick);
    }

    #[expect(clippy::cast_precision_loss)]
    fn of_all(self) -> f64 {
        self.quick as f64 * self.by()
    }

    #[expect(clippy::cast_precision_loss)]
    fn by(self) -> f64 {
        1.0 / self.all.max(1) as f64
    }
}
