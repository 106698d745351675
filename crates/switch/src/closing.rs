//! Closes many sockets at once: for each the kernel waits until no processor uses it, and one such wait can be for many.

use std::thread;

/// Threads that close, each one thing after the other.
const CLOSERS: usize = 32;

/// Drops all, and returns when that is done.
pub(crate) fn close_together<T: Send>(all: impl IntoIterator<Item = T>) {
    let mut shares: Vec<Vec<T>> = (0..CLOSERS).map(|_| Vec::new()).collect();
    for (index, one) in all.into_iter().enumerate() {
        shares[index % CLOSERS].push(one);
    }
    thread::scope(|scope| {
        for share in shares.into_iter().filter(|share| !share.is_empty()) {
            // Without memory for a thread, it is dropped here.
            let _ = thread::Builder::new().spawn_scoped(scope, move || drop(share));
        }
    });
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use super::*;

    struct Counted<'c>(&'c AtomicUsize);

    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Relaxed);
        }
    }

    #[test]
    fn all_are_dropped_before_it_returns() {
        for count in [0, 1, CLOSERS, 10 * CLOSERS + 1] {
            let dropped = AtomicUsize::new(0);
            close_together((0..count).map(|_| Counted(&dropped)));
            assert_eq!(dropped.load(Relaxed), count);
        }
    }
}
