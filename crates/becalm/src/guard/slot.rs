//! Where does the state of a guard live that a policy may not ask for?

use alloc::boxed::Box;

#[cfg(feature = "std")]
type Place<T> = std::sync::OnceLock<Box<T>>;
/// Without a standard library policies are not replaced.
#[cfg(not(feature = "std"))]
type Place<T> = Option<Box<T>>;

/// A place for one object, made at most once: one word where it is empty, and no lock to look at
/// it.
#[derive(Debug)]
pub(super) struct Slot<T>(Place<T>);

impl<T> Slot<T> {
    /// With the object of a policy, if it asks for one.
    pub fn new(object: Option<T>) -> Self {
        Self(object.map_or_else(Place::default, |object| Box::new(object).into()))
    }

    #[inline]
    pub fn get(&self) -> Option<&T> {
        #[cfg(feature = "std")]
        return self.0.get().map(|object| &**object);
        #[cfg(not(feature = "std"))]
        return self.0.as_deref();
    }

    /// Makes the object, or changes the one there is; nothing where it is not asked for.
    #[cfg(feature = "std")]
    pub fn set<C: Copy, O: Into<Option<T>>>(
        &self,
        config: Option<C>,
        make: impl FnOnce(C) -> O,
        change: impl FnOnce(&T, C),
    ) {
        let Some(config) = config else {
            return;
        };
        if let Some(object) = self.get() {
            change(object, config);
        } else if let Some(object) = make(config).into() {
            // Where two make it at the same time, the first one stays.
            let _ = self.0.set(Box::new(object));
        }
    }
}
