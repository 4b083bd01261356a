//! How is a box held that most owners never make?

/// An `Option` of a box, or of one of several, that is dropped out of line: what drops a box in place saves registers first, at each success that has none.
#[derive(Debug)]
pub(crate) struct Rare<T>(Option<T>);

impl<T> Rare<T> {
    pub const NONE: Self = Self(None);

    pub const fn some(value: T) -> Self {
        Self(Some(value))
    }

    #[inline]
    pub const fn is_some(&self) -> bool {
        self.0.is_some()
    }

    #[inline]
    pub const fn as_mut(&mut self) -> Option<&mut T> {
        self.0.as_mut()
    }

    pub fn get_or_insert_default(&mut self) -> &mut T
    where
        T: Default,
    {
        self.0.get_or_insert_default()
    }
}

impl<T> Drop for Rare<T> {
    #[inline]
    fn drop(&mut self) {
        if let Some(value) = self.0.take() {
            dropped(value);
        }
    }
}

#[cold]
#[inline(never)]
fn dropped<T>(value: T) {
    drop(value);
}
