//! How is a plain field of a configuration set in a chain?

/// One setter for each field named. That of an optional field takes the value or an `Option` of it, and one of
/// `impl Into<_>` what becomes the value.
#[doc(hidden)]
#[macro_export]
macro_rules! __setters {
    (
        $(#[$about:meta])*
        impl $config:ident;
        $($rest:tt)*
    ) => {
        $(#[$about])*
        impl $config {
            $crate::__setters!(@fields $($rest)*);
        }
    };
    (@fields $(#[$doc:meta])* $name:ident: Option<$type:ty>; $($rest:tt)*) => {
        $(#[$doc])*
        #[must_use]
        pub fn $name(mut self, $name: impl Into<Option<$type>>) -> Self {
            self.$name = $name.into();
            self
        }
        $crate::__setters!(@fields $($rest)*);
    };
    (@fields $(#[$doc:meta])* $name:ident: impl Into<$type:ty>; $($rest:tt)*) => {
        $(#[$doc])*
        #[must_use]
        pub fn $name(mut self, $name: impl Into<$type>) -> Self {
            self.$name = $name.into();
            self
        }
        $crate::__setters!(@fields $($rest)*);
    };
    (@fields $(#[$doc:meta])* $name:ident: $type:ty; $($rest:tt)*) => {
        $(#[$doc])*
        #[must_use]
        pub fn $name(mut self, $name: $type) -> Self {
            self.$name = $name;
            self
        }
        $crate::__setters!(@fields $($rest)*);
    };
    (@fields) => {};
}

pub(crate) use __setters as setters;
