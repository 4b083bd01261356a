//! How is a plain field of a configuration set in a chain?

/// One setter for each field named: it takes the value, and wraps it where the field is optional.
macro_rules! setters {
    (
        $(#[$about:meta])*
        impl $config:ident;
        $($(#[$doc:meta])* $name:ident: $type:ty $(=> $wrap:path)?;)*
    ) => {
        $(#[$about])*
        impl $config {$(
            $(#[$doc])*
            #[must_use]
            pub fn $name(mut self, $name: $type) -> Self {
                self.$name = $($wrap)?($name);
                self
            }
        )*}
    };
}

pub(crate) use setters;
