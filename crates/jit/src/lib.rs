//! Flow tables as machine code.
//!
//! [`Engine`] follows a [`brimful_pipeline::Pipeline`] by its changes and keeps a compiled function for each table;
//! [`Worker`] runs frames through them. Each table has the form that suits its rules (`plan`): code that compares, one
//! hash for each set of masks, longest prefixes, or rows of bits. The code itself takes apart only what some rule looks
//! at, makes the key in registers, counts, and does what follows (`compile`). What it does not do itself it leaves to the
//! pipeline's own [`brimful_pipeline::run_instructions`], so that there is one meaning.
//!
//! Rules come and go while frames run. A rule goes into the structure that the code looks into, or, where none suits it,
//! into an overlay that the code asks as well, until a new form has been compiled and its address published. What was
//! replaced is dropped once no worker can be reading it (`reclaim`).
//!
//! # Safety
//!
//! `unsafe` is in what compiled code and this crate's own code share by address: the context of a worker, structures
//! that readers look into without locks (`tuple`, `prefix`, `overlay`), and helpers that code calls; and in hints about
//! memory.
//! Every block says what it relies on.
#![allow(unsafe_code)]

mod background;
mod bitmap;
mod compile;
mod context;
mod engine;
mod explain;
mod functions;
mod hints;
mod journal;
mod key;
mod memory;
mod overlay;
mod places;
mod placing;
mod plan;
mod prefix;
mod reclaim;
mod shape;
mod sync;
mod table;
mod tuple;
mod version;
mod worker;

pub use engine::Engine;
pub use hints::{give_back_memory, keep_freed_memory, prefetch};
pub use reclaim::Moment;
pub use worker::Worker;
