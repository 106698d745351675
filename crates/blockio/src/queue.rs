use std::io;

use brimful_trial::Nanoseconds;

use crate::Io;

/// An IO came back.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Completion {
    /// The slot it had.
    pub slot: u32,
    /// Bytes, or an error number below 0.
    pub result: i32,
    /// It was none: there are no bytes to be had.
    pub did_nothing: bool,
}

/// What takes IOs and gives them back in any order; at most one a slot.
pub trait Queue {
    /// Puts an IO in line; it begins with the next `enter` or `wait` at the latest.
    ///
    /// # Errors
    /// When the kernel refuses.
    fn push(&mut self, slot: u32, io: Io) -> io::Result<()>;

    /// Lets IOs in line begin and looks for completions; never waits.
    ///
    /// # Errors
    /// When the kernel refuses.
    fn enter(&mut self) -> io::Result<()>;

    /// The same, and sleeps until there are this many completions or the time is over.
    ///
    /// # Errors
    /// When the kernel refuses.
    fn wait(&mut self, completions: u32, at_most: Nanoseconds) -> io::Result<()>;

    /// The next completion that was seen.
    fn pop(&mut self) -> Option<Completion>;
}
