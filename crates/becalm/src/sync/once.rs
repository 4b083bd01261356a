//! How does state that most never need come about, once, and without a lock for those who read it?

/// Nothing until it is first made; then that, for good.
///
/// Without a standard library it is there from the start: there is nothing to make it with safely. For the model checker it
/// is, too, but seen only once it is asked for.
#[derive(Debug)]
pub(crate) struct Once<T> {
    #[cfg(all(feature = "std", not(becalm_loom)))]
    made: std::sync::OnceLock<T>,
    #[cfg(any(not(feature = "std"), becalm_loom))]
    made: T,
    #[cfg(becalm_loom)]
    is_asked_for: super::AtomicU64,
}

#[cfg(all(feature = "std", not(becalm_loom)))]
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

#[cfg(becalm_loom)]
impl<T> Once<T> {
    pub fn new(make: impl FnOnce() -> T) -> Self {
        let is_asked_for = super::AtomicU64::new(0);
        Self {
            made: make(),
            is_asked_for,
        }
    }

    pub fn get(&self) -> Option<&T> {
        let is_made = self.is_asked_for.load(super::Ordering::Acquire) != 0;
        is_made.then_some(&self.made)
    }

    pub fn get_or_make(&self, _make: impl FnOnce() -> T) -> &T {
        self.is_asked_for.store(1, super::Ordering::Release);
        &self.made
    }
}

#[cfg(all(not(feature = "std"), not(becalm_loom)))]
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
