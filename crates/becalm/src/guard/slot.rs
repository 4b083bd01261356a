//! Where does the state of a guard live that a policy may not ask for?

use alloc::boxed::Box;

/// A place for one object, made at most once: one word where it is empty, and no lock to look at
/// it.
#[derive(Debug)]
pub(super) struct Slot<T> {
    #[cfg(feature = "std")]
    object: std::sync::OnceLock<Box<T>>,
    #[cfg(not(feature = "std"))]
    object: Option<Box<T>>,
}

#[cfg(feature = "std")]
impl<T> Slot<T> {
    pub const fn empty() -> Self {
        Self {
            object: std::sync::OnceLock::new(),
        }
    }

    #[inline]
    pub fn get(&self) -> Option<&T> {
        self.object.get().map(|object| &**object)
    }

    /// Fills a slot that is not shared yet.
    pub fn fill(&mut self, object: Option<T>) {
        if let Some(object) = object {
            self.object = Box::new(object).into();
        }
    }

    /// Makes the object, or changes the one there is; nothing where it is not asked for.
    pub fn set<C: Copy>(
        &self,
        config: Option<C>,
        make: impl FnOnce(C) -> Option<T>,
        change: impl FnOnce(&T, C),
    ) {
        let Some(config) = config else {
            return;
        };
        if let Some(object) = self.get() {
            change(object, config);
        } else if let Some(object) = make(config) {
            self.object.get_or_init(|| Box::new(object));
        }
    }
}

/// Without a standard library policies are not replaced.
#[cfg(not(feature = "std"))]
impl<T> Slot<T> {
    pub const fn empty() -> Self {
        Self { object: None }
    }

    pub fn get(&self) -> Option<&T> {
        self.object.as_deref()
    }

    /// Fills a slot that is not shared yet.
    pub fn fill(&mut self, object: Option<T>) {
        self.object = object.map(Box::new);
    }
}
