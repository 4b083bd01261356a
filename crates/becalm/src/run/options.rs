//! What may one call set for itself? One answer for all engines.

/// The options of a call, as methods of a builder that can `set` its settings.
macro_rules! call_options {
    () => {
        /// Sets all options at once. Default: those of the policy.
        pub fn options(mut self, options: $crate::call::CallOptions) -> Self {
            self.set(|settings| settings.options = options);
            self
        }

        /// Gives every attempt the same new idempotency key ([`Attempt::key`](crate::Attempt::key)),
        /// by which the server recognises a repetition.
        pub fn keyed(self) -> Self {
            self.keyed_with($crate::idempotency::IdempotencyKey::random())
        }

        /// Gives every attempt this idempotency key.
        pub fn keyed_with(self, key: $crate::idempotency::IdempotencyKey) -> Self {
            self.operation($crate::idempotency::Operation::Keyed(key))
        }

        /// Declares that repeating the operation may do it twice: it is repeated only when an attempt
        /// proved [`Unsent`](crate::Effect::Unsent).
        pub fn not_idempotent(self) -> Self {
            self.operation($crate::idempotency::Operation::NotIdempotent)
        }

        /// Declares whether the operation may be repeated, and how.
        pub fn operation(mut self, operation: $crate::idempotency::Operation) -> Self {
            self.set(|settings| settings.options.operation = operation);
            self
        }

        /// Sets how soon an adaptive throttle may shed this call. Default
        /// [`Critical`]($crate::throttle::Priority::Critical).
        pub fn priority(mut self, priority: $crate::throttle::Priority) -> Self {
            self.set(|settings| settings.options.priority = priority);
            self
        }

        /// Sets the longest time of this call, in place of the policy's deadline.
        pub fn deadline(mut self, deadline: ::core::time::Duration) -> Self {
            self.set(|settings| settings.options.deadline = Some(deadline));
            self
        }

        /// Sets how many attempts this call may make, the first included, in place of the policy's number.
        pub fn attempts(mut self, attempts: u32) -> Self {
            self.set(|settings| settings.options.attempts = Some(attempts));
            self
        }

        /// Attaches a value that observers see with each event of this call, such as its host. Default:
        /// nothing.
        pub fn context<X: Send + Sync + 'static>(mut self, context: X) -> Self {
            self.set(|settings| settings.attached().context = Some(::std::sync::Arc::new(context)));
            self
        }

        /// Lets another thread or task end the call through this handle: its waits, and an attempt that
        /// is awaited. In async code dropping the call's future ends it as well, such as by `select!` beside
        /// `ctrl_c()`.
        pub fn cancel(mut self, cancel: &$crate::time::Cancel) -> Self {
            self.set(|settings| settings.attached().cancel = Some(cancel.clone()));
            self
        }
    };
}

pub(super) use call_options;
