//! Whole trials over a wire in memory in virtual time, with one thread and with two.

mod bed;
mod broadcasts;
mod clock;
mod delays;
mod honesty;
mod many_ports;
mod places;
mod shared_ports;
mod strays;
mod switch;
mod trials;
