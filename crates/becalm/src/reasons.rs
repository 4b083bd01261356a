//! How is it said why something is refused?

/// The reasons for which something is refused, each with its sentence: what is at fault and the
/// remedy.
#[doc(hidden)]
#[macro_export]
macro_rules! __reasons {
    (
        $(#[$about:meta])*
        $name:ident;
        $($(#[$doc:meta])* $reason:ident: $sentence:literal;)*
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$doc])* $reason,)*
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(match self {
                    $(Self::$reason => $sentence,)*
                })
            }
        }

        impl core::error::Error for $name {}
    };
}

pub(crate) use __reasons as reasons;

/// Refuses for the first of these conditions that does not hold. They are written so that NaN fails
/// them.
pub fn require<E: Copy>(conditions: &[(bool, E)]) -> Result<(), E> {
    for (holds, reason) in conditions {
        if !holds {
            return Err(*reason);
        }
    }
    Ok(())
}
