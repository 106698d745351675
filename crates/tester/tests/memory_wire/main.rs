//! Whole trials over a wire in memory in virtual time.

mod bed;
mod delays;
mod places;
mod strays;
mod trials;
