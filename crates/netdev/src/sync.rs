//! What the two ends of a ring share, by its real name or, in tests with the feature `loom`, as loom's stand-in that tries
//! every order.

#[cfg(all(feature = "loom", test))]
pub(crate) use loom::cell::UnsafeCell;
#[cfg(all(feature = "loom", test))]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

#[cfg(not(all(feature = "loom", test)))]
pub(crate) use real::UnsafeCell;
#[cfg(not(all(feature = "loom", test)))]
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

#[cfg(not(all(feature = "loom", test)))]
mod real {
    /// A cell with the interface of loom's.
    #[derive(Debug)]
    pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(std::cell::UnsafeCell::new(value))
        }

        pub(crate) fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
            read(self.0.get())
        }

        pub(crate) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
            write(self.0.get())
        }
    }
}
