//! How does state that most never need come about, once, and without a lock for those who read it?

/// Nothing until it is first made; then that, for good.
///
/// Without a standard library it is there from the start: there is nothing to make it with safely.
#[derive(Debug)]
pub(crate) struct Once<T> {
    #[cfg(feature = "std")]
    made: std::sync::OnceLock<T>,
    #[cfg(not(feature = "std"))]
    made: T,
}

#[cfg(feature = "std")]
impl<T> Once<T> {
    pub fn new(_make: impl FnOnce() -> T) -> Self {
        Self {
            made: std::sync::OnceLock::new(),
        }
    }

    #[inline]
    pub fn get(&self) -> Option<&T> {
        self.made.get()
    }

    pub fn get_or_make(&self, make: impl FnOnce() -> T) -> &T {
        self.made.get_or_init(make)
    }
}

#[cfg(not(feature = "std"))]
impl<T> Once<T> {
    pub fn new(make: impl FnOnce() -> T) -> Self {
        Self { made: make() }
    }

    #[expect(clippy::unnecessary_wraps)] // as the other does
    pub fn get(&self) -> Option<&T> {
        Some(&self.made)
    }

    pub fn get_or_make(&self, _make: impl FnOnce() -> T) -> &T {
        &self.made
    }
}
