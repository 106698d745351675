//! What the sides of a trial say after each turn.

use crate::clock::ClockFlaw;

/// Why the sending phase ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum End {
    Schedule,
    Loss,
    /// The sender has spoiled the trial, whatever comes.
    OffSchedule,
    LinkDown(usize),
    WrongClock(ClockFlaw),
    Interrupted,
}

/// What came of a turn of one side.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Turn {
    /// The number of frames sent or received.
    Handled(usize),
    /// The sending phase is over.
    Over(End),
}
